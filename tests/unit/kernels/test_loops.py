"""Loops that run as one operator give what they give iteration by iteration."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import fused, fused_nodes, needs_library
from tfx.function.execution.plan import Plan
from tfx.graph.ir import FUSED_LOOP, bodies_below
from tfx.graph.passes.pipeline import prepare, tune_for_cpu
from tfx.runtime.values import from_numpy, to_numpy

pytestmark = needs_library


def loops(function, *specs):
    """How many loops of a function run as one operator."""
    graph = function.get_concrete_function(*specs)._observed.make_pure().graph
    together = fused(tune_for_cpu(prepare(graph, runs_here=True), 2))
    return sum(n.op == FUSED_LOOP for g in (together, *bodies_below(together)) for n in g.nodes)


def both(function, *values):
    """What a function gives with fused kernels and without, which are the same."""
    tensors = [tf.constant(v) for v in values]
    graph = function.get_concrete_function(*tensors)._observed.make_pure().graph
    given = [from_numpy(np.asarray(t)) for t in tensors]
    results = []
    for fuse in (True, False):
        plan = Plan(graph, fuse=fuse)
        assert plan.fused == fuse
        found = plan.run(given)
        results.append([np.array(to_numpy(found[i])) for i in range(len(graph.outputs))])
    for a, b in zip(*results, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    return results[0]


@tf.function
def polynomial(x, n):
    for i in tf.range(n):
        x = x * 0.5 + tf.cast(i, tf.float32)
    return x


@tf.function
def fibonacci(n):
    a, b = tf.constant(0, tf.int64), tf.constant(1, tf.int64)
    for _ in tf.range(n):
        a, b = b, a + b
    return a, b


@tf.function
def collatz(n):
    steps = tf.constant(0)
    while n != 1:
        n = tf.where(n & 1 == 0, tf.bitwise.right_shift(n, 1), 3 * n + 1)
        steps += 1
    return steps


@tf.function
def orbit(x, y, scale):
    """Values of several shapes and types, one that stays, one that is copied."""
    count, before, stays = tf.zeros([], tf.int32), x, y
    odd = tf.constant(False)
    while tf.logical_and(count < 7, tf.logical_not(tf.logical_and(odd, count > 100))):
        before, x = x, x * 0.9 + y * scale - tf.cast(count, tf.float32)
        odd = tf.logical_not(odd)
        count += 1
    return x, before, stays, odd, count


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_counted(n):
    found = both(polynomial, np.float32(3.0), np.int32(n))[0]
    expected = np.float32(3.0)
    for i in range(n):
        expected = np.float32(expected * np.float32(0.5) + np.float32(i))
    assert found == expected
    both(polynomial, np.linspace(0, 1, 1300, dtype=np.float32).reshape(10, 130), np.int32(n))
    both(polynomial, np.zeros((0, 3), np.float32), np.int32(n))


def test_values_that_change_places():
    assert [int(x) for x in both(fibonacci, np.int32(90))] == [
        2880067194370816120,
        4660046610375530309,
    ]


def test_until_a_condition_fails():
    scalar = tf.TensorSpec([], tf.int32)
    assert loops(fibonacci, scalar) == 1
    for n, steps in ((1, 0), (2, 1), (27, 111), (97, 118)):
        assert int(collatz(tf.constant(n))) == steps


@pytest.mark.parametrize("rows", [1, 4, 600])
def test_values_of_several_shapes(rows, rng):
    x = rng.normal(size=(rows, 5)).astype(np.float32)
    both(orbit, x, rng.normal(size=5).astype(np.float32), np.float32(0.25))


def test_of_unknown_sizes(rng):
    general = tf.function(
        polynomial.python_function,
        input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32)],
    )
    assert loops(general) == 1
    x = rng.normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_array_equal(general(x, 5), polynomial(tf.constant(x), tf.constant(5)))


def test_not_where_shapes_change():
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def grows(x):
        y = tf.zeros([1, 2])
        for _ in tf.range(3):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(y, tf.TensorShape([None, 2]))]
            )
            y = y + x
        return y

    assert loops(grows) == 0
    np.testing.assert_array_equal(grows(np.ones((4, 2), np.float32)), np.full((4, 2), 3.0))


def test_many_calls_of_the_program():
    """More iterations than one call of it runs, with a value that is carried through all."""
    both(polynomial, np.float32(1.0), np.int32(300_001))
    many = both(polynomial, np.ones(5000, np.float32), np.int32(2_000))
    assert many[0].shape == (5000,)


def test_an_endless_loop_can_be_ended():
    @tf.function
    def endless(x):
        while x > 0.0:
            x = x + 1.0 - 1.0
        return x

    assert loops(endless, tf.TensorSpec([])) == 1
    from tfx.runtime.options import RUN_OPTIONS

    timer = threading.Timer(0.3, lambda: setattr(RUN_OPTIONS, "terminate", True))
    began = time.monotonic()
    timer.start()
    try:
        plan = Plan(endless.get_concrete_function(tf.TensorSpec([]))._observed.make_pure().graph)
        feeds = plan.feed_values(from_numpy(np.array(1.0, np.float32)))
        with pytest.raises(Exception, match="terminate"):
            plan.run_raw(feeds, plan.output_names, RUN_OPTIONS)
    finally:
        timer.cancel()
        RUN_OPTIONS.terminate = False
    assert time.monotonic() - began < 30


def test_gradients_of_loops():
    """Which collect values: they are no such loops, and go through as before."""
    x = tf.Variable([1.0, 2.0])

    @tf.function
    def slope():
        with tf.GradientTape() as tape:
            y = tf.identity(x)
            for _ in tf.range(3):
                y = y * y * 0.5
        return tape.gradient(y, x)

    np.testing.assert_allclose(slope(), 8 * np.array([1.0, 2.0]) ** 7 * 0.5**7, rtol=1e-6)


def test_the_kernels_count_their_nodes():
    graph = (
        polynomial.get_concrete_function(tf.TensorSpec([]), tf.TensorSpec([], tf.int32))
        ._observed.make_pure()
        .graph
    )
    assert fused_nodes(fused(prepare(graph))) >= 1
