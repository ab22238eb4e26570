"""Reading a tensor between its elements: what the operators that sample images share.

A sample along one axis is a weighted sum of a few elements, its *taps*: an index and a weight for
each. Along several axes the taps are combined. Everything is written with ordinary operations, so
the gradients by the tensor (each sample's gradient added to its taps) and by the positions (through
the weights) need no rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like, scaled
from tfx.ops.common.shapes import concat_shape, dimension, product, reshape_to, shape_vector


@dataclass(frozen=True, slots=True)
class Taps:
    """The elements that samples along one axis are made of.

    Attributes:
        index: Where they are, int64 ``[..., taps]``, inside of the axis.
        weight: What they count, ``[..., taps]``.
    """

    index: Tensor
    weight: Tensor


Folding = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def linear_taps(x: Tensor) -> tuple[Tensor, Tensor]:
    """Positions (not yet folded into the axis, floating) and weights of linear interpolation."""
    low = ox.Floor(x)
    part = ox.Sub(x, low)
    one = scalar_like(1, x)
    return _stacked((low, ox.Add(low, one))), _stacked((ox.Sub(one, part), part))


def nearest_taps(x: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest element, the even one of two."""
    place = ox.Unsqueeze(ox.Round(x), int64_constant([-1]))
    return place, ox.Expand(scalar_like(1, x), shape_vector(place))


def cubic_taps(x: Tensor, a: float) -> tuple[Tensor, Tensor]:
    """Four elements with the weights of cubic convolution."""
    low = ox.Floor(x)
    part = ox.Sub(x, low)
    one = scalar_like(1, x)
    other = ox.Sub(one, part)
    places = [ox.Add(low, scalar_like(i, x)) for i in (-1, 0, 1, 2)]
    outer = [_cubic_far(ox.Add(t, one), a) for t in (part, other)]
    inner = [_cubic_near(t, a) for t in (part, other)]
    return _stacked(places), _stacked((outer[0], inner[0], inner[1], outer[1]))


def _cubic_near(t: Tensor, a: float) -> Tensor:
    """``((a + 2) t - (a + 3)) t t + 1`` for distances up to 1."""
    slope = ox.Sub(scaled(t, a + 2), scalar_like(a + 3, t))
    return ox.Add(ox.Mul(ox.Mul(slope, t), t), scalar_like(1, t))


def _cubic_far(t: Tensor, a: float) -> Tensor:
    """``((a t - 5 a) t + 8 a) t - 4 a`` for distances from 1 to 2."""
    inner = ox.Mul(ox.Sub(scaled(t, a), scalar_like(5 * a, t)), t)
    inner = ox.Mul(ox.Add(inner, scalar_like(8 * a, t)), t)
    return ox.Sub(inner, scalar_like(4 * a, t))


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    """Tensors of one shape along a new last axis."""
    last = int64_constant([-1])
    return ox.Concat(*[ox.Unsqueeze(p, last) for p in parts], axis=-1)


def zeros_outside(place: Tensor, weight: Tensor, size: Tensor) -> Taps:
    """Elements outside of the axis count nothing.

    Args:
        place: Positions, integral but floating.
        weight: Weights.
        size: The axis' length, an int64 scalar.
    """
    last = cast_to(ox.Sub(size, int64_constant(1)), place.dtype)
    zero = scalar_like(0, place)
    inside = ox.And(ox.GreaterOrEqual(place, zero), ox.LessOrEqual(place, last))
    kept = ox.Where(inside, weight, zero)
    return Taps(_clamped(place, zero, last), kept)


def border_outside(place: Tensor, weight: Tensor, size: Tensor) -> Taps:
    """The first and the last element go on forever."""
    last = cast_to(ox.Sub(size, int64_constant(1)), place.dtype)
    return Taps(_clamped(place, scalar_like(0, place), last), weight)


