"""Rows of a larger tensor."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


@pytest.fixture
def rows() -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.ones([2, 3]), tf.constant([4, 1]), tf.constant([5, 3]))


def test_indexed_slices(rows: tf.IndexedSlices) -> None:
    assert rows.dtype == "float32"
    assert rows.indices.numpy().tolist() == [4, 1]
    assert rows.dense_shape.numpy().tolist() == [5, 3]
    assert repr(rows).startswith("IndexedSlices(indices=<tf.Tensor: shape=(2,)")
    assert str(rows).startswith("IndexedSlices(indices=tf.Tensor(")
    assert tf.is_tensor(rows)


def test_the_shape_is_the_dense_tensors(rows: tf.IndexedSlices) -> None:
    assert rows.shape == (5, 3)
    assert tf.IndexedSlices(rows.values, rows.indices).shape.rank is None
    assert tf.IndexedSlices(rows.values, rows.indices, [5, 3]).shape == (5, 3)


def test_the_shape_while_tracing(rows: tf.IndexedSlices) -> None:
    @tf.function
    def f(given: tf.IndexedSlices) -> tf.IndexedSlices:
        assert given.shape.as_list() == [None, 3]
        assert tf.IndexedSlices(given.values, given.indices, tf.constant([5, 3])).shape == (5, 3)
        assert given.graph is given.values.graph
        assert given.name == given.values.name
        return -given

    found = f(rows)
    assert isinstance(found, tf.IndexedSlices)
    assert found.values.numpy().tolist() == [[-1.0] * 3] * 2
    assert found.shape == (5, 3)


def test_as_an_array(rows: tf.IndexedSlices) -> None:
    expected = np.zeros((5, 3), np.float32)
    expected[[4, 1]] = 1.0
    np.testing.assert_array_equal(np.asarray(rows), expected)
    np.testing.assert_array_equal(rows.numpy(), expected)
    assert np.asarray(rows, np.float64).dtype == np.float64


def test_no_tensor(rows: tf.IndexedSlices) -> None:
    with pytest.raises(TypeError):
        2.0 * rows
    with pytest.raises(TypeError):
        rows[0]
    with pytest.raises(TypeError):
        len(rows)
    assert rows.device == rows.values.device
