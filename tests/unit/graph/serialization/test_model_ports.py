"""Inputs and outputs of models changed: the answers stay."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from tfx.core import dtypes
from tfx.graph.serialization import model_ports


def model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["inner"]),
        helper.make_node("Identity", ["inner"], ["y"]),
        helper.make_node("ReduceSum", ["inner", "axes"], ["s"], keepdims=1),
    ]
    stored = [
        numpy_helper.from_array(np.float32(2), "two"),
        numpy_helper.from_array(np.int64([1]), "axes"),
    ]
    ports = [helper.make_tensor_value_info("x", 1, ["n", 3])]
    outputs = [
        helper.make_tensor_value_info("y", 1, ["n", 3]),
        helper.make_tensor_value_info("s", 1, ["n", 1]),
    ]
    graph = helper.make_graph(nodes, "g", ports, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run(proto: onnx.ModelProto, **feeds: np.ndarray) -> dict[str, np.ndarray]:
    onnx.checker.check_model(proto, full_check=True)
    session = ort.InferenceSession(proto.SerializeToString())
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_new_names_may_be_taken_inside() -> None:
    proto = model()
    model_ports.rename_ports(proto, {"x": "inner", "y": "x"})
    found = run(proto, inner=X)
    np.testing.assert_array_equal(found["x"], 2 * X)


def test_columns_are_cast_and_joined() -> None:
    proto = model()
    columns = {
        "a": (dtypes.float64, ("n", 1)),
        "b": (dtypes.int64, ("n", 1)),
        "c": (dtypes.float32, ("n", 1)),
    }
    model_ports.replace_input(proto, "x", columns)
    given = {"a": X[:, :1].astype(float), "b": X[:, 1:2].astype(np.int64), "c": X[:, 2:]}
    np.testing.assert_array_equal(run(proto, **given)["y"], 2 * X)


def test_an_input_of_another_dtype() -> None:
    proto = model()
    model_ports.replace_input(proto, "x", {"x": (dtypes.int32, ("n", 3))})
    np.testing.assert_array_equal(run(proto, x=X.astype(np.int32))["y"], 2 * X)


def test_a_matrix_becomes_a_vector() -> None:
    proto = model()
    model_ports.flatten_output(proto, "s")
    model_ports.flatten_output(proto, "y", column=-1)
    found = run(proto, x=X)
    np.testing.assert_array_equal(found["s"], 2 * X.sum(1))
    np.testing.assert_array_equal(found["y"], 2 * X[:, 2])


def test_operators_that_are_none() -> None:
    proto = model()
    proto.graph.node[1].op_type = "Erfc"
    proto.graph.node[1].name = "layer/Erfc"
    assert model_ports.unknown_operators(proto) == [("Erfc", "layer/Erfc")]
    proto.graph.node[1].op_type = "Upsample"  # of an old opset
    assert not model_ports.unknown_operators(proto)


def test_initializers_as_inputs() -> None:
    made = model_ports.initializers_to_inputs(model().SerializeToString(), {"two"}, "m")
    np.testing.assert_array_equal(run(made, x=X, two=np.array(3, np.float32))["y"], 3 * X)
