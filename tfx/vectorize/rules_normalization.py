"""Batching rules of normalizations.

Scales and biases that differ between the elements are taken out of the operator. Statistics over
the batch (``BatchNormalization`` while it trains) belong to an element: the elements become
channels there.
"""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.shapes import filled, shape_vector
from tfx.vectorize.merged_axes import folded, per_channel, unfolded
from tfx.vectorize.rules import BatchedOp, Results, aligned, batching


@batching("BatchNormalization")
def _batch_normalization(op: BatchedOp) -> Results:
    """With parameters of their own the elements are channels, otherwise images."""
    if not op.attrs.get("training_mode") and not any(op.batched[1:]):
        return op.split(op.apply((op.merged(0), *op.inputs[1:]))[0])
    lead = int64_constant([-1])
    vectors = [ox.Reshape(op.full(i), lead) for i in range(1, 5)]
    y, *statistics = op.apply((folded(op.full(0), 1), *vectors))
    return [unfolded(op, y, 1), *(unfolded(op, s, 0) for s in statistics)]


@batching("GroupNormalization", "InstanceNormalization")
def _channel_normalization(op: BatchedOp) -> Results:
    """Every image has its own statistics."""
    scale, bias = op.input(1), op.input(2)
    if not any(op.batched[1:]):
        return op.split(op.apply((op.merged(0), scale, bias))[0])
    rank = op.rank(0)
    y = op.full(0)
    if op.batched[0]:
        y = op.split(op.apply((op.merged(0), *_neutral(op)))[0])
    else:
        y = op.apply((op.input(0), *_neutral(op)))[0]
    scaled = ox.Mul(y, _vector(op, 1, rank))
    return ox.Add(scaled, _vector(op, 2, rank))


def _neutral(op: BatchedOp) -> tuple[Tensor, Tensor]:
    """A scale of ones and a bias of zeros."""
    shapes = [shape_vector(op.input(i), 1 if op.batched[i] else 0) for i in (1, 2)]
    return filled(shapes[0], 1, op.input(1).dtype), filled(shapes[1], 0, op.input(2).dtype)


def _vector(op: BatchedOp, i: int, rank: int) -> Tensor:
    if op.batched[i]:
        return per_channel(op.input(i), rank)
    return ox.Reshape(op.input(i), int64_constant([-1, *([1] * (rank - 2))]))


@batching("LayerNormalization", "RMSNormalization")
def _layer_normalization(op: BatchedOp) -> Results:
    """The same axes, counted from the end."""
    rank = op.rank(0)
    axis = int(op.attrs.get("axis", -1))
    attrs = {**op.attrs, "axis": axis - rank if axis >= 0 else axis}
    if not any(op.batched[1:]):
        return op.apply(op.inputs, attrs)
    scale = op.input(1)
    ones = filled(shape_vector(scale, 1 if op.batched[1] else 0), 1, scale.dtype)
    y, *statistics = op.apply((op.full(0), ones), attrs)
    y = ox.Mul(y, aligned(scale, rank) if op.batched[1] else scale)
    if op.given(2):
        bias = op.input(2)
        y = ox.Add(y, aligned(bias, rank) if op.batched[2] else bias)
    return [y, *statistics]


@batching("MeanVarianceNormalization")
def _mean_variance_normalization(op: BatchedOp) -> Results:
    """The same axes, one further back."""
    axes = op.attrs.get("axes") or (0, 2, 3)
    return op.apply(op.inputs, {"axes": tuple(a + 1 if a >= 0 else a for a in axes)})
