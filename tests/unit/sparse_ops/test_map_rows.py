"""``tf.map_fn`` over rows of sparse tensors, and with sparse results, as in TensorFlow 2.21."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

ROWS = np.array([[0, 1, 0], [2, 0, 0], [3, 0, 4]], np.float32)


def _ways(function):
    return function, tf.function(function)


def test_rows_of_sparse_tensors_are_sparse() -> None:
    def totals(x):
        return tf.map_fn(tf.sparse.reduce_sum, x, fn_output_signature=tf.float32)

    for call in _ways(totals):
        np.testing.assert_array_equal(call(tf.sparse.from_dense(ROWS)), [1.0, 2.0, 7.0])
    with_unordered = tf.SparseTensor([[2, 2], [0, 1], [2, 0]], [4.0, 1.0, 3.0], [3, 3])
    np.testing.assert_array_equal(totals(with_unordered), [1.0, 0.0, 7.0])


def test_sparse_results_are_stacked() -> None:
    for call in _ways(lambda x: tf.map_fn(lambda row: row * 2.0, x)):
        found = call(tf.sparse.from_dense(ROWS))
        np.testing.assert_array_equal(tf.sparse.to_dense(found), 2 * ROWS)
    assert tf.map_fn(lambda row: row, tf.sparse.from_dense(ROWS)).shape == [3, 3]


@pytest.mark.parametrize("shape", [None, [None, None]])
def test_results_of_other_sizes_get_the_greatest(shape) -> None:
    spec = tf.SparseTensorSpec(shape, tf.float32)

    def units(sizes):
        found = tf.map_fn(tf.sparse.eye, sizes, fn_output_signature=spec)
        return found.indices, found.values, found.dense_shape

    for call in _ways(units):
        indices, values, sizes = call(tf.constant([1, 3]))
        assert indices.numpy().tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 1], [1, 2, 2]]
        assert values.numpy().tolist() == [1.0] * 4 and sizes.numpy().tolist() == [2, 3, 3]


def test_structures_nothing_and_gradients() -> None:
    x, factors = tf.sparse.from_dense(ROWS), tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(factors)
        scaled, same = tf.map_fn(lambda s: (s[0] * s[1], s[1]), (x, factors))
        total = tf.sparse.reduce_sum(scaled)
    np.testing.assert_array_equal(tf.sparse.to_dense(scaled), ROWS * [[1], [2], [3]])
    np.testing.assert_array_equal(same, factors)
    np.testing.assert_array_equal(tape.gradient(total, factors), [1.0, 2.0, 7.0])
    none = tf.map_fn(lambda row: row, tf.sparse.from_dense(tf.zeros([0, 3])))
    assert none.dense_shape.numpy().tolist() == [0, 3] and none.indices.shape == [0, 2]


def test_what_is_refused() -> None:
    x = tf.sparse.from_dense(ROWS)
    with pytest.raises(tf.errors.InvalidArgumentError, match="fn_output_signature"):
        tf.map_fn(tf.sparse.to_dense, x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="one axis at least"):
        tf.map_fn(lambda row: row, tf.SparseTensor(np.zeros([0, 0], np.int64), [], []))
    with pytest.raises(TypeError, match="callable"):
        tf.map_fn(None, x)
