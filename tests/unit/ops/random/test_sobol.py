"""``tf.math.sobol_sample``: points that TensorFlow gives, and what makes them a Sobol sequence."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def test_first_points_are_those_of_tensorflow() -> None:
    expected = [
        [0.5, 0.5, 0.5],
        [0.75, 0.25, 0.25],
        [0.25, 0.75, 0.75],
        [0.375, 0.375, 0.625],
        [0.875, 0.875, 0.125],
        [0.625, 0.125, 0.875],
        [0.125, 0.625, 0.375],
        [0.1875, 0.3125, 0.9375],
    ]
    assert tf.math.sobol_sample(3, 8).numpy().tolist() == expected
    later = tf.math.sobol_sample(3, 5, skip=3, dtype=tf.float64)
    assert later.dtype == tf.float64 and later.numpy().tolist() == expected[3:]


def test_every_dimension_takes_each_of_equal_parts_once() -> None:
    points = tf.math.sobol_sample(1111, 2**10 - 1, dtype=tf.float64).numpy()
    parts = np.sort((points * 2**10).astype(int), 0)
    assert (parts == np.arange(1, 2**10)[:, None]).all()
    # Neighbours fill squares, too.
    cells = {tuple(p) for p in (points[: 2**6, :2] * 8).astype(int)}
    assert len(cells) >= 63


def test_in_a_function_with_numbers_that_come_late() -> None:
    late = tf.function(lambda count, skip: tf.math.sobol_sample(4, count, skip))
    found = late(tf.constant(6), tf.constant(2**20))
    np.testing.assert_array_equal(found, tf.math.sobol_sample(4, 6, 2**20))


@pytest.mark.parametrize(
    "arguments", [(0, 1), (1112, 1), (1, 0), (1, 1, -1), (1, 1, 2**31 - 1), (1, 1, 0, "int32")]
)
def test_refusals(arguments: tuple[object, ...]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="SobolSample"):
        tf.math.sobol_sample(*arguments)
