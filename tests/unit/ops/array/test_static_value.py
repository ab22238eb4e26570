"""``get_static_value``: eager, symbolic, partly known."""

from __future__ import annotations

from typing import Any

import numpy as np

import tfx as tf


def test_eager() -> None:
    np.testing.assert_array_equal(tf.get_static_value(tf.constant([1, 2])), [1, 2])
    assert tf.get_static_value(tf.constant(5)) == 5
    assert tf.get_static_value(tf.Variable(1)) is None
    assert tf.get_static_value("as it is") == "as it is"
    found = tf.get_static_value(tf.constant([1.0]))
    found[0] = 7.0  # a copy


def test_traced() -> None:
    found: list[Any] = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def f(x: tf.Tensor) -> tf.Tensor:
        shape = tf.shape(x)
        for value in (x, shape, shape[1], tf.constant([1.5]), tf.constant(2) + 1):
            found.append(tf.get_static_value(value))
        for value in (x, shape, tf.stack([x.shape[1], shape[0]]), shape[:1]):
            found.append(tf.get_static_value(value, partial=True))
        return x

    f(tf.ones([2, 3]))
    assert found[:3] == [None, None, 3]
    np.testing.assert_array_equal(found[3], [1.5])
    assert found[4] in (None, 3)
    assert found[5] is None
    assert found[6].tolist() == [None, 3]
    assert found[7].tolist() == [3, None]
    assert found[8] is None


def test_matrices_keep_their_shape() -> None:
    @tf.function
    def f() -> tf.Tensor:
        value = tf.get_static_value(tf.constant([[1, 2], [3, 4]]))
        assert value.shape == (2, 2)
        return tf.constant(value)

    np.testing.assert_array_equal(f(), [[1, 2], [3, 4]])
