"""``tf.hessians``: numbers by hand, and the errors that TensorFlow raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

A, B = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 2.0])


def test_of_each_source_in_its_own_shape() -> None:
    @tf.function
    def both(x: Any, z: Any) -> Any:
        return tf.hessians(tf.reduce_sum(x**3.0) * tf.reduce_sum(z**2.0), [x, z])

    of_x, of_z = both(tf.constant(A), tf.constant(B))
    assert of_x.shape == (2, 2, 2, 2)
    np.testing.assert_allclose(of_x.numpy().reshape(4, 4), np.diag(6 * A.ravel() * 5))
    np.testing.assert_allclose(of_z, 2 * np.eye(2) * (A**3).sum())


def test_of_variables_rows_loops_and_calls() -> None:
    v = tf.Variable(B)
    part = tf.function(lambda x: tf.reduce_sum(tf.gather(x, [0, 0, 1]) ** 3.0))

    def power(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * x), (0, x))[1]

    @tf.function
    def f(x: Any) -> Any:
        rows = tf.hessians(tf.reduce_sum(tf.gather(x, [0, 0, 1]) ** 3.0), x)
        of_variable = tf.hessians(tf.reduce_prod(v) * v[0], v)
        return [*rows, *of_variable, *tf.hessians(part(x), x), *tf.hessians(power(x), x)]

    rows, of_variable, called, looped = f(tf.constant(B))
    np.testing.assert_allclose(rows, [[12, 0], [0, 12]])
    np.testing.assert_allclose(called, rows)
    np.testing.assert_allclose(of_variable, [[4, 2], [2, 0]])
    np.testing.assert_allclose(looped, np.diag(12 * B**2))


def test_what_is_linear_has_zeros_and_sizes_may_be_unknown() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
    def f(x: Any) -> Any:
        return tf.hessians(tf.reduce_sum(x) ** 3.0, x) + tf.hessians([3.0 * x], x)

    curved, flat = f(tf.constant(B))
    np.testing.assert_allclose(curved, np.full((2, 2), 18.0))
    np.testing.assert_array_equal(flat, np.zeros((2, 2)))


def test_errors_are_those_of_tensorflow() -> None:
    with pytest.raises(RuntimeError, match="eager"):
        tf.hessians(tf.constant(1.0), tf.constant(1.0))
    with pytest.raises(ValueError, match="None values not supported"):
        tf.function(lambda x, z: tf.hessians(x * x, z))(tf.constant(1.0), tf.constant(2.0))
