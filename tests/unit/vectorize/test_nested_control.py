"""Loops in branches in loops, vectorized and differentiated: what one element alone gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

F64 = tf.float64
X = tf.constant([[0.5, 1.2, -0.3], [-1.0, 0.2, 0.9], [1.4, -0.6, 0.1], [0.05, 0.02, -0.01]], F64)


def _nested(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The loop inside runs 0, 1 and 2 times, for the elements that come there."""

    def inside(i: Any, y: Any) -> Any:
        return tf.while_loop(lambda j, _: j < i, lambda j, z: (j + 1, step(z) * 0.7), (0, y))[1]

    def f(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            return i + 1, tf.cond(y[0] > 0.1234, lambda: inside(i, y), lambda: y * 0.5 + 0.2)

        return tf.while_loop(lambda i, _: i < 3, body, (0, x))[1]

    return f


def _branches(x: Any) -> Any:
    """Branches of which each keeps something of another shape for the gradient."""
    return tf.cond(
        tf.reduce_sum(x) > 1.0,
        lambda: tf.sort(x + tf.constant([2.0, -1.0, 3.0], F64)) * 0.5,
        lambda: tf.nn.softmax(x * 2.0) + tf.reduce_logsumexp(x) * 0.1,
    )


PROGRAMS = {
    "sine": _nested(tf.sin),
    "product": _nested(lambda z: z * tf.reduce_sum(z) * 0.3),
    "sorted": _nested(tf.sort),
    "mapped": lambda x: tf.reduce_sum(tf.map_fn(lambda e: _nested(tf.sin)(x * e), x), 0),
    "vectorized": lambda x: tf.reduce_sum(
        tf.vectorized_map(lambda e: _nested(tf.sin)(x * e), x, warn=False), 0
    ),
    "branches": _branches,
}


def _gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def g(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(f(x)))
        return tape.gradient(y, x)

    return g


def _hessian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def h(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = _gradient(f)(x)
        return tape.jacobian(y, x)

    return h


def _differences(f: Callable[[Any], Any], x: Any) -> np.ndarray[Any, Any]:
    step = np.eye(3) * 1e-6
    return np.stack([(f(x + e).numpy() - f(x - e).numpy()) / 2e-6 for e in step], -1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_all_elements_at_once(name: str) -> None:
    f = PROGRAMS[name]
    whole = tf.function(lambda x: tf.vectorized_map(_gradient(f), x, warn=False))
    alone = tf.function(lambda x: tf.reduce_sum(tf.sin(f(x))))
    expected = [_differences(alone, x) for x in tf.unstack(X)]
    np.testing.assert_allclose(whole(X), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives_of_a_called_function(name: str) -> None:
    f = tf.function(PROGRAMS[name])
    slope = tf.function(_gradient(PROGRAMS[name]))
    for x in tf.unstack(X)[:2]:
        np.testing.assert_allclose(_hessian(f)(x), _differences(slope, x), rtol=1e-6, atol=1e-8)
