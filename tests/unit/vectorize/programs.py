"""Functions of one element for the tests of vectorized programs: control flow, gradients, calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tfx as tf

_rng = np.random.default_rng(5)
W = tf.Variable(_rng.normal(size=(3, 3)).astype(np.float32))
C = tf.constant(_rng.normal(size=3).astype(np.float32))


@tf.custom_gradient
def _clipped(x: Any) -> Any:
    return x * x, lambda dy: dy * tf.clip_by_value(x, -0.5, 0.5)


@tf.custom_gradient
def _weighted(x: Any, w: Any) -> Any:
    return x * w, lambda dy: (dy * w * 3.0, tf.reduce_sum(dy * x) * tf.ones_like(w))


@tf.function
def _function(x: Any) -> Any:
    return tf.nn.softmax(tf.linalg.matvec(W, x))


@tf.function
def _loops_and_branches(x: Any) -> Any:
    s = tf.constant(0.0)
    for i in tf.range(3):
        if x[i] > 0:
            s += x[i] * x[i]
        else:
            s -= tf.sin(x[i])
    return s * x


def _loss(x: Any) -> Any:
    return tf.reduce_sum(tf.sin(tf.linalg.matvec(W, x)) ** 2)


def _gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = _loss(x)
    return tape.gradient(y, x)


def _weight_gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        y = _loss(x)
    return tape.gradient(y, W)


def _hessian(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        g = _gradient(x)
    return tape.jacobian(g, x)


def _doubled(x: Any) -> Any:
    return tf.while_loop(lambda a: tf.reduce_sum(a * a) < 20.0, lambda a: a * 1.5, (x,))[0]


def _gradient_of_loop(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(_doubled(x) ** 2)
    return tape.gradient(y, x)


def _gradient_of_branches(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(_loops_and_branches(x) ** 2)
    return tape.gradient(y, x)


def _array(x: Any) -> Any:
    array = tf.TensorArray(tf.float32, 3)
    _, array = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x[i] * 2.0)), (0, array)
    )
    return array.stack()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "captures": lambda x: x * C + W,
    "matvec": lambda x: tf.linalg.matvec(W, x),
    "condition differs": lambda x: tf.cond(
        x[0] > 0, lambda: tf.math.log(x[0]) * C, lambda: tf.exp(x) * 2
    ),
    "condition is the same": lambda x: tf.cond(
        tf.reduce_sum(C) > 100, lambda: tf.sin(x), lambda: W[0] * 2.0
    ),
    "trip count differs": _doubled,
    "trip count is the same": lambda x: tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, tf.linalg.matvec(W, a)), (0, x)
    )[1],
    "only valid while active": lambda x: tf.while_loop(
        lambda a: tf.reduce_min(a) > 0.1, lambda a: tf.sqrt(a - 0.1) * 0.3, (tf.abs(x) + 0.01,)
    )[0],
    "loop in a branch": lambda x: tf.cond(x[1] > 0, lambda: _doubled(x), lambda: x * 3),
    "function": _function,
    "function with loops": _loops_and_branches,
    "gradient": _gradient,
    "gradient of weights": _weight_gradient,
    "hessian": _hessian,
    "gradient of a loop": _gradient_of_loop,
    "gradient of branches": _gradient_of_branches,
    "tensor array": _array,
    "custom gradient": lambda x: _clipped(x) * 2,
    "custom gradient of captures": lambda x: _weighted(x, W[0] * 2.0),
    "nested": lambda x: tf.vectorized_map(lambda r: tf.reduce_sum(r * x), W),
    "nested in an element": lambda x: tf.vectorized_map(lambda r: r * r + x[0], x),
    "map_fn": lambda x: tf.map_fn(lambda r: r * r * x[1], x),
    "scan": lambda x: tf.scan(lambda a, r: a * r + x[0], x),
    "stop_gradient": lambda x: tf.stop_gradient(x) * x,
    "indices differ": lambda x: x[tf.argmax(x)] * W[:, tf.argmax(x)],
    "slices differ": lambda x: tf.slice(x, [tf.cast(tf.argmax(x[:2]), tf.int32)], [2]),
    "scatter": lambda x: tf.tensor_scatter_nd_add(tf.zeros([5]), [[1], [2], [1]], x),
    "shapes": lambda x: tf.reshape(tf.zeros(tf.shape(x)) + x, [tf.shape(x)[0], 1]),
    "structure": lambda x: {"a": x, "b": (x[0], [C])},
}
