"""Write ``tfx/ops/math/special_tables.py``: special functions as polynomials, piece by piece.

``python tools/gen_special_tables.py`` needs mpmath, which nothing else here does. Each function is
interpolated at Chebyshev's nodes with 45 digits; coefficients that change nothing are left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mpmath  # type: ignore[import-not-found,import-untyped,unused-ignore]

mp: Any = mpmath.mp
mp.dps = 45
TARGET = Path(__file__).parents[1] / "tfx" / "ops" / "math" / "special_tables.py"
MOST = 18  # coefficients
LEAST = 2e-17  # beside the first one
WIDTH = 98
HEADER = '''"""Special functions as polynomials, piece by piece, for ``piecewise``.

Each table has a row for each piece of equal length: the coefficients of a polynomial in the place
within the piece, from -1 to 1, the constant one first. Written by ``tools/gen_special_tables.py``;
accurate to a unit in the last place.
"""

from __future__ import annotations

from typing import TypeAlias

Table: TypeAlias = tuple[tuple[float, ...], ...]

# fmt: off
'''


class Smooth(NamedTuple):
    """A function to be interpolated.

    Attributes:
        text: What it is.
        value: Computes it.
        low: Where the first piece begins.
        high: Where the last piece ends.
        pieces: How many there are.
    """

    text: str
    value: Callable[[Any], Any]
    low: float
    high: float
    pieces: int


def _to_infinity(c: float, value: Callable[[Any], Any], limit: Any) -> Callable[[Any], Any]:
    """A function of ``x`` from 0 to infinity as one of ``x / (x + c)``."""

    def of_place(t: Any) -> Any:
        if 1 - t < mp.mpf(10) ** -12:
            return limit
        t = max(t, mp.mpf(10) ** -30)
        return value(c * t / (1 - t))

    return of_place


def _from_infinity(
    c: float, value: Callable[[Any], Any], limit: Any = None, near: float = 1e-12
) -> Callable[[Any], Any]:
    """A function of ``x`` from ``c`` to infinity as one of ``c / x``."""

    def of_place(u: Any) -> Any:
        if limit is not None and u < near:
            return limit
        return value(c / max(u, mp.mpf(10) ** -25))

    return of_place


def _unless_zero(value: Callable[[Any], Any], at_zero: Any) -> Callable[[Any], Any]:
    return lambda x: value(x) if x > mp.mpf(10) ** -9 else at_zero


def _of_root(value: Callable[[Any], Any], at_zero: Any) -> Callable[[Any], Any]:
    """A function of ``x`` as one of ``x ** 2``."""
    return lambda s: value(mp.sqrt(s)) if s > mp.mpf(10) ** -30 else at_zero


def _hankel(order: int, x: Any) -> tuple[Any, Any]:
    """The factors P and Q of the waves that Bessel functions are far from 0."""
    scale, angle = mp.sqrt(mp.pi * x / 2), x - order * mp.pi / 2 - mp.pi / 4
    j, y = mp.besselj(order, x), mp.bessely(order, x)
    c, s = mp.cos(angle), mp.sin(angle)
    return scale * (j * c + y * s), scale * (y * c - j * s)


def _factor(order: int, number: int) -> Callable[[Any], Any]:
    """P, or Q times ``x``."""
    return lambda x: _hankel(order, x)[number] * (x if number else 1)


def _fresnel(x: Any) -> tuple[Any, Any]:
    """The auxiliary functions f and g."""
    phase = mp.pi * x * x / 2
    a, b = mp.fresnelc(x) - mp.mpf(1) / 2, mp.fresnels(x) - mp.mpf(1) / 2
    return a * mp.sin(phase) - b * mp.cos(phase), -a * mp.cos(phase) - b * mp.sin(phase)


def _functions() -> dict[str, Smooth]:
    pi, euler, log, root = mp.pi, mp.euler, mp.log, mp.sqrt
    i0, i1 = functools.partial(mp.besseli, 0), functools.partial(mp.besseli, 1)
    far_i = 1 / root(2 * pi)
    far_k = root(pi / 2)
    found = {
        "I0E": Smooth(
            "``bessel_i0e(x) * sqrt(1 + x)`` over ``x / (x + 4)``",
            _to_infinity(4, lambda x: i0(x) * mp.exp(-x) * root(1 + x), far_i), 0, 1, 8),
        "I1E": Smooth(
            "``bessel_i1e(x) * (1 + x) ** 1.5 / x`` over ``x / (x + 4)``",
            _to_infinity(4, lambda x: i1(x) * mp.exp(-x) / x * (1 + x) * root(1 + x), far_i),
            0, 1, 8),
        "K0_NEAR": Smooth(
            "``bessel_k0(x) + log(x / 2) * bessel_i0(x)`` over ``x ** 2`` up to 4",
            _of_root(lambda x: mp.besselk(0, x) + log(x / 2) * i0(x), -euler), 0, 4, 2),
        "K1_NEAR": Smooth(
            "``x * (bessel_k1(x) - log(x / 2) * bessel_i1(x))`` over ``x ** 2`` up to 4",
            _of_root(lambda x: (mp.besselk(1, x) - log(x / 2) * i1(x)) * x, mp.mpf(1)), 0, 4, 2),
        "K0_FAR": Smooth(
            "``bessel_k0e(x) * sqrt(x)`` over ``2 / x``",
            _from_infinity(2, lambda x: mp.besselk(0, x) * mp.exp(x) * root(x), far_k), 0, 1, 4),
        "K1_FAR": Smooth(
            "``bessel_k1e(x) * sqrt(x)`` over ``2 / x``",
            _from_infinity(2, lambda x: mp.besselk(1, x) * mp.exp(x) * root(x), far_k), 0, 1, 4),
        "J0_NEAR": Smooth("``bessel_j0(x)`` up to 8", lambda x: mp.besselj(0, x), 0, 8, 8),
        "J1_NEAR": Smooth(
            "``bessel_j1(x) / x`` up to 8",
            _unless_zero(lambda x: mp.besselj(1, x) / x, mp.mpf(1) / 2), 0, 8, 8),
        "Y0_NEAR": Smooth(
            "``bessel_y0(x) - 2 / pi * log(x) * bessel_j0(x)`` over ``x ** 2`` up to 64",
            _of_root(
                lambda x: mp.bessely(0, x) - 2 / pi * log(x) * mp.besselj(0, x),
                2 / pi * (euler - log(2))),
            0, 64, 8),
        "Y1_NEAR": Smooth(
            "``(bessel_y1(x) - 2 / pi * (log(x) * bessel_j1(x) - 1 / x)) / x`` over ``x ** 2`` "
            "up to 64",
            _of_root(
                lambda x: (mp.bessely(1, x) - 2 / pi * (log(x) * mp.besselj(1, x) - 1 / x)) / x,
                (2 * euler - 1 - 2 * log(2)) / (2 * pi)),
            0, 64, 8),
        "DAWSN": Smooth(
            "``dawsn(x) * (1 + 2 * x ** 2) / x`` over ``x / (x + 2)``",
            _to_infinity(
                2,
                lambda x: root(pi) / 2 * mp.exp(-x * x) * mp.erfi(x) / x * (1 + 2 * x * x),
                mp.mpf(1)),
            0, 1, 16),
        "EXPINT_NEAR": Smooth(
            "``(expint(x) - log(abs(x)) - gamma) / x`` from -1 to 6",
            lambda x: mp.hyp2f2(1, 1, 2, 2, x), -1, 6, 7),
        "EXPINT_FAR": Smooth(
            "``expint(x) * exp(-x) * x`` over ``6 / x``",
            _from_infinity(6, lambda x: mp.ei(x) * mp.exp(-x) * x, mp.mpf(1)), 0, 1, 16),
        "EXPINT_BELOW": Smooth(
            "``-expint(-1 - y) * exp(y + 1) * (y + 1)`` over ``y / (y + 4)``",
            _to_infinity(4, lambda y: mp.e1(y + 1) * mp.exp(y + 1) * (y + 1), mp.mpf(1)), 0, 1, 8),
        "FRESNEL_C": Smooth(
            "``fresnel_cos(x) / x`` up to 2",
            _unless_zero(lambda x: mp.fresnelc(x) / x, mp.mpf(1)), 0, 2, 8),
        "FRESNEL_S": Smooth(
            "``fresnel_sin(x) / x ** 3`` up to 2",
            _unless_zero(lambda x: mp.fresnels(x) / x**3, pi / 6), 0, 2, 8),
        "FRESNEL_F": Smooth(
            "Fresnel's auxiliary function f times ``pi * x``, over ``2 / x``",
            _from_infinity(2, lambda x: _fresnel(x)[0] * x * pi, mp.mpf(1), 1e-8), 0, 1, 8),
        "FRESNEL_G": Smooth(
            "Fresnel's auxiliary function g times ``pi ** 2 * x ** 3``, over ``2 / x``",
            _from_infinity(2, lambda x: _fresnel(x)[1] * pi**2 * x**3, mp.mpf(1), 1e-8), 0, 1, 8),
        "SPENCE": Smooth(
            "The dilogarithm ``Li2(z) / z`` up to 1/2",
            _unless_zero(lambda z: mp.polylog(2, z) / z, mp.mpf(1)), 0, 0.5, 2),
    }  # fmt: skip
    for order in (0, 1):
        found[f"P{order}"] = Smooth(
            f"Hankel's P of order {order} over ``8 / x``",
            _from_infinity(8, _factor(order, 0)), 0, 1, 2,
        )  # fmt: skip
        found[f"Q{order}"] = Smooth(
            f"Hankel's Q of order {order} times ``x``, over ``8 / x``",
            _from_infinity(8, _factor(order, 1)), 0, 1, 2,
        )  # fmt: skip
    return found


def _polynomial(value: Callable[[Any], Any], low: Any, high: Any) -> list[Any]:
    """The coefficients of a piece."""
    places = [mp.cos(mp.pi * (2 * k + 1) / (2 * MOST)) for k in range(MOST)]
    values = [value((low + high) / 2 + (high - low) / 2 * z) for z in places]
    total = [mp.mpf(0)] * MOST
    before: list[Any] = []
    now = [mp.mpf(1)]  # Chebyshev's polynomials by powers
    for j in range(MOST):
        terms = [v * mp.cos(j * mp.pi * (2 * k + 1) / (2 * MOST)) for k, v in enumerate(values)]
        weight = mp.fsum(terms) * (2 if j else 1) / MOST
        for i, c in enumerate(now):
            total[i] += weight * c
        following = [mp.mpf(0), *((2 if j else 1) * c for c in now)]
        for i, c in enumerate(before):
            following[i] -= c
        before, now = now, following
    return total


def _table(function: Smooth) -> list[list[float]]:
    width = (mp.mpf(function.high) - function.low) / function.pieces
    rows = [
        [float(c) for c in _polynomial(function.value, low, low + width)]
        for low in (function.low + width * i for i in range(function.pieces))
    ]
    count = max(i + 1 for row in rows for i, c in enumerate(row) if abs(c) > LEAST * abs(row[0]))
    return [row[:count] for row in rows]


def _lines(row: list[float]) -> list[str]:
    lines, line = [], "    ("
    for text in [f"{c!r}, " for c in row]:
        if len(line) + len(text) > WIDTH:
            lines.append(line.rstrip())
            line = "     "
        line += text
    return [*lines, line.rstrip(", ") + "),"]


def main() -> None:
    """Write the tables."""
    lines: list[str] = []
    for name, function in _functions().items():
        lines += [f"# {function.text}.", f"{name}: Table = ("]
        for row in _table(function):
            lines += _lines(row)
        lines.append(")")
    TARGET.write_text(HEADER + "\n".join(lines) + "\n# fmt: on\n", encoding="utf-8")


if __name__ == "__main__":
    main()
