"""Parts of graphs, and nodes emitted into another one."""

from __future__ import annotations

import numpy as np
import pytest

from tfx.graph.ir import CALL, Graph
from tfx.graph.passes.extract_subgraph import Emitter, Part
from tfx.graph.tags import Mark
from tfx.graph.verify import verify

FLOAT, INT64, BOOL = 1, 7, 9
SCALAR = [(FLOAT, ())]


def chain() -> Graph:
    """``x -> a -> b -> c``, and ``side`` beside it."""
    graph = Graph("f")
    value = graph.add_input("x", FLOAT, ())
    for name, op in (("a", "Neg"), ("b", "Abs"), ("c", "Sqrt")):
        value = graph.add_node(op, [value], {}, SCALAR, name=name).outputs[0]
    graph.add_node("Exp", [graph.nodes[0].outputs[0]], {}, SCALAR, name="side")
    graph.outputs = [value]
    return graph


def names(part: Part) -> list[str]:
    return [n.name for n in part.nodes]


def test_what_has_to_run():
    graph = chain()
    a, b, c, side = [n.outputs[0] for n in graph.nodes]
    assert names(Part(graph, [], [c])) == ["a", "b", "c"]
    assert names(Part(graph, [a], [c])) == ["b", "c"]
    assert names(Part(graph, [c], [c])) == []
    assert names(Part(graph, [b], [c, side])) == ["a", "c", "side"]
    required = {id(graph.nodes[3])}
    assert names(Part(graph, [b], [c], required)) == ["a", "c", "side"]


def test_what_is_needed_and_why():
    graph = chain()
    x = graph.inputs[0]
    c = graph.outputs[0]
    part = Part(graph, [], [c])
    assert id(x) in part.used
    assert [v.name for v in part.path(x, [c])] == ["x", "a_out", "b_out", "c_out"]
    assert id(x) not in Part(graph, [graph.nodes[1].outputs[0]], [c]).used
    required = Part(graph, [], [], {id(graph.nodes[3])})
    assert [v.name for v in required.path(x, [])] == ["x", "a_out", "side_out"]


def test_nodes_are_emitted_anew():
    graph = chain()
    graph.nodes[1].device = "GPU:0"
    graph.nodes[1].tag = Mark.BARRIER
    target = Graph("part")
    emitter = Emitter(target)
    a = graph.nodes[0].outputs[0]
    emitter.give(a, target.add_input("a", FLOAT, ()), computed=True)
    for node in Part(graph, [a], graph.outputs).nodes:
        emitter.emit(node)
    target.outputs = [emitter.get(graph.outputs[0])]
    verify(target)
    assert [(n.name, n.op, n.device, n.tag) for n in target.nodes] == [
        ("b", "Abs", "GPU:0", Mark.BARRIER),
        ("c", "Sqrt", None, None),
    ]
    assert not {id(n) for n in target.nodes} & {id(n) for n in graph.nodes}
    assert target.nodes[0].outputs[0].node is target.nodes[0]
    verify(graph)


def test_constants_come_along_once_and_callees_are_shared():
    graph = Graph("f")
    one = graph.add_constant(np.float32(1.0).reshape(()), FLOAT)
    callee = Graph("inner")
    callee.outputs = [callee.add_input("x", FLOAT, ())]
    call = graph.add_node(CALL, [one], {"graph": callee}, SCALAR)
    total = graph.add_node("Add", [one, call.outputs[0]], {}, SCALAR)
    target = Graph("part")
    emitter = Emitter(target)
    emitter.emit(call)
    emitter.emit(total)
    assert len(target.constants) == 1
    assert target.constants[0] is not one
    assert target.nodes[0].attrs["graph"] is callee
    with pytest.raises(KeyError, match="x"):
        emitter.get(callee.inputs[0])


def test_bodies_use_the_values_of_the_new_graph():
    graph = chain()
    flag = graph.add_input("flag", BOOL, ())
    b = graph.nodes[1].outputs[0]
    body = Graph("then", graph)
    body.outputs = list(body.add_node("Neg", [b], {}, SCALAR).outputs)
    choice = graph.add_node("If", [flag], {"then_branch": body, "else_branch": body}, SCALAR)
    part = Part(graph, [b, flag], choice.outputs)
    assert names(part) == ["If"]
    target = Graph("part")
    emitter = Emitter(target)
    for value in (b, flag):
        emitter.give(value, target.add_input(value.name, value.dtype, ()), computed=True)
    made = emitter.emit(choice)
    target.outputs = list(made.outputs)
    verify(target)
    copied = made.attrs["then_branch"]
    assert copied is not body
    assert copied.nodes[0].inputs[0] is target.inputs[0]


def test_shapes_that_came_from_a_value_are_found_anew():
    graph = Graph("f")
    x = graph.add_input("x", FLOAT, ("n", "m"))
    shape = graph.add_node("Shape", [x], {}, [(INT64, (2,))]).outputs[0]
    shape.dims = ("n", "m")
    y = graph.add_node("Reshape", [x, shape], {}, [(FLOAT, ("n", "m"))])
    z = graph.add_node("Neg", [y.outputs[0]], {}, [(FLOAT, ("n", "m"))])
    target = Graph("part")
    emitter = Emitter(target)
    emitter.give(x, target.add_input("x", FLOAT, ("n", "m")), computed=False)
    emitter.give(shape, target.add_input("shape", INT64, (2,)), computed=True)
    for node in Part(graph, [shape], z.outputs).nodes:
        emitter.emit(node)
    assert emitter.get(z.outputs[0]).shape == (None, None)
    assert z.outputs[0].shape == ("n", "m")
