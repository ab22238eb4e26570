"""Operations of a graph, and tensors' way to them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.framework.context import using
from tfx.framework.host_call import host_call
from tfx.graph.ir import HostCall


@pytest.fixture
def traced():
    v = tf.Variable(1.0, name="v")

    @tf.function
    def inner(x):
        return x + 1.0

    @tf.function
    def f(x, y):
        with tf.name_scope("a"):
            h = tf.identity(tf.square(x), name="hidden")
        v.assign_add(h)
        first, second = tf.split(tf.stack([h, y]), 2, name="halves")
        return {"h": inner(h), "s": tf.nn.softmax(tf.concat([second, first], 0), axis=0)}

    concrete = f.get_concrete_function(tf.constant(1.0), tf.constant(2.0))
    return concrete.graph, v


def test_kinds_of_operations(traced):
    graph, _ = traced
    types = {op.name: op.type for op in graph.get_operations()}
    assert types["x"] == types["y"] == "Placeholder"
    assert types["v"] == "ReadVariableOp"
    assert types["AssignAddVariableOp"] == "AssignVariableOp"
    assert types["AssignAddVariableOp/Add"] == "Add"
    assert types["a/Square"] == "Mul"
    assert types["inner"] == "PartitionedCall"
    assert types["halves"] == "Split"
    assert {t for name, t in types.items() if name.startswith("Const")} <= {"Const"}
    assert isinstance(graph, tf.Graph)
    assert all(isinstance(op, tf.Operation) for op in graph.get_operations())


def test_a_call_with_effects_is_stateful():
    v = tf.Variable(0.0)
    inner = tf.function(lambda x: v.assign(x).value())
    outer = tf.function(lambda x: inner(x))
    graph = outer.get_concrete_function(tf.constant(1.0)).graph
    assert graph.outputs[0].op.type == "StatefulPartitionedCall"
    assert graph.outputs[0].op.assigns == (v.name,)


def test_facts(traced):
    graph, _ = traced
    op = graph.get_operation_by_name("halves")
    assert op.name == "halves"
    assert [t.name for t in op.outputs] == ["halves:0", "halves:1"] == [t.name for t in op.values()]
    assert [t.name for t in op.inputs] == ["stack:0"]
    assert op.graph is graph
    assert op.device == ""
    assert op.control_inputs == []
    assert op.source.text().startswith("test_operation.py:")
    assert op.traceback[-1].lineno == op.source.line
    assert op.traceback[-1].filename == __file__
    assert repr(op) == "<tf.Operation 'halves' type=Split>"
    assert op == graph.get_operation_by_name("halves") == op.outputs[1].op
    assert hash(op) == hash(op.outputs[0].op)
    assert op != graph.get_operation_by_name("stack")
    assert op.op_def.name == "Split"
    assert [t.value_index for t in op.outputs] == [0, 1]


def test_attributes(traced):
    graph, _ = traced
    softmax = graph.get_operation_by_name("Softmax")
    assert softmax.get_attr("axis") == 0
    assert softmax.get_attr("T") is tf.float32
    with pytest.raises(ValueError, match="'Softmax' has no attr named 'zz'; it has axis"):
        softmax.get_attr("zz")
    constant = next(op for op in graph.get_operations() if op.type == "Const")
    assert isinstance(constant.get_attr("value"), np.ndarray)
    placeholder = graph.get_operation_by_name("x")
    assert placeholder.get_attr("dtype") is tf.float32
    assert placeholder.get_attr("shape") == []
    # a default of ONNX's that the node does not write down
    conv = tf.function(lambda x: tf.raw.LeakyRelu(x)).get_concrete_function(tf.constant(1.0))
    assert conv.graph.outputs[0].op.get_attr("alpha") == pytest.approx(0.01)


def test_as_onnx_has_them(traced):
    graph, _ = traced
    softmax = graph.get_operation_by_name("Softmax")
    assert (softmax.node_def.op_type, softmax.node_def.name) == ("Softmax", "Softmax")
    assert 'op_type: "Softmax"' in str(softmax)
    assert graph.get_operation_by_name("x").node_def.name == "x"
    constant = next(op for op in graph.get_operations() if op.type == "Const")
    assert constant.node_def.dims is not None
    assert graph.get_operation_by_name("inner").node_def.domain == "tfx.function"


def test_consumers(traced):
    graph, _ = traced
    hidden = graph.get_tensor_by_name("a/hidden:0")
    names = {op.name for op in hidden.consumers()}
    assert names == {"AssignAddVariableOp/Add", "stack/Unsqueeze", "inner"}
    assert graph.get_tensor_by_name("Softmax:0").consumers() == []
    assert hidden.op.inputs[0].op.name == "a/Square"


def test_consumers_see_into_branches():
    graph = tf.Graph()
    with graph.as_default():
        x = graph.add_argument("x", 1, ())
        flag = graph.add_argument("flag", 9, ())
        from tfx.graph import ir

        branch = ir.Graph("branch", graph.graph)
        branch.outputs = list(branch.add_node("Neg", [x._symbol], {}, [(1, ())]).outputs)
        attrs = {"then_branch": branch, "else_branch": branch}
        graph.graph.add_node("If", [flag._symbol], attrs, [(1, ())], name="choice")
    assert [op.name for op in x.consumers()] == ["choice"]


def test_what_python_does_comes_in_order():
    def act(_):
        return None

    def f(x):
        host_call(HostCall("first", act), [x])
        y = x * 2.0
        host_call(HostCall("second", act), [y])
        return y

    graph = tf.function(f).get_concrete_function(tf.constant(1.0)).graph
    second = next(op for op in graph.get_operations() if op.type == "second")
    assert [op.type for op in second.control_inputs] == ["first"]
    assert second.control_inputs[0].control_inputs == []
    assert second.node_def is None
    assert second.op_def is None


def test_eager_tensors_have_no_graph():
    x = tf.constant(1.0)
    for name in ("op", "graph", "name", "value_index"):
        with pytest.raises(AttributeError, match=f"Tensor.{name} is undefined when eager"):
            getattr(x, name)
    with pytest.raises(NotImplementedError, match="consumers is undefined when eager"):
        x.consumers()


def test_no_session_runs_a_function(traced):
    graph, _ = traced
    with pytest.raises(RuntimeError, match="no session runs"):
        graph.get_operation_by_name("a/Square").run()


def test_devices():
    with tf.device("/CPU:0"):
        graph = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0)).graph
    assert graph.outputs[0].op.device in ("", "/job:localhost/replica:0/task:0/device:CPU:0")


def test_names_while_tracing():
    seen = []

    @tf.function
    def f(x):
        y = tf.square(x)
        seen.extend([y.op.name, x.op.type, [op.name for op in x.consumers()], y.graph.name])
        return y

    f(tf.constant(2.0))
    assert seen == ["Square", "Placeholder", ["Square"], "f"]


def test_an_operation_of_a_graph_under_construction_counts():
    graph = tf.Graph()
    with using(graph=graph):
        graph.add_argument("x", 1, ())
    assert graph.version == 1
