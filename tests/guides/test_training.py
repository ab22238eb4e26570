"""Basic training loops and models from the core operations alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf

# What TensorFlow 2.21 gives.
LOGISTIC_LOSSES = [0.6292228, 0.5714344, 0.5266387, 0.4913006, 0.4628865]
PERCEPTRON_LOSSES = [1.342904, 1.026790, 0.877024, 0.831511, 0.794277]
DESCENT, MOMENTUM = 0.12665734, -1.1249502


def test_fitting_a_line() -> None:
    class Line(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable(5.0)
            self.b = tf.Variable(0.0)

        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return self.w * x + self.b

    x = tf.linspace(-2.0, 2.0, 201)
    y = x * 3.0 + 2.0 + tf.sin(tf.cast(tf.range(201), tf.float32))
    line = Line()
    assert line(3.0).numpy() == 15.0
    losses = []
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - line(x)))
        dw, db = tape.gradient(loss, [line.w, line.b])
        line.w.assign_sub(0.1 * dw)
        line.b.assign_sub(0.1 * db)
        losses.append(float(loss))
    np.testing.assert_allclose(losses[0], 9.959339, rtol=1e-4)
    np.testing.assert_allclose([line.w, line.b], [3.0739663, 1.7853969], rtol=1e-4)


def test_fitting_a_parabola_with_a_traced_model() -> None:
    class Parabola(tf.Module):
        def __init__(self) -> None:
            self.q = tf.Variable(0.3)
            self.l = tf.Variable(-0.2)
            self.b = tf.Variable(0.1)

        @tf.function
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return self.q * (x**2) + self.l * x + self.b

    x = tf.cast(tf.linspace(-2, 2, 201), tf.float32)
    y = x**2 + 2 * x - 5 + tf.cos(x * 7)
    model = Parabola()
    losses = []
    for step in range(100):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        for g, v in zip(tape.gradient(loss, model.variables), model.variables, strict=True):
            v.assign_sub(0.01 * g)
        if step % 10 == 0:
            losses.append(round(float(tf.reduce_mean(tf.square(model(x) - y))), 3))
    assert losses[:9] == [22.989, 13.542, 9.813, 7.752, 6.367, 5.344, 4.552, 3.919, 3.402]


class Normalize(tf.Module):
    def __init__(self, x: tf.Tensor) -> None:
        self.mean = tf.Variable(tf.math.reduce_mean(x, axis=0))
        self.std = tf.Variable(tf.math.reduce_std(x, axis=0))

    def norm(self, x: tf.Tensor) -> tf.Tensor:
        return (x - self.mean) / self.std


class Logistic(tf.Module):
    def __init__(self) -> None:
        self.built = False

    def __call__(self, x: tf.Tensor, train: bool = True) -> tf.Tensor:
        if not self.built:
            self.w = tf.Variable(tf.ones([x.shape[-1], 1]) * 0.1)
            self.b = tf.Variable(tf.zeros([]))
            self.built = True
        z = tf.squeeze(tf.add(tf.matmul(x, self.w), self.b), axis=1)
        return z if train else tf.sigmoid(z)


def points() -> tuple[tf.Tensor, tf.Tensor]:
    x = tf.reshape(tf.sin(tf.range(240, dtype=tf.float32) ** 1.5), [60, 4])
    return x, tf.cast(tf.reduce_sum(x, axis=1) > 0, tf.float32)


def classes(y: tf.Tensor) -> tf.Tensor:
    return tf.cast(y > 0.5, tf.float32)


def test_logistic_regression_and_its_export(tmp_path: Path) -> None:
    x, y = points()
    normalize, model = Normalize(x), Logistic()
    inputs = normalize.norm(x)
    np.testing.assert_allclose(tf.math.reduce_std(inputs, axis=0), [1.0] * 4, rtol=1e-5)
    losses = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            logits = model(inputs)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
        for g, v in zip(tape.gradient(loss, model.variables), model.variables, strict=True):
            v.assign_sub(0.5 * g)
        losses.append(float(loss))
    np.testing.assert_allclose(losses, LOGISTIC_LOSSES, rtol=1e-4)

    class Export(tf.Module):
        def __init__(self) -> None:
            self.model = model
            self.normalize = normalize

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return classes(self.model(self.normalize.norm(x), train=False))

    export = Export()
    path = str(tmp_path / "logistic")
    tf.saved_model.save(export, path)
    loaded = tf.saved_model.load(path)
    np.testing.assert_array_equal(loaded(x), export(x))
    accuracy = tf.reduce_mean(tf.cast(loaded(x) == y, tf.float32))
    np.testing.assert_allclose(accuracy, 56 / 60, rtol=1e-6)


class Layer(tf.Module):
    def __init__(self, units: int, activation: Callable[..., Any] = tf.identity) -> None:
        self.units = units
        self.activation = activation
        self.built = False

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        if not self.built:
            shape = (x.shape[1], self.units)
            start = tf.sin(tf.range(shape[0] * shape[1], dtype=tf.float32))
            self.w = tf.Variable(tf.reshape(start, shape))
            self.b = tf.Variable(tf.zeros([self.units]))
            self.built = True
        return self.activation(tf.add(tf.matmul(x, self.w), self.b))


class Perceptron(tf.Module):
    def __init__(self) -> None:
        self.layers = [Layer(6, tf.nn.relu), Layer(5, tf.nn.relu), Layer(3)]

    @tf.function
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Adam:
    """The optimizer from its formulas, as the guide builds it."""

    def __init__(self, rate: float) -> None:
        self.rate, self.t = rate, 1.0
        self.m: list[tf.Variable] = []
        self.v: list[tf.Variable] = []

    def apply(self, grads: list[tf.Tensor], variables: Any) -> None:
        if not self.m:
            self.m = [tf.Variable(tf.zeros(shape=v.shape)) for v in variables]
            self.v = [tf.Variable(tf.zeros(shape=v.shape)) for v in variables]
        for i, (g, var) in enumerate(zip(grads, variables, strict=True)):
            self.m[i].assign(0.9 * self.m[i] + 0.1 * g)
            self.v[i].assign(0.999 * self.v[i] + 0.001 * tf.square(g))
            m = self.m[i] / (1 - 0.9**self.t)
            v = self.v[i] / (1 - 0.999**self.t)
            var.assign_sub(self.rate * m / (tf.sqrt(v) + 1e-7))
        self.t += 1.0


def perceptron_losses(apply: Callable[..., Any]) -> list[float]:
    x, _ = points()
    labels = tf.argmax(x[:, :3], axis=1)
    model = Perceptron()
    model(x)
    losses = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            logits = model(x)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            )
        apply(tape.gradient(loss, model.variables), model.variables)
        losses.append(float(loss))
    return losses


def test_a_perceptron_with_a_hand_made_optimizer() -> None:
    np.testing.assert_allclose(perceptron_losses(Adam(0.05).apply), PERCEPTRON_LOSSES, rtol=2e-4)


def test_a_perceptron_with_the_optimizer_of_that_name() -> None:
    adam = tf.optimizers.Adam(0.05)
    losses = perceptron_losses(
        lambda grads, variables: adam.apply_gradients(zip(grads, variables, strict=True))
    )
    np.testing.assert_allclose(losses, PERCEPTRON_LOSSES, rtol=2e-4)


def descend(update: Callable[[tf.Tensor, tf.Variable], None]) -> float:
    x = tf.Variable(2.0)
    for _ in range(60):
        with tf.GradientTape() as tape:
            loss = 2 * (x**4) + 3 * (x**3) + 2
        update(tape.gradient(loss, x), x)
    return float(x)


def test_gradient_descent_and_momentum() -> None:
    np.testing.assert_allclose(descend(lambda g, x: x.assign_sub(0.01 * g)), DESCENT, rtol=1e-4)

    class Momentum(tf.Module):
        def __init__(self) -> None:
            self.change = 0.0

        def __call__(self, g: tf.Tensor, x: tf.Variable) -> None:
            self.change = 0.01 * g + 0.7 * self.change
            x.assign_sub(self.change)

    np.testing.assert_allclose(descend(Momentum()), MOMENTUM, rtol=1e-4)


def test_a_traced_training_step() -> None:
    w = tf.Variable([[0.0], [0.0]])
    x = tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    y = tf.constant([[1.0], [2.0], [3.0]])

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - y) ** 2)
        w.assign_sub(0.5 * tape.gradient(loss, w))
        return loss

    losses = [float(step(x, y)) for _ in range(100)]
    np.testing.assert_allclose(losses[:2], [14 / 3, 2 / 27], rtol=1e-5)
    np.testing.assert_allclose(w, [[1.0], [2.0]], atol=1e-4)
