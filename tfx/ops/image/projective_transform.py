"""Images seen through projective transforms: where each pixel is read, and what is read there."""

from __future__ import annotations

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    few_ints,
    product,
    raw_shape,
    reshape_to,
    shape_vector,
)
from tfx.ops.common.traced_once import Composite
from tfx.ops.image.sampling import count_up, length_of
from tfx.ops.math.cast import cast

INTERPOLATIONS = ("NEAREST", "BILINEAR")
FILL_MODES = ("CONSTANT", "REFLECT", "WRAP", "NEAREST")


def projected(
    images: Tensor, transforms: Tensor, size: Tensor, fill: Tensor, interpolation: str, mode: str
) -> Tensor:
    """Images of another size whose pixels are read where a transform says.

    Args:
        images: ``[n, height, width, channels]``.
        transforms: float32 ``[n, 8]`` or ``[1, 8]``: ``a0 ... c1`` of
            ``x' = (a0 x + a1 y + a2) / k``, ``y' = (b0 x + b1 y + b2) / k``,
            ``k = c0 x + c1 y + 1``.
        size: The new height and width, int64 ``[2]``.
        fill: What is read outside of an image, a float32 scalar.
        interpolation: One of ``INTERPOLATIONS``.
        mode: One of ``FILL_MODES``: how a coordinate outside is brought into the image.
    """
    (n, _, _, c), new = raw_shape(images) or (None,) * 4, few_ints(size) or (None, None)
    (found,) = _projected(
        images,
        transforms,
        size,
        fill,
        shapes=[(n, *new, c)],
        interpolation=interpolation,
        mode=mode,
    )
    return found


def _projected_body(
    images: Tensor, transforms: Tensor, size: Tensor, fill: Tensor, *, interpolation: str, mode: str
) -> tuple[Tensor]:
    rows = _rows(images, fill)
    place = _places(transforms, size)
    x, y = (_folded(place[i], length_of(images, 2 - i), mode) for i in (0, 1))
    point = _Points(images, rows, place[2])
    read = point.nearest(x, y) if interpolation == "NEAREST" else point.between(x, y)
    shape = concat_shape(dimension(images, 0), size, dimension(images, 3))
    return (reshape_to(cast(read, images.dtype), shape),)


_projected = Composite(_projected_body, "image_projective_transform")


def _rows(images: Tensor, fill: Tensor) -> Tensor:
    """The pixels of all images ``[pixels, channels]``, and one more: what is read outside."""
    channels = dimension(images, 3)
    pixels = reshape_to(images, concat_shape(product(shape_vector(images, 0, 3)), channels))
    last = ox.Expand(cast(fill, images.dtype), concat_shape(int64_constant([1]), channels))
    return ox.Concat(pixels, last, axis=0)


