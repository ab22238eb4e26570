"""Quantization that is undone at once: what training that is aware of quantization computes with.

The result has the rounding errors of integers of a few bits; the gradient passes as if there had
been none, where a number lay in the range. What lay outside gives its gradient to the bound that it
was cut off at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.common.shapes import known_rank

_FEWEST_BITS, _MOST_BITS = 2, 16


class FakeQuantGradients(NamedTuple):
    """The gradients of ``fake_quant_with_min_max_vars``."""

    backprops_wrt_input: Tensor
    backprop_wrt_min: Tensor
    backprop_wrt_max: Tensor


def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Round numbers to those that integers of a few bits can stand for, within a fixed range.

    The range is shifted a little so that 0 is among these numbers. The gradient is that of the
    result for numbers within the range, and 0 for the others.

    Args:
        inputs: float32 tensor of any shape.
        min: The least number of the range.
        max: The greatest.
        num_bits: From 2 to 16.
        narrow_range: Leave out the lowest of the integers.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same shape and dtype.

    Raises:
        InvalidArgumentError: ``min`` is not below ``max``, or ``num_bits`` is out of range.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant([-9.0, 0.013, 1.0])
        >>> tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0, num_bits=4).numpy().round(3)
        array([-0.933,  0.   ,  1.067], dtype=float32)
    """
    if not min < max:
        raise InvalidArgumentError(f"min has to be smaller than max, was: {min} >= {max}")
    x = _floats(inputs, "fake_quant_with_min_max_args")
    low, high = (scalar_like(float(bound), x) for bound in (min, max))
    return _fake_quantized(x, low, high, num_bits, narrow_range, _no_axes)


