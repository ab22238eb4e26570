"""Gradient and batching rules of ``GridSample``, ``AffineGrid`` and ``DeformConv``.

Imported models bring these operators. Gradients go to the images, to the positions at which they
are read (not in mode nearest, where it is zero), to filters and to masks. At the edges between two
elements, where linear interpolation has a kink, the derivative is the one to the right.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.core.errors import UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, formula, linear
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.windows import Window, window_of
from tfx.ops.common.arguments import cast_to, scalar_like, static_ints
from tfx.ops.common.batching import BatchedOp, Results, batching, folded, unfolded
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    known_rank,
    product,
    reshape_to,
    shape_vector,
)
from tfx.ops.image.sampling import (
    Taps,
    border_outside,
    combined,
    count_up,
    cubic_taps,
    length_of,
    linear_taps,
    nearest_taps,
    reflected_outside,
    rows_of,
    sampled,
    zeros_outside,
)

_CUBIC = -0.75


def text(attrs: dict[str, Any], name: str, default: str) -> str:
    """A text attribute."""
    value = attrs.get(name, default)
    return value.decode() if isinstance(value, bytes) else str(value)


@formula("GridSample")
def _grid_sample(op: OpRecord) -> Tensor:
    """Each point of the grid is read from its image; the grid's coordinates run from -1 to 1."""
    x, grid = op.inputs
    axes = known_rank(x, "The gradient of GridSample") - 2
    centers = bool(op.attrs.get("align_corners", 0))
    mode = text(op.attrs, "mode", "linear")
    padding = text(op.attrs, "padding_mode", "zeros")
    batch = dimension(x, 0)
    places = product(shape_vector(grid, 1, axes + 1))
    flat = reshape_to(grid, concat_shape(batch, places, int64_constant([axes])))
    flat = cast_to(flat, x.dtype)
    taps, sizes = [], []
    for i in range(axes):
        size = length_of(x, 2 + i)
        # The grid's last axis begins with the image's last one.
        at = ox.Gather(flat, int64_constant(axes - 1 - i), axis=2)
        place, weight = _interpolation(mode, _denormalized(at, size, centers))
        taps.append(_folded(padding, place, weight, size, centers))
        sizes.append(size)
    found = sampled(rows_of(x, axes), combined(taps, sizes, count_up(batch)))
    # [n * points, c] -> [n, c, *out]
    apart = reshape_to(found, concat_shape(batch, places, dimension(x, 1)))
    turned = ox.Transpose(apart, perm=(0, 2, 1))
    return reshape_to(turned, concat_shape(shape_vector(x, 0, 2), shape_vector(grid, 1, axes + 1)))


def _denormalized(at: Tensor, size: Tensor, centers: bool) -> Tensor:
    """Convert [-1, 1] to positions: of the outer elements' centres, or of their outer edges."""
    one, half = scalar_like(1, at), scalar_like(0.5, at)
    length = cast_to(size, at.dtype)
    moved = ox.Add(at, one)
    if centers:
        return ox.Mul(ox.Mul(moved, half), ox.Sub(length, one))
    return ox.Mul(ox.Sub(ox.Mul(moved, length), one), half)


def _interpolation(mode: str, at: Tensor) -> tuple[Tensor, Tensor]:
    if mode == "nearest":
        return nearest_taps(at)
    if mode in ("cubic", "bicubic"):
        return cubic_taps(at, _CUBIC)
    return linear_taps(at)


def _folded(padding: str, place: Tensor, weight: Tensor, size: Tensor, centers: bool) -> Taps:
    if padding == "border":
        return border_outside(place, weight, size)
    if padding == "reflection":
        return reflected_outside(place, weight, size, at_centers=centers)
    return zeros_outside(place, weight, size)


@formula("AffineGrid")
def _affine_grid(op: OpRecord) -> Tensor:
    """The points of a regular grid, mapped by a matrix for each image."""
    theta, size = op.inputs
    axes = theta.shape[-2]
    if axes is None:
        known = static_ints(size)
        axes = (
            known_rank(op.outputs[0], "The gradient of AffineGrid") - 2
            if known is None
            else len(known) - 2
        )
    centers = bool(op.attrs.get("align_corners", 0))
    lengths = [ox.Gather(size, int64_constant(2 + i)) for i in range(axes)]
    whole = ox.Slice(size, int64_constant([2]), int64_constant([2 + axes]))
    columns = []
    for i in reversed(range(axes)):
        line = _grid_line(lengths[i], theta, centers)
        line = reshape_to(line, int64_constant([-1, *([1] * (axes - 1 - i))]))
        columns.append(ox.Expand(line, whole))
    columns.append(ox.Expand(scalar_like(1, theta), whole))
    last = int64_constant([-1])
    points = ox.Concat(*[ox.Unsqueeze(c, last) for c in columns], axis=-1)
    rows = reshape_to(points, int64_constant([-1, axes + 1]))
    moved = ox.MatMul(rows, ox.Transpose(theta, perm=(0, 2, 1)))
    return reshape_to(moved, concat_shape(dimension(theta, 0), whole, int64_constant([axes])))


linear("AffineGrid", inputs=(0,))


