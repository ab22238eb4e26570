"""Graphs that branch on frozen variables: ONNX Runtime must not fold them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.loaders import onnx_file, plan
from tfx.loaders.bundle import Bundle


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.limit = tf.Variable(1.0)

    @tf.function(input_signature=[tf.TensorSpec([2], name="x")])
    def branching(self, x):
        if self.limit > 0.0:
            x = x * 2.0 if tf.reduce_sum(x) > self.limit else x - 1.0
        return {"y": x}

    @tf.function(input_signature=[tf.TensorSpec([2], name="x")])
    def plain(self, x):
        return {"y": x * self.limit}


@pytest.mark.parametrize("name", ["branching", "plain"])
def test_graphs_with_branches_are_not_folded(tmp_path, monkeypatch, name):
    model = Model()
    path = str(tmp_path / "bundle")
    tf.saved_model.save(model, path, signatures={"serving_default": getattr(model, name)})
    made = []

    def session(*args, **options):
        made.append(options["folds"])
        return real(*args, **options)

    real = plan.Session
    monkeypatch.setattr(plan, "Session", session)
    with Bundle.open(path) as bundle:
        for x in ([1.0, 2.0], [0.25, 0.5]):
            x = np.array(x, np.float32)
            found = bundle.call("serving_default", {"x": x})["y"]
            np.testing.assert_allclose(found, getattr(model, name)(x)["y"])
    assert made == [name == "plain"]


def test_branches_are_seen_at_any_depth(tmp_path):
    model = Model()
    path = tmp_path / "bundle"
    signatures = {"a": model.branching, "b": model.plain}
    tf.saved_model.save(model, str(path), signatures=signatures)
    seen = {
        file.name.split(".")[0]: onnx_file.OnnxFile(file.read_bytes(), str(file)).has_branches
        for file in path.glob("*.onnx")
    }
    assert seen["a"] is True
    assert seen["b"] is False
