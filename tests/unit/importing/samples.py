"""Small models made by hand, and stock ONNX Runtime to compare with."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def value(name: str, shape: Any, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name: str, array: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(array), name)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def make(
    nodes: Any,
    inputs: Any = None,
    outputs: Any = None,
    stored: Any = (),
    *,
    opset: int = 21,
    domains: tuple[str, ...] = (),
    functions: Any = (),
    ir_version: int = 10,
) -> onnx.ModelProto:
    """A model; by default x of shape (2, 3) to y."""
    inputs = [value("x", [2, 3])] if inputs is None else inputs
    outputs = [value("y", None)] if outputs is None else outputs
    graph = helper.make_graph(list(nodes), "g", inputs, outputs, list(stored))
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(
        graph, opset_imports=opsets, functions=list(functions), ir_version=ir_version
    )


def run_stock(model: Any, feeds: dict[str, Any]) -> list[Any]:
    """What stock ONNX Runtime gives."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    source = os.fspath(model) if hasattr(model, "__fspath__") else model.SerializeToString()
    arrays = {name: np.asarray(array) for name, array in feeds.items()}
    return list(onnxruntime.InferenceSession(source, options).run(None, arrays))
