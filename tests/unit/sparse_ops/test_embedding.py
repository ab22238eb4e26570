"""Embeddings of sparse ids, and ``tf.sets``, with the values of TensorFlow 2.21."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
PLACES = [[0, 0], [0, 1], [2, 0]]


def ids(values=(1, 3, 0)) -> tf.SparseTensor:
    return tf.SparseTensor(PLACES, list(values), [4, 4])


def weights(values=(0.5, 2.0, 3.0)) -> tf.SparseTensor:
    return tf.SparseTensor(PLACES, list(values), [4, 4])


@pytest.mark.parametrize(
    ("combiner", "plain", "weighted"),
    [
        ("sum", [[10, 12], [0, 0], [1, 2]], [[15.5, 18], [0, 0], [3, 6]]),
        ("mean", [[5, 6], [0, 0], [1, 2]], [[6.2, 7.2], [0, 0], [1, 2]]),
        ("sqrtn", [[7.071068, 8.485281], [0, 0], [1, 2]], [[7.51861, 8.731289], [0, 0], [1, 2]]),
    ],
)
def test_rows_are_combined(combiner, plain, weighted) -> None:
    for how in (tf.nn.embedding_lookup_sparse, tf.function(tf.nn.embedding_lookup_sparse)):
        found = how(tf.constant(TABLE), ids(), None, combiner=combiner)
        np.testing.assert_allclose(found.numpy(), plain, rtol=1e-6)
        found = how(tf.constant(TABLE), ids(), weights(), combiner=combiner)
        np.testing.assert_allclose(found.numpy(), weighted, rtol=1e-6)
    safe = tf.nn.safe_embedding_lookup_sparse(TABLE, ids(), weights(), combiner=combiner)
    np.testing.assert_allclose(safe.numpy(), [*weighted, [0, 0]], rtol=1e-6)


def test_what_is_no_id_is_left_out() -> None:
    found = tf.nn.safe_embedding_lookup_sparse(TABLE, ids((1, -3, 0)))
    assert found.numpy().tolist() == [[3, 4], [0, 0], [1, 2], [0, 0]]
    found = tf.nn.safe_embedding_lookup_sparse(
        TABLE, ids(), weights((0.5, -2.0, 0.0)), default_id=1
    )
    assert found.numpy().tolist() == [[3, 4]] * 4
    cube = tf.SparseTensor([[0, 0, 0], [0, 1, 1], [1, 0, 0]], [1, 3, 0], [2, 2, 2])
    found = tf.nn.safe_embedding_lookup_sparse(TABLE, cube)
    assert found.numpy().tolist() == [[[3, 4], [7, 8]], [[1, 2], [0, 0]]]
    ragged = tf.ragged.constant([[1], [], [2, 3]])
    found = tf.nn.embedding_lookup_sparse(TABLE, ragged, None)
    assert found.numpy().tolist() == [[3, 4], [0, 0], [6, 7]]
    with pytest.raises(ValueError, match="combiner must be one of 'mean', 'sqrtn' or 'sum'"):
        tf.nn.embedding_lookup_sparse(TABLE, ids(), None, combiner="most")
    with pytest.raises(TypeError, match="sp_ids must be SparseTensor"):
        tf.nn.embedding_lookup_sparse(TABLE, [[1]], None)


def test_the_gradient_of_a_table_has_few_rows() -> None:
    table = tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, ids(), weights(), combiner="sum"))
    gradient = tape.gradient(y, table)
    assert isinstance(gradient, tf.IndexedSlices)
    expected = [[3, 3], [0.5, 0.5], [0, 0], [2, 2]]
    assert tf.convert_to_tensor(gradient).numpy().tolist() == expected


A = tf.SparseTensor(
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]],
    [1, 2, 3, 4, 5, 6],
    [2, 2, 2],
)
B = tf.SparseTensor(
    [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1], [1, 1, 2], [1, 1, 3]],
    [1, 3, 4, 5, 5, 6, 7, 8],
    [2, 2, 4],
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("intersection", [[[1], [3]], [[4], [5, 6]]]),
        ("union", [[[1, 2], [3]], [[4, 5], [5, 6, 7, 8]]]),
        ("difference", [[[2], []], [[], []]]),
    ],
)
def test_sets(name, expected) -> None:
    operation = getattr(tf.sets, name)
    for how in (operation, tf.function(operation)):
        found = tf.sparse.to_dense(how(A, B)).numpy()
        assert [[[x for x in row if x] for row in rows] for rows in found.tolist()] == expected


def test_sets_of_dense_tensors() -> None:
    first, second = tf.constant([[1, 2, 3, 3]]), tf.constant([[3, 1, 9]])
    assert tf.sets.intersection(first, second).values.numpy().tolist() == [1, 3]
    assert tf.sets.union(first, second).values.numpy().tolist() == [1, 2, 3, 9]
    assert tf.sets.difference(first, second).values.numpy().tolist() == [2]
    assert tf.sets.difference(first, second, aminusb=False).values.numpy().tolist() == [9]
    none = tf.sets.intersection(tf.constant([[1]]), tf.constant([[2]]))
    assert none.indices.shape == [0, 2] and none.shape == [1, 0]
    assert tf.sets.size(A).numpy().tolist() == [[2, 1], [1, 2]]
    with pytest.raises(TypeError, match="Invalid dtype"):
        tf.sets.union(tf.constant([[1.0]]), tf.constant([[1.0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Mismatched"):
        tf.sets.union(tf.constant([[1]]), tf.constant([[1], [2]]))
