"""Levenshtein distances against TensorFlow's numbers, and by what must hold of all of them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def sparse(indices, values, shape):
    return tf.SparseTensor(np.array(indices, np.int64).reshape(-1, len(shape)), values, shape)


def test_texts_of_several_axes():
    hypothesis = sparse([[0, 0, 0], [1, 0, 0]], ["a", "b"], (2, 1, 1))
    truth = sparse([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], ["a", "b", "c", "a"], (2, 2, 2))
    assert tf.edit_distance(hypothesis, truth).numpy().tolist() == [[np.inf, 1], [0.5, 1]]
    found = tf.edit_distance(hypothesis, truth, normalize=False)
    assert found.dtype is tf.float32
    assert found.numpy().tolist() == [[1, 1], [1, 1]]


def test_empty_rows():
    none = sparse([], np.zeros(0, np.int64), (2, 3))
    some = sparse([[0, 0], [0, 2], [1, 1]], np.array([1, 2, 3]), (3, 4))
    assert tf.edit_distance(none, some).numpy().tolist() == [1, 1, 0]
    assert tf.edit_distance(some, none).numpy().tolist() == [np.inf, np.inf, 0]
    assert tf.edit_distance(none, none).numpy().tolist() == [0, 0]
    assert tf.edit_distance(some, none, False).numpy().tolist() == [2, 1, 0]


def test_many(rng):
    """Distances are symmetric, at least the difference of lengths, and a triangle's sides."""
    rows = [tf.sparse.from_dense(rng.integers(0, 3, (20, 9))) for _ in range(3)]
    (ab, ba, bc, ac) = (
        tf.edit_distance(rows[i], rows[j], False).numpy()
        for i, j in ((0, 1), (1, 0), (1, 2), (0, 2))
    )
    np.testing.assert_array_equal(ab, ba)
    assert (ac <= ab + bc).all()
    lengths = [np.bincount(r.indices.numpy()[:, 0], minlength=20) for r in rows]
    assert (ab >= np.abs(lengths[0] - lengths[1])).all()
    assert not tf.edit_distance(rows[0], rows[0]).numpy().any()
    f = tf.function(lambda x, y: tf.edit_distance(x, y, normalize=False))
    np.testing.assert_array_equal(f(rows[0], rows[1]), ab)


def test_bad_arguments():
    x = sparse([[0, 0]], np.array([1]), (2, 2))
    with pytest.raises(TypeError, match="Hypothesis must be a SparseTensor; got ndarray"):
        tf.edit_distance(np.ones((2, 2)), x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="one dtype; got string and int64"):
        tf.edit_distance(sparse([[0, 0]], ["a"], (2, 2)), x)
    vector = sparse([[0]], np.array([1]), (2,))
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least 2; got 1 and 1"):
        tf.edit_distance(vector, vector)


def test_an_index_outside_of_the_shape():
    x, y = (sparse([[i, 0]], np.array([1]), (2, 2)) for i in (5, 0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of the dense shapes"):
        tf.edit_distance(x, y)


def test_shapes_beyond_memory():
    x = sparse([[0, 0]], np.array([1]), (2**45, 2))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="no memory for distances"):
        tf.edit_distance(x, x)
