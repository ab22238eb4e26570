"""Keras' variables where tfx takes its own: Jacobians, optimizers of TensorFlow 1, averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

keras = tf.keras

X = tf.constant([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])


@pytest.fixture
def layer() -> Any:
    made = keras.layers.Dense(2, kernel_initializer="ones")
    made.build((None, 3))
    return made


def test_jacobians_of_what_a_layer_computes(layer: Any) -> None:
    with tf.GradientTape(persistent=True) as tape:
        y = layer(X)
    by_kernel = tape.jacobian(y, layer.kernel)
    assert by_kernel.shape == (2, 2, 3, 2)
    np.testing.assert_array_equal(
        tf.reduce_sum(by_kernel, [0, 1]), tape.gradient(y, layer.kernel).numpy()
    )
    both = tape.jacobian(y, {"kernel": layer.kernel, "bias": layer.bias})
    np.testing.assert_array_equal(both["kernel"], by_kernel)
    np.testing.assert_array_equal(both["bias"], np.stack([np.eye(2)] * 2))


def test_a_jacobian_for_each_row_of_a_variable() -> None:
    rows = keras.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = rows * rows
    found = tape.batch_jacobian(y, rows)
    np.testing.assert_array_equal(found, [np.diag([2.0, 4.0]), np.diag([6.0, 8.0])])


def test_a_hessian_by_a_kernel(layer: Any) -> None:
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_sum(layer(X) ** 2) / 2
        slope = inner.gradient(loss, layer.kernel)
    hessian = outer.jacobian(slope, layer.kernel)
    expected = np.einsum("ni,nj,kl->ikjl", X, X, np.eye(2))
    np.testing.assert_allclose(hessian, expected, rtol=1e-6)


def test_a_variable_as_the_target() -> None:
    v = keras.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        tf.identity(v)
    np.testing.assert_array_equal(tape.jacobian(v, v), np.eye(2))


def test_optimizers_and_averages_of_tensorflow_1() -> None:
    v = keras.Variable([1.0, 2.0])
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.5)
    optimizer.apply_gradients([(tf.constant([1.0, 2.0]), v)])
    np.testing.assert_array_equal(v.numpy(), [0.5, 1.0])
    means = tf.train.ExponentialMovingAverage(0.5)
    means.apply([v])
    v.assign([1.5, 3.0])
    means.apply([v])
    found: Any = means.average(v)
    np.testing.assert_array_equal(found, [1.0, 2.0])
    assert means.average_name(v).endswith("/ExponentialMovingAverage")


def test_what_a_variable_says_of_itself(layer: Any) -> None:
    kernel = layer.kernel
    assert tf.is_tensor(kernel)
    assert isinstance(kernel.shape, tf.TensorShape)
    assert kernel.shape.as_list() == [3, 2]
    assert kernel.shape == (3, 2)
    assert keras.ops.shape(kernel) == (3, 2)
