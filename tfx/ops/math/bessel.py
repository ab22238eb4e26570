"""Bessel functions of the orders 0 and 1.

The decision: up to a bound they are integrals of a smooth function, for which the trapezoidal rule
is exact to the last digits; beyond, their asymptotic series are. Both need no table of numbers.
Python computes them, so a function with one cannot be saved. Gradients are Bessel functions again.
In float32 they are rounded correctly almost always. In float64 those of a second letter i and k are
accurate to 32 units in the last place, j has an absolute error of 2e-15 and y of 2e-14.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like
from tfx.ops.common.python_math import Doubles, Slope, computed, polynomial
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.comparison import equal
from tfx.ops.math.elementwise import negative, sign

_FAR = 40.0  # from here on the asymptotic series are exact
_NEAR_ZERO = 1e-8  # up to here one term is
_PANELS = 96
_SPAN = 45.0  # exp(-45) is nothing beside 1
_EULER = 0.57721566490153286


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
    return _of("BesselI0", lambda x: _i(0, x) * np.exp(np.abs(x)), x, bessel_i1)


def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """``exp(-abs(x)) * bessel_i0(x)``, which does not overflow.

    Example:
        >>> import tfx as tf
        >>> tf.math.bessel_i0e([0.0, 1.0]).numpy()
        array([1.       , 0.4657596], dtype=float32)
    """
    return _of("BesselI0e", lambda x: _i(0, x), x, _i0e_slope)


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 1.

    Example:
        >>> import tfx as tf
        >>> tf.math.bessel_i1([0.0, 1.0]).numpy()
        array([0.       , 0.5651591], dtype=float32)
    """
    return _of("BesselI1", lambda x: _i(1, x) * np.exp(np.abs(x)), x, _i1_slope)


def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """``exp(-abs(x)) * bessel_i1(x)``, which does not overflow.

    Example:
        >>> import tfx as tf
        >>> tf.math.bessel_i1e([0.0, 1.0]).numpy()
        array([0.        , 0.20791042], dtype=float32)
    """
    return _of("BesselI1e", lambda x: _i(1, x), x, _i1e_slope)


def bessel_k0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 0, infinite up to 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_k0([0.5, 1.0]).numpy()
        array([0.92441905, 0.42102444], dtype=float32)
    """
    return _of("BesselK0", lambda x: _k(0, x) * np.exp(-x), x, lambda x: negative(bessel_k1(x)))


def bessel_k0e(x: Any, name: str | None = None) -> Tensor:
    """``exp(x) * bessel_k0(x)``, which does not underflow.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_k0e([0.5, 1.0]).numpy()
        array([1.5241094, 1.1444631], dtype=float32)
    """
    return _of("BesselK0e", lambda x: _k(0, x), x, lambda x: subtract(bessel_k0e(x), bessel_k1e(x)))


def bessel_k1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 1, infinite up to 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_k1([0.5, 1.0]).numpy()
        array([1.6564411 , 0.60190725], dtype=float32)
    """
    return _of("BesselK1", lambda x: _k(1, x) * np.exp(-x), x, _k1_slope)


def bessel_k1e(x: Any, name: str | None = None) -> Tensor:
    """``exp(x) * bessel_k1(x)``, which does not underflow.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_k1e([0.5, 1.0]).numpy()
        array([2.7310097, 1.6361535], dtype=float32)
    """
    return _of("BesselK1e", lambda x: _k(1, x), x, _k1e_slope)


def bessel_j0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind and order 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_j0([0.0, 1.0]).numpy()
        array([1.       , 0.7651977], dtype=float32)
    """
    return _of("BesselJ0", lambda x: _j(0, x), x, lambda x: negative(bessel_j1(x)))


def bessel_j1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind and order 1.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_j1([0.0, 1.0]).numpy()
        array([0.        , 0.44005057], dtype=float32)
    """
    return _of("BesselJ1", lambda x: _j(1, x), x, _j1_slope)


def bessel_y0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind and order 0, -inf up to 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_y0([0.5, 1.0]).numpy()
        array([-0.44451874,  0.08825696], dtype=float32)
    """
    return _of("BesselY0", lambda x: _y(0, x), x, lambda x: negative(bessel_y1(x)))


def bessel_y1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind and order 1, -inf up to 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.special.bessel_y1([0.5, 1.0]).numpy()
        array([-1.4714724, -0.7812128], dtype=float32)
    """
    return _of("BesselY1", lambda x: _y(1, x), x, _y1_slope)


def _of(op: str, compute: Any, x: Any, slope: Slope) -> Tensor:
    kind = "math.special.bessel_" + op.removeprefix("Bessel").lower()
    return computed(op, kind, compute, (x,), (slope,))


# Derivatives. Those of order 1 have a quotient that is 1/2 at 0.


def _over(y: Tensor, x: Tensor) -> Tensor:
    zero = equal(x, scalar_like(0, x))
    quotient = divide(y, ox.Where(zero, scalar_like(1, x), x))
    return ox.Where(zero, scalar_like(0.5, x), quotient)


def _i0e_slope(x: Tensor) -> Tensor:
    return subtract(bessel_i1e(x), multiply(sign(x), bessel_i0e(x)))


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


