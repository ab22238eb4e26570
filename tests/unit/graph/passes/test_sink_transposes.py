"""What stands between convolutions is computed in their order, and gives the same numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf
from tfx.graph.passes.pipeline import prepare
from tfx.graph.passes.sink_transposes import sink_transposes
from tfx.testing import assert_close


def pure(function, *specs):
    return function.get_concrete_function(*specs)._observed.make_pure().graph


def large_transposes(graph):
    """The orders of what more than a vector is transposed by."""
    return [
        node.attrs["perm"]
        for node in prepare(graph, runs_here=True).nodes
        if node.op == "Transpose"
        and sum(size != 1 for size in node.inputs[0].shape) > 1
        and node.inputs[0].shape[0] != 1
    ]


IMAGES = tf.TensorSpec([None, 8, 8, 3])


def normalized(x, scale):
    mean = tf.reduce_mean(x, [0, 1, 2])
    variance = tf.reduce_mean(tf.square(x - mean), [0, 1, 2], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3) * scale


def test_two_convolutions_with_all_between_them_are_transposed_at_the_ends():
    filters = tf.constant(np.random.default_rng(0).normal(size=(3, 3, 3, 3)).astype(np.float32))
    scale = tf.constant([1.0, 2.0, 3.0])

    @tf.function
    def f(x):
        y = tf.nn.conv2d(x, filters, 1, "SAME")
        y = tf.nn.relu(normalized(tf.nn.bias_add(y, [1.0, 0.0, -1.0]), scale))
        z = tf.nn.conv2d(tf.pad(y, [[0, 0], [1, 0], [0, 1], [0, 0]]), filters, 1, "VALID")
        z = tf.where(z > 0.0, z, 0.1 * z)
        return tf.nn.max_pool2d(tf.concat([z, tf.clip_by_value(z, 0.0, 1.0)], 3), 2, 2, "VALID")

    graph = pure(f, IMAGES)
    assert large_transposes(graph) == [(0, 3, 1, 2), (0, 2, 3, 1)]
    # What is saved keeps its order.
    assert Counter(n.op for n in prepare(graph).nodes)["Transpose"] > 4
    x = np.random.default_rng(1).normal(size=(2, 8, 8, 3)).astype(np.float32)
    x = tf.constant(x)
    assert_close(f(x), f.python_function(x), rtol=1e-5, atol=1e-5)
    assert f(tf.zeros([0, 8, 8, 3])).shape == [0, 3, 3, 6]


def test_the_gradient_keeps_the_order_too():
    filters = tf.Variable(np.random.default_rng(0).normal(size=(3, 3, 3, 3)).astype(np.float32))

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.relu(normalized(tf.nn.conv2d(x, filters, 1, "SAME"), 1.0))
            loss = tf.reduce_sum(tf.nn.conv2d(y, filters, 1, "SAME") ** 2)
        return tape.gradient(loss, [x, filters.value()])

    x = tf.constant(np.random.default_rng(1).normal(size=(2, 8, 8, 3)).astype(np.float32))
    for found, expected in zip(f(x), f.python_function(x), strict=True):
        if expected is not None:
            assert_close(found, expected, rtol=1e-3, atol=1e-3)
    orders = large_transposes(pure(f, IMAGES))
    assert orders.count((0, 3, 1, 2)) == 1  # the images


def test_sizes_are_those_of_the_value():
    @tf.function
    def f(x):
        y = tf.transpose(x, [0, 3, 1, 2])
        return tf.shape(y), tf.shape(y)[1:3], tf.size(y), tf.exp(y)

    x = tf.random.normal([2, 3, 4, 5])
    shape, part, size, y = f(x)
    assert list(shape) == [2, 5, 3, 4]
    assert list(part) == [5, 3]
    assert int(size) == 120
    assert_close(y, np.exp(x.numpy().transpose(0, 3, 1, 2)))
    names = [n.op for n in prepare(pure(f, tf.TensorSpec([None] * 4)), runs_here=True).nodes]
    assert names.count("Transpose") == 1


def test_the_larger_part_of_the_operands_decides():
    @tf.function
    def f(g, m, v):
        g = tf.transpose(g, [1, 0])
        return m + g, v * g

    square = tf.TensorSpec([64, 64])
    nodes = prepare(pure(f, square, square, square), runs_here=True).nodes
    assert Counter(n.op for n in nodes)["Transpose"] == 1
    a, b, c = (tf.random.normal([64, 64]) for _ in range(3))
    np.testing.assert_array_equal(f(a, b, c)[0], b + tf.transpose(a))


def test_branches_see_what_is_outside():
    @tf.function
    def f(x, flag):
        y = tf.transpose(x, [0, 3, 1, 2])
        return tf.cond(flag, lambda: tf.transpose(tf.exp(y), [0, 2, 3, 1]), lambda: x)

    x = tf.random.normal([2, 3, 4, 5])
    np.testing.assert_allclose(f(x, tf.constant(True)), np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(f(x, tf.constant(False)), x)


UNARY = (tf.exp, tf.nn.relu, tf.sign, lambda x: tf.clip_by_value(x, -1.0, 1.0))
BINARY = (tf.add, tf.multiply, tf.maximum, lambda a, b: tf.where(a > b, a, b))


@st.composite
def programs(draw):
    """A program of steps on values that are transposed again and again."""
    rank = draw(st.integers(2, 4))
    steps = draw(
        st.lists(
            st.tuples(st.integers(0, 4), st.integers(0, 3), st.permutations(range(rank))),
            min_size=2,
            max_size=9,
        )
    )
    sizes = draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    return rank, sizes, steps


@settings(max_examples=60, deadline=None)
@given(programs(), st.booleans())
def test_random_programs(program, known):
    rank, sizes, steps = program

    def f(x):
        values = [x]
        for kind, which, order in steps:
            y = values[which % len(values)]
            last = values[-1]
            if kind == 0:
                values.append(tf.transpose(last, order))
            elif kind == 1:
                values.append(UNARY[which](last * 0.5))
            elif kind == 2:
                small = tf.reduce_sum(last, [order[0]], keepdims=True)
                values.append(last * small + tf.reduce_max(last, order[:1], keepdims=True))
            elif kind == 3 and y.shape == last.shape and known:
                values.append(BINARY[which](last, y))
            else:
                axis = order[0]
                rows = tf.pad(last, [[int(i == axis), 0] for i in range(rank)])
                values.append(tf.concat([rows, rows], axis))
        reduced = tf.reduce_mean(values[-1], list(range(rank))[: len(steps) % rank])
        return [values[-1], reduced, tf.shape(values[-1])]

    x = tf.constant(np.random.default_rng(0).normal(size=sizes).astype(np.float32))
    traced = tf.function(
        f, input_signature=[tf.TensorSpec(sizes if known else [None] * rank)], autograph=False
    )
    for found, expected in zip(traced(x), f(x), strict=True):
        assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_name_the_axes_as_they_lie(keepdims):
    @tf.function
    def f(x):
        return tf.reduce_sum(tf.transpose(x, [0, 3, 1, 2]), [1, 3], keepdims=keepdims)

    x = tf.random.normal([2, 3, 4, 5])
    expected = np.sum(x.numpy().transpose(0, 3, 1, 2), axis=(1, 3), keepdims=keepdims)
    assert_close(f(x), expected, rtol=1e-5)
    nodes = prepare(pure(f, tf.TensorSpec([2, 3, 4, 5])), runs_here=True).nodes
    assert nodes[0].op == "ReduceSum"


def test_a_graph_without_transposes_is_left_alone():
    graph = pure(tf.function(lambda x: tf.exp(x)), tf.TensorSpec([3]))
    assert sink_transposes(graph) is graph
