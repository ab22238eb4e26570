"""Gradient and batching rules of ``RoiAlign`` and ``MaxRoiPool``.

``RoiAlign`` reads each cell of a region at a few points, linearly; gradients go to the images and
to the corners of the regions. ``MaxRoiPool`` takes the largest element of each cell; the gradient
goes to the first of several.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, formula, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.batching import BatchedOp, Results, batching
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    filled,
    product,
    reshape_to,
    shape_vector,
)
from tfx.ops.image.sampling import Taps, count_up, length_of, linear_taps, rows_of
from tfx.ops.image.sampling_rules import text


@formula("RoiAlign")
def _roi_align(op: OpRecord) -> Tensor:
    """The mean (or maximum) of points that are read from each cell of each region."""
    x, rois, batch = op.inputs
    rows, columns = (
        _cell_taps(op, rois, length_of(x, 2 + i), 1 - i, name)
        for i, name in enumerate(("output_height", "output_width"))
    )
    # [r, cells, points, taps] of rows and of columns -> [r, h, w, points of both, taps of both]
    index = ox.Add(ox.Mul(rows.index, length_of(x, 3)), columns.index)
    first = ox.Mul(batch, ox.Mul(length_of(x, 2), length_of(x, 3)))
    index = ox.Add(index, reshape_to(first, int64_constant([-1, *([1] * 6)])))
    weight = ox.Mul(rows.weight, columns.weight)
    seen = ox.Gather(rows_of(x, 2), index, axis=0)
    terms = ox.Mul(seen, ox.Unsqueeze(weight, int64_constant([-1])))
    if text(op.attrs, "mode", "avg") == "max":
        y = _largest(terms, rows, columns)
    else:
        total = ox.ReduceSum(terms, int64_constant([3, 4, 5, 6]), keepdims=0)
        points = ox.Mul(_counted(rows, (2, 3, 4, 5, 6)), _counted(columns, (1, 3, 4, 5, 6)))
        one = scalar_like(1, x)
        y = ox.Div(total, ox.Max(points, one))
    return ox.Transpose(y, perm=(0, 3, 1, 2))


@dataclass(frozen=True, slots=True)
class _CellTaps:
    """Taps of one axis and which points count, all ``[r, h, w, ph, pw, th, tw]`` or 1."""

    index: Tensor
    weight: Tensor
    real: Tensor


def _cell_taps(op: OpRecord, rois: Tensor, size: Tensor, column: int, name: str) -> _CellTaps:
    """The taps along one axis; ``column`` is where the regions have their first corner."""
    attrs = op.attrs
    cells, ratio = int(attrs.get(name, 1)), int(attrs.get("sampling_ratio", 0))
    half = text(attrs, "coordinate_transformation_mode", "half_pixel") == "half_pixel"
    scale = scalar_like(float(attrs.get("spatial_scale", 1.0)), rois)
    offset = scalar_like(0.5 if half else 0.0, rois)
    start, end = (ox.Sub(ox.Mul(_column(rois, column + k), scale), offset) for k in (0, 2))
    extent = ox.Sub(end, start)
    if not half:
        extent = ox.Max(extent, scalar_like(1, rois))
    cell = ox.Div(extent, scalar_like(cells, rois))  # [r, 1, 1]
    if ratio:
        points = int64_constant([ratio])
        each = scalar_like(ratio, rois)
        counts = ox.Expand(scalar_like(1, rois), points)
    else:
        each = ox.Ceil(cell)
        most = ox.ReduceMax(ox.Max(each, scalar_like(0, rois)), keepdims=0)
        points = reshape_to(cast_to(most, dtypes.int64), int64_constant([1]))
        counts = cast_to(ox.Less(cast_to(count_up(points), rois.dtype), each), rois.dtype)
    number = reshape_to(cast_to(count_up(int64_constant([cells])), rois.dtype), _shape(1, -1, 1))
    middle = ox.Add(cast_to(count_up(points), rois.dtype), scalar_like(0.5, rois))
    middle = ox.Mul(reshape_to(middle, _shape(1, 1, -1)), ox.Div(cell, each))
    at = ox.Add(ox.Add(start, ox.Mul(number, cell)), middle)
    taps, inside = _edge_taps(at, size)
    weight = ox.Mul(taps.weight, ox.Unsqueeze(inside, int64_constant([-1])))
    counts = ox.Unsqueeze(ox.Expand(counts, shape_vector(at)), int64_constant([-1]))
    weight = ox.Mul(weight, counts)
    # [r, cells, points, taps] -> apart from the other axis'
    others = int64_constant([2, 4, 6] if column else [1, 3, 5])
    return _CellTaps(*(ox.Unsqueeze(t, others) for t in (taps.index, weight, counts)))


def _shape(*dims: int) -> Tensor:
    return int64_constant(dims)


def _column(rois: Tensor, i: int) -> Tensor:
    """One corner coordinate of each region: ``[r, 1, 1]``."""
    return reshape_to(ox.Gather(rois, int64_constant(i), axis=1), _shape(-1, 1, 1))


def _edge_taps(at: Tensor, size: Tensor) -> tuple[Taps, Tensor]:
    """Taps of points up to one element outside, which count as on the edge; and which those are."""
    zero, length = scalar_like(0, at), cast_to(size, at.dtype)
    last = ox.Sub(length, scalar_like(1, at))
    inside = ox.And(ox.GreaterOrEqual(at, scalar_like(-1, at)), ox.LessOrEqual(at, length))
    place, weight = linear_taps(ox.Min(ox.Max(at, zero), last))
    index = cast_to(ox.Min(place, last), dtypes.int64)
    return Taps(index, weight), cast_to(inside, at.dtype)


def _counted(taps: _CellTaps, axes: tuple[int, ...]) -> Tensor:
    """Return the number of points of each cell along given axes: ``[r, h or 1, w or 1, 1]``."""
    total = ox.ReduceSum(taps.real, int64_constant(axes), keepdims=1)
    return ox.Squeeze(total, int64_constant([3, 4, 5]))


def _largest(terms: Tensor, rows: _CellTaps, columns: _CellTaps) -> Tensor:
    """ONNX Runtime takes the maximum over every tap times its weight, not over points."""
    counts = ox.Unsqueeze(ox.Mul(rows.real, columns.real), int64_constant([-1]))
    least = scalar_like(float(terms.dtype.min), terms)
    kept = ox.Where(ox.Greater(counts, scalar_like(0, terms)), terms, least)
    return ox.ReduceMax(kept, int64_constant([3, 4, 5, 6]), keepdims=0)


@gradient("MaxRoiPool")
def _max_roi_pool_grad(op: OpRecord, dy: Tensor) -> tuple[Tensor | None, None]:
    """Add every element of ``dy`` to its cell's largest element; empty cells have none."""
    x, rois = op.inputs
    if not op.needs[0]:
        return None, None
    scale = scalar_like(float(op.attrs.get("spatial_scale", 1.0)), rois)
    heights, widths = op.attrs["pooled_shape"]
    rows, row_counts = _cell_elements(rois, 2, scale, heights, length_of(x, 2))
    columns, column_counts = _cell_elements(rois, 1, scale, widths, length_of(x, 3))
    batch = cast_to(_column(rois, 0), dtypes.int64)
    plane = ox.Mul(length_of(x, 2), length_of(x, 3))
    # [r, h, kh] and [r, w, kw] -> [r, h, w, kh, kw]
    index = ox.Add(
        ox.Mul(ox.Unsqueeze(rows, int64_constant([2, 4])), length_of(x, 3)),
        ox.Unsqueeze(columns, int64_constant([1, 3])),
    )
    first = ox.Mul(ox.Unsqueeze(batch, int64_constant([3, 4])), plane)
    index = ox.Add(index, first)
    kept = ox.And(
        ox.Unsqueeze(row_counts, int64_constant([2, 4])),
        ox.Unsqueeze(column_counts, int64_constant([1, 3])),
    )
    flat = concat_shape(shape_vector(index, 0, 3), product(shape_vector(index, 3)))
    index, kept = reshape_to(index, flat), reshape_to(kept, flat)
    table = rows_of(x, 2)
    seen = ox.Gather(table, index, axis=0)  # [r, h, w, k, c]
    least = scalar_like(float(x.dtype.min), x)
    seen = ox.Where(ox.Unsqueeze(kept, int64_constant([-1])), seen, least)
    best = ox.ArgMax(seen, axis=3, keepdims=0)
    place = ox.GatherElements(index, best, axis=3)  # [r, h, w, c]
    filled_cell = cast_to(
        cast_to(
            ox.ReduceMax(cast_to(kept, dtypes.int32), int64_constant([3]), keepdims=1),
            dtypes.bool,
        ),
        dy.dtype,
    )
    share = ox.Mul(ox.Transpose(dy, perm=(0, 2, 3, 1)), filled_cell)
    # By channel, the places of different ones never meet.
    line = ox.Add(ox.Mul(place, length_of(x, 1)), count_up(dimension(x, 1)))
    zeros = filled(product(shape_vector(table)), 0, x.dtype)
    flat = int64_constant([-1])
    total = ox.ScatterElements(
        zeros, reshape_to(line, flat), reshape_to(share, flat), axis=0, reduction="add"
    )
    last = reshape_to(total, concat_shape(dimension(x, 0), shape_vector(x, 2), dimension(x, 1)))
    return ox.Transpose(last, perm=(0, 3, 1, 2)), None


