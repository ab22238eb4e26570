"""The incomplete gamma and beta functions.

The decision: series and continued fractions of as many terms as the worst element needs, which no
operator of the standard carries out; Python computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfx.framework.tensor import Tensor
from tfx.ops.common.python_math import Doubles, computed, log_gamma, polynomial
from tfx.ops.math.arithmetic import add, multiply, subtract
from tfx.ops.math.elementwise import exp, log1p, negative
from tfx.ops.math.error_functions import xlogy
from tfx.ops.math.gamma import lgamma

_TERMS = 20_000  # orders below _LARGE need 5,000
_EPSILON = 2.0**-53
_ROUNDED = 2.0**-50  # factors of a continued fraction waver around 1 by some roundings
_ROUNDED_SLOPE = 2.0**-44  # and their derivatives by some more
_TINY = 1e-300
# Of the derivative by the order: an imaginary step loses no digits, however small it is.
_STEP = 1e-100
_erfc = np.vectorize(math.erfc, otypes=[np.float64])
# From here on the series would need too many terms: Temme's expansion in 1/a takes their place.
_LARGE = 1e5
# Its first two coefficients are functions of a distance; these are their Taylor coefficients, found
# by interpolation in 60 digits.
_FIRST = (
    -0.33333333333333333, 0.083333333333333333, -0.014814814814814815, 0.0011574074074074074,
    0.00035273368606718407, -0.00017875514403292551, 3.9192631769409379e-5, -2.1854485103218726e-6,
)  # fmt: skip
_SECOND = (-0.0018518518518518519, -0.0034722222222222222, 0.0026455026455026462)
_LARGEST = 1e300  # the sum of two is finite, and the result is 0 or 1 long before
_FARTHEST = 39.0  # exp(-39**2 / 2) is 0
# zeta(2), zeta(3), ...: the Taylor coefficients of the logarithm of gamma(1 + a).
_ZETA = [
    math.fsum(j**-k for j in range(1, 40)) + 40.0 ** (1 - k) / (k - 1) + 40.0**-k / 2
    + k * 40.0 ** (-k - 1) / 12 - math.perm(k + 2, 3) * 40.0 ** (-k - 3) / 720
    + math.perm(k + 4, 5) * 40.0 ** (-k - 5) / 30240
    for k in range(2, 60)
]  # fmt: skip
_EULER = 0.57721566490153286


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularized incomplete gamma function, ``P(a, x)``.

    The share of the integral of ``t**(a - 1) * exp(-t)`` that lies between 0 and ``x``. Gradients
    flow to both operands; the one by ``a`` has no further gradient. A function with it cannot be
    saved.

    Args:
        a: Tensor of a floating dtype, or a value convertible to one, above 0.
        x: The same dtype, not negative.
        name: Accepted for compatibility.

    Returns:
        A tensor of the broadcast shape; NaN for other operands.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.math.igamma(1.0, 2.0).numpy()
        np.float32(0.86466473)
    """
    slopes = (igamma_grad_a, _density)
    return computed("Igamma", "math.igamma", lambda a, x: _gammas(a, x)[0], (a, x), slopes)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper regularized incomplete gamma function, ``Q(a, x) = 1 - P(a, x)``.

    It is accurate also where it is close to 0. See ``igamma``.

    Example:
        >>> import tfx as tf
        >>> tf.math.igammac(1.0, 2.0).numpy()
        np.float32(0.13533528)
    """
    slopes = (
        lambda a, x: negative(igamma_grad_a(a, x)),
        lambda a, x: negative(_density(a, x)),
    )
    return computed("Igammac", "math.igammac", lambda a, x: _gammas(a, x)[1], (a, x), slopes)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularized incomplete beta function, ``I_x(a, b)``.

    The share of the integral of ``t**(a - 1) * (1 - t)**(b - 1)`` that lies between 0 and ``x``.
    Gradients flow to ``x`` alone. A function with it cannot be saved.

    Args:
        a: Tensor of a floating dtype, or a value convertible to one, above 0.
        b: The same dtype, above 0.
        x: The same dtype, from 0 to 1.
        name: Accepted for compatibility.

    Returns:
        A tensor of the broadcast shape; NaN for other operands.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.math.betainc(1.0, 2.0, 0.5).numpy()
        np.float32(0.75)
    """
    return computed("Betainc", "math.betainc", _beta, (a, b, x), (None, None, _beta_density))


# The gamma function


def _density(a: Tensor, x: Tensor) -> Tensor:
    return exp(subtract(subtract(xlogy(subtract(a, 1.0), x), x), lgamma(a)))


