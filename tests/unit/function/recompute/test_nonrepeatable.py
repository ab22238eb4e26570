"""Second derivatives of functions that draw random numbers, or call Python, use the same draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

X = np.linspace(0.5, 1.5, 200, dtype=np.float32)


def _dropout(x: Any) -> Any:
    kept = tf.raw.Dropout(x**3.0, tf.constant(0.5), tf.constant(True))
    return kept[0] if isinstance(kept, tuple) else kept


def _numpy(x: Any) -> Any:
    draw = np.random.default_rng().uniform
    u = tf.numpy_function(lambda: draw(size=200).astype(np.float32), [], tf.float32)
    return tf.ensure_shape(u, [200]) * x**3.0


# Each is u * x**3 for numbers u that are drawn.
CASES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: tf.raw.RandomUniformLike(x) * x**3.0,
    "dropout": _dropout,
    "generator": lambda x: tf.random.uniform([200]) * x**3.0,
    "python": _numpy,
}


def _function(name: str) -> Any:
    return tf.function(lambda x: tf.reduce_sum(CASES[name](x)))


@pytest.mark.parametrize("name", sorted(CASES))
def test_reverse_over_reverse(name: str) -> None:
    f, x = _function(name), tf.constant(X)
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = f(x)
            slope = first.gradient(y, x)
        curvature = second.gradient(slope, x)
    last = third.gradient(curvature, x)
    u = slope.numpy() / (3 * X**2)
    assert len(np.unique(u.round(5))) > 1
    np.testing.assert_allclose((u * X**3).sum(), y, rtol=1e-4)
    np.testing.assert_allclose(curvature, 6 * u * X, rtol=1e-4)
    np.testing.assert_allclose(last, 6 * u, rtol=1e-4)


@pytest.mark.parametrize("name", sorted(CASES))
def test_jacobian_of_a_gradient(name: str) -> None:
    f, x = _function(name), tf.constant(X)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    hessian = outer.jacobian(slope, x).numpy()
    np.testing.assert_allclose(np.diag(hessian), 2 * slope.numpy() / X, rtol=1e-4)
    assert not hessian[~np.eye(200, dtype=bool)].any()


@pytest.mark.parametrize("name", ["dropout", "generator", "operator"])
def test_forward_over_reverse(name: str) -> None:
    f, x = _function(name), tf.constant(X)
    with tf.autodiff.ForwardAccumulator(x, x) as acc:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        slope = tape.gradient(y, x)
    np.testing.assert_allclose(acc.jvp(y), 3 * y.numpy(), rtol=1e-4)
    np.testing.assert_allclose(acc.jvp(slope), 2 * slope.numpy(), rtol=1e-4)


def test_calls_still_differ() -> None:
    for name in sorted(CASES):
        f, x = _function(name), tf.constant(X)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            first, second = f(x), f(x)
        assert float(first) != float(second)
        assert not np.array_equal(tape.gradient(first, x), tape.gradient(second, x))


def test_a_dropout_called_under_a_tape_has_the_gradient_of_its_mask() -> None:
    x = tf.constant([0.0] * 50 + [2.0] * 50)
    f = tf.function(lambda x: tf.reduce_sum(_dropout_of(x)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    gradient = tape.gradient(y, x).numpy()
    assert set(gradient.tolist()) == {0.0, 2.0}  # not the average where x is 0


def _dropout_of(x: Any) -> Any:
    kept = tf.raw.Dropout(x, tf.constant(0.5), tf.constant(True))
    return kept[0] if isinstance(kept, tuple) else kept
