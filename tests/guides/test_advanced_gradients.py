"""Gradients in depth: Jacobians, Hessians, Newton's method, own gradients, rows of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf


class Layer(tf.Module):
    """A dense layer with weights of its own seed."""

    def __init__(self, inputs: int, outputs: int, activation: Any) -> None:
        super().__init__()
        rng = np.random.default_rng(inputs * outputs)
        self.kernel = tf.Variable(rng.normal(size=(inputs, outputs)).astype(np.float32) * 0.3)
        self.bias = tf.Variable(tf.zeros([outputs]))
        self.activation = activation

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return self.activation(x @ self.kernel + self.bias)


def _batch(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(1).normal(size=shape).astype(np.float32))


def test_a_jacobian_of_a_scalar_source() -> None:
    x = tf.linspace(-10.0, 10.0, 201)
    shift = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.nn.sigmoid(x + shift)
    found = tape.jacobian(y, shift)
    s = 1 / (1 + np.exp(-x.numpy().astype(np.float64)))
    assert found.shape == (201,)
    np.testing.assert_allclose(found, s * (1 - s), atol=1e-6)


def test_a_jacobian_of_a_layer_sums_to_its_gradient() -> None:
    layer = Layer(5, 10, tf.nn.relu)
    with tf.GradientTape(persistent=True) as tape:
        y = layer(_batch(7, 5))
    jacobian = tape.jacobian(y, layer.kernel)
    assert jacobian.shape == (7, 10, 5, 10)
    total = tf.reduce_sum(jacobian, axis=[0, 1])
    np.testing.assert_allclose(tape.gradient(y, layer.kernel), total, atol=1e-4)


def test_a_hessian_and_a_step_of_newtons_method() -> None:
    x, first, second = _batch(7, 5), Layer(5, 8, tf.nn.relu), Layer(8, 6, tf.nn.relu)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_mean(second(first(x)) ** 2)
        g = inner.gradient(loss, first.kernel)
    h = outer.jacobian(g, first.kernel)
    assert h.shape == (5, 8, 5, 8)
    count = tf.reduce_prod(first.kernel.shape)
    vector, matrix = tf.reshape(g, [count, 1]), tf.reshape(h, [count, count])
    np.testing.assert_allclose(matrix, tf.transpose(matrix), atol=1e-6)
    shifted = matrix + tf.eye(matrix.shape[0]) * 1e-3
    update = tf.linalg.solve(shifted, vector)
    np.testing.assert_allclose(shifted @ update, vector, atol=1e-5)
    before = float(loss)
    first.kernel.assign_sub(tf.reshape(update, first.kernel.shape))
    assert float(tf.reduce_mean(second(first(x)) ** 2)) < before


def test_newtons_method_on_a_function_of_two_numbers() -> None:
    z = tf.Variable([-1.0, 2.0])
    for _ in range(8):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = (1.0 - z[0]) ** 2 + 100.0 * (z[1] - z[0] ** 2) ** 2
            g = inner.gradient(y, z)
        h = outer.jacobian(g, z)
        z.assign_sub(tf.linalg.matvec(tf.linalg.inv(h), g))
    np.testing.assert_allclose(z, [1.0, 1.0], atol=1e-3)


def test_batch_jacobians() -> None:
    x, first, second = _batch(7, 5), Layer(5, 8, tf.nn.elu), Layer(8, 6, tf.nn.elu)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = second(first(x))
    whole = tape.jacobian(y, x)
    assert whole.shape == (7, 6, 7, 5)
    each = tape.batch_jacobian(y, x)
    np.testing.assert_allclose(each, tf.einsum("bxby->bxy", whole), atol=1e-6)
    np.testing.assert_allclose(each, tf.reduce_sum(whole, axis=2), atol=1e-6)


def test_batch_jacobians_of_what_mixes_the_batch() -> None:
    x, layer = _batch(7, 5), Layer(5, 6, tf.nn.elu)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        h = layer(x)
        mean, variance = tf.nn.moments(h, [0])
        y = tf.nn.batch_normalization(h, mean, variance, None, None, 1e-3)
    # What batch_jacobian gives then is the sum over the other rows, which is no derivative.
    summed = tf.reduce_sum(tape.jacobian(y, x), axis=[0, 2])
    np.testing.assert_allclose(summed, np.zeros((6, 5)), atol=1e-4)
    assert tape.batch_jacobian(y, x).shape == (7, 6, 5)


def test_the_gradient_of_a_gradients_norm() -> None:
    x, w = _batch(4, 3), tf.Variable(_batch(3, 1))

    @tf.function
    def critic(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x @ w)

    def penalty() -> tf.Tensor:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = critic(x)
        norm = tf.sqrt(tf.reduce_sum(inner.gradient(y, x) ** 2, [1]))
        return tf.reduce_mean((norm - 1.0) ** 2)

    with tf.GradientTape() as outer:
        value = penalty()
    found = outer.gradient(value, w).numpy()
    for i in range(3):
        step = np.zeros((3, 1), np.float32)
        step[i] = 1e-2
        above = float((w.assign_add(step), penalty())[1])
        below = float((w.assign_sub(2 * step), penalty())[1])
        w.assign_add(step)
        np.testing.assert_allclose(found[i, 0], (above - below) / 2e-2, atol=2e-3)


def test_a_gradient_of_ones_own_survives_the_disk(tmp_path: Path) -> None:
    @tf.custom_gradient
    def clipped(y: tf.Tensor) -> Any:
        return y, lambda dy: tf.clip_by_norm(dy, 0.5)

    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(None)])
        def call(self, x: tf.Tensor) -> tf.Tensor:
            return clipped(x)

    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(Model(), tmp_path / "model", options=options)
    loaded = tf.saved_model.load(tmp_path / "model")
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = loaded.call(v * v)
    assert float(tape.gradient(y, v)) == 2.0


def test_a_hessian_times_a_vector() -> None:
    x, u = tf.constant([1.0, 2.0]), tf.constant([1.0, -1.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(x**4)
        g = inner.gradient(y, x)
    np.testing.assert_allclose(outer.gradient(g, x, output_gradients=u), [12.0, -48.0], rtol=1e-6)
    with tf.autodiff.ForwardAccumulator(x, u) as accumulator, tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x**4)
        g = tape.gradient(y, x)
    np.testing.assert_allclose(accumulator.jvp(g), [12.0, -48.0], rtol=1e-6)


def test_a_gradient_for_each_example() -> None:
    x, w = _batch(5, 3), tf.Variable(_batch(3, 2))

    def of_one(row: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(tf.matmul(row[None], w)) ** 2)
        return tape.gradient(loss, w)

    found = tf.vectorized_map(of_one, x)
    np.testing.assert_allclose(found, tf.stack([of_one(row) for row in x]), atol=1e-6)


def test_training_embeddings() -> None:
    rng = np.random.default_rng(2)
    targets = tf.Variable(rng.normal(size=(10, 4)).astype(np.float32))
    contexts = tf.Variable(rng.normal(size=(10, 4)).astype(np.float32))
    optimizer = tf.optimizers.Adagrad(0.5)

    @tf.function
    def step(words: tf.Tensor, others: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            scores = tf.einsum("bd,bcd->bc", tf.gather(targets, words), tf.gather(contexts, others))
            labels = tf.one_hot(tf.zeros([3], tf.int32), 3)
            losses = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=scores)
            loss = tf.reduce_mean(losses)
        found = tape.gradient(loss, [targets, contexts])
        assert all(isinstance(g, tf.IndexedSlices) for g in found)
        optimizer.apply_gradients(zip(found, [targets, contexts], strict=True))
        return loss

    untouched = targets.numpy()[4:]
    words, others = tf.constant([1, 2, 3]), tf.constant([[4, 5, 6], [7, 8, 9], [0, 1, 2]])
    losses = [float(step(words, others)) for _ in range(10)]
    assert losses[-1] < 0.1 * losses[0]
    np.testing.assert_array_equal(targets.numpy()[4:], untouched)
