"""Every broken invariant is found, and said in terms of the graph."""

from __future__ import annotations

import numpy as np
import pytest

from tfx.core.errors import InternalError, InvalidArgumentError, NotFoundError
from tfx.graph import ir, verify
from tfx.graph.ir import Graph, Node, Value

FLOAT = 1
SCALAR = [(FLOAT, ())]


def _graph():
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, ())
    y = graph.add_node("Neg", [x], {}, SCALAR).outputs[0]
    graph.outputs = list(graph.add_node("Abs", [y], {}, SCALAR).outputs)
    return graph, x, y


def test_sound_graphs_pass():
    graph, x, _ = _graph()
    body = Graph("body", graph)
    body.outputs = list(body.add_node("Add", [x, x], {}, SCALAR).outputs)
    condition = graph.add_constant(np.array(True), 9)
    graph.add_node("If", [condition], {"then_branch": body, "else_branch": body}, SCALAR)
    callee, *_ = _graph()
    graph.add_node(ir.CALL, [x], {"graph": callee}, SCALAR)
    verify.verify(graph)


def test_order():
    graph, *_ = _graph()
    graph.nodes.reverse()
    with pytest.raises(InternalError, match=r"'g': node .*Abs.* uses %Neg_out before it is made"):
        verify.verify(graph)


def test_foreign_output():
    graph, *_ = _graph()
    graph.outputs.append(Value("elsewhere", FLOAT, ()))
    with pytest.raises(InternalError, match="output %elsewhere is never made"):
        verify.verify(graph)


def test_made_twice():
    graph, x, y = _graph()
    again = Node("Exp", (x,), {}, "again", None)
    again.outputs = (y,)
    graph.nodes.append(again)
    with pytest.raises(InternalError, match="%Neg_out is made twice"):
        verify.verify(graph)


def test_names():
    graph, *_ = _graph()
    graph.nodes[1].name = graph.nodes[0].name
    with pytest.raises(InternalError, match="two nodes are named 'Neg'"):
        verify.verify(graph)


def test_operators_and_attributes():
    graph, x, _ = _graph()
    graph.add_node("Softmax", [x], {"axes": 1}, SCALAR)
    with pytest.raises(InvalidArgumentError, match="no attribute 'axes'"):
        verify.verify(graph)
    graph.nodes[-1] = Node("Nonsense", (x,), {}, "n", None)
    with pytest.raises(NotFoundError, match="Nonsense"):
        verify.verify(graph)


def test_calls():
    graph, x, _ = _graph()
    callee, *_ = _graph()
    graph.add_node(ir.CALL, [x, x], {"graph": callee}, SCALAR)
    with pytest.raises(InternalError, match="call 'Call' has 2 inputs and 1 outputs"):
        verify.verify(graph)


def test_bodies_are_searched():
    graph, _, _ = _graph()
    body = Graph("body", graph)
    stranger = Value("stranger", FLOAT, ())
    body.outputs = list(body.add_node("Neg", [stranger], {}, SCALAR).outputs)
    condition = graph.add_constant(np.array(True), 9)
    graph.add_node("If", [condition], {"then_branch": body, "else_branch": body}, SCALAR)
    with pytest.raises(InternalError, match=r"'body': node .* uses %stranger"):
        verify.verify(graph)


def test_off_for_users(monkeypatch):
    graph, *_ = _graph()
    graph.nodes.reverse()
    monkeypatch.setattr(verify, "ENABLED", False)
    verify.verify_if_enabled(graph)
    monkeypatch.setattr(verify, "ENABLED", True)
    with pytest.raises(InternalError):
        verify.verify_if_enabled(graph)
