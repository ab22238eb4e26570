"""Gradients: tapes, what they watch, what has no gradient."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def test_a_power() -> None:
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x**2
    assert tape.gradient(y, x).numpy() == 6.0


def test_a_dense_layer_with_a_persistent_tape() -> None:
    w = tf.Variable(tf.ones((3, 2)) * 0.5, name="w")
    b = tf.Variable(tf.zeros(2), name="b")
    x = [[1.0, 2.0, 3.0]]
    with tf.GradientTape(persistent=True) as tape:
        y = x @ w + b
        loss = tf.reduce_mean(y**2)
    dw, db = tape.gradient(loss, [w, b])
    np.testing.assert_allclose(dw, [[3.0, 3.0], [6.0, 6.0], [9.0, 9.0]])
    np.testing.assert_allclose(db, [3.0, 3.0])
    by_name = tape.gradient(loss, {"w": w, "b": b})
    np.testing.assert_allclose(by_name["b"], db)


def test_a_module() -> None:
    class Dense(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable([[1.0], [-1.0]])
            self.b = tf.Variable([0.5])

        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return tf.nn.relu(x @ self.w + self.b)

    layer = Dense()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([[3.0, 1.0]])))
    grads = tape.gradient(loss, layer.trainable_variables)
    assert [g.shape for g in grads] == [(1,), (2, 1)]
    np.testing.assert_allclose(grads[1], [[3.0], [1.0]])


def test_what_is_watched() -> None:
    trained = tf.Variable(3.0, name="trained")
    frozen = tf.Variable(3.0, name="frozen", trainable=False)
    derived = tf.Variable(2.0, name="derived") + 1.0
    fixed = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = trained**2 + frozen**2 + derived**2 + fixed
    grads = tape.gradient(y, [trained, frozen, derived, fixed])
    assert [None if g is None else float(g) for g in grads] == [6.0, None, None, None]
    assert [v.name for v in tape.watched_variables()] == ["trained:0"]


def test_watching_tensors_and_only_some_variables() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    assert tape.gradient(y, x).numpy() == 6.0
    a, b = tf.Variable(0.0), tf.Variable(10.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        total = tf.reduce_sum(tf.math.sin(a) + tf.nn.softplus(b))
    grads = tape.gradient(total, {"a": a, "b": b})
    assert grads["a"] is None
    np.testing.assert_allclose(grads["b"], 0.9999546, rtol=1e-6)


def test_intermediate_results() -> None:
    x = tf.constant([1.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    np.testing.assert_allclose(tape.gradient(z, y), [2.0, 18.0])
    np.testing.assert_allclose(tape.gradient(z, x), [4.0, 108.0])
    np.testing.assert_allclose(tape.gradient(y, x), [2.0, 6.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = x * x
    tape.gradient(z, x)
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.gradient(z, x)


def test_several_targets_are_summed() -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        targets = {"a": x**2, "b": 1 / x}
    assert tape.gradient(targets, x).numpy() == 3.75
    with tf.GradientTape() as tape:
        y = x * [3.0, 4.0]
    assert tape.gradient(y, x).numpy() == 7.0
    with tf.GradientTape() as tape:
        y = tf.stack([x, 2 * x])
    assert tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])).numpy() == 21.0


def test_element_by_element() -> None:
    x = tf.linspace(-10.0, 10.0, 201)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.sigmoid(x)
    s = 1 / (1 + np.exp(-x.numpy().astype(np.float64)))
    np.testing.assert_allclose(tape.gradient(y, x), s * (1 - s), atol=1e-6)


def test_the_branch_taken() -> None:
    x = tf.constant(1.0)
    a, b = tf.Variable(2.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        result = a if x > 0.0 else b**2
    da, db = tape.gradient(result, [a, b])
    assert (float(da), db) == (1.0, None)
    assert tape.gradient(result, x) is None


def test_reasons_for_none() -> None:
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y * y
    assert tape.gradient(z, x) is None  # not connected

    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        squares = v**2
        mean = tf.reduce_mean(np.mean(squares, axis=0), axis=0)  # NumPy is not recorded
    assert tape.gradient(mean, v) is None

    n = tf.constant(10)
    with tf.GradientTape() as tape:
        tape.watch(n)
        z = n * n
    assert tape.gradient(z, n) is None  # integers have no derivative

    state, source = tf.Variable(0.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        state.assign_add(source)
        z = state**2
    assert tape.gradient(z, source) is None  # an assignment ends the path


def test_zeros_instead_of_none() -> None:
    x, y = tf.Variable([2.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y**2
    zeros = tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(zeros, [0.0, 0.0])


def test_wrong_arguments() -> None:
    x = tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    with pytest.raises(TypeError):
        tape.gradient(None, x)
    with pytest.raises(TypeError):
        tape.gradient(y, [x, None])
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.gradient(y, x, unconnected_gradients="nope")


# Advanced: recording under control


def test_stop_recording_and_reset() -> None:
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = x * x
        with tape.stop_recording():
            unseen = y * y
        z = z + unseen
    grads = tape.gradient(z, {"x": x, "y": y})
    assert (float(grads["x"]), grads["y"]) == (4.0, None)
    with tf.GradientTape() as tape:
        squared = y * y
        tape.reset()
        z = x * x + squared
    grads = tape.gradient(z, {"x": x, "y": y})
    assert (float(grads["x"]), grads["y"]) == (4.0, None)


def test_stop_gradient() -> None:
    x, y = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = x**2 + tf.stop_gradient(y**2)
    grads = tape.gradient(z, {"x": x, "y": y})
    assert (float(grads["x"]), grads["y"]) == (4.0, None)


def test_two_tapes_side_by_side() -> None:
    a, b = tf.constant(0.0), tf.constant(0.0)
    with tf.GradientTape() as first, tf.GradientTape() as second:
        first.watch(a)
        second.watch(b)
        y = tf.math.sin(a) + tf.nn.sigmoid(b)
    assert first.gradient(y, a).numpy() == 1.0
    assert second.gradient(y, b).numpy() == 0.25


def test_higher_orders() -> None:
    x = tf.Variable(1.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    assert (float(first), float(second)) == (3.0, 6.0)


def test_regularising_an_input_gradient() -> None:
    x = tf.constant([[0.5, -1.0], [2.0, 0.25]])
    w = tf.Variable([[1.0, 2.0], [3.0, -1.0]])
    with tf.GradientTape() as outer:
        with tf.GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(x)
            out = tf.reduce_sum(tf.tanh(x @ w) ** 2)
        size = tf.norm(inner.gradient(out, x))
    grad = outer.gradient(size, w)
    np.testing.assert_allclose(grad, _numerical(x.numpy(), w.numpy()), rtol=1e-3)


def _numerical(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    def size(w: np.ndarray) -> float:
        t = np.tanh(x @ w)
        return float(np.linalg.norm((2 * t * (1 - t**2)) @ w.T))

    x, w = x.astype(np.float64), w.astype(np.float64)
    grad = np.zeros_like(w)
    for i in np.ndindex(w.shape):
        step = np.zeros_like(w)
        step[i] = 1e-6
        grad[i] = (size(w + step) - size(w - step)) / 2e-6
    return grad


def test_a_gradient_of_ones_own() -> None:
    @tf.custom_gradient
    def clipped(y: tf.Tensor):
        return y, lambda dy: tf.clip_by_norm(dy, 0.5)

    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        out = clipped(v * v)
    assert tape.gradient(out, v).numpy() == 2.0

    @tf.function
    def traced(v: tf.Tensor) -> tf.Tensor:
        return 3.0 * clipped(v * v)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = traced(x)
    assert tape.gradient(out, x).numpy() == 2.0


def test_a_stable_gradient_and_its_derivative() -> None:
    @tf.custom_gradient
    def log1pexp(x: tf.Tensor):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    x = tf.constant(100.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = log1pexp(x)
    assert tape.gradient(y, x).numpy() == 1.0
    x = tf.constant(0.3)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.function(log1pexp)(x)
        first = inner.gradient(y, x)
    s = 1 / (1 + np.exp(-0.3))
    np.testing.assert_allclose([first, outer.gradient(first, x)], [s, s * (1 - s)], rtol=1e-5)
