"""Batching rules of operators that sample images."""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    raw_shape,
    reshape_to,
    shape_vector,
    symbolic_items,
)
from tfx.vectorize.merged_axes import folded, unfolded
from tfx.vectorize.rules import BatchedOp, CannotBatchError, Results, batching


@batching("Resize")
def _resize(op: BatchedOp) -> Results:
    """The images of all elements are more images, which are not resized."""
    op.only(0)
    rank = op.rank(0)
    axes = [a % rank for a in op.attrs.get("axes") or range(rank)]
    scales = _given(op, 2)
    sizes = _given(op, 3)
    attrs = {**op.attrs, "axes": tuple(axes)}
    inputs: list[Tensor | None] = [_given(op, 1), scales, sizes]
    if 0 in axes:
        if not _keeps_first(op, axes.index(0), scales, sizes):
            raise CannotBatchError("the first axis is resized")
        kept = [i for i, a in enumerate(axes) if a != 0]
        attrs["axes"] = tuple(axes[i] for i in kept)
        both = [*kept, *(i + len(axes) for i in kept)]
        inputs = [_picked(inputs[0], both), _picked(scales, kept), _picked(sizes, kept)]
    while inputs[-1] is None:
        inputs.pop()
    return op.split(op.apply((op.merged(0), *inputs), attrs)[0])


def _given(op: BatchedOp, i: int) -> Tensor | None:
    """An optional input; an empty one counts as left out."""
    if not op.given(i) or op.input(i).shape.num_elements() == 0:
        return None
    return op.input(i)


def _picked(x: Tensor | None, places: list[int]) -> Tensor | None:
    return None if x is None else ox.Gather(x, int64_constant(places))


def _keeps_first(op: BatchedOp, place: int, scales: Tensor | None, sizes: Tensor | None) -> bool:
    """True if the elements' first axis is known to stay as it is."""
    if scales is not None:
        known = scales.view() if isinstance(scales, EagerTensor) else None
        if isinstance(scales, SymbolicTensor):
            known = scales._value.const
        return known is not None and float(known[place]) == 1.0
    assert sizes is not None
    items, shape = symbolic_items(sizes), raw_shape(op.input(0))
    if items is None or shape is None:
        return False
    return items[place] is not None and items[place] == shape[1]


@batching("GridSample")
def _grid_sample(op: BatchedOp) -> Results:
    """Grids of all elements on the same images are one longer grid."""
    if not op.batched[0]:
        y = op.apply((op.input(0), folded(op.input(1), 1)))[0]
        return unfolded(op, y, 2)
    return op.split(op.apply((op.merged(0), op.merged(1)))[0])


@batching("AffineGrid")
def _affine_grid(op: BatchedOp) -> Results:
    """More matrices; the size's first number counts them."""
    op.only(0)
    size = op.input(1)
    first = ox.Slice(size, int64_constant([0]), int64_constant([1]))
    rest = ox.Slice(size, int64_constant([1]), int64_constant([2**62]))
    whole = concat_shape(ox.Mul(first, op.lead()), rest)
    return op.split(op.apply((op.merged(0), whole))[0])


@batching("RoiAlign")
def _roi_align(op: BatchedOp) -> Results:
    """The regions of all elements, each of which has its own images or all the same."""
    if not op.batched[0]:
        y = op.apply((op.input(0), op.merged(1), op.merged(2)))[0]
        return op.split(y)
    images = _first_images(op)
    batch = ox.Add(op.full(2), cast_to(images, op.input(2).dtype))
    return op.split(
        op.apply((op.merged(0), op.merged(1), reshape_to(batch, int64_constant([-1]))))[0]
    )


def _first_images(op: BatchedOp) -> Tensor:
    """The number of each element's first image: ``[size, 1]``."""
    count = ox.Reshape(op.size, int64_constant([]))
    numbers = ox.Range(int64_constant(0), count, int64_constant(1))
    starts = ox.Mul(numbers, dimension(op.input(0), 1))
    return ox.Unsqueeze(starts, int64_constant([1]))


@batching("MaxRoiPool")
def _max_roi_pool(op: BatchedOp) -> Results:
    """The same; the images' numbers are the regions' first column."""
    if not op.batched[0]:
        return op.split(op.apply((op.input(0), op.merged(1)))[0])
    rois = op.full(1)
    first = cast_to(ox.Unsqueeze(_first_images(op), int64_constant([2])), rois.dtype)
    width = int64_constant([0, 0, 0, 0, 0, 4])
    moved = ox.Add(rois, ox.Pad(first, width))
    flat = reshape_to(moved, concat_shape(int64_constant([-1]), shape_vector(moved, 2)))
    return op.split(op.apply((op.merged(0), flat))[0])