def igamma_grad_a(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivative of ``igamma`` by its order ``a``; it has no gradient itself.

    Args:
        a: As for ``igamma``.
        x: As for ``igamma``.
        name: Accepted for compatibility.
    """
    slopes = (_no_slope("IgammaGradA"), _no_slope("IgammaGradA"))
    return computed("IgammaGradA", "math.igamma's gradient", _gamma_by_a, (a, x), slopes)


def random_gamma_grad(alpha: Any, sample: Any, name: str | None = None) -> Tensor:
    """The derivative of a gamma distributed number by the shape parameter ``alpha``.

    It is that of the number whose share ``igamma(alpha, sample)`` stays the same; it has no
    gradient itself.

    Args:
        alpha: Tensor of a floating dtype, or a value convertible to one, above 0.
        sample: The same dtype: what was drawn with an inverse scale of 1.
        name: Accepted for compatibility.
    """
    slopes = (_no_slope("RandomGammaGrad"), _no_slope("RandomGammaGrad"))
    operands = (alpha, sample)
    return computed("RandomGammaGrad", "random.gamma's gradient", _sample_by_a, operands, slopes)


def _no_slope(op: str) -> Callable[[Tensor, Tensor], Tensor]:
    def refuse(a: Tensor, x: Tensor) -> Tensor:
        raise LookupError(
            f"No gradient defined for operation {op!r}: a derivative by the order of a gamma "
            f"function (here {a.dtype.name} of shape {a.shape}) has no further one. Stop the "
            "gradient of the order by tf.stop_gradient, or differentiate by the other operand."
        )

    return refuse


def _gammas(a: Doubles, x: Doubles) -> tuple[Doubles, Doubles]:
    """``P`` and ``Q``: the smaller one is computed, the other one is the rest."""
    lower, upper = np.empty(a.shape), np.empty(a.shape)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    large = inside & (a >= _LARGE)
    small = inside & _has_small_upper(a, x)
    series = inside & (x < a + 1) & ~large & ~small
    fraction = inside & ~series & ~large & ~small
    lower[large], upper[large] = _temme(a[large], x[large])
    upper[small] = _small_order(a[small], x[small])
    lower[small] = 1 - upper[small]
    lower[series] = _factor(a[series], x[series]) * _series(a[series], x[series])
    upper[series] = 1 - lower[series]
    upper[fraction] = _factor(a[fraction], x[fraction]) * _fraction(a[fraction], x[fraction])
    lower[fraction] = 1 - upper[fraction]
    outside = ~inside
    lower[outside] = _at_the_edge(a[outside], x[outside])
    upper[outside] = 1 - lower[outside]
    return lower, upper


def _has_small_upper(a: Doubles, x: Doubles) -> NDArray[np.bool_]:
    """Return the mask of elements for which ``1 - P`` loses digits although ``x < a + 1``."""
    logs = np.log(np.where((x > 0) & (x <= 0.5), x, 0.5))
    found: NDArray[np.bool_] = np.where(x <= 0.5, -0.4 / logs >= a, (x <= 1.1) & (x * 1.1 >= a))
    return found & (a < 0.5)


def _small_order(a: Doubles, x: Doubles) -> Doubles:
    """``Q`` for small orders: ``1 - x**a / gamma(1 + a)``, less a series of alternating terms."""
    logs = np.log(x)
    log_factor, power = -_EULER * a, a * a
    for k, value in enumerate(_ZETA, start=2):
        log_factor = log_factor + (-1) ** k * value / k * power
        power = power * a
    term, total = np.ones(x.shape), np.zeros(x.shape)
    for n in range(1, 60):
        term = term * (-x / n)
        total = total + term * (a / (a + n))
    found: Doubles = -np.expm1(a * logs - log_factor) - np.exp(a * logs - log_factor) * total
    return found


def _temme(a: Doubles, x: Doubles) -> tuple[Doubles, Doubles]:
    """``P`` and ``Q`` for large orders."""
    u, eta = _distance(a, x)
    inner = np.clip(u, -_FARTHEST, _FARTHEST)
    bell = np.exp(-0.5 * inner * inner) / np.sqrt(2 * math.pi * a)
    rest = bell * (polynomial(_FIRST, eta) + polynomial(_SECOND, eta) / a)
    lower = 0.5 * _erfc(-inner / math.sqrt(2.0)) - rest
    upper = 0.5 * _erfc(inner / math.sqrt(2.0)) + rest
    below, above = u < -_FARTHEST, u > _FARTHEST
    return (
        np.where(below, 0.0, np.where(above, 1.0, lower)),
        np.where(above, 0.0, np.where(below, 1.0, upper)),
    )


def _distance(a: Doubles, x: Doubles) -> tuple[Doubles, Doubles]:
    """Return ``x - a`` in standard deviations, and the same over the root of ``a``."""
    d = (x - a) / a
    eta = np.sign(d) * np.sqrt(-2 * _log1p_less(d))
    u = eta * np.sqrt(a)
    return u, np.where(np.abs(u) > _FARTHEST, 0.0, eta)


def _temme_by_a(a: Doubles, x: Doubles) -> Doubles:
    """The derivative of ``P`` by ``a`` for large orders."""
    u, eta = _distance(a, x)
    logs = np.log1p((x - a) / a)
    near = np.abs(u) < 1e-6
    by_a = np.where(near, -1 / np.sqrt(a), -logs / np.where(near, 1.0, u))  # of u
    bell = np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
    first = polynomial(_FIRST, eta)
    slope = polynomial(tuple(k * c for k, c in enumerate(_FIRST))[1:], eta)
    of_first = logs * first - first / (2 * a) + slope * (by_a / np.sqrt(a) - eta / (2 * a))
    found: Doubles = bell * (by_a - of_first / np.sqrt(a))
    return np.where(np.abs(u) > _FARTHEST, 0.0, found)


def _at_the_edge(a: Doubles, x: Doubles) -> Doubles:
    value = np.full(a.shape, np.nan)
    value[(a >= 0) & (x == 0)] = 0.0
    value[(a == np.inf) & (x >= 0) & (x < np.inf)] = 0.0
    value[(a > 0) & (a < np.inf) & (x == np.inf)] = 1.0
    return value


def _factor(a: Doubles, x: Doubles) -> Doubles:
    """``x**a * exp(-x) / gamma(a)``."""
    plain = a * np.log(x) - x - log_gamma(a) if a.size else a
    # For large orders the three differ little; what is left of them is computed by itself.
    large = a > 50
    d = np.where(large, (x - a) / a, 0.0)
    series = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5)
    near = a * _log1p_less(d) + 0.5 * np.log(a / (2 * math.pi)) - series
    return np.exp(np.where(large, near, plain))


def _log1p_less(d: Doubles) -> Doubles:
    """``log(1 + d) - d``, accurately for small ``d`` too."""
    small = np.abs(d) < 0.1
    s = np.where(small, d, 0.0)
    total, power = np.zeros(d.shape), s * s
    for k in range(2, 18):
        total += power * ((-1) ** (k + 1) / k)
        power = power * s
    return np.where(small, total, np.log1p(d) - d)


def _series(a: Any, x: Doubles) -> Any:
    """The sum of ``x**n / (a * (a + 1) * ... * (a + n))``; ``a`` may be complex."""
    term = 1 / a
    total = term
    for n in range(1, _TERMS):
        term = term * x / (a + n)
        total = total + term
        if _settled(np.abs(term), np.abs(total)) and np.all(x < np.real(a) + n):
            break
    return total


def _fraction(a: Any, x: Doubles) -> Any:
    """Legendre's continued fraction for ``Q``, by Lentz' method; ``a`` may be complex."""
    b = x + 1 - a
    c = np.full(x.shape, 1 / _TINY, b.dtype)
    d = 1 / b
    found = d
    for n in range(1, _TERMS):
        step = -n * (n - a)
        b = b + 2
        d = 1 / _away(step * d + b)
        c = _away(b + step / c)
        change = c * d
        found = found * change
        if not np.any(_moves(change)):
            break
    return found


def _moves(change: Any) -> NDArray[np.bool_]:
    """Whether a factor still changes the value, or the derivative; not where it is NaN.

    At a whole order the value is complete when the fraction's terms become 0, long before the
    derivative is.
    """
    of_slope = np.abs(np.imag(change)) > _ROUNDED_SLOPE * _STEP
    moves: NDArray[np.bool_] = (np.abs(np.real(change) - 1) > _ROUNDED) | of_slope
    return moves


def _away(x: Any) -> Any:
    return np.where(np.abs(x) < _TINY, _TINY, x)


def _settled(change: Doubles, size: Doubles) -> bool:
    return not bool(np.any(change > _EPSILON * size))


def _gamma_by_a(a: Doubles, x: Doubles) -> Doubles:
    """The derivative of ``P`` by ``a``."""
    return _by_order(a, x, _factor, _temme_by_a)


def _sample_by_a(a: Doubles, x: Doubles) -> Doubles:
    """The derivative by ``a`` of the ``x`` with a given ``P``: that of ``P``, over the density."""

    def far(a: Doubles, x: Doubles) -> Doubles:
        density = _factor(a, x) / x
        known = density > _TINY
        # Beyond: the number stays as many standard deviations away from its mean.
        return np.where(known, -_temme_by_a(a, x) / np.where(known, density, 1.0), (1 + x / a) / 2)

    return _by_order(a, x, lambda a, x: -x, far)


def _by_order(
    a: Doubles,
    x: Doubles,
    weight: Callable[[Doubles, Doubles], Doubles],
    far: Callable[[Doubles, Doubles], Doubles],
) -> Doubles:
    """A derivative by ``a``: 0 at the ends of the distribution, NaN where there is none.

    Args:
        a: Orders.
        x: Arguments.
        weight: What the derivative of the sums of ``P`` is multiplied with.
        far: The result for large orders.
    """
    result = np.zeros(a.shape)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    result[~inside & ~((a > 0) & ((x == 0) | (x == np.inf)))] = np.nan
    large = inside & (a >= _LARGE)
    result[large] = far(a[large], x[large])
    for part, method, sign in (
        (inside & ~large & (x < a + 1), _series, 1.0),
        (inside & ~large & (x >= a + 1), _fraction, -1.0),
    ):
        b, y = a[part], x[part]
        if b.size:
            found = method(b + 1j * _STEP, y)
            slope = (np.log(y) - _digamma(b)) * found.real + found.imag / _STEP
            result[part] = sign * weight(b, y) * slope
    return result


def _digamma(x: Doubles) -> Doubles:
    """Return the digamma of positive numbers by recurrence up to 10, then the asymptotic series."""
    z, total = x.copy(), np.zeros(x.shape)
    for _ in range(10):
        small = z < 10
        total -= np.where(small, 1 / z, 0.0)
        z = np.where(small, z + 1, z)
    w = 1 / (z * z)
    series = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132)))))
    return total + np.log(z) - 0.5 / z - series


# The beta function


def _beta_density(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    logs = add(xlogy(subtract(a, 1.0), x), multiply(subtract(b, 1.0), log1p(negative(x))))
    return exp(subtract(logs, subtract(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))))


def _beta(a: Doubles, b: Doubles, x: Doubles) -> Doubles:
    result = np.full(a.shape, np.nan)
    good = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    a, b = np.minimum(a, _LARGEST), np.minimum(b, _LARGEST)
    result[good & (x == 0)] = 0.0
    result[good & (x == 1)] = 1.0
    inside = good & (x > 0) & (x < 1)
    narrow = inside & (a >= _LARGE) & (b >= _LARGE)
    result[narrow] = _beta_of_large(a[narrow], b[narrow], x[narrow])
    inside &= ~narrow
    mirrored = inside & (x > (a + 1) / (a + b + 2))
    plain = inside & ~mirrored
    result[plain] = _beta_part(a[plain], b[plain], x[plain])
    result[mirrored] = 1 - _beta_part(b[mirrored], a[mirrored], 1 - x[mirrored])
    return result


def _beta_of_large(a: Doubles, b: Doubles, x: Doubles) -> Doubles:
    """Return the incomplete beta function of large orders, integrated from ``x`` outwards.

    It is written around the mean, where the linear terms of its exponent cancel.
    """
    mean, other = a / (a + b), b / (a + b)
    width = np.sqrt(mean * other / (a + b))
    d = (x - mean) / width
    below = d < 0
    start = np.clip(np.abs(d), 0.0, _FARTHEST)
    side = np.where(below, -1.0, 1.0)
    total = np.zeros(x.shape)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    step = 0.5
    for panel in range(24):
        for node, weight in zip(nodes, weights, strict=True):
            z = start + step * (panel + (node + 1) / 2)
            t = side * z * width
            left, right = np.maximum(t / mean, -1.0), np.maximum(-t / other, -1.0)
            power = a * _log1p_less(left) + b * _log1p_less(right)
            total += weight * step / 2 * np.exp(power) / ((1 + left) * (1 + right))
    correction = 1 / (12 * (a + b)) - 1 / (12 * a) - 1 / (12 * b)
    tail = np.minimum(total / math.sqrt(2 * math.pi) * np.exp(correction), 1.0)
    tail = np.where(np.abs(d) > _FARTHEST, 0.0, tail)
    return np.where(below, tail, 1 - tail)


def _beta_part(a: Doubles, b: Doubles, x: Doubles) -> Doubles:
    if not a.size:
        return a
    logs = a * np.log(x) + b * np.log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b)
    factor = np.exp(logs)
    value: Doubles = np.where(factor == 0, 0.0, factor * _beta_fraction(a, b, x) / a)
    return value


def _beta_fraction(a: Doubles, b: Doubles, x: Doubles) -> Doubles:
    def even(m: int) -> Doubles:
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))

    def odd(m: int) -> Doubles:
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))

    return _lentz(x.shape, lambda n: odd((n - 1) // 2) if n % 2 else even(n // 2))


def _lentz(shape: tuple[int, ...], coefficient: Callable[[int], Doubles]) -> Doubles:
    """``1 / (1 + c1 / (1 + c2 / (1 + ...)))``."""
    c, d = np.ones(shape), np.zeros(shape)
    found = np.ones(shape)
    for n in range(1, _TERMS):
        step = coefficient(n)
        d = 1 / _away(1 + step * d)
        c = _away(1 + step / c)
        change = c * d
        found = found * change
        if not np.any(np.abs(change - 1) > _ROUNDED):  # NaN is left
            break
    return 1 / found
