"""The initializers at the top level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf


def test_fixed_values() -> None:
    np.testing.assert_array_equal(tf.zeros_initializer()([2], tf.int32), [0, 0])
    assert tf.ones_initializer()(shape=[2]).dtype == tf.float32


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([1, 2], None, tf.int32),
        (1.5, None, tf.float32),
        (np.float64(2.0), None, tf.float64),
        (tf.constant([1, 2], tf.int64), None, tf.int64),
        ([1, 2], tf.float16, tf.float16),
    ],
)
def test_constants_keep_their_dtype(value: Any, dtype: Any, expected: tf.DType) -> None:
    made = tf.constant_initializer(value)([2], dtype)
    assert made.dtype == expected
    np.testing.assert_array_equal(made, np.broadcast_to(np.asarray(value), [2]))


def test_a_constant_of_another_size() -> None:
    with pytest.raises(TypeError, match="3 elements"):
        tf.constant_initializer([1, 2, 3])([2, 2])


def test_random_values() -> None:
    x = tf.random_normal_initializer(mean=10.0, stddev=0.1, seed=1)([100]).numpy()
    assert abs(x.mean() - 10.0) < 0.1
    y = tf.random_uniform_initializer(minval=-1.0, maxval=1.0)([100]).numpy()
    assert -1 <= y.min() < y.max() < 1
    config = tf.random_uniform_initializer(seed=3).get_config()
    assert config == {"minval": -0.05, "maxval": 0.05, "seed": 3}
