"""Functions that are integrals: Dawson's, the exponential one, Fresnel's, the dilogarithm.

The decision: series near 0, asymptotic series far away, and sums that are exact to the last digits
between. Python computes them, so a function with one cannot be saved. In float32 they are rounded
correctly almost always. In float64 ``dawsn`` and ``spence`` are accurate to 8 units in the last
place, ``expint`` to 32 (near its zero to 4e-16), and Fresnel's have an absolute error of 3e-14,
since a sum of waves stands for them up to 6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like
from tfx.ops.common.python_math import Doubles, computed
from tfx.ops.math.arithmetic import divide, multiply, subtract
from tfx.ops.math.comparison import equal
from tfx.ops.math.elementwise import exp, log, negative, square
from tfx.ops.math.trigonometry import cos, sin

_EULER = 0.57721566490153286
_FAR = 40.0  # of the exponential integral
_FAR_WAVES = 6.0  # of Fresnel's integrals
_STEP = 0.25  # of the sum for Dawson's integral: exp(-(pi / 2 / 0.25)**2) is 7e-18


def dawsn(x: Any, name: str | None = None) -> Tensor:
    """Dawson's integral, ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to ``x``.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.dawsn([0.0, 1.0]).numpy()
        array([0.       , 0.5380795], dtype=float32)
    """

    def slope(x: Tensor) -> Tensor:
        return subtract(1.0, multiply(multiply(x, 2.0), dawsn(x)))

    return computed("Dawsn", "math.special.dawsn", _dawson, (x,), (slope,))


def expint(x: Any, name: str | None = None) -> Tensor:
    """The exponential integral ``Ei``: of ``exp(t) / t`` from minus infinity to ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.expint([1.0, 2.0]).numpy()
        array([1.8951178, 4.954234 ], dtype=float32)
    """
    return computed("Expint", "math.special.expint", _expint, (x,), (lambda x: divide(exp(x), x),))


def fresnel_cos(x: Any, name: str | None = None) -> Tensor:
    """The integral of ``cos(pi * t**2 / 2)`` from 0 to ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.fresnel_cos([0.0, 1.0]).numpy()
        array([0.       , 0.7798934], dtype=float32)
    """
    kind = "math.special.fresnel_cos"
    return computed("FresnelCos", kind, lambda x: _fresnel(x)[0], (x,), (lambda x: cos(_phase(x)),))


def fresnel_sin(x: Any, name: str | None = None) -> Tensor:
    """The integral of ``sin(pi * t**2 / 2)`` from 0 to ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.fresnel_sin([0.0, 1.0]).numpy()
        array([0.        , 0.43825915], dtype=float32)
    """
    kind = "math.special.fresnel_sin"
    return computed("FresnelSin", kind, lambda x: _fresnel(x)[1], (x,), (lambda x: sin(_phase(x)),))


def spence(x: Any, name: str | None = None) -> Tensor:
    """The integral of ``log(t) / (1 - t)`` from 1 to ``x``; NaN below 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.spence([1.0, 2.0]).numpy()
        array([ 0.      , -0.822467], dtype=float32)
    """

    def slope(x: Tensor) -> Tensor:
        one = scalar_like(1, x)
        rest = subtract(one, x)
        at_one = equal(x, one)
        quotient = divide(log(x), ox.Where(at_one, one, rest))
        return ox.Where(at_one, negative(one), quotient)

    return computed("Spence", "math.special.spence", _spence, (x,), (slope,))


def _phase(x: Tensor) -> Tensor:
    return multiply(square(x), math.pi / 2)


def _dawson(x: Doubles) -> Doubles:
    """Rybicki's sum over the odd multiples of a step, around the even one nearest to ``x``."""
    size = np.abs(x)
    small = size < 0.2
    s = np.where(small, size, 0.0)
    series, term = np.zeros(x.shape), s
    for k in range(14):
        series = series + term
        term = term * (-2 * s * s / (2 * k + 3))
    far = ~(size < 1e7)
    y = np.where(small | far, 1.0, size)
    middle = 2 * np.round(y / (2 * _STEP))
    rest = y - middle * _STEP
    total = np.zeros(x.shape)
    for n in range(-27, 28, 2):
        total += np.exp(-((rest - n * _STEP) ** 2)) / (n + middle)
    value = np.where(small, series, total / math.sqrt(math.pi))
    value = np.where(far, 0.5 / np.where(far, size, 1.0), value)
    return np.where(np.isnan(x), np.nan, np.copysign(value, x))


