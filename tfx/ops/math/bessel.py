"""Bessel functions of the orders 0 and 1.

The decision: tables of polynomials near 0, and far away of what the waves or exponentials are
multiplied by (``special_tables``). Gradients are Bessel functions again. In float32 they are
rounded correctly almost always. In float64 those of a second letter i are accurate to 6 units in
the last place, k to 12; j and y have an absolute error of 1e-15, y near 0 of 4 units.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like
from tfx.ops.math import special_tables as tables
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.comparison import equal, greater, less_equal
from tfx.ops.math.elementwise import abs, exp, is_inf, log, negative, sign, sqrt, square
from tfx.ops.math.piecewise import SpecialFunction, number, piecewise, where
from tfx.ops.math.trigonometry import cos, sin

_HUGE = 1e300  # stands for infinity where quotients are formed
_FAR = 8.0  # from here on j and y are waves
_FAR_K = 2.0


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 0.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.math.bessel_i0([0.0, 1.0]).numpy()
        array([1.       , 1.2660658], dtype=float32)
    """
    return _i0(x)


def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """``exp(-abs(x)) * bessel_i0(x)``, which does not overflow.

    Example:
        >>> import tfx as tf
        >>> tf.math.bessel_i0e([0.0, 1.0]).numpy()
        array([1.       , 0.4657596], dtype=float32)
    """
    return _i0e(x)


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 1.

    Example:
        >>> import tfx as tf
        >>> tf.math.bessel_i1([0.0, 1.0]).numpy()
        array([0.       , 0.5651591], dtype=float32)
    """
    return _i1(x)


def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """``exp(-abs(x)) * bessel_i1(x)``, which does not overflow.

    Example:
        >>> import tfx as tf
        >>> tf.math.bessel_i1e([0.0, 1.0]).numpy()
        array([0.        , 0.20791042], dtype=float32)
    """
    return _i1e(x)


def bessel_k0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 0, infinite up to 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_k0([0.5, 1.0]).numpy()
        array([0.92441905, 0.42102444], dtype=float32)
    """
    return _k0(x)


def bessel_k0e(x: Any, name: str | None = None) -> Tensor:
    """``exp(x) * bessel_k0(x)``, which does not underflow.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_k0e([0.5, 1.0]).numpy()
        array([1.5241094, 1.1444631], dtype=float32)
    """
    return _k0e(x)


def bessel_k1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 1, infinite up to 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_k1([0.5, 1.0]).numpy()
        array([1.6564411 , 0.60190725], dtype=float32)
    """
    return _k1(x)


def bessel_k1e(x: Any, name: str | None = None) -> Tensor:
    """``exp(x) * bessel_k1(x)``, which does not underflow.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_k1e([0.5, 1.0]).numpy()
        array([2.7310097, 1.6361535], dtype=float32)
    """
    return _k1e(x)


def bessel_j0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind and order 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_j0([0.0, 1.0]).numpy()
        array([1.       , 0.7651977], dtype=float32)
    """
    return _j0(x)


def bessel_j1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind and order 1.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_j1([0.0, 1.0]).numpy()
        array([0.        , 0.44005057], dtype=float32)
    """
    return _j1(x)


def bessel_y0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind and order 0, -inf up to 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_y0([0.5, 1.0]).numpy()
        array([-0.44451874,  0.08825696], dtype=float32)
    """
    return _y0(x)


