"""``tfx.quantization.quantize`` and ``dequantize``: tensors of integers with the range they span.

TensorFlow's quantized dtypes have no tensors here: a ``qint8`` is an int8 tensor, a ``quint16`` a
uint16 tensor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.common.shapes import known_rank

MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_INTEGERS: dict[str, DType] = {
    "qint8": dtypes.int8,
    "quint8": dtypes.uint8,
    "qint16": dtypes.int16,
    "quint16": dtypes.uint16,
    "qint32": dtypes.int32,
}


class Quantized(NamedTuple):
    """What ``quantize`` gives.

    Attributes:
        output: The integers.
        output_min: What the least of them stands for: a scalar, or with an axis a vector.
        output_max: What the greatest of them stands for.
    """

    output: Tensor
    output_min: Tensor
    output_max: Tensor


def _integers(kind: Any, what: str) -> DType:
    name = as_dtype(kind).name
    found = _INTEGERS.get(name) or _INTEGERS.get(f"q{name}")
    if found is None:
        raise InvalidArgumentError(f"{what} is {name}, expected one of {', '.join(_INTEGERS)}")
    return found


def _mode(mode: str, narrow: bool) -> None:
    if mode not in MODES:
        raise InvalidArgumentError(f"mode is {mode!r}, expected one of {', '.join(MODES)}")


class _Range:
    """Bounds in a form that broadcasts to a tensor, in float32 or wider.

    Args:
        x: The tensor.
        least: A scalar, or with an axis a vector.
        greatest: Likewise.
        axis: The axis that the vectors belong to.
    """

    def __init__(self, x: Tensor, least: Any, greatest: Any, axis: int | None) -> None:
        kind = dtypes.float32
        low, high = cast_to(tensor(least), kind), cast_to(tensor(greatest), kind)
        self._form = None
        if axis is not None:
            rank = known_rank(x, "tfx.quantization with an axis")
            if not -rank <= axis < rank:
                raise InvalidArgumentError(f"axis is {axis}, expected one of a rank of {rank}")
            self._form = [-1 if a == axis % rank else 1 for a in range(rank)]
        self.low, self.high = self.spread(low), self.spread(high)

    def spread(self, bound: Tensor) -> Tensor:
        """A bound for each element."""
        return bound if self._form is None else ox.Reshape(bound, int64_constant(self._form))

    def flat(self, bound: Tensor) -> Tensor:
        """A bound as the caller has it."""
        return bound if self._form is None else ox.Reshape(bound, int64_constant([-1]))


def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,  # noqa: N803
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Quantized:
    """Quantize numbers to integers that span a range.

    Args:
        input: float32 tensor.
        min_range: The least number to represent; it is lowered to 0. With ``axis`` a vector.
        max_range: The greatest; it is raised to 0.
        T: ``tf.qint8``, ``quint8``, ``qint16``, ``quint16`` or ``qint32``, or the dtype of integers
            of that kind.
        mode: ``"MIN_COMBINED"``, ``"MIN_FIRST"`` or ``"SCALED"`` (0 is 0).
        round_mode: ``"HALF_AWAY_FROM_ZERO"``, or with ``"SCALED"`` ``"HALF_TO_EVEN"``.
        name: Accepted for compatibility.
        narrow_range: With ``"SCALED"``: leave out the lowest of signed integers.
        axis: The axis whose slices have ranges of their own; None: there is one range.
        ensure_minimum_range: How wide the range is at least, in parts of its greatest bound.

    Returns:
        ``output``, ``output_min`` and ``output_max``. No gradient passes, as in TensorFlow; see
        ``fake_quant_with_min_max_vars`` for training.

    Raises:
        InvalidArgumentError: an option is unknown or does not fit another.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant([-1.0, 0.0, 0.5])
        >>> q, low, high = tf.quantization.quantize(x, -1.0, 1.0, tf.qint8, mode="SCALED")
        >>> q.numpy()
        array([-127,    0,   64], dtype=int8)
    """
    _mode(mode, narrow_range)
    if round_mode not in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
        raise InvalidArgumentError(
            f"round_mode is {round_mode!r}, expected 'HALF_AWAY_FROM_ZERO' or 'HALF_TO_EVEN'"
        )
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise InvalidArgumentError(f"round_mode 'HALF_TO_EVEN' is for mode 'SCALED', not {mode!r}")
    kind = _integers(T, "T")
    x = cast_to(tensor(input), dtypes.float32)
    bounds = _Range(x, min_range, max_range, axis)
    zero = scalar_like(0, x)
    low = ox.Min(bounds.low, zero)
    widest = ox.Max(ox.Max(ox.Abs(bounds.low), ox.Abs(bounds.high)), scalar_like(1, x))
    margin = ox.Mul(widest, scalar_like(ensure_minimum_range, x))
    high = ox.Max(ox.Add(low, margin), ox.Max(bounds.high, zero))
    if mode == "SCALED":
        steps, low, high = _scaled(x, low, high, kind, round_mode, narrow=narrow_range)
    elif mode == "MIN_FIRST":
        steps, low, high = _min_first(x, low, high, kind)
    else:
        steps = _min_combined(x, low, high, kind)
    return Quantized(_cast_within(steps, kind), bounds.flat(low), bounds.flat(high))


def _cast_within(steps: Tensor, kind: DType) -> Tensor:
    """Rounded numbers as integers; beyond the range they are the integer at its end."""
    wide = ox.Cast(steps, to=dtypes.float64.onnx)
    low, high = scalar_like(kind.min, wide), scalar_like(kind.max, wide)
    return ox.Cast(ox.Cast(ox.Max(ox.Min(wide, high), low), to=dtypes.int64.onnx), to=kind.onnx)


def _rounded(x: Tensor) -> Tensor:
    """Half away from zero."""
    return ox.Mul(ox.Sign(x), ox.Floor(ox.Add(ox.Abs(x), scalar_like(0.5, x))))


def _span(kind: DType) -> float:
    return float(kind.max) - float(kind.min)


def _min_combined(x: Tensor, low: Tensor, high: Tensor, kind: DType) -> Tensor:
    scale = ox.Div(scalar_like(_span(kind), x), ox.Sub(high, low))
    places = ox.Mul(ox.Sub(ox.Max(ox.Min(x, high), low), low), scale)
    if not kind.is_unsigned:
        half = (_span(kind) + 1) / 2
        places = ox.Sub(places, scalar_like(half, places))
    return _rounded(places)


def _min_first(x: Tensor, low: Tensor, high: Tensor, kind: DType) -> tuple[Tensor, Tensor, Tensor]:
    count = _span(kind) + 1
    adjust = count / (count - 1)
    wide = [ox.Cast(v, to=dtypes.float64.onnx) for v in (x, low, high)]
    distance = ox.Mul(ox.Sub(wide[2], wide[1]), scalar_like(adjust, wide[0]))
    scale = ox.Div(scalar_like(count, wide[0]), distance)
    first = _rounded(ox.Mul(wide[1], scale))
    steps = ox.Sub(_rounded(ox.Mul(wide[0], scale)), first)
    return ox.Add(steps, scalar_like(float(kind.min), steps)), low, high


def _ends(kind: DType, *, narrow: bool) -> tuple[float, float]:
    return float(kind.min) + narrow, float(kind.max)


def _scale_of(low: Tensor, high: Tensor, kind: DType, *, narrow: bool) -> Tensor:
    """How many integers there are to a unit."""
    huge = scalar_like(float(np.finfo(np.float32).max), low)
    found = huge
    for bound, end in zip((low, high), _ends(kind, narrow=narrow), strict=True):
        number = scalar_like(end, low)
        usable = ox.Greater(ox.Mul(number, bound), scalar_like(0, low))
        safe = ox.Where(usable, bound, scalar_like(1, low))
        found = ox.Min(found, ox.Where(usable, ox.Div(number, safe), huge))
    return found


def _scaled(
    x: Tensor, low: Tensor, high: Tensor, kind: DType, round_mode: str, *, narrow: bool
) -> tuple[Tensor, Tensor, Tensor]:
    scale = _scale_of(low, high, kind, narrow=narrow)
    first, last = (scalar_like(end, x) for end in _ends(kind, narrow=narrow))
    low, high = ox.Div(first, scale), ox.Div(last, scale)
    places = ox.Mul(ox.Max(ox.Min(x, high), low), scale)
    steps = ox.Round(places) if round_mode == "HALF_TO_EVEN" else _rounded(places)
    return ox.Max(ox.Min(steps, last), first), low, high


def dequantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: Any = dtypes.float32,
) -> Tensor:
    """Give the numbers that quantized ones stand for.

    Args:
        input: int8, uint8, int16, uint16 or int32 tensor, as ``quantize`` gives it.
        min_range: What the least integer stands for; with ``axis`` a vector.
        max_range: What the greatest stands for.
        mode: The mode of ``quantize``.
        name: Accepted for compatibility.
        axis: The axis whose slices have ranges of their own; None: there is one range.
        narrow_range: As in ``quantize``.
        dtype: float32 or bfloat16.

    Returns:
        A tensor of the same shape.

    Raises:
        InvalidArgumentError: an option is unknown, or the input is of another dtype.

    Example:
        >>> import tfx as tf
        >>> q = tf.constant([-127, 0, 64], tf.int8)
        >>> tf.quantization.dequantize(q, -1.0, 1.0, mode="SCALED").numpy().round(3)
        array([-1.   ,  0.   ,  0.504], dtype=float32)
    """
    _mode(mode, narrow_range)
    given = tensor(input)
    kind = _integers(given.dtype, "input's dtype")
    wanted = as_dtype(dtype)
    if wanted not in (dtypes.float32, dtypes.bfloat16):
        raise InvalidArgumentError(f"dtype is {wanted.name}, expected float32 or bfloat16")
    bounds = _Range(given, min_range, max_range, axis)
    low, high = bounds.low, bounds.high
    x = ox.Cast(given, to=dtypes.float32.onnx)
    if mode == "SCALED":
        scale = _dequantizing_scale(low, high, kind, narrow=narrow_range)
        y = ox.Mul(x, scale)
    elif mode == "MIN_FIRST":
        y = _from_min_first(given, low, high, kind)
    else:
        scale = ox.Div(ox.Sub(high, low), scalar_like(_span(kind), x))
        if not kind.is_unsigned:
            x = ox.Add(x, scalar_like((_span(kind) + 1) / 2, x))
        y = ox.Add(ox.Mul(x, scale), low)
    return cast_to(y, wanted)


def _dequantizing_scale(low: Tensor, high: Tensor, kind: DType, *, narrow: bool) -> Tensor:
    """The distance of two integers' numbers."""
    first, last = _ends(kind, narrow=narrow)
    by_high = ox.Div(high, scalar_like(last, high))
    if kind.is_unsigned:
        return by_high
    return ox.Max(ox.Div(low, scalar_like(first, low)), by_high)


def _from_min_first(given: Tensor, low: Tensor, high: Tensor, kind: DType) -> Tensor:
    count = _span(kind) + 1
    wide = [ox.Cast(v, to=dtypes.float64.onnx) for v in (given, low, high)]
    adjust = scalar_like(count / (count - 1), wide[0])
    step = ox.Div(ox.Mul(ox.Sub(wide[2], wide[1]), adjust), scalar_like(count, wide[0]))
    first = ox.Mul(step, _rounded(ox.Div(wide[1], step)))
    steps = ox.Sub(wide[0], scalar_like(float(kind.min), wide[0]))
    return ox.Cast(ox.Add(first, ox.Mul(steps, step)), to=dtypes.float32.onnx)
