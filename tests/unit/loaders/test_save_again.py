"""Saving again: the same bundle with other values, or nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import tfx as tf
from tests.unit.loaders.make_bundle import Function, node, sample_variables, write_bundle
from tfx.core import errors
from tfx.loaders import Bundle

X = np.ones((2, 4), np.float32)


def tree(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def test_an_unchanged_bundle_is_saved_byte_by_byte(
    bundle: Bundle, sample_path: Path, tmp_path: Path
) -> None:
    bundle.call("serving_default", {"x": X})
    bundle.save(tmp_path / "again")
    assert tree(tmp_path / "again") == tree(sample_path)


def test_trained_variables_are_served_by_all_readers(bundle: Bundle, tmp_path: Path) -> None:
    for _ in range(3):
        bundle.call("train_step", {"x": X, "y": np.zeros((2, 3), np.float32), "rate": 0.1})
    expected = bundle.call("serving_default", {"x": X})["logits"]
    path = tmp_path / "trained"
    bundle.save(path)
    with Bundle.open(path, verify=True) as again:
        assert again.variables["count"] == 3
        np.testing.assert_allclose(again.call("serving_default", {"x": X})["logits"], expected)
        again.call("train_step", {"x": X, "y": np.zeros((2, 3), np.float32), "rate": 0.1})
        assert again.variables["count"] == 4
    plain = onnxruntime.InferenceSession(
        path / "serving_default.onnx", providers=["CPUExecutionProvider"]
    )
    np.testing.assert_allclose(plain.run(None, {"x": X})[0], expected, rtol=1e-6)


def test_saving_onto_itself(own_path: Path) -> None:
    with Bundle.open(own_path) as bundle:
        bundle.variables["count"] = 5
        bundle.save(own_path)
        bundle.variables["count"] = 6
        bundle.call("scaled", {"y": [[1, 2, 3]]})
        bundle.save(own_path)
    with Bundle.open(own_path) as again:
        assert again.variables["count"] == 6


def test_values_inside_graphs_are_replaced(bundle: Bundle, tmp_path: Path) -> None:
    bundle.variables["labels"] = ["a", "", "世界"]
    bundle.save(tmp_path / "again")
    plain = onnxruntime.InferenceSession(
        tmp_path / "again" / "greet.onnx", providers=["CPUExecutionProvider"]
    )
    feeds = {"names": np.array(["x"], object), "suffix": np.array("!", object)}
    assert plain.run(["known"], feeds)[0].tolist() == ["a", "", "世界"]
    with Bundle.open(tmp_path / "again", verify=True) as again:
        assert again.variables["labels"].tolist() == ["a", "", "世界"]
        out = again.call("greet", {"names": ["x"], "suffix": "!"})
        assert out["known"].tolist() == ["a", "", "世界"]


def sum_of_open_shape(path: Path) -> Path:
    function = Function(
        "total",
        [node("ReduceSum", ["v"], ["total"], keepdims=0)],
        [],
        [("total", "float32", ())],
        frozen=["v"],
    )
    values = {"v": np.ones(3, np.float32), "w": np.ones(4, np.float32)}
    return write_bundle(path, values, [function], shapes={"v": (None,), "w": (None,)})


def test_a_frozen_variable_of_another_shape_cannot_be_saved(tmp_path: Path) -> None:
    with Bundle.open(sum_of_open_shape(tmp_path / "b")) as bundle:
        bundle.variables["v"] = np.ones(5, np.float32)
        with pytest.raises(errors.FailedPreconditionError, match=r"was made for \[3\], not \[5\]"):
            bundle.save(tmp_path / "again")


def test_a_variable_may_grow_unless_it_moves_one_that_a_graph_holds(tmp_path: Path) -> None:
    with Bundle.open(sum_of_open_shape(tmp_path / "b")) as bundle:
        bundle.variables["w"] = np.ones(9, np.float32)  # stored behind v: nothing moves
        bundle.save(tmp_path / "again")
        with Bundle.open(tmp_path / "again") as again:
            assert again.call("total")["total"] == 3
            assert again.variables["w"].shape == (9,)
        bundle.variables["w"] = np.ones(16, np.float32)  # multiples of 64 bytes come first
        with pytest.raises(errors.FailedPreconditionError, match="'v' would no longer be where"):
            bundle.save(tmp_path / "once_more")
    assert not (tmp_path / "once_more").exists()


def test_what_a_function_lets_grow_is_stored_apart(tmp_path: Path) -> None:
    class Log(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = tf.Variable(tf.ones([64, 64]))
            self.fixed = tf.Variable(tf.zeros([64]))
            self.seen = tf.Variable(tf.zeros([0, 64]), shape=[None, 64])
            self.table = tf.Variable(tf.ones([16, 64]), shape=[None, 64])  # nothing assigns it

        @tf.function(input_signature=[tf.TensorSpec([None, 64], name="x")])
        def add(self, x):
            y = x @ self.weights + tf.reduce_sum(self.table)
            self.seen.assign(tf.concat([self.seen, y], 0))
            self.fixed.assign_add(y[0])
            return {"y": y}

    log = Log()
    tf.saved_model.save(log, tmp_path / "b", signatures={"add": log.add})
    x = np.ones([16, 64], np.float32)  # a multiple of 64 bytes: such tensors stand first in a file
    with Bundle.open(tmp_path / "b") as bundle:
        files = {v.name: v.storage.file for v in bundle.manifest.variables}
        assert files.pop("seen") == "variables/growing.safetensors"
        assert set(files.values()) == {"variables/model.safetensors"}
        expected = bundle.call("add", {"x": x})["y"]
        bundle.save(tmp_path / "again")
    with Bundle.open(tmp_path / "again", verify=True) as again:
        assert again.variables["seen"].shape == (16, 64)
        np.testing.assert_array_equal(again.variables["fixed"], expected[0])
        np.testing.assert_array_equal(again.call("add", {"x": x})["y"], expected)
        assert again.variables["seen"].shape == (32, 64)


def test_a_folder_of_other_things_is_not_replaced(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    with pytest.raises(errors.AlreadyExistsError):
        bundle.save(tmp_path)
    assert (tmp_path / "precious").read_text() == "x"


def test_a_copy_that_is_not_the_saved_file_is_refused(own_path: Path, tmp_path: Path) -> None:
    with Bundle.open(own_path) as bundle:
        os.unlink(own_path / "ping.onnx")
        shutil.copy(own_path / "scaled.onnx", own_path / "ping.onnx")
        with pytest.raises(errors.BundleError, match="the file was replaced"):
            bundle.save(tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_shards_stay_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.unit.loaders import make_bundle

    plain = make_bundle.write_store
    monkeypatch.setattr(
        make_bundle, "write_store", lambda *a, **k: plain(*a, **k, max_shard_bytes=40)
    )
    path = make_bundle.sample_bundle(tmp_path / "b")
    files = {item.name for item in (path / "variables").iterdir()}
    assert "model.safetensors.index.json" in files
    assert len(files) > 3
    with Bundle.open(path) as bundle:
        bundle.variables["dense/bias"] = [1, 2, 3]
        bundle.save(tmp_path / "again")
        expected = bundle.call("serving_default", {"x": X})["logits"]
    assert {item.name for item in (tmp_path / "again" / "variables").iterdir()} == files
    with Bundle.open(tmp_path / "again", verify=True) as again:
        np.testing.assert_allclose(again.call("serving_default", {"x": X})["logits"], expected)
        np.testing.assert_array_equal(
            again.variables["dense/kernel"], sample_variables()["dense/kernel"]
        )
