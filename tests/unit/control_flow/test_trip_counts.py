"""Loops with a trip count known beforehand: what they compute, and what is left of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import tfx as tf

_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _loop(function: Any, *args: Any) -> Any:
    (node,) = [n for n in function.get_concrete_function(*args).graph.graph.nodes if n.op == "Loop"]
    return node


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(
    ("start", "step", "sign"),
    [
        (0, 1, "<"),
        (2, 1, "<"),
        (-1, 3, "<"),
        (0, 2, "<="),
        (7, -1, ">"),
        (6, -2, ">="),
        (0, 1, "<="),
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_counted_loops_are_pythons(start, step, sign, mirrored, dtype):
    compare = _COMPARE[sign]
    swapped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[sign]

    def cond(limit):
        if mirrored:
            return lambda i, *_: _COMPARE[swapped](limit, i)
        return lambda i, *_: compare(i, limit)

    def run(limit):
        first = tf.constant(start, dtype)
        body = lambda i, total, n: (i + step, total + i, n + 1)  # noqa: E731
        return tf.while_loop(cond(limit), body, (first, tf.constant(0, dtype), 0))

    dynamic = tf.function(run)
    for limit in range(-3, 9):
        i, total, n = start, 0, 0
        while compare(i, limit):
            i, total, n = i + step, total + i, n + 1
        static = tf.function(lambda limit=limit: run(limit))
        for found in (dynamic(tf.constant(limit, dtype)), static()):
            assert [int(x) for x in found] == [i, total, n]
        node = _loop(static)
        assert node.inputs[1] is None
        assert len(node.outputs) == 1  # the total


@pytest.mark.parametrize("reverse", [False, True])
def test_a_second_condition_stays(reverse):
    @tf.function
    def f(x, n):
        def cond(i, y):
            one, other = i < n, y < 100.0
            return tf.logical_and(other, one) if reverse else tf.logical_and(one, other)

        return tf.while_loop(cond, lambda i, y: (i + 1, y * 3.0), (0, x))

    x = tf.constant(2.0)
    for n in range(7):
        i, y = 0, 2.0
        while i < n and y < 100.0:
            i, y = i + 1, y * 3.0
        found = f(x, tf.constant(n))
        assert (int(found[0]), float(found[1])) == (i, y)
    node = _loop(f, x, tf.constant(3))
    assert node.inputs[0] is not None
    assert "And" not in [n.op for n in node.attrs["body"].nodes]


def test_a_limit_computed_from_shapes_or_variables():
    v = tf.Variable(4)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def shapes(x):
        return tf.while_loop(
            lambda i, y: i < tf.shape(x)[0] + v, lambda i, y: (i + 1, y + 1.0), (0, 0.0)
        )

    for count in (0, 3):
        i, y = shapes(tf.zeros([count]))
        assert (int(i), float(y)) == (count + 4, count + 4.0)
    assert _loop(shapes).inputs[1] is None
    v.assign(-9)
    assert [float(x) for x in shapes(tf.zeros([2]))] == [0.0, 0.0]


def test_a_limit_that_changes_is_a_condition():
    v = tf.Variable(3)

    @tf.function
    def by_variable():
        def body(i, y):
            v.assign_sub(tf.where(i == 0, 1, 0))
            return i + 1, y + 1.0

        return tf.while_loop(lambda i, y: i < v, body, (0, 0.0))

    assert [float(x) for x in by_variable()] == [2.0, 2.0]

    @tf.function
    def by_loop_variable(n):
        return tf.while_loop(lambda i, n: i < n, lambda i, n: (i + 1, n - 1), (0, n))

    assert [int(x) for x in by_loop_variable(tf.constant(5))] == [3, 2]


def test_a_condition_with_a_side_effect_of_its_own_is_not_taken_for_the_same():
    limits = iter([5, 2])

    @tf.function
    def f(x):
        return tf.while_loop(
            lambda i: i < tf.shape(x)[0] * next(limits), lambda i: (i + 1,), (tf.constant(0),)
        )

    assert _loop(f, tf.zeros([1])).inputs[1] is not None


def test_counters_in_gradients():
    def f(x, n):
        def body(i, y):
            return i + 1, y * tf.gather(x, i) + tf.cast(i, tf.float32)

        return tf.while_loop(lambda i, _: i < n, body, (1, tf.constant(2.0)))[1]

    x = tf.constant(np.random.default_rng(0).uniform(0.5, 1.5, 6).astype(np.float32))

    def gradient(function, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, n)
        return tape.gradient(y, x)

    inside = tf.function(lambda x, n: gradient(f, n))
    for n in (0, 1, 3, 6):
        wanted = gradient(f, n)
        wanted = np.zeros(6) if wanted is None else tf.convert_to_tensor(wanted).numpy()
        np.testing.assert_allclose(inside(x, tf.constant(n)).numpy(), wanted, rtol=1e-5)
        got = gradient(tf.function(f), tf.constant(n))
        np.testing.assert_allclose(tf.convert_to_tensor(got).numpy(), wanted, rtol=1e-5)


def test_results_have_static_lengths():
    @tf.function
    def f(x):
        def body(i, rows):
            return i + 1, rows.write(i, x * tf.cast(i, tf.float32))

        rows = tf.TensorArray(tf.float32, 5)
        stacked = tf.while_loop(lambda i, _: i < 5, body, (0, rows))[1].stack()
        assert stacked.shape == (5, 2)
        return stacked

    np.testing.assert_array_equal(f(tf.ones([2])).numpy(), np.arange(5)[:, None] * np.ones(2))


def test_a_loop_that_only_counts():
    f = tf.function(lambda n: tf.while_loop(lambda i: i < n, lambda i: i + 2, (0,))[0])
    assert [int(f(tf.constant(n))) for n in (-1, 0, 3, 4)] == [0, 0, 4, 4]


def test_the_counter_becomes_another_variable():
    f = tf.function(
        lambda n: tf.while_loop(lambda i, last: i < n, lambda i, last: (i + 1, i), (0, -1))
    )
    assert [int(x) for x in f(tf.constant(4))] == [4, 3]
    assert [int(x) for x in f(tf.constant(0))] == [0, -1]


def test_the_counter_is_assigned_to_a_variable():
    v = tf.Variable(0)

    @tf.function
    def f(n):
        def body(i):
            v.assign(i)
            return (i + 1,)

        return tf.while_loop(lambda i: i < n, body, (0,))[0]

    assert int(f(tf.constant(4))) == 4
    assert int(v) == 3


@pytest.mark.parametrize("bounds", [(5,), (2, 7), (0, 9, 2), (7, 1, -2), (4, 4)])
def test_loops_over_ranges_compute_their_items(bounds):
    def f(*bounds):
        total, last = tf.constant(0), tf.constant(-1)
        for i in tf.range(*bounds):
            total, last = total * 3 + i, i
        return total, last

    total, last = 0, -1
    for i in range(*bounds):
        total, last = total * 3 + i, i
    static = tf.function(lambda: f(*bounds))
    dynamic = tf.function(f)
    for found in (static(), dynamic(*map(tf.constant, bounds))):
        assert [int(x) for x in found] == [total, last]


def test_a_write_at_an_item_of_a_range_is_a_scan_output():
    @tf.function
    def f(n, x):
        rows = tf.TensorArray(tf.float32, n)
        for i in tf.range(n):
            rows = rows.write(i, x * tf.cast(i, tf.float32))
        return rows.stack()

    x = tf.ones([2])
    np.testing.assert_array_equal(f(tf.constant(3), x).numpy(), [[0, 0], [1, 1], [2, 2]])
    assert f(tf.constant(0), x).shape == (0, 2)
    node = _loop(f, tf.constant(3), x)
    assert len(node.inputs) == 2
    assert len(node.outputs) == 1
