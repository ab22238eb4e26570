"""Batching rules of pools and what goes with them: the images of all elements are more images."""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.shapes import concat_shape, product, shape_vector
from tfx.vectorize.merged_axes import known_rank
from tfx.vectorize.rules import BatchedOp, CannotBatchError, Results, batching


@batching("AveragePool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LRN", "LpPool")
def _pool(op: BatchedOp) -> Results:
    """One image after the other."""
    return op.split(op.apply((op.merged(0),))[0])


@batching("MaxPool")
def _max_pool(op: BatchedOp) -> Results:
    """Places count the elements of the image's tensor, so those of the images before come off."""
    found = op.apply((op.merged(0),))
    results = [op.split(y) for y in found]
    if len(results) > 1:
        area = product(shape_vector(op.input(0), 1))
        results[1] = ox.Sub(results[1], _starts(op, results[1], area))
    return results


def _starts(op: BatchedOp, like: Tensor, length: Tensor) -> Tensor:
    """Where each element begins, if each has ``length`` numbers: ``[size, 1, 1, ...]``."""
    count = ox.Reshape(op.size, int64_constant([]))
    numbers = ox.Range(int64_constant(0), count, int64_constant(1))
    starts = ox.Mul(numbers, length)
    return ox.Reshape(starts, int64_constant([-1, *([1] * (known_rank(like) - 1))]))


@batching("MaxUnpool")
def _max_unpool(op: BatchedOp) -> Results:
    """Places are moved behind the images of the elements before."""
    op.only(0, 1)
    x, places = op.full(0), op.full(1)
    if op.given(2):
        shape = cast_to(op.input(2), places.dtype)
        first = ox.Slice(shape, int64_constant([0]), int64_constant([1]))
        rest = ox.Slice(shape, int64_constant([1]), int64_constant([2**62]))
        target = ox.Concat(ox.Mul(first, op.lead()), rest, axis=0)
        length = product(shape)
    else:
        target = None
        length = product(concat_shape(shape_vector(x, 1, 3), _unpooled(op, x)))
    moved = ox.Add(places, _starts(op, places, length))
    lead = int64_constant([-1])
    given = [ox.Reshape(v, concat_shape(lead, shape_vector(v, 2))) for v in (x, moved)]
    return op.split(op.apply((*given, target) if target is not None else given)[0])


def _unpooled(op: BatchedOp, x: Tensor) -> Tensor:
    """The spatial sizes of the result."""
    kernel = op.attrs["kernel_shape"]
    axes = len(kernel)
    strides = op.attrs.get("strides") or (1,) * axes
    pads = op.attrs.get("pads") or (0,) * (2 * axes)
    steps = ox.Sub(shape_vector(x, 3), int64_constant([1]))
    ends = [k - pads[i] - pads[axes + i] for i, k in enumerate(kernel)]
    return ox.Add(ox.Mul(steps, int64_constant(strides)), int64_constant(ends))


@batching("Col2Im")
def _col2im(op: BatchedOp) -> Results:
    """The columns of all elements' images."""
    op.only(0)
    return op.split(op.apply((op.merged(0), *op.inputs[1:]))[0])


@batching("CenterCropPad")
def _center_crop_pad(op: BatchedOp) -> Results:
    """The same axes, one further back."""
    op.only(0)
    axes = op.attrs.get("axes") or range(op.rank(0))
    moved = tuple(a + 1 if a >= 0 else a for a in axes)
    if not moved:
        raise CannotBatchError("there are no axes")
    return op.apply(op.inputs, {**op.attrs, "axes": moved})
