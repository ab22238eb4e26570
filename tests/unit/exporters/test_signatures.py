"""Signatures of a bundle: names meet the results that they are the names of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import tfx as tf
from tfx.loaders import Bundle


def test_results_of_an_imported_model_keep_their_names(tmp_path: Path) -> None:
    # The model's order is not that of sorted names, in which a dict's results lie.
    nodes = [
        helper.make_node("Add", ["x", "x"], ["twice"]),
        helper.make_node("Neg", ["x"], ["minus"]),
        helper.make_node("Mul", ["x", "x"], ["square"]),
    ]
    outputs = ["twice", "square", "minus"]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in ("x", *outputs)]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    imported = tf.import_onnx(model)
    tf.saved_model.save(imported, tmp_path / "first")
    loaded = tf.saved_model.load(tmp_path / "first")
    tf.saved_model.save(loaded, tmp_path / "second")
    for name in ("first", "second"):
        found = Bundle.open(tmp_path / name).call(
            "serving_default", {"x": np.array([3], np.float32)}
        )
        assert {n: float(v[0]) for n, v in found.items()} == {
            "twice": 6.0,
            "square": 9.0,
            "minus": -3.0,
        }
