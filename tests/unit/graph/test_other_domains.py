"""Operators of other domains that are kept: their types, and trees and encoders that run."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import tfx as tf
from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.graph import schema
from tfx.graph.infer import infer
from tfx.graph.ir import Value
from tfx.graph.other_domains import is_kept

FLOAT, INT64, STRING = 1, 7, 8
TREE = {
    "n_targets": 1,
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [-1.0, 2.0],
}


def ml(op: str, attrs: dict[str, Any], kind: int, shape: Any, version: int = 3) -> Any:
    node = helper.make_node(op, ["x"], ["y"], domain="ai.onnx.ml", **attrs)
    port = helper.make_tensor_value_info("x", kind, shape)
    graph = helper.make_graph([node], "ml", [port], [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_trees_run_are_saved_and_have_no_gradient(tmp_path: Any) -> None:
    model = tf.import_onnx(ml("TreeEnsembleRegressor", TREE, FLOAT, ["rows", 2]))
    x = tf.constant([[0.0, 9.0], [1.0, 9.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    assert y.numpy().tolist() == [[-1.0], [2.0]]
    assert tape.gradient(y, x) is None
    assert [s.shape.as_list() for s in model.outputs.values()] == [[None, 1]]
    tf.saved_model.save(model, tmp_path / "m")
    assert tf.saved_model.load(tmp_path / "m")(x).numpy().tolist() == [[-1.0], [2.0]]
    with pytest.raises(InvalidArgumentError, match=r"operators without gradient.*TreeEnsemble"):
        tf.export_gradient(ml("TreeEnsembleRegressor", TREE, FLOAT, [2, 2]))


def test_encoders_of_text() -> None:
    attrs = {"keys_strings": ["a", "b"], "values_int64s": [5, 7], "default_int64": -1}
    model = tf.import_onnx(ml("LabelEncoder", attrs, STRING, ["n"]))
    assert model(np.array(["b", "a", "z"])).numpy().tolist() == [7, 5, -1]


def test_maps_are_refused_by_name() -> None:
    assert not is_kept("ai.onnx.ml", "ZipMap")
    with pytest.raises(tf.errors.UnimplementedError, match=r"ai.onnx.ml::ZipMap.*tensors"):
        tf.import_onnx(ml("ZipMap", {"classlabels_int64s": [0, 1]}, FLOAT, ["n", 2]))


def test_types_are_those_that_the_runtime_infers() -> None:
    x, weights = Value("x", FLOAT, ("rows", 3, 8)), Value("w", FLOAT, (8,))
    assert infer("com.microsoft::BiasGelu", [x, weights], {}) == [(FLOAT, ("rows", 3, 8))]
    found = infer("com.microsoft::SkipLayerNormalization", [x, x, weights, weights], {}, 4)
    assert found[1] == (FLOAT, ("rows", 3, 1))
    assert schema.operator("com.microsoft::BiasGelu").version == 1
    assert schema.split_key("com.microsoft::BiasGelu") == ("com.microsoft", "BiasGelu")
    with pytest.raises(InvalidArgumentError, match=r"BiasGelu cannot be applied to \(int64"):
        infer("com.microsoft::BiasGelu", [Value("x", INT64, (2, 8)), weights], {})
    with pytest.raises(InvalidArgumentError, match="no attribute 'no'"):
        infer("com.microsoft::BiasGelu", [x, weights], {"no": 1})
    with pytest.raises(NotFoundError, match=r"no kernel.*com.microsoft::GroupNorm"):
        schema.operator("com.microsoft::GroupNorm")