def _expint(x: Doubles) -> Doubles:
    size = np.abs(x)
    series = (x < _FAR) & (x > -1)
    s = np.where(series, x, 1.0)
    near, term = _EULER + np.log(np.abs(s)), np.ones(x.shape)
    for k in range(1, 160):
        term = term * s / k
        near = near + term / k
    y = np.where(x >= _FAR, size, _FAR)
    total, term = np.ones(x.shape), np.ones(x.shape)
    for k in range(1, 40):
        term = term * k / y
        total = total + term
    root = np.exp(y / 2)  # exp(y) itself is infinite before the quotient is
    far = root / y * total * root
    below = _below(np.where(x <= -1, size, 1.0))
    value = np.where(series, near, np.where(x > 0, far, below))
    value = np.where(x == np.inf, np.inf, np.where(x == -np.inf, -0.0, value))
    return np.where(x == 0, -np.inf, np.where(np.isnan(x), np.nan, value))


def _below(y: Doubles) -> Doubles:
    """``Ei(-y)`` for ``y`` from 1 on: a continued fraction, from its end."""
    tail = np.zeros(y.shape)
    for n in range(120, 0, -1):
        tail = n * n / (y + 2 * n + 1 - tail)
    return -np.exp(-y) / (y + 1 - tail)


def _fresnel(x: Doubles) -> tuple[Doubles, Doubles]:
    size = np.abs(x)
    far = size > _FAR_WAVES
    near = np.where(far | np.isnan(x), 0.0, size)
    cosine, sine = np.zeros(x.shape), np.zeros(x.shape)
    for node, weight in zip(*np.polynomial.legendre.leggauss(96), strict=True):
        phase = math.pi / 2 * (near * (node + 1) / 2) ** 2
        cosine += weight * near / 2 * np.cos(phase)
        sine += weight * near / 2 * np.sin(phase)
    y = np.where(far & (size < np.inf), size, 1e8)
    z = 1 / (math.pi * y * y)
    f, g = np.zeros(x.shape), np.zeros(x.shape)
    for m in range(12, -1, -1):  # (4 m - 1)!! and (4 m + 1)!!
        f = f * (-z * z * (4 * m + 1) * (4 * m + 3)) + 1
        g = g * (-z * z * (4 * m + 3) * (4 * m + 5)) + 1
    f, g = f / (math.pi * y), g * z / (math.pi * y)
    phase = math.pi / 2 * _square_mod_4(y)
    cosine = np.where(far, 0.5 + f * np.sin(phase) - g * np.cos(phase), cosine)
    sine = np.where(far, 0.5 - f * np.cos(phase) - g * np.sin(phase), sine)
    missing = np.isnan(x)
    return (
        np.where(missing, np.nan, np.copysign(cosine, x)),
        np.where(missing, np.nan, np.copysign(sine, x)),
    )


def _square_mod_4(y: Doubles) -> Doubles:
    """``fmod(y * y, 4)`` without the rounding of the square."""
    high = (y * 134217729.0) - (y * 134217729.0 - y)
    low = y - high
    whole = np.fmod(high * high, 4.0) + np.fmod(2 * high * low, 4.0) + low * low
    found: Doubles = np.where(y < 2.0**50, np.fmod(whole, 4.0), 0.0)
    return found


def _spence(x: Doubles) -> Doubles:
    large = x > 1.5
    y = np.where(large, 1 / np.where(large, x, 1.0), x)
    small = y < 0.5
    z = np.where(small, y, 1 - y)
    series, power = np.zeros(x.shape), np.ones(x.shape)
    for k in range(1, 64):
        power = power * z
        series = series + power / (k * k)
    inside = small & (y > 0)
    logs = np.where(inside, np.log(np.where(inside, y, 1.0)) * np.log1p(-np.where(small, y, 0)), 0)
    value = np.where(small, math.pi**2 / 6 - logs - series, series)
    value = np.where(large, -0.5 * np.log(np.where(large, x, 1.0)) ** 2 - value, value)
    return np.where((x < 0) | np.isnan(x), np.nan, value)
