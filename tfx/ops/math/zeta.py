"""The zeta function of Hurwitz and the derivatives of ``digamma``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.framework.tensor import Tensor
from tfx.ops.common.python_math import Doubles, computed, log_gamma
from tfx.ops.math.arithmetic import add, multiply
from tfx.ops.math.elementwise import negative

_SHIFT = 10
# Bernoulli numbers B2, B4, ...
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330, 854513 / 138, -236364091 / 2730,
)  # fmt: skip
_NOTHING = 2.0**-60
_PLAIN_FACTORIALS, _SMALL_SUM = 150.0, 1e-290


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The zeta function of Hurwitz, the sum of ``(q + k) ** -x`` for ``k = 0, 1, ...``.

    Gradients flow to ``q`` alone. A function with it cannot be saved.

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
    return computed("Zeta", "math.zeta", _zeta, (x, q), (None, _zeta_slope))


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivative of ``digamma`` of order ``a``; of order 0 it is ``digamma``.

    Gradients flow to ``x`` alone. A function with it cannot be saved.

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
    slopes = (None, lambda a, x: polygamma(add(a, 1.0), x))
    return computed("Polygamma", "math.polygamma", _polygamma, (a, x), slopes)


def _zeta_slope(x: Tensor, q: Tensor) -> Tensor:
    return multiply(negative(x), zeta(add(x, 1.0), q))


def _zeta(x: Doubles, q: Doubles) -> Doubles:
    result = np.full(x.shape, np.nan)
    whole = q == np.floor(q)
    positive = (x > 1) & (q > 0)
    result[positive] = _euler_maclaurin(x[positive], q[positive])
    mirrored = (x > 1) & (q < 0) & ~whole & (x == np.floor(x))
    result[mirrored] = _below_zero(x[mirrored], q[mirrored])
    result[(x > 1) & (q <= 0) & whole] = np.inf
    result[x == 1] = np.inf
    return result


def _below_zero(x: Doubles, q: Doubles) -> Doubles:
    """Return zeta for whole ``x``: the terms below 0 are those between a fraction and ``-q``."""
    size = -q
    fraction = size - np.floor(size)
    right = _euler_maclaurin(x, 1 - fraction)
    left = _euler_maclaurin(x, fraction)
    beyond = _euler_maclaurin(x, size + 1)
    odd = np.fmod(x, 2.0) == 1.0
    # Odd powers cancel: to the last at 1/2, and of two infinite sums that of the nearer pole stays.
    cancelled = odd & (fraction == 0.5)
    both = np.isinf(left) & np.isinf(right) & odd
    nearer = np.where(fraction < 0.5, -np.inf, np.inf)
    total = np.where(both, nearer, right + np.where(odd, beyond - left, left - beyond))
    return np.where(cancelled, beyond, total)


def _euler_maclaurin(x: Doubles, q: Doubles, scale: Any = 1.0) -> Doubles:
    """The first terms, and for the rest its integral with corrections, for positive ``q``.

    Args:
        x: The exponent, above 1.
        q: Where the sum begins.
        scale: The result is multiplied by its power of ``x``.
    """
    total, start = np.zeros(x.shape), q
    enough = np.maximum(x, _SHIFT)
    # Where q + 1 is q, terms fall by one factor: they are a geometric series.
    geometric = (q >= 2.0**53) & (q < enough)
    complete = np.isinf(x) | np.isinf(q) | geometric
    while (short := (start < enough) & ~complete).any():
        term = np.where(short, np.power(start / scale, -x), 0.0)
        total = total + term
        # From 1 on each term is smaller, and an infinite sum stays what it is.
        complete |= short & (np.abs(term) <= _NOTHING * total) & (start >= 1)
        complete |= np.isinf(total) | (short & (x > 80) & (start > 1) & (total == 0))
        start = np.where(short, start + 1, start)
    first = np.power(start / scale, -x)
    rest = np.power(start / scale, 1 - x) * scale / (x - 1) + first * 0.5
    factor = x * first / start
    for j, b in enumerate(_BERNOULLI, start=1):
        rest = rest + factor * (b / math.factorial(2 * j))
        factor = factor * ((x + 2 * j - 1) / start) * ((x + 2 * j) / start)
    total = np.where(complete, total, total + np.where(np.isnan(rest), 0.0, rest))
    total = np.where(geometric, first / -np.expm1(-x / q), total)
    # Of an infinite exponent only a first term of 1 or less counts.
    limit = np.where(q < 1, np.inf, np.where(q == 1, 1.0, 0.0))
    return np.where(np.isinf(x), limit, total)


def _polygamma(a: Doubles, x: Doubles) -> Doubles:
    result = np.full(a.shape, np.nan)
    zero = a == 0
    result[zero] = _digamma(x[zero])
    later = (a > 0) & (a == np.floor(a)) & np.isfinite(a)
    n, q = a[later], x[later]
    sign = np.where(n % 2 == 1, 1.0, -1.0)
    sums = _zeta(n + 1, q)
    value = np.exp(log_gamma(n + 1)) * sums
    # A factorial out of range times a sum out of range: their logarithms are added.
    far = ((n > _PLAIN_FACTORIALS) & (q > 0)) | ((sums >= 0) & (sums < _SMALL_SUM))
    far &= np.isfinite(q)
    m, y = n[far] + 1, np.where(q > 0, q, 1 - q)[far]  # halves below 0 cancel up to there
    value[far] = np.exp(log_gamma(m) - m * np.log(y) + np.log(_euler_maclaurin(m, y, y)))
    value[q == np.inf] = 0.0
    result[later] = sign * value
    return result


def _digamma(x: Doubles) -> Doubles:
    """Reflection below 1/2, the recurrence up to 10, then the asymptotic series."""
    mirrored = x < 0.5
    z = np.where(mirrored, 1 - x, x)
    total = np.zeros(x.shape)
    for _ in range(_SHIFT):
        small = z < _SHIFT
        total -= np.where(small, 1 / z, 0.0)
        z = np.where(small, z + 1, z)
    w = 1 / (z * z)
    series = np.zeros(x.shape)
    for j in range(7, 0, -1):
        series = w * (_BERNOULLI[j - 1] / (2 * j) + series)
    value = total + np.log(z) - 0.5 / z - series
    angle = math.pi * (x - np.round(x))
    pole = (x <= 0) & (x == np.round(x))
    value = np.where(mirrored, value - math.pi / np.tan(np.where(pole, 1.0, angle)), value)
    return np.where(pole, np.nan, value)
