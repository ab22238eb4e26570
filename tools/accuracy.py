"""How accurate the functions of one number are: reference points for the tests, and a table.

``python tools/accuracy.py points`` writes ``tests/unit/ops/accuracy_points.json``: for each
function some arguments that float32 holds exactly, and its values in 40 digits rounded to float64.
``python tools/accuracy.py measure`` prints the table of ``docs/accuracy.md``: the worst error found
at random arguments of the whole domain. Both need mpmath, which nothing else here does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mpmath  # type: ignore[import-not-found,import-untyped,unused-ignore]
import numpy as np

import tfx as tf

mp: Any = mpmath.mp
mp.prec = 150
POINTS = Path(__file__).parents[1] / "tests" / "unit" / "ops" / "accuracy_points.json"


class Function(NamedTuple):
    """A function and what it should be.

    Attributes:
        compute: The public function.
        exact: Given a finite number inside of the domain, the value in many digits.
        low: Where its domain begins.
        high: Where its domain, or what can be computed here in reasonable time, ends.
    """

    compute: Callable[[Any], Any]
    exact: Callable[[Any], Any]
    low: float = -np.inf
    high: float = np.inf


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(-abs(x))) + max(x, 0)


def _gelu_tanh(x: Any) -> Any:
    u = mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)
    return x * _sigmoid(2 * u)


def _selu(x: Any) -> Any:
    alpha, scale = mp.mpf("1.6732632423543772848"), mp.mpf("1.0507009873554804934")
    return scale * (x if x > 0 else alpha * mp.expm1(x))


def _dawsn(x: Any) -> Any:
    if abs(x) > 1e6:
        return 1 / (2 * x) + 1 / (4 * x**3)
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _lgamma(x: Any) -> Any:
    if x <= 0 and x == mp.floor(x):
        raise ValueError("a pole")
    if x > 1e12:
        return x * mp.log(x) - x - mp.log(x / (2 * mp.pi)) / 2 + 1 / (12 * x)
    if x < -1e4:
        return mp.log(mp.pi / abs(mp.sin(mp.pi * x))) - mp.re(mp.loggamma(1 - x))
    return mp.log(abs(mp.gamma(x)))


def _digamma(x: Any) -> Any:
    return mp.digamma(x) if x < 1e12 else mp.log(x) - 1 / (2 * x)


def _erfcinv(q: Any) -> Any:
    if q > 1:
        return -_erfcinv(2 - q)
    if q > mp.mpf("0.3"):
        return mp.erfinv(1 - q)
    logs = -mp.log(q)
    y = mp.sqrt(max(logs - mp.log(mp.pi * max(logs, 1)) / 2, mp.mpf("0.1")))
    for _ in range(60):
        e = mp.erfc(y)
        step = mp.log(e / q) * e * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y = y + step
        if abs(step) < abs(y) * mp.mpf(2) ** -120:
            break
    return y


def _erfinv(x: Any) -> Any:
    return mp.erfinv(x) if abs(x) < 0.7 else mp.sign(x) * _erfcinv(1 - abs(x))


def _of_bessel(kind: Any, order: int, scale: int = 0) -> Callable[[Any], Any]:
    return lambda x: kind(order, x) * (mp.exp(scale * abs(x)) if scale else 1)


def _functions() -> dict[str, Function]:
    m, sp = tf.math, tf.math.special
    f = Function
    return {
        "sigmoid": f(tf.sigmoid, _sigmoid),
        "log_sigmoid": f(m.log_sigmoid, lambda x: -_softplus(-x)),
        "softplus": f(m.softplus, _softplus),
        "softsign": f(tf.nn.softsign, lambda x: x / (1 + abs(x))),
        "silu": f(tf.nn.silu, lambda x: x * _sigmoid(x)),
        "gelu": f(tf.nn.gelu, lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2),
        "gelu_tanh": f(lambda x: tf.nn.gelu(x, approximate=True), _gelu_tanh),
        "elu": f(tf.nn.elu, lambda x: x if x > 0 else mp.expm1(x)),
        "selu": f(tf.nn.selu, _selu),
        "exp": f(tf.exp, mp.exp),
        "expm1": f(m.expm1, mp.expm1),
        "log": f(m.log, mp.log, 0),
        "log1p": f(m.log1p, mp.log1p, -1),
        "sqrt": f(tf.sqrt, mp.sqrt, 0),
        "rsqrt": f(m.rsqrt, lambda x: 1 / mp.sqrt(x), 0),
        "reciprocal": f(m.reciprocal, lambda x: 1 / x),
        "sin": f(tf.sin, mp.sin),
        "cos": f(tf.cos, mp.cos),
        "tan": f(tf.tan, mp.tan),
        "asin": f(tf.asin, mp.asin, -1, 1),
        "acos": f(tf.acos, mp.acos, -1, 1),
        "atan": f(tf.atan, mp.atan),
        "sinh": f(tf.sinh, mp.sinh),
        "cosh": f(tf.cosh, mp.cosh),
        "tanh": f(tf.tanh, mp.tanh),
        "asinh": f(tf.asinh, mp.asinh),
        "acosh": f(tf.acosh, mp.acosh, 1),
        "atanh": f(tf.atanh, mp.atanh, -1, 1),
        "erf": f(m.erf, mp.erf),
        "erfc": f(m.erfc, mp.erfc, -np.inf, 1e3),
        "erfinv": f(m.erfinv, _erfinv, -1, 1),
        "erfcinv": f(m.erfcinv, _erfcinv, 0, 2),
        "ndtri": f(m.ndtri, lambda x: -mp.sqrt(2) * _erfcinv(2 * x), 0, 1),
        "lgamma": f(m.lgamma, _lgamma, -1e15),
        "digamma": f(m.digamma, _digamma, -1e12),
        "dawsn": f(sp.dawsn, _dawsn),
        "expint": f(sp.expint, lambda x: mp.re(mp.ei(x)), -800),
        "fresnel_cos": f(sp.fresnel_cos, mp.fresnelc, -1e4, 1e4),
        "fresnel_sin": f(sp.fresnel_sin, mp.fresnels, -1e4, 1e4),
        "spence": f(sp.spence, lambda x: mp.re(mp.polylog(2, 1 - x)), 0),
        "bessel_i0": f(m.bessel_i0, _of_bessel(mp.besseli, 0), -720, 720),
        "bessel_i0e": f(m.bessel_i0e, _of_bessel(mp.besseli, 0, -1), -1e5, 1e5),
        "bessel_i1": f(m.bessel_i1, _of_bessel(mp.besseli, 1), -720, 720),
        "bessel_i1e": f(m.bessel_i1e, _of_bessel(mp.besseli, 1, -1), -1e5, 1e5),
        "bessel_j0": f(sp.bessel_j0, _of_bessel(mp.besselj, 0), -1e5, 1e5),
        "bessel_j1": f(sp.bessel_j1, _of_bessel(mp.besselj, 1), -1e5, 1e5),
        "bessel_k0": f(sp.bessel_k0, _of_bessel(mp.besselk, 0), 0, 760),
        "bessel_k0e": f(sp.bessel_k0e, _of_bessel(mp.besselk, 0, 1), 0, 1e5),
        "bessel_k1": f(sp.bessel_k1, _of_bessel(mp.besselk, 1), 0, 760),
        "bessel_k1e": f(sp.bessel_k1e, _of_bessel(mp.besselk, 1, 1), 0, 1e5),
        "bessel_y0": f(sp.bessel_y0, _of_bessel(mp.bessely, 0), 0, 1e5),
        "bessel_y1": f(sp.bessel_y1, _of_bessel(mp.bessely, 1), 0, 1e5),
    }


def _arguments(function: Function, kind: Any, count: int, seed: int = 0) -> Any:
    """Numbers inside of the domain: of every size, and dense where functions bend."""
    rng = np.random.default_rng(seed)
    info = np.finfo(kind)
    sizes = 10.0 ** rng.uniform(np.log10(info.tiny), np.log10(info.max), 2 * count)
    parts = [sizes[:count], -sizes[count:]]
    parts += [rng.uniform(-s, s, count // 2) for s in (1, 3, 10, 30, 110, 800)]
    near = 10.0 ** rng.uniform(-7, -1, count // 2) * rng.choice((-1, 1), count // 2)
    parts += [1 + near, near - 1]
    x = np.unique(np.concatenate(parts).astype(kind))
    return x[(x > function.low) & (x < function.high) & np.isfinite(x)]


def _value(function: Function, x: float) -> Any:
    """The exact value, or None where it cannot be had or float64 does not hold it."""
    try:
        y = mp.re(function.exact(mp.mpf(x)))
    except (ArithmeticError, ValueError):
        return None
    return y if mp.isfinite(y) and 1e-307 < abs(y) < 1e308 else None


def points(count: int = 24) -> None:
    """Write the reference points."""
    table: dict[str, list[list[float]]] = {}
    for name, function in _functions().items():
        rows = []
        candidates = _arguments(function, np.float32, count)
        rng = np.random.default_rng(1)
        for x in np.sort(rng.choice(candidates, min(3 * count, len(candidates)), replace=False)):
            y = _value(function, float(x))
            if y is not None:
                rows.append([float(x), float(y)])
        table[name] = rows
    lines = [f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in table.items()]
    POINTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def measure(count: int = 400) -> None:
    """Print the worst errors, in units of the last place, with the arguments where they are."""
    print("| function | float32 | at | float64 | at |")
    print("|---|---|---|---|---|")
    for name, function in _functions().items():
        cells = []
        for kind in (np.float32, np.float64):
            info = np.finfo(kind)
            x = _arguments(function, kind, count)
            found = tf.function(function.compute)(tf.constant(x)).numpy()
            worst = (0.0, 0.0)
            for a, y in zip(x, found, strict=True):
                wanted = _value(function, float(a))
                if wanted is None or not float(info.tiny) < abs(wanted) < float(info.max):
                    continue
                unit = mp.mpf(2) ** (int(mp.floor(mp.log(abs(wanted), 2))) - info.nmant)
                worst = max(worst, (float(abs(mp.mpf(float(y)) - wanted) / unit), float(a)))
            cells += [f"{worst[0]:.2g}", f"{worst[1]:.6g}"]
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    {"points": points, "measure": measure}[sys.argv[1]]()
