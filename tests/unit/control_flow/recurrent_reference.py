"""RNN, GRU and LSTM in NumPy, step by step from their definitions, in any precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_ONE = {"Affine": 0.0, "LeakyRelu": 0.01, "ThresholdedRelu": 0.0, "ScaledTanh": 0.0,
        "HardSigmoid": 0.2, "Elu": 1.0}  # fmt: skip
_TWO = {"Affine": 0.0, "ScaledTanh": 0.0, "HardSigmoid": 0.5}
_PLAIN: dict[str, Callable[[Array], Array]] = {
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Softplus": lambda x: np.log1p(np.exp(x)),
}


def _with_numbers(name: str, a: float, b: float) -> Callable[[Array], Array]:
    return {
        "Affine": lambda x: a * x + b,
        "LeakyRelu": lambda x: np.where(x >= 0, x, a * x),
        "ThresholdedRelu": lambda x: np.where(x > a, x, 0 * x),
        "ScaledTanh": lambda x: a * np.tanh(b * x),
        "HardSigmoid": lambda x: np.clip(a * x + b, 0, 1),
        "Elu": lambda x: np.where(x >= 0, x, a * (np.exp(x) - 1)),
    }[name]


def activations(attrs: dict[str, Any], default: list[str], count: int) -> list[Any]:
    """The functions, with the numbers of those that take some."""
    names = list(attrs.get("activations") or default * count)
    ones = list(attrs.get("activation_alpha") or [])
    twos = list(attrs.get("activation_beta") or [])
    found: list[Any] = []
    for name in names:
        if name in _PLAIN:
            found.append(_PLAIN[name])
            continue
        a = (ones.pop(0) if ones else _ONE[name]) if name in _ONE else 0.0
        b = (twos.pop(0) if twos else _TWO[name]) if name in _TWO else 0.0
        found.append(_with_numbers(name, a, b))
    return found


def run(op: str, attrs: dict[str, Any], *inputs: Array | None) -> list[Array]:
    """All results of one operator."""
    given = list(inputs) + [None] * (8 - len(inputs))
    x, w, r, b, lengths, h0, c0, p = given
    assert x is not None
    assert w is not None
    assert r is not None
    if attrs.get("layout"):
        x = x.swapaxes(0, 1)
        h0 = None if h0 is None else h0.swapaxes(0, 1)
        c0 = None if c0 is None else c0.swapaxes(0, 1)
    time, batch, _ = x.shape
    directions, hidden = r.shape[0], r.shape[2]
    gates = w.shape[1] // hidden
    defaults = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
    functions = activations(attrs, defaults[op], directions)
    each = len(functions) // directions
    lens = np.full(batch, time) if lengths is None else lengths
    y = np.zeros((time, directions, batch, hidden), x.dtype)
    last = np.zeros((directions, batch, hidden), x.dtype)
    cells = np.zeros((directions, batch, hidden), x.dtype)
    kind = attrs.get("direction", "forward")
    for d in range(directions):
        bias = np.zeros(2 * gates * hidden, x.dtype) if b is None else b[d]
        backwards = kind == "reverse" or d == 1
        for k in range(batch):
            state = np.zeros(hidden, x.dtype) if h0 is None else h0[d, k]
            cell = np.zeros(hidden, x.dtype) if c0 is None else c0[d, k]
            steps = range(lens[k])
            for t in reversed(steps) if backwards else steps:
                peep = np.zeros(3 * hidden, x.dtype) if p is None else p[d]
                args = (attrs, functions[d * each : (d + 1) * each], x[t, k], state, cell)
                state, cell = _CELLS[op](*args, w[d], r[d], bias, peep)
                y[t, d, k] = state
            if lens[k]:  # the states of a sequence without steps are 0
                last[d, k], cells[d, k] = state, cell
    results = [y, last, cells] if op == "LSTM" else [y, last]
    if attrs.get("layout"):
        return [y.transpose(2, 0, 1, 3), *(v.swapaxes(0, 1) for v in results[1:])]
    return results


def _clipped(attrs: dict[str, Any], a: Array) -> Array:
    return np.clip(a, -attrs["clip"], attrs["clip"]) if attrs.get("clip") else a


def _rnn(attrs: Any, f: Any, x: Array, h: Array, c: Array, w: Any, r: Any, b: Any, p: Any) -> Any:
    n = len(h)
    return f[0](_clipped(attrs, w @ x + r @ h + b[:n] + b[n:])), c


def _gru(attrs: Any, f: Any, x: Array, h: Array, c: Array, w: Any, r: Any, b: Any, p: Any) -> Any:
    n = len(h)
    a, q = w @ x + b[: 3 * n], r @ h + b[3 * n :]
    z = f[0](_clipped(attrs, a[:n] + q[:n]))
    reset = f[0](_clipped(attrs, a[n : 2 * n] + q[n : 2 * n]))
    if attrs.get("linear_before_reset"):
        inner = reset * q[2 * n :]
    else:
        inner = r[2 * n :] @ (reset * h) + b[5 * n :]
    new = f[1](_clipped(attrs, a[2 * n :] + inner))
    return (1 - z) * new + z * h, c


def _lstm(attrs: Any, f: Any, x: Array, h: Array, c: Array, w: Any, r: Any, b: Any, p: Any) -> Any:
    n = len(h)
    a = w @ x + r @ h + b[: 4 * n] + b[4 * n :]
    i = f[0](_clipped(attrs, a[:n] + p[:n] * c))
    forget = f[0](_clipped(attrs, a[2 * n : 3 * n] + p[2 * n :] * c))
    if attrs.get("input_forget"):
        forget = 1 - i
    cell = forget * c + i * f[1](_clipped(attrs, a[3 * n :]))
    o = f[0](_clipped(attrs, a[n : 2 * n] + p[n : 2 * n] * cell))
    return o * f[2](cell), cell


_CELLS: dict[str, Callable[..., tuple[Array, Array]]] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}
