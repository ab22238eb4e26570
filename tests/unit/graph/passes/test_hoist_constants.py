from __future__ import annotations

from typing import Any

import numpy as np

import tfx as tf
from tfx.graph.ir import CALL, Graph
from tfx.graph.passes.hoist_constants import hoist_constants
from tfx.graph.verify import verify
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

BIG = np.arange(5000, dtype=np.float32)
OTHER = BIG[::-1].copy()


def traced(function: Any) -> Graph:
    spec = tf.TensorSpec([5000], tf.float32)
    concrete = tf.function(function).get_concrete_function(spec)
    graph: Graph = concrete.graph.graph
    return graph


def constants_below(graph: Graph) -> list[int]:
    return [v.const.nbytes for g in graph.subgraphs() for v in g.constants if v.const is not None]


def run(graph: Graph, x: np.ndarray) -> np.ndarray:
    from tfx.graph.serialization.serialize import to_model

    model = to_model(graph, input_names=["x"], output_names=["y"])
    return to_numpy(Session(model.SerializeToString()).run({"x": from_numpy(x)})[0])


def test_constants_of_called_graphs_move_to_the_main_graph() -> None:
    inner = tf.function(lambda x: x * tf.constant(BIG) + 1.0)
    middle = tf.function(lambda x: inner(x) + inner(x) * tf.constant(OTHER))
    graph = traced(lambda x: middle(x) - inner(x))
    hoisted = hoist_constants(graph, 4096)
    verify(hoisted)
    assert max(constants_below(graph)) == BIG.nbytes
    assert max(constants_below(hoisted)) < 4096
    large = [v for v in hoisted.constants if v.const is not None and v.const.nbytes > 4096]
    assert len(large) == 2
    # Two calls of one function still share it.
    callees = {id(n.attrs["graph"]) for g in (hoisted, *hoisted.subgraphs()) for n in g.nodes
               if n.op == CALL}  # fmt: skip
    assert len(callees) == 2
    x = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    once = x * BIG + 1
    np.testing.assert_allclose(run(hoisted, x), once + once * OTHER - once, rtol=1e-5)
    np.testing.assert_array_equal(run(hoisted, x), run(graph, x))


def test_nothing_changes_where_there_is_nothing_large() -> None:
    inner = tf.function(lambda x: x * 2.0)
    graph = traced(lambda x: inner(x) + tf.constant(BIG))
    hoisted = hoist_constants(graph, 4096)
    assert hoisted.constants == graph.constants
    assert [n.inputs for n in hoisted.nodes] == [n.inputs for n in graph.nodes]


def test_the_traced_graph_is_left_alone() -> None:
    inner = tf.function(lambda x: x * tf.constant(BIG))
    graph = traced(lambda x: inner(x))
    before = [(len(g.inputs), len(g.constants)) for g in (graph, *graph.subgraphs())]
    hoist_constants(graph, 4096)
    assert [(len(g.inputs), len(g.constants)) for g in (graph, *graph.subgraphs())] == before


def test_constants_in_bodies_of_called_graphs_move_too() -> None:
    graph, callee = Graph("main"), Graph("callee")
    x = callee.add_input("x", 1, (5000,))
    flag = callee.add_constant(np.array(True), 9, "flag")
    branches = {}
    for name, array in (("then_branch", BIG), ("else_branch", OTHER)):
        body = Graph(name, callee)
        value = body.add_constant(array, 1, "weight")
        node = body.add_node("Add", (x, value), {}, [(1, (5000,))])
        body.outputs = list(node.outputs)
        branches[name] = body
    chosen = callee.add_node("If", (flag,), branches, [(1, (5000,))])
    callee.outputs = list(chosen.outputs)
    outer = graph.add_input("x", 1, (5000,))
    call = graph.add_node(CALL, (outer,), {"graph": callee}, [(1, (5000,))], name="callee")
    graph.outputs = list(call.outputs)
    hoisted = hoist_constants(graph, 4096)
    verify(hoisted)
    assert max(constants_below(hoisted)) < 10
    assert len(hoisted.constants) == 2
    x_value = np.ones(5000, np.float32)
    np.testing.assert_array_equal(run(hoisted, x_value), BIG + 1)


def test_text_stays_where_it_is() -> None:
    words = np.array(["a long word"] * 1000, object)
    inner = tf.function(lambda: tf.constant(words))
    concrete = tf.function(lambda: inner()).get_concrete_function()
    hoisted = hoist_constants(concrete.graph.graph, 8)
    assert not hoisted.constants
