"""The gamma function's logarithm, its derivative, and the beta function.

The decision: plain formulas (Stirling's series after a shift by ten, reflection below one half),
computed in float64 whatever the dtype. Being made of elementary operations they have derivatives of
every order, and float64 hides that the series is accurate absolutely, not relatively, near 1 and 2.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.apply import apply
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops._support import cast_to, require_dtype, tensor
from tfx.ops.arithmetic import add, divide, multiply, subtract
from tfx.ops.comparison import less
from tfx.ops.elementwise import abs, is_inf, log, reciprocal, round, square
from tfx.ops.reduction import reduce_sum
from tfx.ops.trigonometry import cos, sin

_SHIFT = 10
# Bernoulli numbers B2, B4, ...: the coefficients of both series are made of them.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def lgamma(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function; infinite at 0, -1, -2 and so on.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Example:
        >>> import tfx as tf
        >>> tf.math.lgamma(5.0).numpy()
        np.float32(3.1780539)
    """
    x, wide = _in_double(x, "Lgamma")
    reflected, w, r = _reflect(wide)
    small, z = _shift(w)
    half = subtract(z, 0.5)
    stirling = add(
        subtract(multiply(half, subtract(log(z), 1.0)), 0.5), 0.5 * math.log(2 * math.pi)
    )
    stirling = add(
        stirling, _series(z, [b / (2 * k * (2 * k - 1)) for k, b in _numbered()], odd=True)
    )
    factors = _where(small, w, 1.0)
    rising = factors
    for i in range(1, _SHIFT):
        rising = multiply(rising, add(factors, float(i)))
    value = subtract(stirling, _where(small, log(rising), 0.0))
    mirror = subtract(math.log(math.pi), log(abs(sin(multiply(r, math.pi)))))
    value = _where(reflected, subtract(mirror, value), value)
    return cast_to(_where(is_inf(wide), math.inf, value), x.dtype)


def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of ``lgamma``; NaN at 0, -1, -2 and so on.

    Example:
        >>> import tfx as tf
        >>> tf.math.digamma(1.0).numpy()
        np.float32(-0.5772157)
    """
    x, wide = _in_double(x, "Digamma")
    reflected, w, r = _reflect(wide)
    small, z = _shift(w)
    series = _series(z, [b / (2 * k) for k, b in _numbered()], odd=False)
    value = subtract(subtract(log(z), divide(0.5, z)), series)
    summands = _where(small, w, 1.0)
    harmonic = reciprocal(summands)
    for i in range(1, _SHIFT):
        harmonic = add(harmonic, reciprocal(add(summands, float(i))))
    value = subtract(value, _where(small, harmonic, 0.0))
    pole = less(abs(r), 1e-300)
    angle = multiply(_where(pole, math.nan, r), math.pi)
    mirror = divide(multiply(math.pi, cos(angle)), sin(angle))
    return cast_to(_where(reflected, subtract(value, mirror), value), x.dtype)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the multivariate beta function of the last axis.

    Example:
        >>> import tfx as tf
        >>> tf.math.lbeta([1.0, 2.0, 3.0]).numpy()
        np.float32(-4.0943446)
    """
    x = tensor(x)
    return subtract(reduce_sum(lgamma(x), -1), lgamma(reduce_sum(x, -1)))


def _in_double(x: Any, op: str) -> tuple[Tensor, Tensor]:
    a = tensor(x)
    require_dtype(a, a.dtype.is_floating, op, "a floating dtype")
    return a, cast_to(a, dtypes.float64)


def _where(condition: Tensor, x: Tensor | float, y: Tensor | float) -> Tensor:
    a, b = convert_to_tensor(x, dtypes.float64), convert_to_tensor(y, dtypes.float64)
    return apply("Where", (condition, a, b))


def _reflect(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where ``x`` is below 1/2, the argument that is not, and the distance to an integer.

    The distance is 1/2 where there is no reflection, so that nothing is infinite there.
    """
    reflected = less(x, 0.5)
    distance = _where(reflected, subtract(x, round(x)), 0.5)
    return reflected, _where(reflected, subtract(1.0, x), x), distance


def _shift(w: Tensor) -> tuple[Tensor, Tensor]:
    """Where ``w`` is too small for the series, and an argument that is not."""
    small = less(w, float(_SHIFT))
    return small, _where(small, add(w, float(_SHIFT)), w)


def _numbered() -> list[tuple[int, float]]:
    return list(enumerate(_BERNOULLI, start=1))


def _series(z: Tensor, coefficients: list[float], *, odd: bool) -> Tensor:
    """The sum of ``c[k] / z**(2k)`` for k = 1, 2, ..., times ``z`` if ``odd``."""
    inverse = reciprocal(z)
    inverse_square = square(inverse)
    total = convert_to_tensor(coefficients[-1], dtypes.float64)
    for c in coefficients[-2::-1]:
        total = add(multiply(total, inverse_square), c)
    return multiply(total, inverse if odd else inverse_square)
