"""``Expand`` moves down until nothing needs it."""

from __future__ import annotations

from collections import Counter

import numpy as np

import tfx as tf
from tfx.graph.passes.pipeline import prepare
from tfx.graph.passes.sink_expands import sink_expands
from tfx.testing import assert_close


def operators(function, *specs):
    graph = function.get_concrete_function(*specs)._observed.make_pure().graph
    return Counter(n.op for n in prepare(graph).nodes)


def test_an_operand_that_broadcasts_is_not_expanded():
    @tf.function
    def f(x, y):
        return tf.broadcast_to(x, [3, 4]) * y

    assert operators(f, tf.TensorSpec([]), tf.TensorSpec([3, 4]))["Expand"] == 0
    y = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    assert_close(f(tf.constant(2.0), tf.constant(y)), 2 * y)


def test_small_operands_are_combined_before_they_are_expanded():
    @tf.function
    def f(x, y):
        a, b = tf.broadcast_to(x, [3, 4]), tf.broadcast_to(y, [3, 4])
        return -(a + b) * 2.0

    graph = (
        f.get_concrete_function(tf.TensorSpec([4]), tf.TensorSpec([3, 1]))
        ._observed.make_pure()
        .graph
    )
    assert f(tf.ones([4]), tf.ones([3, 1])).shape == [3, 4]
    # A row and a column already make a matrix.
    assert not any(n.op == "Expand" for n in prepare(graph).nodes)

    @tf.function
    def g(x):
        return tf.exp(-tf.broadcast_to(x, [3, 4]) * 2.0)

    nodes = prepare(g.get_concrete_function(tf.TensorSpec([4]))._observed.make_pure().graph).nodes
    assert [n.op for n in nodes] == ["Neg", "Mul", "Exp", "Expand"]
    assert [n.outputs[0].shape for n in nodes] == [(4,), (4,), (4,), (3, 4)]
    x = np.arange(4.0, dtype=np.float32)
    assert_close(g(tf.constant(x)), np.tile(np.exp(-2 * x), (3, 1)))


def test_what_must_be_expanded_stays():
    @tf.function
    def f(x, w):
        return tf.matmul(tf.broadcast_to(x, [3, 4]), w)

    assert operators(f, tf.TensorSpec([4]), tf.TensorSpec([4, 2]))["Expand"] == 1
    assert_close(f(tf.ones([4]), tf.ones([4, 2])), np.full((3, 2), 4.0))


def test_unknown_sizes_are_left_alone():
    @tf.function
    def f(x, y):
        return tf.broadcast_to(x, tf.shape(y)) * y

    specs = tf.TensorSpec([]), tf.TensorSpec(None)
    operators(f, *specs)
    concrete = f.get_concrete_function(*specs)
    assert_close(concrete(tf.constant(2.0), tf.ones([2, 2])), np.full((2, 2), 2.0))


def test_bodies_see_what_is_expanded_outside():
    @tf.function
    def f(x, y):
        wide = tf.broadcast_to(x, [3, 4])
        return tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z * wide), (0, y))[1]

    assert_close(f(tf.constant(2.0), tf.ones([3, 4])), np.full((3, 4), 4.0))


def test_a_graph_without_expansions_is_the_same_graph():
    @tf.function
    def f(x):
        return tf.exp(x)

    graph = f.get_concrete_function(tf.TensorSpec([2]))._observed.make_pure().graph
    assert sink_expands(graph) is graph


def test_the_gradient_of_a_mean_square_expands_nothing():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_mean(tf.square(x))
        return tape.gradient(loss, x)

    found = operators(f, tf.TensorSpec([5, 7]))
    assert found["Expand"] == 0
    x = np.arange(35.0, dtype=np.float32).reshape(5, 7)
    assert_close(f(tf.constant(x)), 2 * x / 35)
