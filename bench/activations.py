"""Activations that are accurate in their tails, over the kernels of ONNX Runtime that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import tfx as tf
from bench.measure import Result, best_of

_SIZES = {"32x128": (32, 128), "1024x1024": (1024, 1024)}
_NOTE = "the kernels alone"


def run(effort: float = 1.0) -> list[Result]:
    """Microseconds of a traced function of one activation, small and large.

    Args:
        effort: Less than 1 makes fewer calls.
    """
    results = []
    pairs: dict[str, tuple[Callable[[Any], Any], list[onnx.NodeProto]]] = {
        "sigmoid": (tf.sigmoid, [helper.make_node("Sigmoid", ["x"], ["y"])]),
        "silu": (
            tf.nn.silu,
            [
                helper.make_node("Sigmoid", ["x"], ["s"]),
                helper.make_node("Mul", ["x", "s"], ["y"]),
            ],
        ),
        "tanh": (tf.tanh, [helper.make_node("Tanh", ["x"], ["y"])]),
        "softplus": (tf.math.softplus, [helper.make_node("Softplus", ["x"], ["y"])]),
    }
    for name, (function, nodes) in pairs.items():
        for size, shape in _SIZES.items():
            number = max(1, int((100 if size == "32x128" else 3) * effort))
            x = np.random.default_rng(0).normal(size=shape).astype(np.float32) * 3
            ours, raw = best_of([_call(function, x), _raw(nodes, x)], number=number)
            results.append(Result(f"{name} of {size}", ours, raw, "us", None, _NOTE))
    return results


def _call(function: Callable[[Any], Any], x: Any) -> Callable[[], Any]:
    traced, given = tf.function(function), tf.constant(x)
    return lambda: traced(given)


def _raw(nodes: list[onnx.NodeProto], x: Any) -> Callable[[], Any]:
    """A call of ONNX Runtime with these nodes as they are."""
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "raw", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    value = onnxruntime.OrtValue.ortvalue_from_numpy(x)._ortvalue
    call = session._sess.run_with_ort_values
    return lambda: call({"x": value}, ["y"], None)
