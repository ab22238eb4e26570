"""Shape code computed while a model is read: as ONNX's reference evaluator computes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import tfx as tf
from tests.unit.importing.samples import INT64, constant, make, node, numbers, value
from tfx.graph.ir import Graph
from tfx.graph.onnx_import.fold_shapes import folded

A = np.array([[3, -4, 5], [0, 7, -2]])
B = np.array([2, 3, -2])
F = np.float32([1.5, -2.5, 0.25])
CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    *((op, [A, B], {}) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min")),
    *((op, [A, B], {}) for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")),
    *((op, [F], {}) for op in ("Abs", "Neg", "Ceil", "Floor", "Identity")),
    ("Sqrt", [np.float32([4, 9])], {}),
    ("And", [A > 0, B > 0], {}),
    ("Or", [A > 0, B > 0], {}),
    ("Not", [A > 0], {}),
    ("Div", [F, np.float32(2)], {}),
    ("Cast", [F], {"to": TensorProto.INT64}),
    ("Cast", [A], {"to": TensorProto.BOOL}),
    ("Cast", [A], {"to": TensorProto.FLOAT16}),
    ("CastLike", [A, F], {}),
    ("Concat", [A, A], {"axis": 1}),
    ("ConstantOfShape", [np.array([2, 3])], {}),
    ("ConstantOfShape", [np.array([2])], {"value": np.array([7])}),
    ("Expand", [B, np.array([2, 1])], {}),
    ("Gather", [A, np.array([-1, 0])], {"axis": 1}),
    ("Gather", [B, np.array(1)], {}),
    ("Range", [np.array(1), np.array(8), np.array(3)], {}),
    ("Range", [np.array(5), np.array(0), np.array(-2)], {}),
    ("ReduceMax", [A], {"keepdims": 0}),
    ("ReduceMin", [A, np.array([1])], {}),
    ("ReduceProd", [B], {"keepdims": 0}),
    ("ReduceSum", [A, np.array([-1])], {"keepdims": 0}),
    ("Reshape", [A, np.array([0, -1, 1])], {}),
    ("Size", [A], {}),
    ("Slice", [A, np.array([1]), np.array([99]), np.array([1])], {}),
    ("Slice", [B, np.array([-1]), np.array([-99]), np.array([0]), np.array([-1])], {}),
    ("Slice", [B, np.array([0]), np.array([-1])], {}),
    ("Squeeze", [A[:1], np.array([0])], {}),
    ("Squeeze", [A[:1, :1]], {}),
    ("Transpose", [A], {}),
    ("Transpose", [A], {"perm": [0, 1]}),
    ("Unsqueeze", [B, np.array([0, -1])], {}),
    ("Where", [A > 0, A, B], {}),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_it_computes_what_the_reference_computes(case: Any) -> None:
    op, arrays, attrs = case
    graph = Graph("g")
    kinds = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in arrays]
    values = [graph.add_constant(a, k) for a, k in zip(arrays, kinds, strict=True)]
    found = folded(op, values, attrs)
    names = [f"i{i}" for i in range(len(arrays))]
    given = {k: constant("", v) if isinstance(v, np.ndarray) else v for k, v in attrs.items()}
    proto = make(
        [node(op, names, ["y"], **given)],
        [value(n, a.shape, k) for n, a, k in zip(names, arrays, kinds, strict=True)],
        [value("y", None, INT64)],
    )
    expected = ReferenceEvaluator(proto).run(None, dict(zip(names, arrays, strict=True)))[0]
    assert found is not None
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_what_is_unknown_large_or_wrong_is_left_to_the_graph() -> None:
    graph = Graph("g")
    known = graph.add_constant(B, INT64)
    zero = graph.add_constant(np.zeros(3, np.int64), INT64)
    large = graph.add_constant(np.zeros(2000, np.int64), INT64)
    huge = graph.add_constant(np.array([1 << 40]), INT64)
    unknown = graph.add_input("x", INT64, (3,))
    assert folded("Add", [known, unknown], {}) is None
    assert folded("Add", [large, large], {}) is None
    assert folded("Div", [known, zero], {}) is None
    assert folded("ConstantOfShape", [huge], {}) is None
    assert folded("Expand", [known, huge], {}) is None
    assert folded("Gather", [known, huge], {}) is None
    assert folded("RandomNormal", [], {"shape": [1]}) is None
    assert folded("Shape", [unknown], {}) is not None


def test_shape_code_of_an_exporter_gives_static_shapes() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "zeros"], ["n1"]),
        node("Concat", ["n1", "rest"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["r"]),
        node("Range", ["one", "three", "one"], ["axes"]),
        node("Unsqueeze", ["w", "axes"], ["w1"]),
        node("Mul", ["r", "w1"], ["y"]),
    ]
    stored = [
        constant("zero", np.array(0)),
        constant("zeros", np.array([0])),
        constant("rest", np.array([2, 3, 2])),
        constant("one", np.array(1)),
        constant("three", np.array(3)),
        constant("w", numbers(2)),
    ]
    model = tf.import_onnx(make(nodes, [value("x", ["n", 12])], stored=stored))
    assert model.outputs["y"].shape.as_list() == [None, 2, 3, 2]
    x = numbers(4, 12)
    expected = x.reshape(4, 2, 3, 2) * numbers(2)[:, None, None]
    np.testing.assert_allclose(model(x), expected, rtol=1e-6)
