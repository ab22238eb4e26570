"""No copies are left where the value itself serves, and results stay what they were."""

from __future__ import annotations

from typing import Any

import numpy as np

import tfx as tf
from tfx.graph import ir
from tfx.graph.ir import Graph
from tfx.graph.passes.pipeline import prepare
from tfx.graph.passes.remove_copies import remove_copies

FLOAT, BOOL = 1, 9


def ops(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_new_values_of_variables_are_no_copies() -> None:
    m, w = tf.Variable([1.0]), tf.Variable([2.0])

    @tf.function
    def step(g: tf.Tensor) -> None:
        m.assign(m * 0.5 + g)
        w.assign_sub(m)
        w.assign(w * 2.0)

    concrete = step.get_concrete_function(tf.constant([1.0]))
    assert ops(concrete.as_onnx()) == ["Mul", "Add", "Sub", "Mul"]
    step(tf.constant([1.0]))
    assert [float(m[0]), float(w[0])] == [1.5, 1.0]


def test_what_must_be_a_copy_stays_one() -> None:
    a, b = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function
    def keep(x: tf.Tensor) -> Any:
        y = x + 1.0
        a.assign(y)
        b.assign(y)
        return x, y, y

    x = tf.constant(2.0)
    model = keep.get_concrete_function(x).as_onnx()
    assert len({o.name for o in model.graph.output}) == 5
    assert [float(r) for r in keep(x)] == [2.0, 3.0, 3.0]
    a.assign(9.0)
    assert float(b) == 3.0


def test_swapped_variables() -> None:
    a, b = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def swap() -> None:
        old = a.value()
        a.assign(b)
        b.assign(old)

    swap()
    swap()
    swap()
    assert [float(a), float(b)] == [2.0, 1.0]


def test_called_functions() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def inner() -> None:
        v.assign(v * 2.0)
        v.assign(v + 1.0)

    @tf.function
    def outer() -> tf.Tensor:
        inner()
        inner()
        return v.value()

    model = outer.get_concrete_function().as_onnx()
    assert len(model.functions) == 1
    assert [n.op_type for n in model.functions[0].node if n.op_type != "Constant"] == ["Mul", "Add"]
    assert float(outer()) == 7.0


def test_bodies_see_the_source() -> None:
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, (2,))
    condition = graph.add_input("c", BOOL, ())
    copy = graph.add_node("Identity", (x,), {}, [(FLOAT, (2,))]).outputs[0]
    branches = {}
    for name, op in (("then_branch", "Neg"), ("else_branch", "Identity")):
        body = Graph(name, graph)
        body.outputs = list(body.add_node(op, (copy,), {}, [(FLOAT, (2,))]).outputs)
        branches[name] = body
    graph.outputs = list(graph.add_node("If", (condition,), branches, [(FLOAT, (2,))]).outputs)
    result = remove_copies(graph)
    assert [node.op for node in result.nodes] == ["If"]
    then, other = (result.nodes[0].attrs[n] for n in ("then_branch", "else_branch"))
    assert then.nodes[0].inputs == (x,)
    assert (other.nodes, other.outputs) == ([], [x])
    # What was traced is as it was.
    assert len(graph.nodes) == 2
    assert branches["then_branch"].nodes[0].inputs == (copy,)


def test_an_identity_that_knows_more_of_the_shape_stays() -> None:
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, (None,))
    graph.outputs = list(graph.add_node("Identity", (x,), {}, [(FLOAT, (3,))]).outputs)
    assert [node.op for node in remove_copies(graph).nodes] == ["Identity"]


def test_shared_callees_stay_shared() -> None:
    callee = Graph("f")
    y = callee.add_input("y", FLOAT, ())
    callee.outputs = list(callee.add_node("Identity", (y,), {}, [(FLOAT, ())]).outputs)
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, ())
    for _ in range(2):
        x = graph.add_node(ir.CALL, (x,), {"graph": callee}, [(FLOAT, ())]).outputs[0]
    graph.outputs = [x]
    first, second = (node.attrs["graph"] for node in remove_copies(graph).nodes)
    assert first is second
    assert first is not callee


def test_eager_identity_runs() -> None:
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(tf.raw.Identity(x).numpy(), [1.0, 2.0])


def test_names_of_the_user_survive_saving() -> None:
    @tf.function
    def f(x: tf.Tensor) -> Any:
        y = tf.identity(x + 1.0, name="mine")
        return tf.identity(y) * 2.0

    graph = f.get_concrete_function(tf.constant(1.0)).graph.graph
    assert [n.name for n in prepare(graph, keep_marked=True).nodes] == ["add", "mine", "mul"]
    assert [n.name for n in prepare(graph).nodes] == ["add", "mul"]