def _cell_elements(
    rois: Tensor, column: int, scale: Tensor, cells: int, size: Tensor
) -> tuple[Tensor, Tensor]:
    """The elements of each cell along one axis, and which of them count: ``[r, cells, most]``."""
    one, zero = scalar_like(1, rois), scalar_like(0, rois)
    start, end = (_half_up(ox.Mul(_column(rois, column + k), scale)) for k in (0, 2))
    extent = ox.Max(ox.Add(ox.Sub(end, start), one), one)
    cell = ox.Div(extent, scalar_like(cells, rois))
    number = reshape_to(cast_to(count_up(int64_constant([cells])), rois.dtype), _shape(1, -1, 1))
    length = cast_to(size, rois.dtype)
    low = ox.Add(ox.Floor(ox.Mul(number, cell)), start)
    high = ox.Ceil(ox.Mul(ox.Add(number, one), cell))
    high = ox.Add(high, start)
    low, high = (ox.Min(ox.Max(v, zero), length) for v in (low, high))
    span = ox.Max(ox.Sub(high, low), zero)
    most = cast_to(ox.ReduceMax(span, keepdims=0), dtypes.int64)
    # At least one, which may not count: the maximum over nothing has no place.
    steps = count_up(ox.Max(most, int64_constant(1)))
    at = ox.Add(low, cast_to(steps, rois.dtype))
    counts = ox.Less(at, high)
    inside = ox.Min(at, ox.Sub(length, one))
    return cast_to(inside, dtypes.int64), counts


def _half_up(x: Tensor) -> Tensor:
    """Rounded, halves away from 0."""
    size = ox.Floor(ox.Add(ox.Abs(x), scalar_like(0.5, x)))
    return ox.Mul(ox.Sign(x), size)


@batching("RoiAlign")
def _roi_align_batching(op: BatchedOp) -> Results:
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
def _max_roi_pool_batching(op: BatchedOp) -> Results:
    """The same; the images' numbers are the regions' first column."""
    if not op.batched[0]:
        return op.split(op.apply((op.input(0), op.merged(1)))[0])
    rois = op.full(1)
    first = cast_to(ox.Unsqueeze(_first_images(op), int64_constant([2])), rois.dtype)
    width = int64_constant([0, 0, 0, 0, 0, 4])
    moved = ox.Add(rois, ox.Pad(first, width))
    flat = reshape_to(moved, concat_shape(int64_constant([-1]), shape_vector(moved, 2)))
    return op.split(op.apply((op.merged(0), flat))[0])