def bessel_y1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind and order 1, -inf up to 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_y1([0.5, 1.0]).numpy()
        array([-1.4714724, -0.7812128], dtype=float32)
    """
    return _y1(x)


# Derivatives. Those of order 1 have a quotient that is 1/2 at 0.


def _over(y: Tensor, x: Tensor) -> Tensor:
    zero = equal(x, scalar_like(0, x))
    quotient = divide(y, ox.Where(zero, scalar_like(1, x), x))
    return ox.Where(zero, scalar_like(0.5, x), quotient)


def _i0e_slope(x: Tensor) -> Tensor:
    return subtract(bessel_i1e(x), multiply(sign(x), bessel_i0e(x)))


def _k0e_slope(x: Tensor) -> Tensor:
    return subtract(bessel_k0e(x), bessel_k1e(x))


def _i1_slope(x: Tensor) -> Tensor:
    return subtract(bessel_i0(x), _over(bessel_i1(x), x))


def _i1e_slope(x: Tensor) -> Tensor:
    y = bessel_i1e(x)
    return subtract(subtract(bessel_i0e(x), multiply(sign(x), y)), _over(y, x))


def _k1_slope(x: Tensor) -> Tensor:
    return negative(add(bessel_k0(x), divide(bessel_k1(x), x)))


def _k1e_slope(x: Tensor) -> Tensor:
    y = bessel_k1e(x)
    return subtract(subtract(y, divide(y, x)), bessel_k0e(x))


def _j1_slope(x: Tensor) -> Tensor:
    return subtract(bessel_j0(x), _over(bessel_j1(x), x))


def _y1_slope(x: Tensor) -> Tensor:
    return subtract(bessel_y0(x), divide(bessel_y1(x), x))


# Values, for float64 without NaN


def _i(order: int, x: Tensor) -> Tensor:
    """The scaled function."""
    size = ox.Min(abs(x), number(_HUGE))
    position = multiply(divide(size, add(size, 4.0)), 8.0)
    above = add(size, 1.0)
    if order == 0:
        value = divide(piecewise(tables.I0E, position), sqrt(above))
    else:
        value = multiply(divide(x, above), divide(piecewise(tables.I1E, position), sqrt(above)))
    return where(is_inf(x), 0.0, value)


def _grown(scaled: Tensor, x: Tensor) -> Tensor:
    """Times ``exp(x)``, which may be infinite where the product is not."""
    root = exp(multiply(x, 0.5))
    return multiply(multiply(scaled, root), root)


def _k(order: int, x: Tensor, *, scaled: bool) -> Tensor:
    near = less_equal(x, _FAR_K)
    s = where(ox.And(near, greater(x, 0.0)), x, 1.0)
    table = tables.K1_NEAR if order else tables.K0_NEAR
    smooth = piecewise(table, multiply(square(s), 0.5))
    wave = multiply(log(multiply(s, 0.5)), _grown(_i(order, s), s))
    below = add(divide(smooth, s), wave) if order else subtract(smooth, wave)
    y = where(near, _FAR_K, ox.Min(x, number(_HUGE)))
    table = tables.K1_FAR if order else tables.K0_FAR
    above = divide(piecewise(table, divide(4.0 * _FAR_K, y)), sqrt(y))
    if scaled:
        below = multiply(below, exp(s))
    else:
        above = multiply(above, exp(negative(y)))
    value = where(near, below, where(is_inf(x), 0.0, above))
    return where(less_equal(x, 0.0), math.inf, value)


def _j(order: int, x: Tensor) -> Tensor:
    size = abs(x)
    far = greater(size, _FAR)
    s = where(far, 1.0, size)
    near = piecewise(tables.J1_NEAR if order else tables.J0_NEAR, s)
    wave = _waves(order, where(far, size, _FAR))[0]
    if order:  # odd, with the sign of a zero
        near, wave = multiply(where(far, 1.0, x), near), multiply(wave, sign(x))
    value = where(far, wave, near)
    return where(is_inf(x), 0.0, value)


def _y(order: int, x: Tensor) -> Tensor:
    far = greater(x, _FAR)
    s = where(ox.Or(far, less_equal(x, 0.0)), 1.0, x)
    smooth = piecewise(tables.Y1_NEAR if order else tables.Y0_NEAR, multiply(square(s), 1 / 8))
    logs = multiply(log(s), _j(order, s))
    if order:
        near = add(multiply(smooth, s), multiply(subtract(logs, divide(1.0, s)), 2 / math.pi))
    else:
        near = add(smooth, multiply(logs, 2 / math.pi))
    value = where(far, _waves(order, where(far, x, _FAR))[1], near)
    value = where(is_inf(x), 0.0, value)
    return where(less_equal(x, 0.0), -math.inf, value)


def _waves(order: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """Far from 0: the functions of the first and of the second kind."""
    z = where(is_inf(x), _HUGE, x)
    position = divide(2.0 * _FAR, z)
    p = piecewise(tables.P1 if order else tables.P0, position)
    q = divide(piecewise(tables.Q1 if order else tables.Q0, position), z)
    # cos and sin of x - pi / 4 or x - 3 * pi / 4, without rounding the difference.
    c, s = cos(z), sin(z)
    plus, minus = add(s, c), subtract(s, c)
    first, second = (minus, negative(plus)) if order else (plus, minus)
    scale = sqrt(divide(1 / math.pi, z))
    return (
        multiply(scale, subtract(multiply(p, first), multiply(q, second))),
        multiply(scale, add(multiply(p, second), multiply(q, first))),
    )


_i0 = SpecialFunction("BesselI0", lambda x: _grown(_i(0, x), abs(x)), bessel_i1)
_i0e = SpecialFunction("BesselI0e", lambda x: _i(0, x), _i0e_slope)
_i1 = SpecialFunction("BesselI1", lambda x: _grown(_i(1, x), abs(x)), _i1_slope)
_i1e = SpecialFunction("BesselI1e", lambda x: _i(1, x), _i1e_slope)
_k0 = SpecialFunction(
    "BesselK0", lambda x: _k(0, x, scaled=False), lambda x: negative(bessel_k1(x))
)
_k0e = SpecialFunction("BesselK0e", lambda x: _k(0, x, scaled=True), _k0e_slope)
_k1 = SpecialFunction("BesselK1", lambda x: _k(1, x, scaled=False), _k1_slope)
_k1e = SpecialFunction("BesselK1e", lambda x: _k(1, x, scaled=True), _k1e_slope)
_j0 = SpecialFunction("BesselJ0", lambda x: _j(0, x), lambda x: negative(bessel_j1(x)))
_j1 = SpecialFunction("BesselJ1", lambda x: _j(1, x), _j1_slope)
_y0 = SpecialFunction("BesselY0", lambda x: _y(0, x), lambda x: negative(bessel_y1(x)))
_y1 = SpecialFunction("BesselY1", lambda x: _y(1, x), _y1_slope)