def _places(transforms: Tensor, size: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where each new pixel is read, ``[n or 1, pixels]``: columns, rows, and whether at all."""
    height, width = (ox.Gather(size, int64_constant(i), axis=0) for i in (0, 1))
    number = count_up(ox.Mul(height, width))
    row = ox.Div(number, width)
    x, y = (cast_to(i, dtypes.float32) for i in (ox.Sub(number, ox.Mul(row, width)), row))
    t = [ox.Slice(transforms, *_column(i)) for i in range(8)]

    def along(i: int) -> Tensor:
        return ox.Add(ox.Mul(t[i], x), ox.Mul(t[i + 1], y))

    depth = ox.Add(along(6), scalar_like(1, x))
    seen = ox.Not(ox.Equal(depth, scalar_like(0, x)))
    columns, rows = (ox.Div(ox.Add(along(i), t[i + 2]), depth) for i in (0, 3))
    return columns, rows, seen


def _column(i: int) -> tuple[Tensor, Tensor, Tensor]:
    return int64_constant([i]), int64_constant([i + 1]), int64_constant([1])


def _folded(x: Tensor, length: Tensor, mode: str) -> Tensor:
    """A coordinate brought into an axis as the mode of filling says."""
    if mode == "CONSTANT":
        return x
    zero, one = scalar_like(0, x), scalar_like(1, x)
    size = cast_to(length, dtypes.float32)
    last = ox.Max(ox.Sub(size, one), zero)
    if mode == "REFLECT":
        x = ox.Where(ox.IsInf(x), zero, _reflected(x, size))
    elif mode == "WRAP":
        end = ox.Where(ox.Greater(x, zero), last, zero)
        x = ox.Where(ox.IsInf(x), end, _wrapped(x, size, ox.Max(last, one)))
    low = ox.Where(ox.Less(x, zero), zero, x)  # NaN stays
    return ox.Where(ox.Greater(low, last), last, low)


def _reflected(x: Tensor, size: Tensor) -> Tensor:
    """Mirrored behind the outer pixels, which come twice."""
    zero, one = scalar_like(0, x), scalar_like(1, x)
    period = ox.Max(ox.Add(size, size), one)
    turned = ox.Sub(x, ox.Mul(period, _whole(ox.Div(x, period))))  # with the sign of x
    below = ox.Where(
        ox.Less(turned, ox.Neg(size)), ox.Add(turned, period), ox.Sub(ox.Neg(turned), one)
    )
    above = ox.Where(ox.GreaterOrEqual(turned, size), ox.Sub(ox.Sub(period, turned), one), turned)
    return ox.Where(ox.Less(x, zero), below, above)


def _wrapped(x: Tensor, size: Tensor, last: Tensor) -> Tensor:
    """Moved by whole lengths, as many as the distance between the outer pixels goes into it."""
    zero, one = scalar_like(0, x), scalar_like(1, x)
    below = ox.Add(x, ox.Mul(size, ox.Add(_whole(ox.Div(ox.Neg(x), last)), one)))
    above = ox.Sub(x, ox.Mul(size, _whole(ox.Div(x, last))))
    return ox.Where(ox.Less(x, zero), below, ox.Where(ox.Greater(x, last), above, x))


def _whole(x: Tensor) -> Tensor:
    """Without the fraction."""
    return ox.Mul(ox.Sign(x), ox.Floor(ox.Abs(x)))


class _Points:
    """Reads the pixels of images at whole coordinates, and between them.

    Args:
        images: The images, of which sizes are taken.
        rows: Their pixels, then the filling.
        seen: Which points are read at all.
    """

    def __init__(self, images: Tensor, rows: Tensor, seen: Tensor) -> None:
        self._rows, self._seen = rows, seen
        self._height, self._width = length_of(images, 1), length_of(images, 2)
        self._filling = ox.Sub(length_of(rows, 0), int64_constant(1))
        number = count_up(length_of(images, 0))
        self._image = ox.Unsqueeze(number, int64_constant([1]))

    def nearest(self, x: Tensor, y: Tensor) -> Tensor:
        """The pixel at coordinates that are rounded, halves away from 0."""
        return self._read(*(_rounded(i) for i in (x, y)))

    def between(self, x: Tensor, y: Tensor) -> Tensor:
        """Linear between the four pixels around, computed in float32."""
        (left, to_left, to_right), (top, to_top, to_bottom) = map(_around, (x, y))
        right, bottom = (ox.Add(i, scalar_like(1, i)) for i in (left, top))

        def line(row: Tensor) -> Tensor:
            a, b = (cast_to(self._read(i, row), dtypes.float32) for i in (left, right))
            return ox.Add(ox.Mul(to_right, a), ox.Mul(to_left, b))

        read = ox.Add(ox.Mul(to_bottom, line(top)), ox.Mul(to_top, line(bottom)))
        seen = ox.Unsqueeze(self._seen, int64_constant([2]))
        filling = cast_to(ox.Gather(self._rows, self._filling, axis=0), dtypes.float32)
        return ox.Where(seen, read, filling)

    def _read(self, x: Tensor, y: Tensor) -> Tensor:
        """``[n, points, channels]`` at whole coordinates ``[n or 1, points]``."""
        inside = ox.And(self._seen, ox.And(_within(x, self._width), _within(y, self._height)))
        column, row = (
            cast_to(ox.Where(inside, i, scalar_like(0, i)), dtypes.int64) for i in (x, y)
        )
        first = ox.Mul(self._image, ox.Mul(self._height, self._width))
        index = ox.Add(ox.Add(first, ox.Mul(row, self._width)), column)
        return ox.Gather(self._rows, ox.Where(inside, index, self._filling), axis=0)


def _around(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The coordinate below, and the distances from it and from the one above, ``[..., 1]``."""
    low = ox.Floor(x)
    above = ox.Sub(ox.Add(low, scalar_like(1, x)), x)
    last = int64_constant([2])
    return low, ox.Unsqueeze(ox.Sub(x, low), last), ox.Unsqueeze(above, last)


def _rounded(x: Tensor) -> Tensor:
    size = ox.Abs(x)
    low = ox.Floor(size)
    up = ox.GreaterOrEqual(ox.Sub(size, low), scalar_like(0.5, x))
    return ox.Mul(ox.Sign(x), ox.Where(up, ox.Add(low, scalar_like(1, x)), low))


def _within(place: Tensor, length: Tensor) -> Tensor:
    """False for NaN, too."""
    end = cast_to(length, dtypes.float32)
    return ox.And(ox.GreaterOrEqual(place, scalar_like(0, place)), ox.Less(place, end))
