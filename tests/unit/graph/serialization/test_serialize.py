"""Graphs to ONNX models and back: what comes out is valid, runs, and means the same."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.checker
import pytest

from tfx.core.errors import BundleError
from tfx.graph import ir
from tfx.graph.ir import Graph
from tfx.graph.serialization.deserialize import from_model
from tfx.graph.serialization.serialize import (
    FUNCTION_DOMAIN,
    ExternalData,
    ir_version_of,
    opset_of,
    to_model,
)
from tfx.graph.verify import verify
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

FLOAT, INT64, BOOL = 1, 7, 9
ROW = [(FLOAT, ("n", 2))]


def _run(model, **feeds):
    onnx.checker.check_model(model, full_check=True)
    session = Session(model.SerializeToString())
    given = {name: from_numpy(np.asarray(array)) for name, array in feeds.items()}
    return [to_numpy(v) for v in session.run(given)]


def _affine():
    graph = Graph("affine")
    x = graph.add_input("x", FLOAT, ("n", 2))
    w = graph.add_constant(np.array([[1, 2], [3, 4]], np.float32), FLOAT, "w")
    graph.outputs = list(graph.add_node("MatMul", [x, w], {}, ROW).outputs)
    return graph, x, w


X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
W = np.array([[1, 2], [3, 4]], np.float32)


def test_names_of_values_are_kept():
    model = to_model(_affine()[0], metadata={"b": "2", "a": "1"})
    assert [i.name for i in model.graph.input] == ["x"]
    assert [o.name for o in model.graph.output] == ["MatMul_out"]
    assert [i.name for i in model.graph.initializer] == ["w"]
    assert [
        d.dim_param or d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim
    ] == [
        "n",
        2,
    ]
    assert [(p.key, p.value) for p in model.metadata_props] == [("a", "1"), ("b", "2")]
    np.testing.assert_array_equal(_run(model, x=X)[0], X @ W)


def test_chosen_names():
    model = to_model(_affine()[0], input_names=["image"], output_names=["scores"])
    np.testing.assert_array_equal(_run(model, image=X)[0], X @ W)
    assert [o.name for o in model.graph.output] == ["scores"]


def test_the_graph_is_not_changed_and_bytes_are_stable():
    graph, *_ = _affine()
    first = to_model(graph, input_names=["a"]).SerializeToString(deterministic=True)
    assert to_model(graph, input_names=["a"]).SerializeToString(deterministic=True) == first
    assert graph.inputs[0].name == "x"


def test_outputs_that_are_inputs_constants_or_repeated():
    graph, x, w = _affine()
    (y,) = graph.outputs
    graph.outputs = [y, y, x, w, x]
    results = _run(to_model(graph), x=X)
    for result, expected in zip(results, [X @ W, X @ W, X, W, X], strict=True):
        np.testing.assert_array_equal(result, expected)


def test_an_output_with_the_name_of_an_input():
    graph, *_ = _affine()
    model = to_model(graph, output_names=["x"])
    assert model.graph.input[0].name != model.graph.output[0].name
    np.testing.assert_array_equal(_run(model, x=X)[0], X @ W)


def test_inputs_and_constants_from_elsewhere():
    graph, x, w = _affine()
    place = ExternalData("weights.bin", 64, 16, (2, 2))
    model = to_model(graph, initializers={x: X, w: place})
    assert not model.graph.input
    by_name = {t.name: t for t in model.graph.initializer}
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(by_name["x"]), X)
    fields = {e.key: e.value for e in by_name["w"].external_data}
    assert fields == {"location": "weights.bin", "offset": "64", "length": "16"}
    assert list(by_name["w"].dims) == [2, 2]


def test_the_lowest_opset_that_has_every_operator():
    graph, x, _ = _affine()
    assert opset_of(graph) == 21
    graph.add_node("RMSNormalization", [x, x], {}, ROW)
    assert opset_of(graph) == 23
    model = to_model(graph)
    assert {i.domain: i.version for i in model.opset_import} == {"": 23}
    assert model.ir_version == ir_version_of(23) >= ir_version_of(21)
    onnx.checker.check_model(model)


def _calling(times=2, name="inner"):
    """A graph that calls another, which calls a third and holds a constant."""
    leaf = Graph("leaf")
    a = leaf.add_input("x", FLOAT, ("n", 2))
    leaf.outputs = list(leaf.add_node("Neg", [a], {}, ROW).outputs)
    inner = Graph(name)
    b = inner.add_input("x", FLOAT, ("n", 2))
    two = inner.add_constant(np.array(2, np.float32), FLOAT)
    negated = inner.add_node(ir.CALL, [b], {"graph": leaf}, ROW).outputs[0]
    inner.outputs = [*inner.add_node("Mul", [negated, two], {}, ROW).outputs, b]
    graph = Graph("main")
    x = graph.add_input("x", FLOAT, ("n", 2))
    for _ in range(times):
        x = graph.add_node(ir.CALL, [x], {"graph": inner}, ROW * 2).outputs[0]
    graph.outputs = [x]
    return graph


def test_calls_are_local_functions_written_once():
    model = to_model(_calling())
    assert [f.name for f in model.functions] == ["leaf", "inner"]
    assert all(f.domain == FUNCTION_DOMAIN for f in model.functions)
    assert [n.op_type for n in model.graph.node] == ["inner", "inner"]
    np.testing.assert_array_equal(_run(model, x=X)[0], 4 * X)


def test_two_functions_of_one_name():
    graph = _calling(1, "same")
    other = _calling(1, "same").nodes[0].attrs["graph"]
    node = graph.add_node(ir.CALL, [graph.outputs[0]], {"graph": other}, ROW * 2)
    graph.outputs = [node.outputs[0]]
    model = to_model(graph)
    names = [f.name for f in model.functions]
    assert len(set(names)) == len(names) == 4
    np.testing.assert_array_equal(_run(model, x=X)[0], 4 * X)


def _branching():
    """An If whose branches use outer values, hold constants and return what they did not make."""
    graph = Graph("main")
    condition = graph.add_input("c", BOOL, ())
    x = graph.add_input("x", FLOAT, ("n", 2))
    then = Graph("then", graph)
    ten = then.add_constant(np.array(10, np.float32), FLOAT)
    then.outputs = list(then.add_node("Mul", [x, ten], {}, ROW).outputs)
    orelse = Graph("else", graph)
    orelse.outputs = [x]
    node = graph.add_node("If", [condition], {"then_branch": then, "else_branch": orelse}, ROW)
    graph.outputs = list(node.outputs)
    return graph


@pytest.mark.parametrize("condition", [True, False])
def test_branches(condition):
    (y,) = _run(to_model(_branching()), c=np.array(condition), x=X)
    np.testing.assert_array_equal(y, X * 10 if condition else X)


def test_optional_inputs_left_out():
    graph, x, _ = _affine()
    limit = graph.add_constant(np.array(12, np.float32), FLOAT)
    graph.outputs = list(graph.add_node("Clip", [graph.outputs[0], None, limit], {}, ROW).outputs)
    low = graph.add_node("Clip", [x, None, None], {}, ROW)
    graph.outputs.append(low.outputs[0])
    model = to_model(graph)
    assert [len(n.input) for n in model.graph.node] == [2, 3, 1]
    np.testing.assert_array_equal(_run(model, x=X)[0], np.minimum(X @ W, 12))


@pytest.mark.parametrize("array", [np.zeros((0, 2), np.float32), np.array(["a", ""], object)])
def test_constants_of_every_kind(array):
    graph = Graph("g")
    dtype = 8 if array.dtype == object else FLOAT
    graph.outputs = [graph.add_constant(array, dtype)]
    (result,) = _run(to_model(graph))
    assert result.shape == array.shape


# The way back


def _same(graph, again, **feeds):
    names = [v.name for v in graph.inputs]
    given = dict(zip(names, feeds.values(), strict=True))
    first = _run(to_model(graph, input_names=names), **given)
    second = _run(to_model(again, input_names=names), **given)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "graph", [_affine()[0], _calling(), _calling(1)], ids=["flat", "two calls", "call"]
)
def test_round_trip(graph):
    imported = from_model(to_model(graph))
    again = imported.graph
    verify(again)
    assert list(imported.inputs) == ["x"]
    assert [v.shape for v in again.outputs] == [v.shape for v in graph.outputs]
    assert [n.op for n in again.nodes] == [n.op for n in graph.nodes]
    _same(graph, again, x=X)


@pytest.mark.parametrize("condition", [True, False])
def test_round_trip_of_branches(condition):
    graph = _branching()
    again = from_model(to_model(graph)).graph
    verify(again)
    _same(graph, again, c=np.array(condition), x=X)


def test_callees_are_shared_after_the_round_trip():
    again = from_model(to_model(_calling())).graph
    first, second = (n.attrs["graph"] for n in again.nodes)
    assert first is second
    assert len(to_model(again).functions) == 2


def test_initializers_as_inputs():
    graph, *_ = _affine()
    imported = from_model(to_model(graph), as_inputs={"w": (None, 2)})
    assert list(imported.inputs) == ["x", "w"]
    assert imported.inputs["w"].shape == (None, 2)
    assert not imported.graph.constants


def test_a_damaged_model_is_named():
    model = to_model(_affine()[0])
    model.graph.node[0].input[0] = "nowhere"
    with pytest.raises(BundleError, match=r"m\.onnx: .*'nowhere'"):
        from_model(model, "m.onnx")
