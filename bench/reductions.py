"""Microseconds of accurate reductions and long products over ONNX Runtime's own single node.

Traced ones are compared as graphs, without the call of a function around them; eager ones are whole
calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import tfx as tf
from bench.calls import raw_call
from bench.measure import Result, best_of

_NOTE = "ONNX Runtime, one node"
# Shape, the reduced axis, and what is asked of a trace of this shape. 999,983 is a prime.
_CASES: tuple[tuple[tuple[int, ...], int, float | None], ...] = (
    ((4,), 0, 1.1),
    ((100,), 0, 1.1),
    ((64, 10), 0, 1.1),
    ((1_000,), 0, None),
    ((100_000,), 0, None),
    ((10_000_000,), 0, 1.5),
    ((999_983,), 0, None),
    ((1_000, 100), 0, 1.5),
    ((100, 100_000), 1, 1.5),
)

# Rows, and elements along the inner axis.
_PRODUCTS = ((1, 1_000_000), (4, 100_000), (4, 4_800_000), (64, 65_536))


def run(effort: float = 1.0) -> list[Result]:
    """Sums of known and unknown sizes, and eager ones.

    Args:
        effort: Less than 1 makes fewer calls, and leaves large sizes out.
    """
    results = []
    for shape, axis, target in _CASES:
        if effort == 1 or np.prod(shape) <= 1_000:
            results += _sums(shape, axis, target, effort)
    if effort == 1:
        for rows, length in _PRODUCTS:
            results += _product(rows, length)
    return results


def _product(rows: int, length: int) -> list[Result]:
    rng = np.random.default_rng(0)
    a = tf.constant(rng.random((rows, length)).astype(np.float32))
    b = tf.constant(rng.random((length, 1)).astype(np.float32))
    multiplied = tf.function(lambda x, y: tf.matmul(x, y))
    ours, bare = raw_call(multiplied, a, b), _bare_product(a, b)
    bare_time, time = best_of([bare, ours], number=5, repeats=15)
    what = f"product of float32 [{rows}, {length}] and [{length}, 1]"
    return [Result(what, time, bare_time, "us", 1.5, _NOTE)]


def _sums(shape: tuple[int, ...], axis: int, target: float | None, effort: float) -> list[Result]:
    x = tf.constant(np.random.default_rng(0).random(shape).astype(np.float32))
    reduced = tf.function(lambda v: tf.reduce_sum(v, axis))
    unknown = tf.function(
        lambda v: tf.reduce_sum(v, axis),
        input_signature=[tf.TensorSpec([None] * len(shape), tf.float32)],
    )
    # First the traced ones: they make the pool of threads that all sessions share.
    traced = [raw_call(reduced, x), raw_call(unknown, x)]
    functions = [_bare(x, axis), *traced, lambda: tf.reduce_sum(x, axis)]
    number = max(1, int(min(1_000, 4e4 / (20 + np.prod(shape) / 200)) * effort))
    bare, static, asking, eager = best_of(
        functions, number=number, repeats=15 if effort == 1 else 2
    )
    what = f"sum of float32 {list(shape)} over axis {axis}"
    return [
        Result(f"{what}, known size", static, bare, "us", target, _NOTE),
        Result(f"{what}, unknown size", asking, bare, "us", None, _NOTE),
        Result(f"{what}, eager", eager, bare, "us", None, _NOTE),
    ]


def _bare_product(a: Any, b: Any) -> Callable[[], Any]:
    """The product alone, in a session of our making."""
    matrix = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None, None]) for n in "aby"]
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    raw = _session(helper.make_graph([node], "bare", matrix[:2], matrix[2:]))
    quickest = onnxruntime.RunOptions()
    return lambda: raw({"a": a._raw, "b": b._raw}, ["y"], quickest)


def _bare(x: Any, axis: int) -> Callable[[], Any]:
    """The reduction alone, in a session of our making."""
    rank = len(x.shape)
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None] * rank)
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * (rank - 1))
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [axis])
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    graph = helper.make_graph([node], "bare", [given], [made], [axes])
    raw = _session(graph)
    quickest = onnxruntime.RunOptions()
    return lambda: raw({"x": x._raw}, ["y"], quickest)


def _session(graph: Any) -> Any:
    """What runs a graph without a detour."""
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10
    ).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.use_per_session_threads = False
    return onnxruntime.InferenceSession(model, options)._sess.run_with_ort_values
