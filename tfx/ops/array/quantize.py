"""Operators of quantized models: where a gradient ends, and the one that has one.

``DequantizeLinear`` is linear in the scale, so scales can be trained; quantized numbers are
integers and have no gradient.
"""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient, no_gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.batching import BatchedOp, Results, batching
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    filled,
    known_rank,
    reshape_to,
    shape_vector,
)

no_gradient(
    "QuantizeLinear",
    "DynamicQuantizeLinear",
    why="it rounds to integers: the derivative is 0 almost everywhere. Use a custom_gradient that "
    "passes the gradient on for training with quantization",
)
no_gradient("QLinearConv", "QLinearMatMul", why="quantized integers in, quantized integers out")
no_gradient("ConvInteger", "MatMulInteger", why="integers")


@gradient("DequantizeLinear")
def _dequantize_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """The integers, without the scale, times ``dy``; summed over what has one scale."""
    x, scale = op.inputs[:2]
    if not op.needs[1]:
        return [None] * len(op.inputs)
    ones = filled(shape_vector(scale), 1, scale.dtype)
    terms = ox.Mul(dy, ox.DequantizeLinear(x, ones, *op.inputs[2:], **op.attrs))
    rank = known_rank(dy, "The gradient of DequantizeLinear")
    axis, block = op.attrs.get("axis", 1), op.attrs.get("block_size", 0)
    if block:
        total = _block_sums(terms, scale, axis % rank, block)
    elif scale.shape.rank == 0:
        total = ox.ReduceSum(terms, keepdims=0)
    elif scale.shape.rank == 1 and scale.shape[0] == 1:
        total = reshape_to(ox.ReduceSum(terms, keepdims=0), int64_constant([1]))
    else:
        others = int64_constant([a for a in range(rank) if a != axis % rank])
        total = ox.ReduceSum(terms, others, keepdims=0, noop_with_empty_axes=1)
    return [None, total, *(None for _ in op.inputs[2:])]


def _block_sums(terms: Tensor, scale: Tensor, axis: int, block: int) -> Tensor:
    """The sums over blocks of an axis; the last block may be shorter."""
    count = dimension(scale, axis)
    missing = ox.Sub(ox.Mul(count, int64_constant([block])), dimension(terms, axis))
    pads = ox.Concat(int64_constant([0]), missing, axis=0)
    whole = ox.Pad(terms, pads, None, int64_constant([axis]))
    apart = reshape_to(
        whole,
        concat_shape(
            shape_vector(terms, 0, axis),
            count,
            int64_constant([block]),
            shape_vector(terms, axis + 1),
        ),
    )
    return ox.ReduceSum(apart, int64_constant([axis + 1]), keepdims=0)


@batching("QuantizeLinear", "DequantizeLinear")
def _quantize_batching(op: BatchedOp) -> Results:
    """Scales of one axis stay with it, those of blocks have all axes."""
    axis = op.attrs.get("axis", 1)
    if op.attrs.get("block_size"):
        full = [op.full(i) if op.given(i) else None for i in range(len(op.inputs))]
        return op.apply(full, {**op.attrs, "axis": axis + 1 if axis >= 0 else axis})
    op.only(0)
    attrs = dict(op.attrs)
    if op.rank(1):
        attrs["axis"] = axis + 1 if axis >= 0 else axis
    return op.apply(op.inputs, attrs)
