"""What is different in two bundles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.loaders.models import save
from tfx.exporters import compare
from tfx.loaders import Bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: Any) -> Path:
    return save(tmp_path_factory.mktemp("comparing") / "m")


def test_a_bundle_is_like_itself(bundle: Path) -> None:
    found = compare(bundle, bundle)
    assert found.is_same
    assert found.same_variables == 2


def test_trained_variables(bundle: Path, tmp_path: Path) -> None:
    with Bundle.open(bundle) as opened:
        opened.variables["count"] = np.float32(2.5)
        opened.save(tmp_path / "b")
    (item,) = compare(bundle, tmp_path / "b").differences
    assert (item.kind, item.name, item.change, item.amount) == ("variable", "count", "changed", 2.5)
    assert item.detail == "float32[], greatest difference 2.5"


def test_another_program(tmp_path: Path) -> None:
    def make(path: Path, *, new: bool) -> Path:
        module = tf.Module()
        shape = [2, 3] if new else [2]
        module.kept, module.grown = tf.Variable([1, 2]), tf.Variable(np.zeros(shape, np.float32))
        setattr(module, "new" if new else "old", tf.Variable(np.nan))
        spec = tf.TensorSpec([None, 2] if new else [None], tf.float32, "x")
        module.f = tf.function(
            lambda x: tf.nn.relu(x + 1.0) if new else {"y": x + 1.0}, input_signature=[spec]
        )
        signatures: dict[str, Any] = {"f": module.f}
        if new:
            signatures["g"] = module.f
        options = tf.saved_model.SaveOptions(metadata={"run": "2" if new else "1"})
        tf.saved_model.save(module, path, signatures, options)
        return path

    found = compare(make(tmp_path / "a", new=False), make(tmp_path / "b", new=True))
    rows = {(d.kind, d.name): (d.change, d.detail) for d in found.differences}
    assert rows["signature", "g"][0] == "added"
    assert rows["signature", "f"] == (
        "changed",
        "input x float32[None] -> float32[None, 2]; output y removed; "
        "output output_0 float32[None, 2] added",
    )
    assert rows["graph", "f"] == ("changed", "1 -> 2 nodes: Relu 0 -> 1")
    assert rows["variable", "grown"] == ("changed", "float32[2] -> float32[2, 3]")
    assert rows["variable", "new"][0] == "added"
    assert rows["variable", "old"][0] == "removed"
    assert rows["metadata", "run"] == ("changed", "1 -> 2")
    assert found.same_variables == 1
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["same"] is False


def test_nan_is_like_nan_and_infinitely_far_from_a_number(tmp_path: Path) -> None:
    for name, value in (("a", [np.nan, 1.0]), ("b", [np.nan, np.inf])):
        module = tf.Module()
        module.v = tf.Variable(value)
        tf.saved_model.save(module, tmp_path / name)
    assert compare(tmp_path / "a", tmp_path / "a").is_same
    (item,) = compare(tmp_path / "a", tmp_path / "b").differences
    assert item.amount == np.inf
    table = compare(tmp_path / "a", tmp_path / "b").as_json()
    json.dumps(table, allow_nan=False)
