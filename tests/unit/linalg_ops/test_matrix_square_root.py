"""Square roots of matrices: their squares, known roots, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.testing import check_grads

RNG = np.random.default_rng(0)
A = RNG.uniform(size=(3, 4, 4))
A = A @ np.swapaxes(A, 1, 2) + 0.5 * np.eye(4) + 0.3 * RNG.uniform(size=(3, 4, 4))


def test_values() -> None:
    for call in (tf.linalg.sqrtm, tf.function(tf.linalg.sqrtm)):
        root = call(tf.constant(A)).numpy()
        np.testing.assert_allclose(root @ root, A, rtol=1e-10)
        assert (np.linalg.eigvals(root).real > 0).all()
    single = tf.linalg.sqrtm(A.astype(np.float32)).numpy()
    np.testing.assert_allclose(single, root, rtol=2e-4)
    half = 0.5**0.5
    turn = tf.linalg.sqrtm([[0.0, -1.0], [1.0, 0.0]])
    np.testing.assert_allclose(turn, [[half, -half], [half, half]], rtol=1e-6)


def test_values_far_from_one() -> None:
    values = np.array([1e-8, 1.0, 1e8])
    basis = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    root = tf.linalg.sqrtm(basis * values @ basis.T).numpy()
    expected = basis * np.sqrt(values) @ basis.T
    np.testing.assert_allclose(root, expected, atol=1e-4 * np.abs(expected).max())


def test_gradients() -> None:
    check_grads(tf.linalg.sqrtm, [A[:2]])
    x = tf.constant(A)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.linalg.sqrtm(x) ** 3)
    eager = tape.gradient(y, x)

    @tf.function
    def traced(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.linalg.sqrtm(x) ** 3)
        return tape.gradient(y, x)

    np.testing.assert_allclose(traced(x), eager, rtol=1e-8)


def test_bad_arguments() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="square"):
        tf.linalg.sqrtm(np.zeros((2, 3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        tf.linalg.sqrtm([[1]])
