"""Operators that sum inside of their kernels: softmax and averages over many elements.

They are written with reductions, which ``accurate_sums`` writes in stages, or divided by what their
result adds up to.
"""

from __future__ import annotations

from collections.abc import Callable

from tfx.core.dims import is_static
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.kernels.accurate_sums import Correction, branch, part_of_sum, reduced_in_branch
from tfx.graph.kernels.sum_blocks import KINDS, REAL, Blocks, is_long
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark

_FLOAT, _FLOAT16, _BFLOAT16 = 1, 10, 16


def _softmax(out: Graph, node: Node, asks: bool) -> bool:
    """A softmax over what it adds up to; of its logarithm that is the ``log(sum(exp))`` of it."""
    x = node.inputs[0]
    if node.tag is Mark.PART_OF_SUM or x is None or x.dtype not in REAL or not x.shape:
        return False
    axis = node.attrs.get("axis", -1) % len(x.shape)
    size, blocks = x.shape[axis], node.tag if isinstance(node.tag, Blocks) else None
    plain = node.replaced(tag=None)
    if blocks is not None or isinstance(size, int):
        if blocks is None and isinstance(size, int) and size <= KINDS[node.op].limit:
            return False
        write = ReplacementBuilder(out, plain)

        def total(y: Value) -> Value:
            found = write.apply(KINDS[node.op].first, (y, write.ints([axis])), {"keepdims": 1})
            assert found.node is not None
            found.node.tag = blocks
            return found

        _normalized(write, plain, x, total)
        return write.finish()
    if not asks:
        return False
    return branch(out, node, x, (axis,), lambda w, n: _long_softmax(w, n, x, axis))


def _long_softmax(write: ReplacementBuilder, node: Node, x: Value, axis: int) -> Value:
    def total(y: Value) -> Value:
        return reduced_in_branch(write, node, KINDS[node.op].first, y, (axis,))

    return _normalized(write, node, x, total)


def _normalized(
    write: ReplacementBuilder, node: Node, x: Value, total: Callable[[Value], Value]
) -> Value:
    half = x.dtype in (_FLOAT16, _BFLOAT16)
    y = part_of_sum(write, node.op, (write.Cast(x, to=_FLOAT) if half else x,), node.attrs)
    y = write.apply("Div" if node.op == "Softmax" else "Sub", (y, total(y)))
    return write.Cast(y, to=x.dtype) if half else y


def _global_average(out: Graph, node: Node, asks: bool) -> bool:
    """A mean, where there are many positions."""
    x = node.inputs[0]
    if x is None or x.shape is None or len(x.shape) < 3:
        return False
    known = is_static(x.shape[2:])
    if not (is_long(node.op, x.shape, node.attrs) if known else asks) or node.tag is not None:
        return False
    write = ReplacementBuilder(out, node)
    write.ReduceMean(x, write.ints(range(2, len(x.shape))), keepdims=1)
    return write.finish()


def _average(out: Graph, node: Node, asks: bool) -> bool:
    """A window of many elements, along one axis after the other."""
    x = node.inputs[0]
    kernel = node.attrs["kernel_shape"]
    if x is None or x.shape is None or not is_long(node.op, x.shape, node.attrs):
        return False
    attrs = node.attrs
    whole = tuple(x.shape[2:]) == tuple(kernel) and not any(attrs.get("pads", ()))
    write = ReplacementBuilder(out, node)
    if whole and max(attrs.get("dilations", (1,))) == 1:
        write.ReduceMean(x, write.ints(range(2, len(x.shape))), keepdims=1)
        return write.finish()
    axes = [i for i, k in enumerate(kernel) if k > 1]
    if len(axes) < 2:
        return False
    rank, neutral = len(kernel), {"kernel_shape": 1, "strides": 1, "dilations": 1, "pads": 0}
    for i in reversed(range(rank)):
        mine = dict(attrs)
        for name, nothing in neutral.items():
            if name in attrs:
                keep = (i, i + rank) if name == "pads" else (i,)
                mine[name] = tuple(v if j in keep else nothing for j, v in enumerate(attrs[name]))
        x = write.AveragePool(x, **mine)
    return write.finish()


CORRECTIONS: dict[str, Correction] = {
    "AveragePool": _average,
    "GlobalAveragePool": _global_average,
    "LogSoftmax": _softmax,
    "Softmax": _softmax,
}
