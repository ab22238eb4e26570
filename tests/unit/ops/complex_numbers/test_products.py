"""Products of complex numbers over axes, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

RNG = np.random.default_rng(0)
Z = (RNG.normal(size=(2, 3, 5)) + 1j * RNG.normal(size=(2, 3, 5))).astype(np.complex128)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), ()], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_products(axis: Any, keepdims: bool) -> None:
    expected = Z.prod(axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(tf.reduce_prod(Z, axis, keepdims), expected)
    for shape in (Z.shape, [None] * 3, None):

        @tf.function(input_signature=[tf.TensorSpec(shape, tf.complex128)])
        def traced(z: Any) -> Any:
            return tf.reduce_prod(z, axis, keepdims)

        np.testing.assert_allclose(traced(Z), expected)


def test_products_of_few_numbers() -> None:
    assert complex(tf.reduce_prod(tf.zeros([0], tf.complex64))) == 1
    np.testing.assert_array_equal(tf.reduce_prod(Z[:, :0], 1), np.ones((2, 5)))
    np.testing.assert_array_equal(tf.reduce_prod(Z[:, :1], 1), Z[:, 0])
    assert complex(tf.reduce_prod(tf.constant([0j, 2j]))) == 0


@pytest.mark.parametrize("known", [True, False])
def test_gradients(known: bool) -> None:
    @tf.function(input_signature=[tf.TensorSpec([3] if known else [None], tf.float64)] * 2)
    def total(real: Any, imag: Any) -> Any:
        found = tf.reduce_prod(tf.complex(real, imag))
        return tf.math.real(found) + 2.0 * tf.math.imag(found)

    points = [tf.constant(Z[0, 0, :3].real), tf.constant(Z[0, 0, :3].imag)]
    tf.testing.check_grads(total, points, order=1)
    z = tf.constant([0j, 2j, 3.0 + 0j])
    with tf.GradientTape() as tape:
        tape.watch(z)
        found = tf.reduce_prod(z)
    np.testing.assert_array_equal(tape.gradient(found, z), np.conj([6j, 0, 0]))
