"""A graph for the sizes of a call: the same numbers, and nothing computes with shapes any more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.function.execution.plan import Plan
from tfx.graph.ir import CALL, Graph
from tfx.graph.passes.known_sizes import with_known_sizes
from tfx.graph.passes.pipeline import prepare
from tfx.runtime.values import from_numpy, to_numpy

OPEN = tf.TensorSpec([None, 3])


def _mean_and_slope(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_mean(tf.nn.softmax(x) ** 2)
    return y, tape.gradient(y, x)


def _reshaped(x: Any) -> Any:
    count = tf.shape(x)[0]
    return tf.reshape(x, [count * 3]), tf.zeros([count, 2]) + tf.cast(tf.size(x), tf.float32)


def _rows_one_by_one(x: Any) -> Any:
    found = tf.TensorArray(tf.float32, tf.shape(x)[0])
    total = tf.zeros([3])
    for i in tf.range(tf.shape(x)[0]):
        total += x[i] * 2.0
        found = found.write(i, total)
    return found.stack()


def _branches(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x[1:] * 2.0, lambda: x[:-1])


def _draws(x: Any) -> Any:
    return x + tf.random.stateless_normal(tf.shape(x), [1, 2])


PROGRAMS = {f.__name__[1:]: f for f in (_mean_and_slope, _reshaped, _rows_one_by_one, _branches)}
PROGRAMS["draws"] = _draws


def _graph(function: Any, spec: tf.TensorSpec = OPEN) -> Graph:
    return tf.function(function).get_concrete_function(spec)._observed.make_pure().graph


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_numbers(name: str, rows: int) -> None:
    graph = _graph(PROGRAMS[name])
    sized = with_known_sizes(graph, [(rows, 3)])
    assert sized is not None
    x = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
    expected, found = (Plan(g, fuse=False).run([from_numpy(x)]) for g in (graph, sized))
    for i in range(len(graph.outputs)):
        # Sums of a known size may go another way.
        np.testing.assert_allclose(to_numpy(found[i]), to_numpy(expected[i]), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["mean_and_slope", "reshaped", "draws"])
def test_everything_about_shapes_is_constant(name: str) -> None:
    sized = with_known_sizes(_graph(PROGRAMS[name]), [(4, 3)])
    assert sized is not None
    ready = prepare(sized)
    assert not {n.op for n in ready.all_nodes()} & {"Shape", "Size", CALL}
    values = [*ready.outputs, *(v for n in ready.nodes for v in n.outputs)]
    assert all(isinstance(d, int) for v in values if v.shape is not None for d in v.shape)


def test_what_was_traced_stays_as_it_is() -> None:
    graph = _graph(_reshaped)
    before = [(n.op, n.inputs) for n in graph.nodes], graph.inputs[0].shape
    with_known_sizes(graph, [(4, 3)])
    assert ([(n.op, n.inputs) for n in graph.nodes], graph.inputs[0].shape) == before


def test_sizes_that_do_not_fit() -> None:
    graph = _graph(lambda x: x + tf.ones([5, 3]), tf.TensorSpec([None, None]))
    assert with_known_sizes(graph, [(5, 4)]) is None


def test_unknown_rank() -> None:
    graph = _graph(lambda x: tf.reshape(x, [-1]) * 2.0, tf.TensorSpec(None))
    sized = with_known_sizes(graph, [(2, 2)])
    assert sized is not None
    assert sized.outputs[0].shape == (4,)
