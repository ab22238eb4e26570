"""Functions that are integrals: Dawson's, the exponential one, Fresnel's, the dilogarithm.

The decision: tables of polynomials (``special_tables``) for each function's smooth part. In float32
they are rounded correctly almost always. In float64 they are accurate to 8 units in the last place;
near zeros of ``expint`` and far along Fresnel's waves the error is absolute, 1e-15.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like
from tfx.ops.math import special_tables as tables
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.comparison import equal, greater, greater_equal, less, less_equal
from tfx.ops.math.elementwise import abs, exp, is_inf, log, log1p, negative, square
from tfx.ops.math.piecewise import SpecialFunction, number, piecewise, where
from tfx.ops.math.trigonometry import cos, sin

_EULER = 0.57721566490153286
_HUGE = 1e150  # stands for infinity where quotients are formed; its square is finite
_FAR_DAWSON = 1e8  # from here on one term is all
_NEAR_WAVES = 2.0  # up to here Fresnel's integrals are polynomials


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
    return _dawsn(x)


def expint(x: Any, name: str | None = None) -> Tensor:
    """The exponential integral ``Ei``: of ``exp(t) / t`` from minus infinity to ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.expint([1.0, 2.0]).numpy()
        array([1.8951178, 4.954234 ], dtype=float32)
    """
    return _expint(x)


def fresnel_cos(x: Any, name: str | None = None) -> Tensor:
    """The integral of ``cos(pi * t**2 / 2)`` from 0 to ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.fresnel_cos([0.0, 1.0]).numpy()
        array([0.       , 0.7798934], dtype=float32)
    """
    return _fresnel_cos(x)


def fresnel_sin(x: Any, name: str | None = None) -> Tensor:
    """The integral of ``sin(pi * t**2 / 2)`` from 0 to ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.fresnel_sin([0.0, 1.0]).numpy()
        array([0.        , 0.43825915], dtype=float32)
    """
    return _fresnel_sin(x)


def spence(x: Any, name: str | None = None) -> Tensor:
    """The integral of ``log(t) / (1 - t)`` from 1 to ``x``; NaN below 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.spence([1.0, 2.0]).numpy()
        array([ 0.      , -0.822467], dtype=float32)
    """
    return _spence(x)


# Derivatives


def _phase(x: Tensor) -> Tensor:
    return multiply(square(x), math.pi / 2)


def _dawsn_slope(x: Tensor) -> Tensor:
    return subtract(1.0, multiply(multiply(x, 2.0), dawsn(x)))


def _spence_slope(x: Tensor) -> Tensor:
    one = scalar_like(1, x)
    rest = subtract(one, x)
    at_one = equal(x, one)
    quotient = divide(log(x), ox.Where(at_one, one, rest))
    return ox.Where(at_one, negative(one), quotient)


# Values, for float64 without NaN


def _dawson(x: Tensor) -> Tensor:
    far = greater(abs(x), _FAR_DAWSON)
    size = where(far, _FAR_DAWSON, abs(x))
    smooth = piecewise(tables.DAWSN, multiply(divide(size, add(size, 2.0)), 16.0))
    value = divide(size, add(multiply(square(size), 2.0), 1.0))
    value = where(far, divide(0.5, where(far, abs(x), 1.0)), multiply(smooth, value))
    return multiply(value, _side(x))


def _ei(x: Tensor) -> Tensor:
    near = ox.And(greater(x, -1.0), less(x, 6.0))
    s = where(ox.And(near, ox.Not(equal(x, 0.0))), x, 1.0)
    series = multiply(s, piecewise(tables.EXPINT_NEAR, add(s, 1.0)))
    inside = add(add(log(abs(s)), _EULER), series)
    y = where(greater_equal(x, 6.0), ox.Min(x, number(_HUGE)), 6.0)
    root = exp(multiply(y, 0.5))  # exp(y) itself is infinite before the quotient is
    far = piecewise(tables.EXPINT_FAR, divide(16 * 6.0, y))
    above = multiply(multiply(divide(root, y), far), root)
    z = where(less_equal(x, -1.0), ox.Min(negative(x), number(_HUGE)), 1.0)
    beyond = subtract(z, 1.0)
    smooth = piecewise(tables.EXPINT_BELOW, multiply(divide(beyond, add(beyond, 4.0)), 8.0))
    below = negative(multiply(divide(exp(negative(z)), z), smooth))
    value = where(near, inside, where(greater(x, 0.0), above, below))
    value = where(is_inf(x), where(greater(x, 0.0), math.inf, -0.0), value)
    return where(equal(x, 0.0), -math.inf, value)


def _fresnel(x: Tensor) -> tuple[Tensor, Tensor]:
    size = abs(x)
    far = greater(size, _NEAR_WAVES)
    s = where(far, 1.0, size)
    position = multiply(s, 4.0)
    cosine = multiply(s, piecewise(tables.FRESNEL_C, position))
    cube = multiply(s, square(s))
    sine = multiply(cube, piecewise(tables.FRESNEL_S, position))
    y = where(far, ox.Min(size, number(_HUGE)), _NEAR_WAVES)
    position = divide(8 * _NEAR_WAVES, y)
    scale = divide(1 / math.pi, y)
    f = multiply(piecewise(tables.FRESNEL_F, position), scale)
    g = multiply(
        piecewise(tables.FRESNEL_G, position), divide(divide(scale, y), multiply(y, math.pi))
    )
    phase = multiply(_square_mod_4(y), math.pi / 2)
    c, s_ = cos(phase), sin(phase)
    wave_c = subtract(add(multiply(f, s_), 0.5), multiply(g, c))
    wave_s = subtract(subtract(0.5, multiply(f, c)), multiply(g, s_))
    side = _side(x)
    return multiply(where(far, wave_c, cosine), side), multiply(where(far, wave_s, sine), side)


def _side(x: Tensor) -> Tensor:
    """-1 or 1; at 0 it is 0 with the sign that it has."""
    return where(less(x, 0.0), -1.0, where(equal(x, 0.0), x, 1.0))


def _square_mod_4(y: Tensor) -> Tensor:
    """``fmod(y * y, 4)`` without the rounding of the square."""
    four = number(4)
    small = less(y, 2.0**50)  # from there on squares are multiples of 4
    y = where(small, y, 0.0)
    split = multiply(y, 134217729.0)
    high = subtract(split, subtract(split, y))
    low = subtract(y, high)
    crossed = multiply(multiply(high, low), 2.0)
    parts = [ox.Mod(square(high), four, fmod=1), ox.Mod(crossed, four, fmod=1), square(low)]
    return ox.Mod(add(add(parts[0], parts[1]), parts[2]), four, fmod=1)


def _dilogarithm(x: Tensor) -> Tensor:
    large = greater(x, 1.5)
    negative_ = less(x, 0.0)
    y = where(negative_, 1.0, where(large, divide(1.0, where(large, x, 1.0)), x))
    small = less(y, 0.5)
    z = where(small, y, subtract(1.0, y))
    # Up to 1 / 2 the series converges; below 0 it is the reflection's.
    series = _li2(z)
    inside = ox.And(small, greater(y, 0.0))
    logs = multiply(log(where(inside, y, 1.0)), log1p(negative(where(inside, y, 0.0))))
    value = where(
        small, subtract(subtract(math.pi**2 / 6, where(inside, logs, 0.0)), series), series
    )
    square_log = square(log(where(large, x, 1.0)))
    value = where(large, subtract(multiply(square_log, -0.5), value), value)
    return where(negative_, math.nan, value)


def _li2(z: Tensor) -> Tensor:
    """The dilogarithm from -1/2 to 1/2."""
    below = less(z, 0.0)
    # Landen's identity brings what is below 0 to 0 up to 1/3.
    turned = divide(z, subtract(z, 1.0))
    place = where(below, turned, z)
    value = multiply(place, piecewise(tables.SPENCE, multiply(place, 4.0)))
    return where(below, subtract(multiply(square(log1p(negative(z))), -0.5), value), value)


_dawsn = SpecialFunction("Dawsn", _dawson, _dawsn_slope)
_expint = SpecialFunction("Expint", _ei, lambda x: divide(exp(x), x))
_fresnel_cos = SpecialFunction("FresnelCos", lambda x: _fresnel(x)[0], lambda x: cos(_phase(x)))
_fresnel_sin = SpecialFunction("FresnelSin", lambda x: _fresnel(x)[1], lambda x: sin(_phase(x)))
_spence = SpecialFunction("Spence", _dilogarithm, _spence_slope)
