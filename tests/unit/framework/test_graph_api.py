"""What a program can ask a graph."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf


@pytest.fixture
def case():
    v = tf.Variable(2.0, name="v")
    w = tf.Variable(3.0, name="w", trainable=False)

    @tf.function
    def f(x, scale):
        with tf.name_scope("layer"):
            hidden = tf.identity(x * v, name="hidden")
        w.assign(tf.reduce_sum(hidden))
        return {"out": hidden * scale, "none": None, "pair": (hidden, x)}

    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32), tf.constant(1.0))
    return concrete, v, w


def test_inputs_and_outputs(case):
    concrete, v, w = case
    graph = concrete.graph
    assert [t.name for t in graph.inputs] == ["x:0", "scale:0", "v:0"]
    assert [t.name for t in graph.outputs] == ["mul:0", "layer/hidden:0", "x:0"]
    assert graph.structured_outputs["none"] is None
    assert graph.structured_outputs["pair"][0].name == "layer/hidden:0"
    (x, scale), kwargs = graph.structured_input_signature
    assert (x.name, x.shape.as_list(), scale.name, kwargs) == ("x", [None], "scale", {})
    assert graph.captures[0][0] is v
    assert graph.captures[0][1].name == "v:0"
    assert graph.external_captures == [v]
    assert [t.name for t in graph.internal_captures] == ["v:0"]
    assert [id(s) for s in graph.variables] == [id(v), id(w)]
    assert [id(s) for s in graph.trainable_variables] == [id(v)]
    assert graph.outer_graph is None
    assert graph.name == "f"
    assert graph.building_function
    assert graph.version == len(graph.get_operations())


def test_tensors_and_operations_by_name(case):
    graph = case[0].graph
    assert graph.get_tensor_by_name("layer/hidden:0").name == "layer/hidden:0"
    assert graph.get_operation_by_name("layer/hidden").type == "Identity"
    for name in [op.name for op in graph.get_operations()]:
        assert graph.get_operation_by_name(name).name == name
        assert graph.get_tensor_by_name(f"{name}:0").op.name == name
        assert graph.as_graph_element(name) == graph.as_graph_element(f"{name}:0").op


@pytest.mark.parametrize(
    ("method", "name", "error", "text"),
    [
        ("get_tensor_by_name", "layer/hidden", ValueError, "refers to an Operation, not a Tensor"),
        ("get_tensor_by_name", "nope:0", KeyError, "'nope', does not exist"),
        ("get_tensor_by_name", "layer/hiden:0", KeyError, "nearest are 'layer/hidden'"),
        ("get_tensor_by_name", "layer/hidden:1", KeyError, "only has 1 outputs"),
        ("get_tensor_by_name", "nope", ValueError, "looks like the name of an Operation"),
        ("get_tensor_by_name", 3, TypeError, "Tensor names are strings, not int"),
        ("get_operation_by_name", "layer/hidden:0", ValueError, "appears to refer to a Tensor"),
        ("get_operation_by_name", "nope", KeyError, "an Operation not in the graph"),
        ("get_operation_by_name", None, TypeError, "Operation names are strings, not NoneType"),
        ("as_graph_element", 3, TypeError, "Can not convert a int into a Tensor or Operation"),
        ("as_graph_element", "nope", KeyError, "not in the graph"),
    ],
)
def test_names_that_are_not_there(case, method, name, error, text):
    with pytest.raises(error, match=text):
        getattr(case[0].graph, method)(name)


def test_graph_elements(case):
    concrete, v, w = case
    graph = concrete.graph
    x = graph.inputs[0]
    assert graph.as_graph_element(x) is x
    assert graph.as_graph_element(x.op) == x.op
    assert graph.as_graph_element(v).name == "v:0"
    assert graph.as_graph_element(w).name == "AssignVariableOp:0"
    with pytest.raises(TypeError, match="Can not convert Tensor"):
        graph.as_graph_element(x, allow_tensor=False)
    with pytest.raises(TypeError, match="Can not convert Operation"):
        graph.as_graph_element(x.op, allow_operation=False)
    other = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0)).graph
    with pytest.raises(ValueError, match="is not an element of this graph"):
        other.as_graph_element(x)
    unused = tf.Variable(0.0, name="unused")
    with pytest.raises(ValueError, match="'unused:0' is not used by 'f', which uses 'v:0', 'w:0'"):
        graph.as_graph_element(unused)


def test_as_onnx(case):
    concrete, _, _ = case
    model = concrete.graph.as_onnx()
    onnx.checker.check_model(model)
    assert [o.name for o in model.graph.output] == ["out", "pair_0", "pair_1", "w_new"]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = {"x": [2.0], "scale": 1.0, "v": 2.0}
    results = session.run(None, {k: np.array(x, np.float32) for k, x in feeds.items()})
    assert results[0].tolist() == [4.0]
    assert concrete.graph.as_graph_def().node[0].name == "layer/mul"


def test_the_listing(case):
    text = str(case[0].graph)
    for part in (
        "f(%x: float32[None], %scale: float32[], %v: float32[] <variable>):",
        "%layer/hidden: float32[None] = Identity(%layer/mul)",
        "<assigns w:0>",
        "# test_graph_api.py:",
        "return out=%mul, pair_0=%layer/hidden, pair_1=%x, w_new=%AssignVariableOp",
    ):
        assert part in text
    assert repr(case[0].graph) == "<FuncGraph f>"


def test_captures_of_an_enclosing_function():
    graphs = []

    @tf.function
    def outer(x):
        y = x * 2.0

        @tf.function
        def inner(z):
            return y + z

        graphs.append(inner.get_concrete_function(x).graph)
        return inner(x)

    outer(tf.constant(1.0))
    (inner,) = graphs
    assert inner.outer_graph.name == "outer"
    (pair,) = inner.captures
    assert [t.name for t in pair] == ["mul:0", inner.internal_captures[0].name]
    assert "<captured>" in str(inner)


def test_a_graph_of_ones_own():
    graph = tf.Graph()
    with graph.as_default() as entered:
        assert entered is graph
        assert not tf.executing_eagerly()
        x = graph.add_argument("x", 1, ())
        with graph.name_scope("s"), graph.as_default():
            assert graph.get_name_scope() == "s"
            y = tf.square(x)
        assert graph.unique_name("s/Square", mark_as_used=False) == "s/Square_1"
        assert graph.unique_name("s/Square") == "s/Square_1"
        assert graph.unique_name("s/Square") == "s/Square_2"
    assert tf.executing_eagerly()
    assert [op.name for op in graph.get_operations()] == ["x", "s/Square"]
    assert graph.structured_input_signature is None
    assert float(tf.function_from_graph(graph, x, y)(3.0)) == 9.0
    assert str(graph).endswith("return")