def reflected_outside(place: Tensor, weight: Tensor, size: Tensor, *, at_centers: bool) -> Taps:
    """The axis is mirrored, at the first and last element's centre or at their outer edge."""
    zero, length = scalar_like(0, place), cast_to(size, place.dtype)
    one = scalar_like(1, place)
    last = ox.Sub(length, one)
    # A mirror image has the period 2 (n - 1), or 2 n where the outer elements are repeated.
    low = zero if at_centers else scalar_like(-0.5, place)
    span = ox.Max(last, one) if at_centers else length
    period = ox.Add(span, span)
    off = ox.Sub(place, low)
    turns = ox.Floor(ox.Div(off, period))
    off = ox.Sub(off, ox.Mul(turns, period))
    off = ox.Min(off, ox.Sub(period, off))
    return Taps(_clamped(ox.Add(off, low), zero, last), weight)


def _clamped(place: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return places as indices within the limits; NaN becomes the lowest."""
    safe = ox.Where(ox.IsNaN(place), low, place)
    return cast_to(ox.Max(ox.Min(safe, high), low), dtypes.int64)


def combined(taps: Sequence[Taps], sizes: Sequence[Tensor], batch: Tensor) -> Taps:
    """Taps along several axes as taps in the flattened tensor ``[batch, *axes]``.

    Args:
        taps: For each axis, of shapes ``[n, points, taps]``.
        sizes: The axes' lengths, int64 scalars.
        batch: Which of the leading axis each of the ``n`` takes, int64 ``[n]``.

    Returns:
        Taps ``[n * points, taps1 * taps2 ...]``.
    """
    index = ox.Unsqueeze(batch, int64_constant([1, 2]))
    index = ox.Unsqueeze(index, int64_constant([3]))
    weight: Tensor | None = None
    for tap, size in zip(taps, sizes, strict=True):
        here = ox.Unsqueeze(tap.index, int64_constant([2]))
        index = ox.Add(ox.Mul(index, size), here)
        counts = ox.Unsqueeze(tap.weight, int64_constant([2]))
        weight = counts if weight is None else ox.Mul(weight, counts)
        # [n, points, taps so far * these, 1]
        index, weight = _flattened(index), _flattened(weight)
    assert weight is not None
    flat = int64_constant([-1])
    count = ox.Shape(index, start=2, end=3)
    shape = ox.Concat(flat, count, axis=0)
    return Taps(ox.Reshape(index, shape), ox.Reshape(weight, shape))


def _flattened(x: Tensor) -> Tensor:
    """The last two axes as one, and one of length 1 behind it."""
    shape = concat_shape(shape_vector(x, 0, 2), product(shape_vector(x, 2, 4)), int64_constant([1]))
    return reshape_to(x, shape)


def rows_of(x: Tensor, axes: int) -> Tensor:
    """``[n, c, *sizes]`` as rows of channels ``[n * product(sizes), c]``."""
    last = ox.Transpose(x, perm=(0, *range(2, axes + 2), 1))
    return reshape_to(last, concat_shape(int64_constant([-1]), dimension(x, 1)))


def sampled(rows: Tensor, taps: Taps) -> Tensor:
    """Weighted sums of rows: ``[points, c]`` from ``[elements, c]`` and taps ``[points, k]``."""
    seen = ox.Gather(rows, taps.index, axis=0)
    weights = ox.Unsqueeze(taps.weight, int64_constant([1]))
    return ox.Squeeze(ox.MatMul(weights, seen), int64_constant([1]))


def count_up(size: Tensor) -> Tensor:
    """``0 ... size - 1`` for an int64 scalar or a vector of length 1."""
    end = ox.Reshape(size, int64_constant([]))
    return ox.Range(int64_constant(0), end, int64_constant(1))


def length_of(x: Tensor, axis: int) -> Tensor:
    """One dimension as an int64 scalar."""
    return ox.Reshape(dimension(x, axis), int64_constant([]))
