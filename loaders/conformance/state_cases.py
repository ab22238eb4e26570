"""Conformance cases about variables: how they change, grow, are shared and are frozen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case, spec

import tfx as tf


def _optimizers() -> dict[str, Any]:
    return {
        "sgd": tf.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
        "rmsprop": tf.optimizers.RMSprop(0.01, momentum=0.5, centered=True),
        "adagrad": tf.optimizers.Adagrad(0.1),
        "adadelta": tf.optimizers.Adadelta(1.0),
        "adamw": tf.optimizers.AdamW(0.02, weight_decay=0.01),
        "adamax": tf.optimizers.Adamax(0.05),
        "nadam": tf.optimizers.Nadam(0.02),
        "ftrl": tf.optimizers.Ftrl(0.1, l1_regularization_strength=0.001),
        "lion": tf.optimizers.Lion(0.01),
    }


class _Fit(tf.Module):
    """A line that one optimizer fits."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__()
        self.w = tf.Variable(np.array([0.5, -1.0, 2.0], np.float32), name="w")
        self.optimizer = optimizer
        self.optimizer.build([self.w])

    @tf.function(input_signature=[spec(["n", 3], name="x"), spec(["n"], name="y")])
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.linalg.matvec(x, self.w) - y))
        self.optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
        return {"loss": loss}


def optimizers(case: Case) -> None:
    """Train steps of every optimizer, with their slots and counters; saved half way."""
    model = tf.Module()
    model.fits = {name: _Fit(optimizer) for name, optimizer in _optimizers().items()}
    case.save(model, {f"step_{name}": fit.step for name, fit in model.fits.items()})
    rng = np.random.default_rng(2)
    x = rng.normal(size=(6, 3)).astype(np.float32)
    y = x @ np.array([1, 2, 3], np.float32)
    for step in range(6):
        for name, fit in model.fits.items():
            case.call(f"step_{name}", {"x": x, "y": y}, fit.step(x, y))
        if step == 2:
            case.save_again()


def thawed(case: Case) -> None:
    """Variables that no signature writes, replaced from outside: frozen weights become inputs."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(np.arange(1200, dtype=np.float32).reshape(3, 400), name="w")
            self.b = tf.Variable(np.float32(0.5), name="b")

        @tf.function(input_signature=[spec(["n", 3], name="x")])
        def predict(self, x):
            return {"y": tf.reduce_sum(x @ self.w, 1) + self.b}

    model = Model()
    case.save(model, {"predict": model.predict})
    x = np.array([[1, 0, -1]], np.float32)
    case.call("predict", {"x": x}, model.predict(x))
    for value in (1.5, -2.0):
        case.assign({"b": np.float32(value)})
        model.b.assign(value)
        case.call("predict", {"x": x}, model.predict(x))
    case.assign({"w": np.ones((3, 400), np.float32)})
    model.w.assign(np.ones((3, 400), np.float32))
    x = np.array([[1, 2, 3], [0, 0, 1]], np.float32)
    case.call("predict", {"x": x}, model.predict(x))
    case.save_again()
    case.call("predict", {"x": x}, model.predict(x))
    case.variables({"w": model.w, "b": model.b})


def growing(case: Case) -> None:
    """A variable that begins without elements and grows with each call."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            start = np.zeros((0, 2), np.float32)
            self.rows = tf.Variable(start, shape=tf.TensorShape([None, 2]), name="rows")

        @tf.function(input_signature=[spec(["n", 2], name="x")])
        def add(self, x):
            self.rows.assign(tf.concat([self.rows, x], 0))
            return {"count": tf.shape(self.rows)[0]}

        @tf.function(input_signature=[])
        def total(self):
            return {"sum": tf.reduce_sum(self.rows, 0)}

    model = Model()
    case.save(model, {"add": model.add, "total": model.total})
    case.call("total", {}, {"sum": np.zeros(2, np.float32)})
    for i in range(3):
        x = np.full((i, 2), i, np.float32)
        case.call("add", {"x": x}, model.add(x))
    case.call("total", {}, model.total())
    case.variables({"rows": model.rows})
    case.assign({"rows": np.zeros((0, 2), np.float32)})
    case.call("total", {}, {"sum": np.zeros(2, np.float32)})


def passed_through(case: Case) -> None:
    """Outputs that are an input, a variable before and after it changes, and one value twice."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = tf.Variable(np.array([1, 2], np.float32), name="v")
            self.w = tf.Variable(np.array([3, 4], np.float32), name="w")

        @tf.function(input_signature=[spec([2], name="x")])
        def swap(self, x):
            before, other = self.v.read_value(), self.w.read_value()
            self.v.assign(other)
            self.w.assign(before)
            return {"x": x, "before": before, "after": self.v.read_value(), "again": before}

    model = Model()
    case.save(model, {"swap": model.swap})
    x = np.array([7, 8], np.float32)
    for _ in range(3):
        case.call("swap", {"x": x}, model.swap(x))
        case.variables({"v": model.v, "w": model.w})


def random_numbers(case: Case) -> None:
    """A generator whose state is a variable: the same numbers everywhere, and after saving."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = tf.random.Generator.from_seed(7)

        @tf.function(input_signature=[])
        def draw(self):
            integers = self.generator.uniform([4], 0, 1000, tf.int32)
            return {"uniform": self.generator.uniform([3]), "integers": integers}

    model = Model()
    case.save(model, {"draw": model.draw})
    for step in range(4):
        case.call("draw", {}, model.draw())
        if step == 1:
            case.save_again()


CASES: dict[str, Callable[[Case], None]] = {
    "optimizers": optimizers,
    "thawed": thawed,
    "growing": growing,
    "passed_through": passed_through,
    "random_numbers": random_numbers,
}
