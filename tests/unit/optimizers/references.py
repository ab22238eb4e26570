"""The rules once more, in NumPy float64, written as the papers have them; options as in Keras.

``f(value, gradient, state, step, learning rate)`` returns the new value and keeps ``state``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rule = Callable[..., Any]


def sgd(w, g, s, t, lr, momentum=0.0, nesterov=False):  # type: ignore[no-untyped-def]
    s["m"] = momentum * s.get("m", 0.0) - lr * g
    return w + (momentum * s["m"] - lr * g if nesterov else s["m"])


def adam(  # type: ignore[no-untyped-def]
    w, g, s, t, lr, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, weight_decay=0.0
):
    w = w - lr * weight_decay * w
    s["m"] = beta_1 * s.get("m", 0.0) + (1 - beta_1) * g
    s["v"] = beta_2 * s.get("v", 0.0) + (1 - beta_2) * g**2
    s["top"] = np.maximum(s.get("top", 0.0), s["v"])
    v = s["top"] if amsgrad else s["v"]
    m_hat, v_hat = s["m"] / (1 - beta_1**t), v / (1 - beta_2**t)
    # Keras adds epsilon to the root before its bias is corrected.
    return w - lr * m_hat / (np.sqrt(v_hat) + epsilon / np.sqrt(1 - beta_2**t))


def adamax(w, g, s, t, lr, beta_1=0.9, beta_2=0.999, epsilon=1e-7):  # type: ignore[no-untyped-def]
    s["m"] = beta_1 * s.get("m", 0.0) + (1 - beta_1) * g
    s["u"] = np.maximum(beta_2 * s.get("u", 0.0), np.abs(g))
    return w - lr / (1 - beta_1**t) * s["m"] / (s["u"] + epsilon)


def nadam(w, g, s, t, lr, beta_1=0.9, beta_2=0.999, epsilon=1e-7):  # type: ignore[no-untyped-def]
    mu = [beta_1 * (1 - 0.5 * 0.96**i) for i in range(1, t + 2)]
    s["m"] = beta_1 * s.get("m", 0.0) + (1 - beta_1) * g
    s["v"] = beta_2 * s.get("v", 0.0) + (1 - beta_2) * g**2
    ahead = mu[t] * s["m"] / (1 - np.prod(mu)) + (1 - mu[t - 1]) * g / (1 - np.prod(mu[:t]))
    return w - lr * ahead / (np.sqrt(s["v"] / (1 - beta_2**t)) + epsilon)


def rmsprop(  # type: ignore[no-untyped-def]
    w, g, s, t, lr, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False
):
    s["v"] = rho * s.get("v", 0.0) + (1 - rho) * g**2
    s["g"] = rho * s.get("g", 0.0) + (1 - rho) * g
    variance = s["v"] - s["g"] ** 2 if centered else s["v"]
    s["m"] = momentum * s.get("m", 0.0) + lr * g / np.sqrt(variance + epsilon)
    return w - s["m"]


def adagrad(  # type: ignore[no-untyped-def]
    w, g, s, t, lr, initial_accumulator_value=0.1, epsilon=1e-7
):
    s["sum"] = s.get("sum", initial_accumulator_value) + g**2
    return w - lr * g / np.sqrt(s["sum"] + epsilon)


def adadelta(w, g, s, t, lr, rho=0.95, epsilon=1e-7):  # type: ignore[no-untyped-def]
    s["g"] = rho * s.get("g", 0.0) + (1 - rho) * g**2
    delta = np.sqrt(s.get("d", 0.0) + epsilon) / np.sqrt(s["g"] + epsilon) * g
    s["d"] = rho * s.get("d", 0.0) + (1 - rho) * delta**2
    return w - lr * delta


def ftrl(  # type: ignore[no-untyped-def]
    w, g, s, t, lr,
    learning_rate_power=-0.5, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
    l2_regularization_strength=0.0, l2_shrinkage_regularization_strength=0.0, beta=0.0,
):  # fmt: skip
    power, l1, l2 = -learning_rate_power, l1_regularization_strength, l2_regularization_strength
    before = s.get("n", initial_accumulator_value)
    s["n"] = before + g**2
    sigma = (s["n"] ** power - before**power) / lr
    s["z"] = s.get("z", 0.0) + g + 2 * l2_shrinkage_regularization_strength * w - sigma * w
    curvature = (s["n"] ** power + beta) / lr + 2 * l2
    return np.where(np.abs(s["z"]) <= l1, 0.0, (np.sign(s["z"]) * l1 - s["z"]) / curvature)


def lion(w, g, s, t, lr, beta_1=0.9, beta_2=0.99):  # type: ignore[no-untyped-def]
    m = s.get("m", 0.0)
    s["m"] = beta_2 * m + (1 - beta_2) * g
    return w - lr * np.sign(beta_1 * m + (1 - beta_1) * g)


RULES: dict[str, Rule] = {
    "SGD": sgd, "Adam": adam, "AdamW": adam, "Adamax": adamax, "Nadam": nadam, "RMSprop": rmsprop,
    "Adagrad": adagrad, "Adadelta": adadelta, "Ftrl": ftrl, "Lion": lion,
}  # fmt: skip

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {"weight_decay": 0.25}),
    ("Adamax", {}),
    ("Nadam", {}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.5}),
    ("RMSprop", {"centered": True}),
    ("Adagrad", {}),
    ("Adadelta", {}),
    ("Ftrl", {}),
    ("Ftrl", {"l1_regularization_strength": 0.1, "l2_regularization_strength": 0.2, "beta": 0.5}),
    ("Ftrl", {"learning_rate_power": -0.25, "l2_shrinkage_regularization_strength": 0.05}),
    ("Lion", {}),
]
