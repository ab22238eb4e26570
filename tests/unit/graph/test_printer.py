"""A graph as text."""

from __future__ import annotations

import numpy as np

from tfx.core.source import SourceLocation
from tfx.graph import ir
from tfx.graph.ir import Graph, HostCall
from tfx.graph.printer import name_of, to_text

FLOAT = 1


def sample() -> Graph:
    graph = Graph("f")
    x = graph.add_input("x", FLOAT, ("batch", "x.d1"))
    two = graph.add_constant(np.array(2, np.float32), FLOAT)
    line = SourceLocation("/home/me/model.py", 3, "f")
    y = graph.add_node("Mul", [x, two], {}, [(FLOAT, ("batch", None))], source=line).outputs[0]
    callee = Graph("inner")
    callee.outputs = [callee.add_input("a", FLOAT, None)]
    z = graph.add_node(ir.CALL, [y], {"graph": callee}, [(FLOAT, None)]).outputs[0]
    w = graph.add_node("Clip", [z, None, two], {}, [(FLOAT, None)]).outputs[0]
    graph.outputs = list(graph.add_node("Softmax", [w], {"axis": 0}, [(FLOAT, None)]).outputs)
    return graph


def test_text():
    assert [line.rstrip() for line in to_text(sample()).splitlines()] == [
        "f(%x: float32[batch, None]):",
        "  %const: float32[] = 2.0",
        f"{'  %Mul: float32[batch, None] = Mul(%x, %const)':<72}   # model.py:3 in f",
        "  %Call: float32<unknown rank> = call inner(%Mul)",
        "  %Clip: float32<unknown rank> = Clip(%Call, _, %const)",
        "  %Softmax: float32<unknown rank> = Softmax(%Clip, axis=0)",
        "  return %Softmax",
        "",
        "inner(%a: float32<unknown rank>):",
        "  return %a",
    ]


def test_called_graphs_are_listed_once_and_those_of_the_library_not_at_all():
    graph = Graph("f")
    x = graph.add_input("x", FLOAT, ())
    inner, library = Graph("inner"), Graph("library")
    library.library = True
    for callee in (inner, library):
        callee.outputs = [callee.add_input("a", FLOAT, None)]
    for callee in (inner, inner, library):
        x = graph.add_node(ir.CALL, [x], {"graph": callee}, [(FLOAT, ())]).outputs[0]
    text = to_text(graph)
    assert text.count("\ninner(") == 1
    assert text.count("= call inner(") == 2
    assert "= call library(" in text
    assert "\nlibrary(" not in text


def test_notes_names_devices_hosts_and_large_constants():
    graph = Graph("f")
    x = graph.add_input("x", FLOAT, ())
    graph.add_constant(np.zeros(100, np.float32), FLOAT, "big")
    graph.add_node(ir.HOST, [x], {"call": HostCall("print", lambda _: None)}, [])
    y = graph.add_node("Neg", [x], {}, [(FLOAT, ())])
    y.device = "GPU:0"
    graph.outputs = list(y.outputs)
    text = to_text(graph, notes={id(x): "variable", id(y): "assigns v"}, output_names=["result"])
    assert text.splitlines() == [
        "f(%x: float32[] <variable>):",
        "  %big: float32[100] = constant of 400 bytes",
        "  %Host = host print(%x)",
        "  %Neg: float32[] = Neg(%x) <assigns v> on GPU:0",
        "  return result=%Neg",
    ]


def test_bodies_stand_below_their_nodes():
    graph = Graph("f")
    flag = graph.add_input("flag", 9, ())
    branch = Graph("then", graph)
    branch.outputs = [branch.add_constant(np.array(1, np.float32), FLOAT, "one")]
    attrs = {"then_branch": branch, "else_branch": branch}
    graph.outputs = list(graph.add_node("If", [flag], attrs, [(FLOAT, ())]).outputs)
    lines = to_text(graph).splitlines()
    assert lines[1] == "  %If: float32[] = If(%flag)"
    assert lines[2:4] == ["    then():", "      %one: float32[] = 1.0"]


def test_names_of_outputs():
    graph = Graph("f")
    x = graph.add_input("x", FLOAT, (2,))
    split = graph.add_node("Split", [x], {"num_outputs": 2}, [(FLOAT, (1,))] * 2)
    assert [name_of(v) for v in (x, *split.outputs)] == ["x", "Split:0", "Split:1"]
