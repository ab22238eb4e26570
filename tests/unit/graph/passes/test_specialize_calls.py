"""Random operations know the sizes that their calls give them: in plans, with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library
from tfx.function.execution.plan import Plan
from tfx.graph.fusion.elementwise import fused_plan
from tfx.graph.ir import CALL, FUSED_LOOP, bodies_below
from tfx.graph.passes.pipeline import prepare, tune_for_cpu
from tfx.graph.passes.specialize_calls import specialize_calls
from tfx.kernels.library import usable_library
from tfx.runtime.values import from_numpy, to_numpy

DRAWS = {
    "normal": lambda s: tf.random.stateless_normal([2, 3], s),
    "scalar": lambda s: tf.random.stateless_uniform([], s, minval=2.0, maxval=3.0),
    "double": lambda s: tf.random.stateless_normal([5], s, dtype=tf.float64),
    "integers": lambda s: tf.random.stateless_uniform([7], s, maxval=1000, dtype=tf.int32),
    "truncated": lambda s: tf.random.stateless_truncated_normal([4], s),
    "nothing": lambda s: tf.random.stateless_normal([0, 3], s),
    "many": lambda s: tf.random.stateless_normal([100, 100], s),
    "gamma": lambda s: tf.random.stateless_gamma([3], s, alpha=0.5),
    "shuffled": lambda s: tf.random.experimental.stateless_shuffle(tf.range(5), s),
    "split": lambda s: tf.random.experimental.stateless_split(s, 3),
}


def graph_of(function, *tensors):
    return tf.function(function).get_concrete_function(*tensors)._observed.make_pure().graph


def callees(graph):
    return [n.attrs["graph"] for n in graph.all_nodes() if n.op == CALL]


@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_stay_the_same(name):
    seed = np.array([3, 4], np.int32)
    draw = DRAWS[name]

    def twice(s):
        return draw(s), draw(s + 1)

    graph = graph_of(twice, tf.constant(seed))
    found = []
    for fuse in (True, False):
        made = Plan(graph, fuse=fuse).run([from_numpy(seed)])
        found.append([np.array(to_numpy(made[i])) for i in range(2)])
    for one, other, eager in zip(*found, twice(tf.constant(seed)), strict=True):
        np.testing.assert_allclose(one, other, rtol=3e-6)
        np.testing.assert_allclose(one, eager, rtol=3e-6)


def test_calls_alike_share_a_graph_in_which_sizes_are_known():
    def draws(s):
        normal = tf.random.stateless_normal
        return normal([3], s), normal([3], s + 1), normal([4], s)

    graph = graph_of(draws, tf.constant([1, 2]))
    found = callees(specialize_calls(graph))
    assert found[0] is found[1] is not found[2]
    assert all(d is not None for n in found[0].nodes for v in n.outputs for d in v.shape)
    assert found[2].outputs[0].shape == (4,)
    before = callees(graph)
    assert before[0] is before[2] is not found[0]  # what was traced stays


def test_large_and_unknown_results_are_left():
    @tf.function
    def draws(s, n):
        return tf.random.stateless_normal([1000, 1000], s), tf.random.stateless_normal([n], s)

    graph = draws.get_concrete_function(tf.constant([1, 2]), tf.constant(3))._observed.make_pure()
    assert specialize_calls(graph.graph) is graph.graph


@needs_library
def test_a_loop_that_draws_is_one_program():
    def walk(seed):
        def step(i, x):
            at = tf.stack([seed, i])
            return i + 1, x + tf.random.stateless_normal([3], at) * tf.random.stateless_uniform(
                [], at
            )

        return tf.while_loop(lambda i, _: i < 20, step, (0, tf.zeros([3])))[1]

    def known_seed(x):
        def step(i, x):
            return i + 1, x + tf.random.stateless_uniform([2000], tf.stack([7, i]))

        return tf.while_loop(lambda i, _: i < 20, step, (0, tf.zeros([2000]) + x))[1]

    graph = graph_of(known_seed, tf.constant(0.0))
    ready = prepare(graph, runs_here=True, own_kernels=True)
    together = fused_plan(tune_for_cpu(ready, 2), usable_library().instructions)
    assert sum(n.op == FUSED_LOOP for g in bodies_below(together) for n in g.nodes) == 1

    graph = graph_of(walk, tf.constant(5))
    ready = prepare(graph, runs_here=True, own_kernels=True)
    together = fused_plan(tune_for_cpu(ready, 2), usable_library().instructions)
    nodes = [n.op for g in (together, *bodies_below(together)) for n in g.nodes]
    assert nodes.count(FUSED_LOOP) == 1 and "Mul" not in nodes
    expected = np.zeros(3, np.float32)
    for i in range(20):
        normal = tf.random.stateless_normal([3], [5, i]).numpy()
        expected += normal * tf.random.stateless_uniform([], [5, i]).numpy()
    np.testing.assert_allclose(tf.function(walk)(5), expected, rtol=1e-5)


def test_a_shape_that_is_none_is_refused_as_before():
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.function(lambda s: tf.random.stateless_normal([-2], s))(tf.constant([1, 2]))
