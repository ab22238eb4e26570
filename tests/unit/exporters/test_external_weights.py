from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import tfx as tf
from tfx.graph.serialization.external_weights import map_file, split_payloads

BIG = np.arange(1000, dtype=np.float32)
SMALL = np.arange(3, dtype=np.int64)


def make_model() -> onnx.ModelProto:
    value = helper.make_tensor_value_info("x", 1, [1000])
    out = helper.make_tensor_value_info("y", 1, [1000])
    nodes = [helper.make_node("Add", ["x", "big"], ["y"])]
    tensors = [numpy_helper.from_array(a, n) for n, a in (("big", BIG), ("small", SMALL))]
    tensors.append(numpy_helper.from_array(BIG * 2, "other"))
    graph = helper.make_graph(nodes, "g", [value], [out], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_long_raw_data_is_taken_out(tmp_path: Path) -> None:
    model = make_model()
    onnx.save(model, tmp_path / "m.onnx")
    rest, payloads = split_payloads(map_file(tmp_path / "m.onnx"), "m.onnx")
    assert sorted(payloads) == [0, 2]
    np.testing.assert_array_equal(np.frombuffer(payloads[0], np.float32), BIG)
    np.testing.assert_array_equal(np.frombuffer(payloads[2], np.float32), BIG * 2)
    assert len(rest) < 400
    parsed = onnx.ModelProto.FromString(rest)
    for i, array in ((0, BIG), (2, BIG * 2)):
        assert not parsed.graph.initializer[i].raw_data
        parsed.graph.initializer[i].raw_data = array.tobytes()
    assert parsed == model


def test_models_without_weights_stay_as_they_are() -> None:
    model = make_model()
    del model.graph.initializer[:]
    data = model.SerializeToString()
    rest, payloads = split_payloads(memoryview(data), "m")
    assert not payloads
    assert onnx.ModelProto.FromString(rest) == model


@pytest.mark.parametrize("data", [b"\xff", b"not a model", b"\x3a\x05ab", bytes(7)], ids=repr)
def test_what_is_no_model_is_refused(data: bytes) -> None:
    with pytest.raises(tf.errors.BundleError, match="name of it: is not an ONNX model"):
        split_payloads(memoryview(data), "name of it")


def test_files_that_cannot_be_read(tmp_path: Any) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        map_file(tmp_path / "none")
    with pytest.raises(tf.errors.OpError):
        map_file(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    assert len(map_file(tmp_path / "empty")) == 0
