"""The graph in memory: names, copies, what bodies use, keys of attributes."""

from __future__ import annotations

import numpy as np
import onnx

from tfx.graph import ir
from tfx.graph.ir import Graph, attributes_key, bodies_below, free_values
from tfx.graph.traits import operators

FLOAT, BOOL = 1, 9
SCALAR = [(FLOAT, ())]


def test_names_are_unique_in_a_graph_and_its_bodies():
    graph = Graph("g")
    body = Graph("body", graph)
    names = [graph.unique_name("x"), body.unique_name("x"), graph.unique_name("x")]
    assert names == ["x", "x_1", "x_2"]
    assert graph.unique_name("x_1") not in names
    assert Graph("other").unique_name("x") == "x"


def test_nodes_and_values_know_each_other():
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, ("n", 3))
    node = graph.add_node("Split", [x, None], {}, [(FLOAT, (1, 3)), (FLOAT, None)])
    assert [v.node for v in node.outputs] == [node, node]
    assert len({v.name for v in node.outputs}) == 2
    assert node.inputs == (x, None)
    assert repr(node).startswith("%Split_out0, %Split_out1 = Split(%x, None")


def test_a_copy_shares_nodes_and_no_lists():
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, ())
    graph.outputs = list(graph.add_node("Neg", [x], {}, SCALAR).outputs)
    copy = graph.copy()
    copy.add_input("y", FLOAT, ())
    copy.add_constant(np.zeros(()), FLOAT)
    copy.add_node("Abs", [x], {}, SCALAR)
    copy.outputs.append(x)
    assert (len(graph.inputs), len(graph.constants), len(graph.nodes)) == (1, 0, 1)
    assert len(graph.outputs) == 1
    assert graph.nodes[0] is copy.nodes[0]
    assert graph.unique_name("y") == "y"


def _branches():
    """An If whose branches use values of the main graph and of each other's level."""
    graph = Graph("main")
    condition, x, y = (
        graph.add_input(n, t, ()) for n, t in (("c", BOOL), ("x", FLOAT), ("y", FLOAT))
    )
    inner = Graph("inner", graph)
    inner.outputs = list(inner.add_node("Add", [x, y], {}, SCALAR).outputs)
    then = Graph("then", graph)
    own = then.add_constant(np.ones(()), FLOAT)
    added = then.add_node("Add", [y, own], {}, SCALAR).outputs[0]
    nested = then.add_node("If", [condition], {"then_branch": inner, "else_branch": inner}, SCALAR)
    then.outputs = [added, *nested.outputs]
    orelse = Graph("else", graph)
    orelse.outputs = [x, x]
    graph.add_node("If", [condition], {"then_branch": then, "else_branch": orelse}, SCALAR * 2)
    return graph, then, orelse, inner, (condition, x, y)


def test_free_values_in_order_of_use():
    _, then, orelse, inner, (condition, x, y) = _branches()
    assert free_values(inner) == [x, y]
    assert free_values(then) == [y, condition, x]
    assert free_values(orelse) == [x]


def test_graphs_below():
    graph, then, orelse, inner, _ = _branches()
    assert set(map(id, graph.subgraphs())) == set(map(id, (then, orelse, inner)))
    callee = Graph("callee")
    graph.add_node(ir.CALL, [], {"graph": callee}, [])
    assert callee in list(graph.subgraphs())
    assert callee not in bodies_below(graph)
    assert then in bodies_below(graph)
    assert inner in bodies_below(graph)


def test_attribute_keys_differ_where_attributes_do():
    array = np.arange(3)
    different = [
        {},
        {"a": 1},
        {"a": 1.0},
        {"a": True},
        {"a": 0.0},
        {"a": -0.0},
        {"a": "1"},
        {"a": b"1"},
        {"b": 1},
        {"a": 1, "b": 1},
        {"a": (1, 2)},
        {"a": (1.0, 2)},
        {"a": array},
        {"a": array.astype(np.int32)},
        {"a": array.reshape(1, 3)},
        {"a": array.astype(str).astype(object)},
        {"a": Graph("g")},
        {"a": Graph("g")},
    ]
    keys = [attributes_key(a) for a in different]
    assert len({hash(k) for k in keys}) > len(keys) - 3
    assert all(a != b for i, a in enumerate(keys) for b in keys[:i])


def test_attribute_keys_equal_where_attributes_are():
    assert attributes_key({"a": 1, "b": [1, 2]}) == attributes_key({"b": (1, 2), "a": 1})
    assert attributes_key({"a": np.arange(3)}) == attributes_key({"a": np.arange(3)})
    nan = float("nan")
    assert attributes_key({"a": nan}) == attributes_key({"a": float("nan")})


def test_the_operators_with_bodies_are_all_that_may_have_graphs() -> None:
    names = {s.name for s in onnx.defs.get_all_schemas_with_history() if not s.domain}
    graphs = onnx.defs.OpSchema.AttrType.GRAPH, onnx.defs.OpSchema.AttrType.GRAPHS
    holding = {
        name
        for name in names
        if any(a.type in graphs for a in onnx.defs.get_schema(name).attributes.values())
    }
    assert holding | {ir.CALL, ir.HOST} == set(operators(lambda t: t.bodies))


def test_lists_of_numbers_as_keys() -> None:
    """Tuples of integers are their own keys; nothing else may look like them."""
    values = [(1, 2), (1.0, 2.0), (True, 2), (1,), 1, 1.0, (), ("1",), np.array([1, 2])]
    keys = [attributes_key({"a": v}) for v in values]
    assert len(set(keys)) == len(keys)
    assert attributes_key({"a": [1, 2]}) == attributes_key({"a": (1, 2)})
