"""Operators whose kernels do not bear inputs without elements.

Seen in ONNX Runtime 1.31: ``Conv`` of an input without channels, which has a result of zeros,
never ends; ``Attention`` without heads, ``InstanceNormalization`` and ``RoiAlign`` of images
without pixels end the process, and ``Attention`` refuses everything else that is empty, though the
result is empty or zero; a batch of ``MatMul`` over no elements whose operand was transposed returns
what the memory held, or ends the process. Where sizes are known nothing is added to a graph that
needs nothing. Where they are not, the graph asks at run time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.core.errors import InvalidArgumentError
from tfx.graph.infer import refusal
from tfx.graph.ir import CALL, HOST, Graph, Node, RawShape, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark
from tfx.graph.traits import operators

# Operators that the corrections below are for: alone, they are compiled for the given shapes if
# one of their inputs is empty.
GUARDED = frozenset(
    (
        "ArgMax",
        "ArgMin",
        "Attention",
        "Conv",
        "GRU",
        "InstanceNormalization",
        "LSTM",
        "RNN",
        "RoiAlign",
    )
).union(operators(lambda t: t.reduction))
_INT64, _STRING, _LAST_TENSOR = 7, 8, dtypes.SEQUENCE - 1
# Whose kernels take anything, or which are no operators.
_HARMLESS = frozenset(
    (CALL, HOST, "Add", "Cast", "Concat", "Constant", "ConstantOfShape", "Expand", "Identity")
).union(("Mul", "Reshape", "Shape", "Size", "Slice", "Squeeze", "Transpose", "Unsqueeze"))


def without_elements(out: Graph, node: Node) -> bool:
    """Put a constant in place of a node whose result is known to have no elements."""
    if node.op in _HARMLESS or node.tag is not None or len(node.outputs) != 1:
        return False
    (result,) = node.outputs
    shape = result.shape
    if shape is None or 0 not in shape or not is_static(shape) or result.dtype > _LAST_TENSOR:
        return False
    if result.dtype == _STRING or any(True for _ in node.bodies()):
        return False
    kind = dtypes.from_onnx(result.dtype).as_numpy_dtype
    sizes = [d for d in shape if isinstance(d, int)]
    made = Node(
        "Identity",
        (out.add_constant(np.zeros(sizes, kind), result.dtype),),
        {},
        node.name,
        node.source,
        device=node.device,
        outputs=node.outputs,
    )
    out.nodes.append(made)
    return True


def _has_zero(shape: RawShape) -> bool:
    return shape is not None and 0 in shape


def _conv(out: Graph, node: Node) -> bool:
    x, w = node.inputs[:2]
    assert x is not None
    assert w is not None
    if w.shape is None or x.shape is None or len(w.shape) < 3 or len(x.shape) != len(w.shape):
        return False
    if 0 in w.shape[2:]:
        reason = "a filter must have a positive size along every axis"
        raise InvalidArgumentError(refusal("Conv", node.inputs, reason), op="Conv")
    channels = w.shape[1] if isinstance(w.shape[1], int) else x.shape[1]
    if channels == 0:
        write = ReplacementBuilder(out, node)
        _convolve_zeros(write, node)
        return write.finish()
    if isinstance(channels, int) or node.tag is Mark.NOT_EMPTY:
        return False
    write = ReplacementBuilder(out, node)
    present = write.Shape(w, start=1, end=2)
    return _ask(out, node, present, _convolve_zeros)


def _convolve_zeros(write: ReplacementBuilder, node: Node) -> Value:
    """Write a convolution without channels as one over a channel of zeros (in each group)."""
    x, w, *bias = node.inputs
    assert x is not None
    assert w is not None
    zero = write.Cast(write.constant(0, _INT64), to=x.dtype)
    group = node.attrs.get("group", 1)
    given = []
    for value, channels in ((x, group), (w, 1)):
        first = write.Shape(value, start=0, end=1)
        rest = write.Shape(value, start=2)
        shape = write.Concat(first, write.ints([channels]), rest, axis=0)
        zeros = write.Expand(zero, shape)
        assert value.shape is not None
        zeros.shape = (value.shape[0], channels, *value.shape[2:])
        given.append(zeros)
    return write.Conv(*given, *bias, **node.attrs)


def _ask(
    out: Graph, node: Node, size: Value, write_empty: Callable[[ReplacementBuilder, Node], Value]
) -> bool:
    """The node in one branch, what it is where ``size`` is 0 in the other one."""
    write = ReplacementBuilder(out, node)
    empty = write.Squeeze(write.Equal(size, write.ints([0])))
    (result,) = node.outputs
    then, otherwise = Graph(f"{node.name}_empty", out), Graph(f"{node.name}_full", out)
    inner = Node(
        node.op,
        node.inputs,
        node.attrs,
        out.unique_name(node.name + "_empty"),
        node.source,
    )
    then.outputs = [write_empty(ReplacementBuilder(then, inner), inner)]
    again = otherwise.add_node(
        node.op,
        node.inputs,
        node.attrs,
        [(result.dtype, result.shape)],
        name=f"{node.name}_full",
        source=node.source,
        tag=Mark.NOT_EMPTY,
    )
    otherwise.outputs = list(again.outputs)
    write.apply_bodies("If", (empty,), {"then_branch": then, "else_branch": otherwise}, result)
    return write.finish()


def _instance_normalization(out: Graph, node: Node) -> bool:
    """Handle an instance normalization of images without pixels, which returns its input."""
    return _without_pixels(out, node, _itself)


def _roi_align(out: Graph, node: Node) -> bool:
    """Handle a ``RoiAlign`` in images without pixels: zeros, as everywhere outside of an image."""
    return _without_pixels(out, node, _zero_regions)


def _without_pixels(
    out: Graph, node: Node, instead: Callable[[ReplacementBuilder, Node], Value]
) -> bool:
    x = node.inputs[0]
    if (
        x is None
        or x.shape is None
        or len(x.shape) < 3
        or node.tag in (Mark.NOT_EMPTY, Mark.PART_OF_SUM)
    ):
        return False
    spatial = x.shape[2:]
    write = ReplacementBuilder(out, node)
    if 0 in spatial:
        instead(write, node)
        return write.finish()
    if is_static(spatial):
        return False
    size = write.ReduceProd(write.Shape(x, start=2), keepdims=1)
    return _ask(out, node, size, instead)


def _zero_regions(write: ReplacementBuilder, node: Node) -> Value:
    x, regions = node.inputs[:2]
    assert x is not None
    assert regions is not None
    parts = (
        write.Shape(regions, start=0, end=1),
        write.Shape(x, start=1, end=2),
        write.ints([node.attrs.get("output_height", 1), node.attrs.get("output_width", 1)]),
    )
    zero = write.Cast(write.constant(0, _INT64), to=x.dtype)
    return write.Expand(zero, write.Concat(*parts, axis=0))


def _itself(write: ReplacementBuilder, node: Node) -> Value:
    x = node.inputs[0]
    assert x is not None
    return write.Identity(x)


def _attention(out: Graph, node: Node) -> bool:
    """The result of an attention of nothing, or to nothing."""
    q, k, v = node.inputs[:3]
    if not any(x is not None and _has_zero(x.shape) for x in (q, k, v)):
        return _attention_of_heads(out, node)
    (result, *others) = node.outputs
    if others or not is_static(result.shape):
        return False
    write = ReplacementBuilder(out, node)
    zero = write.Cast(write.constant(0, _INT64), to=result.dtype)
    assert result.shape is not None
    write.Expand(zero, write.ints([d for d in result.shape if isinstance(d, int)]))
    return write.finish()


def _attention_of_heads(out: Graph, node: Node) -> bool:
    """Write the check of an attention for zero heads, if their number is known at run time only."""
    q, k = node.inputs[:2]
    assert q is not None
    assert k is not None
    if node.tag is Mark.NOT_EMPTY or len(node.outputs) > 1 or q.shape is None or k.shape is None:
        return False
    if len(q.shape) != 4 or len(k.shape) != 4:
        return False
    if isinstance(q.shape[1], int) and isinstance(k.shape[1], int):
        return False
    write = ReplacementBuilder(out, node)
    heads = [write.Shape(x, start=1, end=2) for x in (q, k)]
    return _ask(out, node, write.Mul(*heads), _no_heads)


def _no_heads(write: ReplacementBuilder, node: Node) -> Value:
    q, v = node.inputs[0], node.inputs[2]
    assert q is not None
    assert v is not None
    parts = (write.Shape(q, end=3), write.Shape(v, start=3))
    zero = write.Cast(write.constant(0, _INT64), to=q.dtype)
    return write.Expand(zero, write.Concat(*parts, axis=0))


def _matmul(out: Graph, node: Node) -> bool:
    """A batch of products over an axis without elements: zeros.

    ONNX Runtime's optimizer puts a transposition into the product; that kernel then leaves the
    result as the memory was.
    """
    a, b = node.inputs
    (result,) = node.outputs
    if a is None or b is None:
        return False
    sizes = [d for d in (_last(a, 1), _last(b, 2)) if isinstance(d, int)]
    if 0 not in sizes:
        return not sizes and _keep_apart(out, node)
    if not is_static(result.shape) or max(len(v.shape or ()) for v in (a, b)) < 3:
        return False
    write = ReplacementBuilder(out, node)
    zero = write.Cast(write.constant(0, _INT64), to=result.dtype)
    assert result.shape is not None
    write.Expand(zero, write.ints([d for d in result.shape if isinstance(d, int)]))
    return write.finish()


def _last(value: Value, place: int) -> object:
    """The size of an axis counted from the end; of a vector the only one. None: unknown."""
    if not value.shape:
        return None
    return value.shape[-min(place, len(value.shape))]


def _keep_apart(out: Graph, node: Node) -> bool:
    """Let the optimizer not see that an operand was transposed: the product may be over nothing.

    With a batch, ONNX Runtime's fused kernel then leaves the result as it was, or divides by zero,
    which ends the process.
    """
    operands = [v for v in node.inputs if v is not None]
    apart = [_is_fused(v) for v in operands]
    if not any(apart):
        return False
    write = ReplacementBuilder(out, node)
    write.MatMul(
        *[keep_apart(write, v) if hide else v for v, hide in zip(operands, apart, strict=True)]
    )
    return write.finish()


def keep_apart(write: ReplacementBuilder, value: Value) -> Value:
    """A transposed operand of a product that ONNX Runtime's optimizer leaves transposed."""
    hidden = write.Reshape(value, write.Shape(value), allowzero=1)
    hidden.shape = value.shape
    assert hidden.node is not None
    hidden.node.tag = Mark.KEPT_APART
    return hidden


def _is_fused(value: Value) -> bool:
    """True if a value is transposed in a way that the product can do itself."""
    node = value.node
    while node is not None and node.op in ("Cast", "Identity") and node.inputs[0] is not None:
        node = node.inputs[0].node
    if node is None or node.op != "Transpose":
        return False
    order = node.attrs.get("perm")
    if order is None:
        return value.shape is None or len(value.shape) > 2
    rank = len(order)
    if rank < 3:
        return False
    first, last = tuple(order[:-2]), set(order[-2:])
    swapped = first == tuple(range(rank - 2)) and order[-1] == rank - 2
    return swapped or (first == tuple(range(1, rank - 1)) and last == {0, rank - 1})


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {
    "Attention": _attention,
    "Conv": _conv,
    "InstanceNormalization": _instance_normalization,
    "MatMul": _matmul,
    "RoiAlign": _roi_align,
}
