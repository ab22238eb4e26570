"""Bodies that lie deep inside each other are written as functions, which compute the same."""

from __future__ import annotations

import numpy as np

import tfx as tf
from tfx.graph.ir import Graph
from tfx.graph.serialization.limit_body_depth import limit_body_depth
from tfx.graph.verify import verify


def _nested(depth: int) -> Graph:
    def step(x: tf.Tensor, left: int) -> tf.Tensor:
        if not left:
            return x
        return tf.cond(x > left, lambda: step(x + 1, left - 1), lambda: x * tf.constant([2.0, 3.0]))

    f = tf.function(lambda x: tf.reduce_sum(step(x, depth)), autograph=False)
    return f.get_concrete_function(tf.TensorSpec([], tf.float32)).graph.graph


def _depth(graph: Graph) -> int:
    below = [_depth(b) + 1 for n in graph.nodes if n.op != "Call" for b in n.bodies()]
    return max(below, default=0)


def test_the_depth_is_at_most_the_limit() -> None:
    graph = _nested(7)
    assert limit_body_depth(graph, 7) is graph
    for limit in (1, 2, 3, 6):
        short = limit_body_depth(graph, limit)
        verify(short)
        assert max(map(_depth, (short, *short.subgraphs()))) <= limit
    assert _depth(graph) == 7


def test_a_chain_of_conditions(tmp_path) -> None:
    class Chain(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def __call__(self, i: tf.Tensor) -> tf.Tensor:
            pairs = [(tf.equal(i, k), lambda k=k: tf.constant(3 * k)) for k in range(70)]
            return tf.case(pairs, default=lambda: i)

    chain = Chain()
    tf.saved_model.save(chain, str(tmp_path / "chain"))
    for call in (chain, tf.saved_model.load(str(tmp_path / "chain"))):
        found = [int(call(tf.constant(i))) for i in (0, 20, 69, 70)]
        np.testing.assert_array_equal(found, [0, 60, 207, 70])
