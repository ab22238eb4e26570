"""Chains of calls are cut to what ONNX Runtime takes; the numbers stay."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import tfx as tf
from tfx.graph.ir import CALL, Graph
from tfx.graph.passes.limit_call_depth import limit_call_depth
from tfx.graph.verify import verify

X = tf.constant([1.0, 2.0])


def chain(length, times=1, condition=False):
    """Functions that each call the next one, ``times`` times, and add 1."""
    f = tf.function(lambda x: x * 2.0)
    for i in range(length):

        def caller(x, inner=f, last=i == length - 1):
            if condition and last:
                return tf.cond(x[0] > 0.0, lambda: inner(x), lambda: x) + 1.0
            for _ in range(times):
                x = inner(x)
            return x + 1.0

        f = tf.function(caller)
    return f


def depth(graph: Graph) -> int:
    """Calls inside each other, told by following each path."""
    return max(
        (depth(body) + (node.op == CALL) for node in graph.nodes for body in node.bodies()),
        default=0,
    )


@pytest.mark.parametrize(("length", "limit"), [(3, 3), (4, 3), (9, 2), (10, 1), (7, 6), (12, 5)])
@pytest.mark.parametrize("condition", [False, True])
def test_depth_and_numbers(length, limit, condition):
    traced = chain(length, condition=condition).get_concrete_function(X)
    graph = traced.graph.graph
    short = limit_call_depth(graph, limit)
    verify(short)
    assert depth(graph) == length
    # A call in a branch stays as it is, and counts.
    assert depth(short) <= max(limit, 1) + condition
    assert (short is graph) == (length <= limit)
    assert depth(graph) == length, "what was traced is never changed"


def test_what_is_called_twice_stays_shared():
    graph = chain(10, times=2).get_concrete_function(X).graph.graph
    short = limit_call_depth(graph, 5)
    assert depth(short) == 5
    # Two of three are gone: 2 calls of 2 calls, in each of 5 functions.
    assert sum(len(g.nodes) for g in (short, *short.subgraphs())) < 60


def test_a_chain_longer_than_the_runtime_takes_is_run_and_saved(tmp_path):
    module = tf.Module()
    module.f = chain(130)
    np.testing.assert_array_equal(module.f(X), [132.0, 134.0])
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = module.f(X)
    np.testing.assert_array_equal(tape.gradient(y, X), [2.0, 2.0])
    tf.saved_model.save(module, tmp_path / "m", signatures=module.f.get_concrete_function(X))
    session = onnxruntime.InferenceSession(tmp_path / "m" / "serving_default.onnx")
    (name,) = [i.name for i in session.get_inputs()]
    np.testing.assert_array_equal(session.run(None, {name: X.numpy()})[0], [132.0, 134.0])