def _grid_line(length: Tensor, like: Tensor, centers: bool) -> Tensor:
    """Coordinates from -1 to 1: of centres, or of edges with the centres in between."""
    one = scalar_like(1, like)
    steps, count = cast_to(count_up(length), like.dtype), cast_to(length, like.dtype)
    if centers:
        step = ox.Div(scalar_like(2, like), ox.Sub(count, one))
        return ox.Sub(ox.Mul(steps, step), one)
    middle = ox.Add(ox.Add(steps, steps), one)
    return ox.Sub(ox.Div(middle, count), one)


@formula("DeformConv")
def _deform_conv(op: OpRecord) -> Tensor:
    """A convolution whose taps are read beside the grid, each multiplied by its mask."""
    x, w, offset, *rest = op.inputs
    bias = rest[0] if rest else None
    mask = rest[1] if len(rest) > 1 else None
    axes, attrs = known_rank(x, "The gradient of DeformConv") - 2, op.attrs
    kernel = list(attrs.get("kernel_shape") or w.shape.as_list()[2:])
    if None in kernel:
        raise UnimplementedError(
            f"The gradient of DeformConv needs a filter of static spatial sizes; got {w.shape}.",
            op="DeformConv",
        )
    window = window_of(attrs, kernel)
    groups, parts = attrs.get("group", 1), attrs.get("offset_group", 1)
    counts = shape_vector(offset, 2)
    positions, taps_count = product(counts), int64_constant([math.prod(kernel)])
    n = ox.Mul(dimension(x, 0), int64_constant([parts]))
    # [n * parts, taps, axes, positions]
    moved = reshape_to(offset, concat_shape(n, taps_count, int64_constant([axes]), positions))
    taps, sizes = [], []
    for i in range(axes):
        size = length_of(x, 2 + i)
        at = ox.Gather(moved, int64_constant(i), axis=2)
        at = ox.Add(at, cast_to(_regular(i, window, counts), x.dtype))
        at = reshape_to(at, concat_shape(n, int64_constant([-1])))
        taps.append(zeros_outside(*linear_taps(at), size))
        sizes.append(size)
    split = concat_shape(n, int64_constant([-1]), shape_vector(x, 2))
    found = sampled(rows_of(reshape_to(x, split), axes), combined(taps, sizes, count_up(n)))
    if mask is not None:
        found = ox.Mul(found, reshape_to(mask, int64_constant([-1, 1])))
    # [n * parts, taps, positions, c / parts] -> [n, group, c / group * taps, positions]
    apart = reshape_to(found, concat_shape(n, taps_count, positions, int64_constant([-1])))
    turned = ox.Transpose(apart, perm=(0, 3, 1, 2))
    lead = concat_shape(dimension(x, 0), int64_constant([groups, -1]))
    columns = reshape_to(turned, concat_shape(lead, positions))
    rows = reshape_to(w, concat_shape(int64_constant([groups, -1]), product(shape_vector(w, 1))))
    y = ox.MatMul(rows, columns)
    y = reshape_to(y, concat_shape(dimension(x, 0), dimension(w, 0), counts))
    if bias is None:
        return y
    return ox.Add(y, reshape_to(bias, int64_constant([-1, *([1] * axes)])))


def _regular(i: int, window: Window, counts: Tensor) -> Tensor:
    """Where an undeformed convolution reads along axis ``i``: ``[taps, positions]``."""
    kernel, ones = window.kernel, [1] * len(window.kernel)
    assert not isinstance(window.padding, str)  # the operator has no automatic one
    tap = reshape_to(
        ox.Mul(count_up(int64_constant([kernel[i]])), int64_constant(window.dilations[i])),
        int64_constant([*ones[:i], kernel[i], *ones[i + 1 :]]),
    )
    tap = reshape_to(ox.Expand(tap, int64_constant(kernel)), int64_constant([-1, 1]))
    count = ox.Slice(counts, int64_constant([i]), int64_constant([i + 1]))
    start = ox.Mul(count_up(count), int64_constant(window.strides[i]))
    start = ox.Sub(start, int64_constant(window.padding[i][0]))
    start = reshape_to(start, int64_constant([-1, *ones[i + 1 :]]))
    start = reshape_to(ox.Expand(start, counts), int64_constant([1, -1]))
    return ox.Add(tap, start)


@batching("GridSample")
def _grid_sample_batching(op: BatchedOp) -> Results:
    """Grids of all elements on the same images are one longer grid."""
    if not op.batched[0]:
        y = op.apply((op.input(0), folded(op.input(1), 1)))[0]
        return unfolded(op, y, 2)
    return op.split(op.apply((op.merged(0), op.merged(1)))[0])


@batching("AffineGrid")
def _affine_grid_batching(op: BatchedOp) -> Results:
    """More matrices; the size's first number counts them."""
    op.only(0)
    size = op.input(1)
    first = ox.Slice(size, int64_constant([0]), int64_constant([1]))
    rest = ox.Slice(size, int64_constant([1]), int64_constant([2**62]))
    whole = concat_shape(ox.Mul(first, op.lead()), rest)
    return op.split(op.apply((op.merged(0), whole))[0])


@batching("DeformConv")
def _deform_conv_batching(op: BatchedOp) -> Results:
    """Images, offsets and masks of all elements together; the filter is one."""
    op.only(0, 2, 4)
    given = [
        op.merged(i) if i in (0, 2, 4) and x is not None else x for i, x in enumerate(op.inputs)
    ]
    return op.split(op.apply(given)[0])
