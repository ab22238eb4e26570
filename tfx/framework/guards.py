"""Checks of contents inside of a graph: a tensor that a run makes only if a condition holds.

The check is made of ONNX operators, so that it is in a saved bundle, too: a reshape to the tensor's
own shape, or to one that cannot be. No elements are copied, and a runtime cannot see through it and
leave it out. It costs a few small nodes, and is left out where what it is about is known while
tracing.
"""

from __future__ import annotations

from tfx.core import dtypes
from tfx.core.refusals import Refusal, of_dimension
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, raw_shape
from tfx.graph.ir import Node, Value
from tfx.graph.symbolic_shapes import elements

# Of the others, kernels have no comparisons or no minimum.
_COMPARED = (dtypes.int32, dtypes.int64)


def refused_unless(fine: Tensor, x: Tensor, reason: Refusal) -> Tensor:
    """``x`` while a condition holds; the graph fails otherwise.

    Args:
        fine: Booleans, all of which must hold.
        x: A tensor of the graph, which the operation needs: a check that nothing uses is left out.
        reason: What is wrong if one does not hold.

    Returns:
        ``x``, of whose shape and elements as much is known.
    """
    shape = raw_shape(x)
    with using(tapes=()):
        if fine.shape.rank != 0:
            whole = ox.Cast(fine, to=dtypes.uint8.onnx)
            least = ox.ReduceMin(whole, keepdims=0)
            fine = ox.Cast(least, to=dtypes.bool.onnx)
    if shape is None:
        flat = ox.Reshape(x, int64_constant([-1]))
        with using(tapes=()):
            own = ox.Shape(x)
        return ox.Reshape(refused_unless(fine, flat, reason), own, allowzero=1)
    with using(tapes=()):
        known = [d for d in shape if isinstance(d, int)]
        # A scalar has no dimension that could be impossible: it becomes a vector for a moment.
        own = int64_constant(known or [1]) if len(known) == len(shape) else ox.Shape(x)
        target = ox.Where(fine, own, int64_constant(reason.dimension))
    result = ox.Reshape(x, target, allowzero=1)
    if not shape:
        result = ox.Squeeze(result, int64_constant([0]))
    if isinstance(result, SymbolicTensor):
        result._symbol.shape = shape  # with its symbols
    return result


def refused_if_negative(x: Tensor, reason: Refusal) -> Tensor:
    """Integers while all are 0 or more; the graph fails otherwise.

    Args:
        x: Integers, which the operation needs.
        reason: What is wrong if one is negative.

    Returns:
        ``x``, as it is where it is settled, or where its dtype has no negative numbers.
    """
    if settled(x) or x.dtype.is_unsigned:
        return x
    return refused_unless(not_negative(x), x, reason)


def not_negative(x: Tensor) -> Tensor:
    """Return a boolean scalar that is true if all integers are 0 or more."""
    with using(tapes=()):
        if x.dtype not in _COMPARED:
            x = ox.Cast(x, to=dtypes.int64.onnx)
        # Of none, the least is the largest number of the dtype.
        least = x if x.shape.rank == 0 else ox.ReduceMin(x, keepdims=0)
        zero = int64_constant(0) if x.dtype is dtypes.int64 else convert_to_tensor(0, x.dtype)
        return ox.GreaterOrEqual(least, zero)


def settled(x: Tensor) -> bool:
    """True if integers need no check: known now, or sizes of tensors, which are never negative."""
    if isinstance(x, EagerTensor):
        return True
    assert isinstance(x, SymbolicTensor)
    if x._symbol.const is not None:
        return True
    found = elements(x._symbol)
    return found is not None and all(
        d is not None and (isinstance(d, str) or d >= 0) for d in found
    )


def guard_of(node: Node | None) -> tuple[Value, Refusal] | None:
    """Return the condition and the reason of a reshape that checks; None for other nodes."""
    if node is None or node.op != "Reshape" or node.inputs[1] is None:
        return None
    where = node.inputs[1].node
    if where is None or where.op != "Where":
        return None
    fine, _, otherwise = where.inputs
    if fine is None or otherwise is None or otherwise.const is None or otherwise.const.shape:
        return None
    reason = of_dimension(int(otherwise.const))
    return None if reason is None else (fine, reason)


def unguarded(x: SymbolicTensor) -> SymbolicTensor:
    """Return the tensor that ``refused_unless`` was given, if `x` comes from it, else `x`."""
    node = x._symbol.node
    if node is not None and node.op == "Squeeze" and node.inputs[0] is not None:
        node = node.inputs[0].node
    if node is None or guard_of(node) is None or node.inputs[0] is None:
        return x
    given = SymbolicTensor(node.inputs[0], x._graph)
    return given if given.shape.rank == x.shape.rank else x
