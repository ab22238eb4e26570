"""Constants of a model that are a parameter of its source in another form."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from tfx.graph.serialization.named_weights import name_weights

RNG = np.random.default_rng(0)


def product(weight: np.ndarray, bias: np.ndarray) -> onnx.ModelProto:
    """``x @ weight + bias``."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["y"]),
    ]
    constants = {"w": weight, "b": bias}
    stored = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in constants.items()]
    x = helper.make_tensor_value_info("x", 1, ["n", weight.shape[0]])
    y = helper.make_tensor_value_info("y", 1, ["n", None])
    graph = helper.make_graph(nodes, "g", [x], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def answer(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    onnx.checker.check_model(model)
    return ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]


@pytest.mark.parametrize(
    ("coef", "intercept", "weight", "bias"),
    [
        (c := RNG.normal(size=(3, 4)), i := RNG.normal(size=3), c.T, i.reshape(1, 3)),
        (c := RNG.normal(size=(1, 4)), i := RNG.normal(size=1), np.r_[-c, c].T, [[-i[0], i[0]]]),
        (c := RNG.normal(size=4), i := RNG.normal(size=1), np.stack([-c, c], 1), [[-i[0], i[0]]]),
        (c := RNG.normal(size=4), i := RNG.normal(), c.reshape(4, 1), [i]),
        (c := RNG.normal(size=(4, 2)), i := RNG.normal(size=2), c, i),
    ],
    ids=["transposed", "two classes", "two classes of a vector", "vector and scalar", "plain"],
)
def test_a_constant_becomes_the_parameter(
    coef: Any, intercept: Any, weight: Any, bias: Any
) -> None:
    model = product(np.asarray(weight), np.asarray(bias))
    x = RNG.normal(size=(5, 4)).astype(np.float32)
    before = answer(model, x)
    found = name_weights(
        model, {"coef_": coef, "intercept_": np.asarray(intercept)}, lambda a, b: a == "b"
    )
    named = {w.name: w.array for w in found.values()}
    assert {n: a.shape for n, a in named.items()} == {
        "coef_": np.shape(coef),
        "intercept_": np.shape(intercept),
    }
    np.testing.assert_array_equal(answer(model, x), before)
    stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for port, weight_ in found.items():
        np.testing.assert_array_equal(stored[port], weight_.array)


def test_a_parameter_stands_for_one_constant_only() -> None:
    model = product(np.zeros((3, 3)), np.zeros(3))
    found = name_weights(model, {"coef_": np.zeros((3, 3))})
    assert [w.name for w in found.values()] == ["coef_"]


def test_single_numbers_are_told_by_name() -> None:
    model = product(np.ones((4, 1)), np.ones(1))
    assert not name_weights(model, {"alpha_": np.ones(1)}, lambda constant, parameter: False)
