"""The zeta function of Hurwitz and the derivatives of ``digamma``.

The decision: the first terms of the sum, and the formula of Euler and Maclaurin for the rest. Some
twelve terms are enough for every exponent: where the formula fails for a large one, the rest is
nothing beside them. All is computed in float64 and made of nodes.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.arithmetic import pow as power
from tfx.ops.math.comparison import equal, less
from tfx.ops.math.elementwise import exp, floor, is_finite, is_inf, is_nan, log, negative
from tfx.ops.math.gamma import digamma, lgamma
from tfx.ops.math.piecewise import SpecialFunction, where

_TERMS = 12
# Bernoulli numbers B2, B4, ...
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330, 854513 / 138, -236364091 / 2730,
)  # fmt: skip
_NO_SHIFT = 2.0**40  # from here on the formula holds at once, and adding 1 would lose digits
_PLAIN_FACTORIALS, _SMALL_SUM = 150.0, 1e-290
_FACTORIALS = [float(math.factorial(n)) for n in range(171)]


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The zeta function of Hurwitz, the sum of ``(q + k) ** -x`` for ``k = 0, 1, ...``.

    Gradients flow to ``q`` alone.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one: above 1, infinite at 1, and
            NaN below.
        q: The same dtype. At 0, -1, -2 and so on the result is infinite; between them ``x`` must
            be an integer.
        name: Accepted for compatibility.

    Returns:
        A tensor of the broadcast shape.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.math.zeta(2.0, [1.0, 2.0]).numpy()
        array([1.644934  , 0.64493406], dtype=float32)
    """
    return _hurwitz(x, q)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivative of ``digamma`` of order ``a``; of order 0 it is ``digamma``.

    Gradients flow to ``x`` alone.

    Args:
        a: Tensor of a floating dtype, or a value convertible to one: 0, 1, 2 and so on; for others
            the result is NaN.
        x: The same dtype.
        name: Accepted for compatibility.

    Returns:
        A tensor of the broadcast shape.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.math.polygamma(1.0, [1.0, 2.0]).numpy()
        array([1.644934  , 0.64493406], dtype=float32)
    """
    return _derivative(a, x)


# Derivatives


def _zeta_slope(x: Tensor, q: Tensor) -> Tensor:
    return multiply(negative(x), zeta(add(x, 1.0), q))


def _polygamma_slope(a: Tensor, x: Tensor) -> Tensor:
    return polygamma(add(a, 1.0), x)


# Values, of float64 tensors


def _within(x: Tensor, condition: Tensor, instead: float) -> Tensor:
    """``x`` where a condition holds, elsewhere a number that harms nothing."""
    return where(condition, x, instead)


def _zeta(x: Tensor, q: Tensor) -> Tensor:
    above, whole = less(1.0, x), equal(q, floor(q))
    below = less(q, 0.0)
    mirrored = ox.And(ox.And(above, equal(x, floor(x))), ox.And(below, ox.Not(whole)))
    # For whole exponents: the terms below 0 are those between a fraction and -q.
    size = where(mirrored, negative(q), 0.5)
    fraction = subtract(size, floor(size))
    positive = ox.And(above, less(0.0, q))
    s = _within(x, ox.Or(mirrored, positive), 2.0)
    right = _sum(s, where(mirrored, subtract(1.0, fraction), _within(q, positive, 1.0)))
    left, beyond = _sum(s, fraction), _sum(s, add(size, 1.0))
    odd = _is_odd(s)
    # Odd powers cancel: to the last at 1/2, and of two infinite sums that of the nearer pole stays.
    both = ox.And(ox.And(is_inf(left), is_inf(right)), odd)
    total = add(right, where(odd, subtract(beyond, left), subtract(left, beyond)))
    total = where(both, where(less(fraction, 0.5), -math.inf, math.inf), total)
    total = where(ox.And(odd, equal(fraction, 0.5)), beyond, total)
    pole = ox.And(above, ox.And(whole, ox.Not(less(0.0, q))))
    value = where(positive, right, where(mirrored, total, where(pole, math.inf, math.nan)))
    return where(equal(x, 1.0), math.inf, value)


def _is_odd(x: Tensor) -> Tensor:
    """Of whole numbers."""
    half = multiply(x, 0.5)
    return ox.Not(equal(half, floor(half)))


def _sum(x: Tensor, q: Tensor, scale: Tensor | None = None) -> Tensor:
    """The sum of ``(q + k) ** -x`` for ``x`` above 1 and positive ``q``.

    Args:
        x: The exponent.
        q: Where the sum begins.
        scale: The result is multiplied by its power of ``x``.
    """

    def term(start: Tensor, exponent: Tensor) -> Tensor:
        return power(start if scale is None else divide(start, scale), exponent)

    large = less(_NO_SHIFT, q)
    down = negative(x)
    total = term(q, down)
    for k in range(1, _TERMS):
        total = add(total, term(add(q, float(k)), down))
    total = where(large, 0.0, total)
    start = where(large, q, add(q, float(_TERMS)))
    first = term(start, down)
    integral = divide(term(start, subtract(1.0, x)), subtract(x, 1.0))
    integral = integral if scale is None else multiply(integral, scale)
    rest = add(integral, multiply(first, 0.5))
    factor = divide(multiply(x, first), start)
    for j, b in enumerate(_BERNOULLI, start=1):
        rest = add(rest, multiply(factor, b / math.factorial(2 * j)))
        factor = multiply(factor, divide(add(x, 2.0 * j - 1), start))
        factor = multiply(factor, divide(add(x, 2.0 * j), start))
    # Of a large exponent only the first terms count, and corrections are 0 times infinity.
    return add(total, where(is_nan(rest), where(large, first, 0.0), rest))


def _polygamma(a: Tensor, x: Tensor) -> Tensor:
    counts = ox.And(ox.And(less(0.0, a), equal(a, floor(a))), is_finite(a))
    n = _within(a, counts, 1.0)
    m = add(n, 1.0)
    sums = _zeta(m, x)
    value = multiply(_factorial(n), sums)
    # A factorial out of range times a sum out of range: their logarithms are added.
    small = ox.And(less(sums, _SMALL_SUM), ox.Not(less(sums, 0.0)))
    far = ox.Or(ox.And(less(_PLAIN_FACTORIALS, n), less(0.0, x)), small)
    far = ox.And(far, is_finite(x))
    # Halves below 0 cancel up to there.
    y = _within(where(less(0.0, x), x, subtract(1.0, x)), far, 1.0)
    p = _within(m, far, 2.0)
    logs = add(subtract(lgamma(p), multiply(p, log(y))), log(_sum(p, y, y)))
    value = where(far, exp(logs), value)
    value = where(equal(x, math.inf), 0.0, value)
    value = where(_is_odd(n), value, negative(value))
    value = where(counts, value, math.nan)
    return where(equal(a, 0.0), digamma(x), value)


def _factorial(n: Tensor) -> Tensor:
    """Infinite where it is out of range."""
    last = float(len(_FACTORIALS) - 1)
    place = cast_to(where(less(n, last), n, last), dtypes.int64)
    found = ox.Gather(convert_to_tensor(_FACTORIALS, dtypes.float64), place)
    return where(less(last, n), math.inf, found)


_hurwitz = SpecialFunction("Zeta", _zeta, None, _zeta_slope)
_derivative = SpecialFunction("Polygamma", _polygamma, None, _polygamma_slope)