# Values


def _coefficients(order: int, count: int) -> list[float]:
    """Return coefficients of the asymptotic series in ``1 / x``."""
    found = [1.0]
    for k in range(1, count):
        found.append(found[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return found


def scaled_i0(x: Doubles) -> Doubles:
    """``bessel_i0e`` of numbers that are known now, such as the samples of a window."""
    return _i(0, x)


def _i(order: int, x: Doubles) -> Doubles:
    size = np.abs(x)
    far = size > _FAR
    near = np.where(far, 0.0, size)
    total = np.zeros(x.shape)
    for k in range(_PANELS + 1):
        angle, weight = math.pi * k / _PANELS, 1.0 if 0 < k < _PANELS else 0.5
        total += weight * math.cos(order * angle) * np.exp(near * (math.cos(angle) - 1))
    y = np.where(far, size, 1.0)
    series = polynomial(_coefficients(order, 24), -1 / y) / np.sqrt(2 * math.pi * y)
    value = np.where(far, series, total / _PANELS)
    if order:
        # The rule sums numbers of order 1, which leaves too few digits of a small result.
        small = size < 0.5
        s = np.where(small, size, 0.0)
        powers = [1 / (math.factorial(k) * math.factorial(k + 1)) for k in range(12)]
        value = np.where(small, np.exp(-s) * (s / 2) * polynomial(powers, s * s / 4), value)
        value = np.copysign(value, x)
    return np.where(np.isnan(x), np.nan, value)


def _k(order: int, x: Doubles) -> Doubles:
    near = x < _NEAR_ZERO  # below 0 the result is infinite anyway
    y = np.where(near | ~(x < np.inf), 1.0, x)
    span = np.arccosh(1 + _SPAN / y)
    total = np.full(x.shape, 0.5)
    for k in range(1, 2 * _PANELS + 1):
        t = span * (k / (2 * _PANELS))
        total += np.exp(-2 * y * np.sinh(t / 2) ** 2) * (np.cosh(t) if order else 1.0)
    value = total * span / (2 * _PANELS)
    limit = 1 / x if order else math.log(2) - np.log(x) - _EULER
    value = np.where(near, limit * np.exp(np.where(near, x, 0.0)), value)
    value = np.where(x <= 0, np.inf, np.where(x == np.inf, 0.0, value))
    return np.where(np.isnan(x), np.nan, value)


def _j(order: int, x: Doubles) -> Doubles:
    size = np.abs(x)
    far = size > _FAR
    near = np.where(far, 0.0, size)
    total = np.zeros(x.shape)
    for k in range(_PANELS + 1):
        angle, weight = math.pi * k / _PANELS, 1.0 if 0 < k < _PANELS else 0.5
        total += weight * np.cos(order * angle - near * math.sin(angle))
    value = np.where(far, _waves(order, np.where(far, size, 1.0))[0], total / _PANELS)
    if order:
        small = size < 0.5
        s = np.where(small, size, 0.0)
        powers = [(-1) ** k / (math.factorial(k) * math.factorial(k + 1)) for k in range(12)]
        value = np.where(small, (s / 2) * polynomial(powers, s * s / 4), value) * np.sign(x)
    return np.where(np.isinf(x), 0.0, np.where(np.isnan(x), np.nan, value))


def _waves(order: int, x: Doubles) -> tuple[Doubles, Doubles]:
    """Far from 0: the functions of the first and of the second kind."""
    c = _coefficients(order, 24)
    z = -1 / (x * x)
    p, q = polynomial(c[0::2], z), polynomial(c[1::2], z) / x
    # cos and sin of x - pi / 4 or x - 3 * pi / 4, without rounding the difference.
    cos, sin = np.cos(x), np.sin(x)
    both = (cos + sin, sin - cos) if order == 0 else (sin - cos, -sin - cos)
    scale = np.sqrt(1 / (math.pi * x))
    return scale * (p * both[0] - q * both[1]), scale * (p * both[1] + q * both[0])


def _y(order: int, x: Doubles) -> Doubles:
    far, tiny = x > _FAR, x < _NEAR_ZERO
    near = np.where(far | tiny | np.isnan(x), 1.0, x)
    nodes, weights = np.polynomial.legendre.leggauss(96)
    total = np.zeros(x.shape)
    for node, weight in zip(nodes, weights, strict=True):
        angle = math.pi * (node + 1) / 2
        total += weight * math.pi / 2 * np.sin(near * math.sin(angle) - order * angle)
    span = np.arcsinh(_SPAN / near) / 3
    for node, weight in zip(nodes, weights, strict=True):
        for part in range(3):
            t = span * (part + (node + 1) / 2)
            growth = 2 * np.sinh(t) if order else 2.0
            total -= weight * span / 2 * growth * np.exp(-near * np.sinh(t))
    value = total / math.pi
    limit = -2 / (math.pi * x) if order else 2 / math.pi * (np.log(x) - math.log(2) + _EULER)
    value = np.where(tiny, limit, value)
    value = np.where(far, _waves(order, np.where(far, x, 1.0))[1], value)
    value = np.where(x <= 0, -np.inf, np.where(x == np.inf, 0.0, value))
    return np.where(np.isnan(x), np.nan, value)
