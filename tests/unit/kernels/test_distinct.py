"""Distinct numbers by our kernels, in functions and eagerly: as NumPy finds them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library

pytestmark = needs_library


def in_order(x):
    """Distinct numbers in the order of their first places, which one each is, and how often."""
    kinds, first, number, count = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return kinds[order], place[number], count[order]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize(("n", "kinds"), [(0, 1), (1, 1), (9, 4), (20_000, 50), (20_000, 9_000)])
@pytest.mark.parametrize("eagerly", [False, True])
def test_distinct_numbers(kind, n, kinds, eagerly, rng):
    x = rng.integers(-kinds, kinds, n).astype(kind)
    function = tf.unique_with_counts if eagerly else tf.function(tf.unique_with_counts)
    for found, expected in zip(function(x), in_order(x), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_each_nan_is_distinct_and_zeros_are_one(kind):
    x = np.array([0.0, np.nan, -0.0, np.inf, np.nan, -np.inf, np.inf], kind)
    y, index = tf.function(tf.unique)(x)
    np.testing.assert_array_equal(y, np.array([0.0, np.nan, np.inf, np.nan, -np.inf], kind))
    np.testing.assert_array_equal(index, [0, 1, 0, 2, 3, 4, 2])


def test_numbers_that_differ_in_high_bits_alone():
    x = np.arange(5_000, dtype=np.int64) << 44
    y, index = tf.function(tf.unique)(x)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(index, np.arange(5_000))


def test_the_kernel_is_used():
    function = tf.function(tf.unique)
    with tf.profile() as p:
        function(np.arange(9))
    assert "Distinct" in [node.op for node in p.nodes]