def fake_quant_with_min_max_vars(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Round numbers as ``fake_quant_with_min_max_args`` does, within a range that can be trained.

    Args:
        inputs: float32 tensor of any shape.
        min: float32 scalar, the least number. Its gradient is the sum of those of the numbers below
            it.
        max: float32 scalar, the greatest, likewise.
        num_bits: From 2 to 16.
        narrow_range: Leave out the lowest of the integers.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same shape and dtype.

    Raises:
        InvalidArgumentError: ``num_bits`` is out of range, or a bound is no scalar.

    Example:
        >>> import tfx as tf
        >>> low, high = tf.Variable(-1.0), tf.Variable(1.0)
        >>> with tf.GradientTape() as tape:
        ...     x = tf.constant([-9.0, 0.5, 7.0])
        ...     y = tf.quantization.fake_quant_with_min_max_vars(x, low, high)
        >>> [float(g) for g in tape.gradient(y, [low, high])]
        [1.0, 1.0]
    """
    x = _floats(inputs, "fake_quant_with_min_max_vars")
    low, high = (_bound(b, n, x, 0) for b, n in ((min, "min"), (max, "max")))
    return _fake_quantized(x, low, high, num_bits, narrow_range, _no_axes)


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Round numbers as ``fake_quant_with_min_max_vars`` does, with a range for each channel.

    Args:
        inputs: float32 tensor of the shape ``[..., channels]``.
        min: float32 vector of the shape ``[channels]``.
        max: Likewise.
        num_bits: From 2 to 16.
        narrow_range: Leave out the lowest of the integers.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same shape and dtype.

    Raises:
        InvalidArgumentError: ``num_bits`` is out of range, or a bound is no vector.
    """
    x = _floats(inputs, "fake_quant_with_min_max_vars_per_channel")
    low, high = (_bound(b, n, x, 1) for b, n in ((min, "min"), (max, "max")))
    others = list(range(known_rank(x, "fake_quant_with_min_max_vars_per_channel") - 1))
    return _fake_quantized(x, low, high, num_bits, narrow_range, lambda: others)


def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of ``fake_quant_with_min_max_args`` with respect to its inputs.

    Args:
        gradients: The gradient with respect to the result.
        inputs: See ``fake_quant_with_min_max_args``, as the others.
        min: The same.
        max: The same.
        num_bits: The same.
        narrow_range: The same.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> dy, x = tf.constant([1.0, 2.0]), tf.constant([0.5, 9.0])
        >>> tf.quantization.fake_quant_with_min_max_args_gradient(dy, x).numpy()
        array([1., 0.], dtype=float32)
    """
    x = _floats(inputs, "fake_quant_with_min_max_args_gradient")
    with GradientTape() as tape:
        tape.watch(x)
        y = fake_quant_with_min_max_args(x, min, max, num_bits, narrow_range)
    found: Tensor = tape.gradient(y, x, tensor(gradients, x.dtype))
    return found


def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> FakeQuantGradients:
    """The gradients of ``fake_quant_with_min_max_vars``.

    Args:
        gradients: The gradient with respect to the result.
        inputs: See ``fake_quant_with_min_max_vars``, as the others.
        min: The same.
        max: The same.
        num_bits: The same.
        narrow_range: The same.
        name: Accepted for compatibility.

    Returns:
        ``(backprops_wrt_input, backprop_wrt_min, backprop_wrt_max)``.
    """
    function = fake_quant_with_min_max_vars
    return _all_gradients(function, gradients, inputs, min, max, num_bits, narrow_range)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> FakeQuantGradients:
    """The gradients of ``fake_quant_with_min_max_vars_per_channel``.

    See ``fake_quant_with_min_max_vars_gradient``.
    """
    function = fake_quant_with_min_max_vars_per_channel
    return _all_gradients(function, gradients, inputs, min, max, num_bits, narrow_range)


def _all_gradients(
    function: Callable[..., Tensor],
    gradients: Any,
    inputs: Any,
    low: Any,
    high: Any,
    num_bits: int,
    narrow_range: bool,
) -> FakeQuantGradients:
    x = _floats(inputs, function.__name__)
    bounds = [tensor(bound, x.dtype) for bound in (low, high)]
    with GradientTape() as tape:
        tape.watch([x, *bounds])
        y = function(x, *bounds, num_bits, narrow_range)
    return FakeQuantGradients(*tape.gradient(y, [x, *bounds], tensor(gradients, x.dtype)))


Axes = Callable[[], Sequence[int] | None]


def _no_axes() -> None:
    """All axes."""


def _floats(inputs: Any, what: str) -> Tensor:
    x = tensor(inputs)
    if not x.dtype.is_floating:
        raise InvalidArgumentError(f"{what}: inputs is of {x.dtype.name}, expected floating-point")
    return x


def _bound(bound: Any, name: str, x: Tensor, rank: int) -> Tensor:
    found = tensor(bound, x.dtype)
    if found.shape.rank not in (None, rank):
        kind = "a vector" if rank else "a scalar"
        raise InvalidArgumentError(f"{name} has the shape {found.shape}, expected {kind}")
    return found


def _fake_quantized(
    x: Tensor, low: Tensor, high: Tensor, num_bits: int, narrow: bool, axes: Axes
) -> Tensor:
    if not _FEWEST_BITS <= num_bits <= _MOST_BITS:
        raise InvalidArgumentError(
            f"num_bits is {num_bits}, expected {_FEWEST_BITS} to {_MOST_BITS}"
        )
    first, last = int(narrow), (1 << num_bits) - 1

    def rounded(x: Tensor, low: Tensor, high: Tensor) -> Any:
        least, most, scale = _nudged(low, high, first, last)
        kept = ox.Max(ox.Min(x, most), least)
        half, steps = scalar_like(0.5, x), ox.Reciprocal(scale)
        zero = ox.Floor(ox.Add(ox.Neg(ox.Mul(least, steps)), half))
        places = ox.Sub(ox.Mul(ox.Sub(kept, least), steps), zero)
        y = ox.Mul(ox.Floor(ox.Add(places, half)), scale)
        empty = _is_empty(low, high)
        y = ox.Where(empty, scalar_like(0, y), y)
        return y, lambda dy: _gradients(dy, x, least, most, empty, axes())

    result: Tensor = custom_gradient(rounded)(x, low, high)
    return result


def _is_empty(low: Tensor, high: Tensor) -> Tensor:
    zero = scalar_like(0, low)
    return ox.And(ox.Equal(low, zero), ox.Equal(high, zero))


def _nudged(low: Tensor, high: Tensor, first: int, last: int) -> tuple[Tensor, Tensor, Tensor]:
    """A range shifted so that 0 is one of its numbers, and the distance between these."""
    bottom, top = scalar_like(first, low), scalar_like(last, low)
    scale = ox.Div(ox.Sub(high, low), scalar_like(last - first, low))
    zero = ox.Sub(bottom, ox.Div(low, scale))
    # Half away from zero: it is positive where it matters.
    zero = ox.Floor(ox.Add(zero, scalar_like(0.5, low)))
    zero = ox.Max(ox.Min(zero, top), bottom)
    return ox.Mul(ox.Sub(bottom, zero), scale), ox.Mul(ox.Sub(top, zero), scale), scale


def _gradients(
    dy: Tensor, x: Tensor, least: Tensor, most: Tensor, empty: Tensor, axes: Sequence[int] | None
) -> list[Tensor]:
    """For what is within the range, and for its bounds; where it is empty, all pass."""
    below = ox.And(ox.Less(x, least), ox.Not(empty))
    above = ox.And(ox.Greater(x, most), ox.Not(empty))
    zero = scalar_like(0, dy)
    inside = ox.Where(ox.Or(below, above), zero, dy)
    return [inside, *(_summed(ox.Where(part, dy, zero), axes) for part in (below, above))]


def _summed(x: Tensor, axes: Sequence[int] | None) -> Tensor:
    if axes is None:
        return ox.ReduceSum(x, keepdims=0)
    return ox.ReduceSum(x, int64_constant(list(axes)), keepdims=0, noop_with_empty_axes=1)


def quantize_and_dequantize_v2(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Quantize numbers symmetrically, with 0 for 0, and dequantize them.

    Args:
        input: Floating-point tensor.
        input_min: The least number that can be represented, where ``range_given``; with ``axis`` a
            vector.
        input_max: The greatest.
        signed_input: Whether the integers are signed.
        num_bits: Their bits, 1 to 63.
        range_given: Whether the range is given; else it is that of the tensor.
        round_mode: ``"HALF_TO_EVEN"`` or ``"HALF_UP"``.
        name: Accepted for compatibility.
        narrow_range: Leave out the lowest of the signed integers.
        axis: The axis whose slices have ranges of their own; None: there is one range.

    Returns:
        A tensor of the same shape and dtype. The gradient passes between ``input_min`` and
        ``input_max``, also where the range is not given; that of the bounds is 0.

    Raises:
        InvalidArgumentError: ``num_bits`` or ``round_mode`` is unknown.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant([-1.0, 0.3, 0.5])
        >>> y = tf.quantization.quantize_and_dequantize_v2(
        ...     x, -1.0, 1.0, num_bits=3, range_given=True
        ... )
        >>> y.numpy().round(3)
        array([-1.   ,  0.333,  0.667], dtype=float32)
    """
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise InvalidArgumentError(
            f"round_mode is {round_mode!r}, expected 'HALF_TO_EVEN' or 'HALF_UP'"
        )
    if not 1 <= num_bits <= 63 or (signed_input and num_bits < 2):
        raise InvalidArgumentError(f"num_bits is {num_bits}, expected {1 + signed_input} to 63")
    x = _floats(input, "quantize_and_dequantize_v2")
    rank = None if axis is None else known_rank(x, "quantize_and_dequantize_v2")
    place = None if axis is None or rank is None else axis % rank
    others = None if rank is None else [a for a in range(rank) if a != place]
    form = None if rank is None else [-1 if a == place else 1 for a in range(rank)]
    low, high = cast_to(tensor(input_min), x.dtype), cast_to(tensor(input_max), x.dtype)
    first = -(1 << (num_bits - 1)) + int(narrow_range) if signed_input else 0
    last = (1 << (num_bits - 1 if signed_input else num_bits)) - 1

    def rounded(x: Tensor, low: Tensor, high: Tensor) -> Any:
        given = [b if form is None else ox.Reshape(b, int64_constant(form)) for b in (low, high)]
        bounds = given
        if not range_given:
            axes = () if others is None else (int64_constant(others),)
            kept = {"keepdims": int(others is not None)}
            bounds = [f(x, *axes, **kept) for f in (ox.ReduceMin, ox.ReduceMax)]
        least, most, scale, inverse = _symmetric(bounds[0], bounds[1], first, last)
        steps = ox.Mul(ox.Max(ox.Min(x, most), least) if range_given else x, scale)
        if round_mode == "HALF_UP":
            steps = ox.Floor(ox.Add(steps, scalar_like(0.5, x)))
        else:
            steps = ox.Round(steps)
        y = ox.Mul(steps, inverse)

        def slopes(dy: Tensor) -> list[Tensor]:
            outside = ox.Or(ox.Less(x, given[0]), ox.Greater(x, given[1]))
            dx = ox.Where(outside, scalar_like(0, dy), dy)
            return [dx, ox.Mul(low, scalar_like(0, low)), ox.Mul(high, scalar_like(0, high))]

        return y, slopes

    result: Tensor = custom_gradient(rounded)(x, low, high)
    return result


quantize_and_dequantize = quantize_and_dequantize_v2


def _symmetric(
    low: Tensor, high: Tensor, first: int, last: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The range that integers of both signs reach with one scale, that scale, and one over it."""
    huge = scalar_like(float(np.finfo(np.float32).max), low)
    bottom, top = scalar_like(first, low), scalar_like(last, low)
    zero = scalar_like(0, low)

    def by(bound: Tensor, number: Tensor) -> Tensor:
        usable = ox.Greater(ox.Mul(number, bound), zero)
        safe = ox.Where(usable, bound, scalar_like(1, low))
        return ox.Where(usable, ox.Div(number, safe), huge)

    from_low, from_high = by(low, bottom), by(high, top)
    lower = ox.Less(from_low, from_high)
    scale = ox.Where(lower, from_low, from_high)
    inverse = ox.Div(low, bottom) if first else zero
    inverse = ox.Where(lower, inverse, ox.Div(high, top))
    least = ox.Where(lower, low, ox.Mul(bottom, inverse))
    most = ox.Where(lower, ox.Mul(top, inverse), high)
    return least, most, scale, inverse
