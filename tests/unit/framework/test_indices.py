"""Indices that are negative or too large, in everything that takes indices.

What is refused is what TensorFlow 2.21 refuses on the CPU.
"""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.framework import indices

P = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS = np.ones((2, 4), np.float32)
CUBE = np.arange(12, dtype=np.float32).reshape(2, 2, 3)


def _pairs(i):
    return tf.stack([i, i], 1)


def _column(i):
    return i[:, None]


# The index at fault is one of two in a vector; axes of 3 elements.
REFUSING = {
    "gather": lambda i: tf.gather(P, i),
    "gather axis": lambda i: tf.gather(CUBE, i, axis=-1),
    "gather batch_dims": lambda i: tf.gather(CUBE, _pairs(i), axis=2, batch_dims=1),
    "gather_nd": lambda i: tf.gather_nd(P, _column(i)),
    "gather_nd deep": lambda i: tf.gather_nd(P[:, :3], _pairs(i)),
    "gather_nd batch_dims": lambda i: tf.gather_nd(CUBE[:, 0], _column(i), batch_dims=1),
    "embedding_lookup": lambda i: tf.nn.embedding_lookup(P, i),
    "embedding_lookup max_norm": lambda i: tf.nn.embedding_lookup(P, i, max_norm=1.0),
    "scatter_nd": lambda i: tf.scatter_nd(_column(i), ROWS, tf.cast([3, 4], i.dtype)),
    "update": lambda i: tf.tensor_scatter_nd_update(P, _column(i), ROWS),
    "add": lambda i: tf.tensor_scatter_nd_add(P, _column(i), ROWS),
    "add deep": lambda i: tf.tensor_scatter_nd_add(P[:, :3], _pairs(i), ROWS[:, 0]),
    "sub": lambda i: tf.tensor_scatter_nd_sub(P, _column(i), ROWS),
    "max": lambda i: tf.tensor_scatter_nd_max(P, _column(i), ROWS),
    "min": lambda i: tf.tensor_scatter_nd_min(P, _column(i), ROWS),
    "dynamic_partition": lambda i: tf.dynamic_partition(ROWS, i, 3)[0],
    "confusion_matrix": lambda i: tf.math.confusion_matrix(i, [0, 0], num_classes=3),
    "IndexedSlices": lambda i: tf.convert_to_tensor(tf.IndexedSlices(ROWS, i, [3, 4])),
}
NEGATIVE = {
    "bincount": tf.math.bincount,
    "dynamic_stitch": lambda i: tf.dynamic_stitch([i], [ROWS]),
    "segment_sum": lambda i: tf.math.segment_sum(ROWS, i),
    "segment_max": lambda i: tf.math.segment_max(ROWS, i),
    "unravel_index": lambda i: tf.unravel_index(i, tf.cast([3, 4], i.dtype)),
}
INVALID = tf.errors.InvalidArgumentError


def _ways(f, dtype):
    known = tf.TensorSpec([2], dtype)
    yield f
    yield tf.function(f, input_signature=[known])
    yield tf.function(f, input_signature=[tf.TensorSpec([None], dtype)])


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("bad", [-1, -3, -4, 3])
@pytest.mark.parametrize("name", REFUSING)
def test_refused(name, bad, dtype):
    for way in _ways(REFUSING[name], dtype):
        way(tf.constant([1, 0], dtype))
        with pytest.raises(INVALID):
            way(tf.constant([0, bad], dtype))


@pytest.mark.parametrize("bad", [[0, -1], [-2, 0]])
@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_refused(name, bad):
    for way in _ways(NEGATIVE[name], tf.int32):
        way(tf.constant([0, 1]))
        with pytest.raises(INVALID):
            way(tf.constant(bad))


def test_segments_that_are_not_sorted():
    f = tf.function(
        tf.math.segment_sum,
        input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None], tf.int32)],
    )
    np.testing.assert_array_equal(f([1.0, 2.0, 4.0], [0, 0, 2]), [3, 0, 4])
    np.testing.assert_array_equal(f([], np.zeros(0, np.int32)), [])
    with pytest.raises(INVALID, match="not increasing"):
        f([1.0, 2.0, 4.0], [1, 0, 2])


def test_unravel_index_that_is_too_large():
    f = tf.function(lambda i: tf.unravel_index(i, [3, 4]))
    np.testing.assert_array_equal(f(tf.constant([5, 11])), [[1, 2], [1, 3]])
    with pytest.raises(INVALID, match="out of bound"):
        f(tf.constant([12]))


def test_what_is_said():
    f = tf.function(lambda i: tf.gather(P, i))
    for index in (-1, 3):
        with pytest.raises(INVALID, match=rf"index {index} is not in \[0, 3\)"):
            f(tf.constant([index]))
        with pytest.raises(INVALID, match=rf"indices\[0\] = {index} is not in \[0, 3\)"):
            tf.gather(P, tf.constant([index]))
    deep = tf.function(lambda i: tf.gather_nd(P, i))
    with pytest.raises(INVALID, match="index -2 is out of range"):
        deep(tf.constant([[0, -2]]))
    put = tf.function(lambda i: tf.tensor_scatter_nd_add(P, i, [1.0]))
    with pytest.raises(INVALID, match="coordinates of an element are out of range"):
        put(tf.constant([[0, -2]]))


def test_variables():
    v = tf.Variable(P)
    for i in (-1, 3):
        with pytest.raises(INVALID):
            v.scatter_nd_update([[0], [i]], ROWS)
        with pytest.raises(INVALID):
            v.scatter_add(tf.IndexedSlices(ROWS, [0, i]))
    np.testing.assert_array_equal(v, P)


def test_python_indices_still_count_from_the_end():
    x = tf.constant(P)
    np.testing.assert_array_equal(x[-1], P[-1])
    np.testing.assert_array_equal(tf.function(lambda i: x[i])(tf.constant(-2)), P[-2])
    np.testing.assert_array_equal(tf.raw.Gather(x, tf.constant([-1])), P[[-1]])


def test_counters_of_loops_are_not_checked():
    @tf.function
    def total(x):
        result = tf.zeros([4])
        for i in tf.range(3):
            result += tf.gather(x, i)
        return result

    graph = total.get_concrete_function(tf.constant(P)).graph
    np.testing.assert_array_equal(total(tf.constant(P)), P.sum(0))
    assert "BitwiseAnd" not in {
        n.op for g in (graph.graph, *graph.graph.subgraphs()) for n in g.nodes
    }


def test_known_indices_cost_no_node():
    @tf.function
    def f(x):
        return tf.gather(x, [0, 2])

    graph = f.get_concrete_function(tf.constant(P)).graph
    assert [n.op for n in graph.graph.nodes] == ["Gather"]
    where = tf.constant([0, 1])
    assert indices.from_the_front(where) is where
