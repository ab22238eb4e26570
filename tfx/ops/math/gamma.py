"""The gamma function's logarithm, its derivative, and the beta function.

The decision: plain formulas (a series around 2, Stirling's from 10 on, reflection below 0),
computed in float64 whatever the dtype. The derivative of the logarithm is ``digamma``; that is made
of elementary operations, so it has derivatives of every order.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, require_dtype, tensor
from tfx.ops.common.shapes import raw_shape
from tfx.ops.common.traced_once import Composite, eagerly_at_once
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.comparison import equal, less
from tfx.ops.math.elementwise import abs, is_inf, log, log1p, negative, reciprocal, round, square
from tfx.ops.math.piecewise import where
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.math.trigonometry import cos, sin

_SHIFT = 10
# Bernoulli numbers B2, B4, ...: the coefficients of both series are made of them.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_TINY = 1e-20  # up to here lgamma is a logarithm
# Taylor coefficients of lgamma at 2 from the first on: 1 - Euler's number, and (zeta(k) - 1) / k.
_AROUND_TWO = (
    0.42278433509846713, 0.3224670334241132, -0.0673523010531981, 0.020580808427784546,
    -0.007385551028673986, 0.0028905103307415234, -0.001192753911703261, 0.0005096695247430425,
    -0.00022315475845357939, 9.945751278180853e-05, -4.492623673813314e-05, 2.050721277567069e-05,
    -9.439488275268397e-06, 4.374866789907488e-06, -2.039215753801366e-06, 9.55141213040742e-07,
    -4.492469198764566e-07, 2.1207184805554665e-07, -1.0043224823968099e-07,
    4.7698101693639804e-08, -2.2711094608943164e-08, 1.0838659214896955e-08,
    -5.183475041970047e-09, 2.4836745438024785e-09, -1.1921401405860912e-09, 5.731367241678862e-10,
    -2.7595228851242334e-10, 1.330476437424449e-10, -6.4229645638381e-11, 3.1044247747322276e-11,
    -1.5021384080754142e-11,
)  # fmt: skip


def lgamma(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function; infinite at 0, -1, -2 and so on.

    In float64 it is accurate to 4 units in the last place above 0. Between its poles it has zeros,
    near which the error is absolute, 3e-15.

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
    x, wide = in_double(x, "Lgamma")
    return cast_to(_log_gamma(wide, shapes=[raw_shape(wide)])[0], x.dtype)


def _log_gamma_body(wide: Tensor) -> list[Tensor]:
    reflected, w, r = _reflect(wide)
    # Below 1/2 the recurrence takes one step up; only negative numbers are reflected.
    raised = ox.And(reflected, less(0.0, wide))
    reflected = ox.And(reflected, ox.Not(raised))
    w = where(raised, add(wide, 1.0), w)
    near, z = less(w, float(_SHIFT)), where(less(w, float(_SHIFT)), float(_SHIFT), w)
    half = subtract(z, 0.5)
    stirling = add(
        subtract(multiply(half, subtract(log(z), 1.0)), 0.5), 0.5 * math.log(2 * math.pi)
    )
    stirling = add(
        stirling, _series(z, [b / (2 * k * (2 * k - 1)) for k, b in _numbered()], odd=True)
    )
    value = where(near, _near_two(where(near, w, 2.0)), stirling)
    value = subtract(value, log(where(raised, wide, 1.0)))
    tiny = less(abs(wide), _TINY)  # where the sine of pi times it is denormal
    mirror = subtract(math.log(math.pi), log(abs(sin(multiply(where(tiny, 0.5, r), math.pi)))))
    value = where(reflected, subtract(mirror, value), value)
    value = where(tiny, negative(log(abs(where(tiny, wide, 1.0)))), value)
    # From -2**52 down all numbers are whole.
    endless = ox.Or(is_inf(wide), less(wide, -(2.0**52)))
    return [where(endless, math.inf, value)]


def _near_two(w: Tensor) -> Tensor:
    """``lgamma`` from 1/2 to 10: a series around 2, for which the recurrence brings numbers there.

    Near 1 and 2, where the result is 0, it is relatively accurate.
    """
    product = convert_to_tensor(1.0, dtypes.float64)
    for _ in range(_SHIFT - 2):
        large = less(2.5, w)
        w = where(large, subtract(w, 1.0), w)
        product = multiply(product, where(large, w, 1.0))
    low = less(w, 1.5)
    z = subtract(w, where(low, 1.0, 2.0))
    total = convert_to_tensor(_AROUND_TWO[-1], dtypes.float64)
    for c in _AROUND_TWO[-2::-1]:
        total = add(multiply(total, z), c)
    return add(subtract(multiply(total, z), log1p(where(low, z, 0.0))), log(product))


def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of ``lgamma``; NaN at 0, -1, -2 and so on.

    In float64 its error near its zeros is absolute, 4e-15: terms of a recurrence cancel.

    Example:
        >>> import tfx as tf
        >>> tf.math.digamma(1.0).numpy()
        np.float32(-0.5772157)
    """
    x, wide = in_double(x, "Digamma")
    return cast_to(_digamma(wide), x.dtype)


@eagerly_at_once
def _digamma(wide: Tensor) -> Tensor:
    reflected, w, r = _reflect(wide)
    small, z = _shift(w)
    series = _series(z, [b / (2 * k) for k, b in _numbered()], odd=False)
    value = subtract(subtract(log(z), divide(0.5, z)), series)
    summands = where(small, w, 1.0)
    harmonic = reciprocal(summands)
    for i in range(1, _SHIFT):
        harmonic = add(harmonic, reciprocal(add(summands, float(i))))
    value = subtract(value, where(small, harmonic, 0.0))
    pole = equal(r, 0.0)
    angle = multiply(where(pole, math.nan, r), math.pi)
    mirror = divide(multiply(math.pi, cos(angle)), sin(angle))
    return where(reflected, subtract(value, mirror), value)


# Its formula's own derivative would take ten times as long.
_log_gamma = Composite(_log_gamma_body, "lgamma", [digamma])


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the multivariate beta function of the last axis.

    Example:
        >>> import tfx as tf
        >>> tf.math.lbeta([1.0, 2.0, 3.0]).numpy()
        np.float32(-4.0943446)
    """
    x = tensor(x)
    return subtract(reduce_sum(lgamma(x), -1), lgamma(reduce_sum(x, -1)))


def in_double(x: Any, op: str) -> tuple[Tensor, Tensor]:
    """A floating value as a tensor, and the same in float64."""
    a = tensor(x)
    require_dtype(a, a.dtype.is_floating, op, "a floating dtype")
    return a, cast_to(a, dtypes.float64)


def _reflect(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mask of ``x < 1/2``, the reflected argument, and its distance to an integer.

    The distance is 1/2 where there is no reflection, so that nothing is infinite there.
    """
    reflected = less(x, 0.5)
    distance = where(reflected, subtract(x, round(x)), 0.5)
    return reflected, where(reflected, subtract(1.0, x), x), distance


def _shift(w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mask of ``w`` too small for the series, and the arguments shifted where it is."""
    small = less(w, float(_SHIFT))
    return small, where(small, add(w, float(_SHIFT)), w)


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
