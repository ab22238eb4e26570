"""What the installed ONNX Runtime can load."""

from __future__ import annotations

import onnx
import onnxruntime
import pytest
from onnx import helper

from tfx.runtime.runtime_limits import supported_opset


def load(opset: int) -> None:
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "g", *map(list, [ports[:1], ports[1:]])
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnxruntime.InferenceSession(model.SerializeToString())


def test_it_is_the_greatest_that_loads() -> None:
    newest = supported_opset()
    load(newest)
    with pytest.raises(Exception, match="opset"):
        load(newest + 1)
