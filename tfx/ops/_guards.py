"""Checks of contents inside of a graph: a value that exists only if a condition holds.

The check is made of ONNX operators, so that it is in a saved bundle, too: an index that points
outside of a table of one element where something is wrong. It costs five small nodes, and is left
out where what it is about is known while tracing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core import dtypes
from tfx.framework.apply import apply
from tfx.framework.context import using
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.symbolic import elements
from tfx.ops._support import cast_to


def required(value: Tensor, numbers: Sequence[Tensor], message: str, op: str) -> Tensor:
    """A tensor of the graph that a run makes only if some integers are not negative.

    Args:
        value: Integers, which the operation needs.
        numbers: Integers of any shape, all 0 or more where the operation is possible.
        message: What is wrong if one is not.
        op: The operation, for the exception.

    Returns:
        The value; as it is where it is known, or made from shapes, which are never negative.
    """
    if not isinstance(value, SymbolicTensor) or value._value.const is not None:
        return value
    if elements(value._value) is not None:
        return value
    with using(tapes=()):
        flat = int64_constant([-1])
        parts = [apply("Reshape", (cast_to(x, dtypes.int64), flat)) for x in numbers]
        together = apply("Concat", (int64_constant([0]), *parts), {"axis": 0})
        low = apply("ReduceMin", (together,), {"keepdims": 0})
        # -1 is an index of a table of one element, -2 is none.
        index = apply("Add", (low, low))
        zero = apply("Gather", (int64_constant([0]), index), {"axis": 0})
        if isinstance(zero, SymbolicTensor) and zero._value.node is not None:
            zero._value.node.refusal = (op, message)
        return apply("Add", (value, cast_to(zero, value.dtype)))


def without_guard(value: SymbolicTensor) -> SymbolicTensor:
    """What ``required`` was given, where a value comes from it."""
    node = value._value.node
    if node is None or node.op != "Add" or node.inputs[0] is None or node.inputs[1] is None:
        return value
    maker = node.inputs[1].node
    if maker is not None and maker.op == "Cast" and maker.inputs[0] is not None:
        maker = maker.inputs[0].node
    if maker is None or maker.refusal is None:
        return value
    return SymbolicTensor(node.inputs[0], value._graph)


def ones_where_false(holds: Tensor) -> Tensor:
    """0 where a condition holds and -1 elsewhere, for ``required``."""
    return apply("Neg", (cast_to(apply("Not", (holds,)), dtypes.int64),))
