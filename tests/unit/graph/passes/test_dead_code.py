"""Only what nobody uses is removed."""

from __future__ import annotations

import numpy as np

from tfx.graph import ir
from tfx.graph.ir import Graph
from tfx.graph.passes.dead_code import remove_dead_nodes, used_values
from tfx.graph.verify import verify

FLOAT, BOOL = 1, 9
SCALAR = [(FLOAT, ())]


def test_dead_nodes_and_constants_go():
    graph = Graph("g")
    x, unused = graph.add_input("x", FLOAT, ()), graph.add_input("unused", FLOAT, ())
    kept, dead = (graph.add_constant(np.ones(()), FLOAT) for _ in range(2))
    y = graph.add_node("Add", [x, kept], {}, SCALAR).outputs[0]
    z = graph.add_node("Mul", [unused, dead], {}, SCALAR).outputs[0]
    graph.add_node("Neg", [z], {}, SCALAR)
    graph.outputs = [y]
    result = remove_dead_nodes(graph)
    verify(result)
    assert [n.op for n in result.nodes] == ["Add"]
    assert result.constants == [kept]
    assert result.inputs == [x, unused]
    assert len(graph.nodes) == 3


def test_one_live_output_keeps_a_node():
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, (4,))
    split = graph.add_node("Split", [x], {}, [(FLOAT, (2,)), (FLOAT, (2,))])
    graph.outputs = [split.outputs[1]]
    assert remove_dead_nodes(graph).nodes == [split]


def test_calls_without_results_go():
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, ())
    callee = Graph("callee")
    callee.add_input("x", FLOAT, ())
    graph.add_node(ir.CALL, [x], {"graph": callee}, [])
    graph.outputs = [x]
    assert remove_dead_nodes(graph).nodes == []


def test_what_bodies_use_is_alive():
    graph = Graph("g")
    condition, x = graph.add_input("c", BOOL, ()), graph.add_input("x", FLOAT, ())
    one = graph.add_constant(np.ones(()), FLOAT)
    y = graph.add_node("Neg", [x], {}, SCALAR).outputs[0]
    body = Graph("body", graph)
    body.outputs = list(body.add_node("Add", [y, one], {}, SCALAR).outputs)
    node = graph.add_node("If", [condition], {"then_branch": body, "else_branch": body}, SCALAR)
    graph.outputs = list(node.outputs)
    assert used_values(node) == [condition, y, one, y, one]
    result = remove_dead_nodes(graph)
    verify(result)
    assert len(result.nodes) == 2
    assert result.constants == [one]
