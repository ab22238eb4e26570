"""``extract_glimpse``: a window of each image at a place of its own."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import as_int64, cast_to, scalar_like
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import describe, dimension, shape_vector
from tfx.ops.image.sampling import count_up, length_of
from tfx.ops.random import random

_NOISES = ("uniform", "gaussian", "zero")


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """A window of each image, noise where it goes beyond the image.

    Args:
        input: ``[batch, height, width, channels]`` of float32.
        size: Height and width of the windows.
        offsets: float32 ``[batch, 2]``: down and across.
        centered: With ``normalized``: -1 and 1 put the middle of the window on an edge of the
            image, (0, 0) on its centre. Without: the window begins so far from the image's centre.
            False: it begins so far from the upper left corner.
        normalized: Offsets are in parts of the image (halves of it, where they are centred), not in
            pixels.
        noise: ``"uniform"`` between the least and the greatest number of the image's channel,
            ``"gaussian"`` with its mean and deviation, within the same limits, or ``"zero"``.
        name: Accepted for compatibility.

    Returns:
        ``[batch, size[0], size[1], channels]``.

    Raises:
        InvalidArgumentError: shapes that do not fit, or another noise.
        ValueError: no float32.

    Example:
        >>> import tfx as tf
        >>> image = tf.reshape(tf.range(12.0), [1, 3, 4, 1])
        >>> tf.image.extract_glimpse(image, [2, 2], [[1.0, 0.0]], noise="zero").numpy()[0, :, :, 0]
        array([[ 9., 10.],
               [ 0.,  0.]], dtype=float32)
    """
    images = of_rank(convert_to_tensor(input, dtypes.float32), 4)
    where, sides = convert_to_tensor(offsets, dtypes.float32), as_int64(size)
    _check(images, where, sides)
    if noise not in _NOISES:
        raise InvalidArgumentError(
            f"noise of extract_glimpse is {noise!r}, expected one of {', '.join(_NOISES)}"
        )
    parts = [
        _window(where, axis, length_of(images, 1 + axis), sides, centered, normalized)
        for axis in (0, 1)
    ]
    (rows, inside_rows), (columns, inside_columns) = parts
    width = length_of(images, 2)
    first = ox.Mul(count_up(length_of(images, 0)), ox.Mul(length_of(images, 1), width))
    index = ox.Add(ox.Unsqueeze(first, _sides()), ox.Mul(ox.Unsqueeze(rows, _column(2)), width))
    index = ox.Add(index, ox.Unsqueeze(columns, _column(1)))
    flat = ox.Reshape(images, ox.Concat(_column(-1), dimension(images, 3), axis=0))
    inside = ox.And(
        ox.Unsqueeze(inside_rows, int64_constant([2, 3])),
        ox.Unsqueeze(inside_columns, int64_constant([1, 3])),
    )
    read = ox.Gather(flat, index, axis=0)
    return ox.Where(inside, read, _noise(images, shape_vector(read), noise))


def _sides() -> Tensor:
    """The axes of height and width."""
    return int64_constant([1, 2])


def _column(i: int) -> Tensor:
    return int64_constant([i])


def _window(
    offsets: Tensor, axis: int, side: Tensor, sides: Tensor, centered: bool, normalized: bool
) -> tuple[Tensor, Tensor]:
    """Where the windows read along an axis, ``[batch, size]``, and what of that is an image."""
    place = ox.Gather(offsets, int64_constant(axis), axis=1)
    length = ox.Gather(sides, int64_constant(axis), axis=0)
    full, window = (cast_to(x, dtypes.float32) for x in (side, length))
    half = scalar_like(0.5, place)
    if centered and normalized:
        whole = ox.Mul(ox.Add(place, scalar_like(1, place)), full)
        place = ox.Mul(ox.Sub(whole, window), half)
    elif normalized:
        place = ox.Mul(place, full)
    elif centered:
        place = ox.Add(place, ox.Mul(full, half))
    begin = ox.Unsqueeze(cast_to(place, dtypes.int64), _column(1))
    pixel = ox.Add(begin, count_up(length))
    inside = ox.And(ox.GreaterOrEqual(pixel, int64_constant(0)), ox.Less(pixel, side))
    last = ox.Max(ox.Sub(side, int64_constant(1)), int64_constant(0))
    return ox.Clip(pixel, int64_constant(0), last), inside


def _noise(images: Tensor, shape: Tensor, kind: str) -> Tensor:
    if kind == "zero":
        return scalar_like(0, images)
    low = ox.ReduceMin(images, _sides(), keepdims=1)
    high = ox.ReduceMax(images, _sides(), keepdims=1)
    if kind == "uniform":
        return ox.Add(low, ox.Mul(random.uniform(shape), ox.Sub(high, low)))
    mean = ox.ReduceMean(images, _sides(), keepdims=1)
    off = ox.Sub(images, mean)
    deviation = ox.Sqrt(ox.ReduceMean(ox.Mul(off, off), _sides(), keepdims=1))
    drawn = ox.Add(mean, ox.Mul(random.normal(shape), deviation))
    return ox.Max(ox.Min(drawn, high), low)


def _check(images: Tensor, offsets: Tensor, sides: Tensor) -> None:
    for x, what, wanted in (
        (images, "input", [None] * 4),
        (offsets, "offsets", [images.shape[0] if images.shape.rank == 4 else None, 2]),
        (sides, "size", [2]),
    ):
        if not x.shape.is_compatible_with(wanted):
            shown = ", ".join("n" if n is None else str(n) for n in wanted)
            raise InvalidArgumentError(
                f"{what} of extract_glimpse has the shape {describe(x)}, expected [{shown}]"
            )
