"""Models of one operator of ``com.microsoft``: what ONNX Runtime gives, and its slopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import tfx as tf
import tfx.ops.common.registration
from tfx.framework.rules import OpRecord, formula_of

Array = np.ndarray[Any, Any]
_STEP = 4e-3


def model_of(op: str, inputs: Sequence[Any], attrs: dict[str, Any], outputs: int = 1) -> Any:
    """A model whose inputs ``i0``, ``i1`` ... are the operator's; None: left out."""
    names = ["" if x is None else f"i{k}" for k, x in enumerate(inputs)]
    results = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attrs)
    ports = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
        if x is not None
    ]
    graph = helper.make_graph(
        [node], "fused", ports, [onnx.ValueInfoProto(name=n) for n in results]
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(
    op: str,
    inputs: Sequence[Any],
    attrs: dict[str, Any],
    outputs: int = 1,
    by: Sequence[int] = (0,),
    tolerance: float = 2e-4,
) -> None:
    """The operator is kept, its formula gives what the kernel gives, and so do its slopes."""
    proto = model_of(op, inputs, attrs, outputs)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    feeds = {f"i{k}": x for k, x in enumerate(inputs) if x is not None}
    expected = session.run(None, feeds)
    model = tf.import_onnx(proto)
    assert [n.op_type for n in model.as_onnx().graph.node] == [op]
    for found, right in zip(_listed(model(**feeds)), expected, strict=True):
        np.testing.assert_array_equal(found, right)
    _check_formula(op, inputs, attrs, expected, tolerance)
    rng = np.random.default_rng(5)
    weights = [
        rng.normal(size=y.shape).astype(np.float32) if y.dtype == np.float32 else None
        for y in expected
    ]
    given = {name: tf.constant(x) for name, x in feeds.items()}
    with tf.GradientTape() as tape:
        tape.watch([given[f"i{k}"] for k in by])
        pairs = zip(_listed(model(**given)), weights, strict=True)
        loss = tf.add_n([tf.reduce_sum(y * w) for y, w in pairs if w is not None])
    for k, gradient in zip(by, tape.gradient(loss, [given[f"i{k}"] for k in by]), strict=True):
        direction = rng.normal(size=inputs[k].shape)
        ends = []
        for sign in (1, -1):
            moved = (inputs[k] + sign * _STEP * direction).astype(np.float32)
            results = session.run(None, {**feeds, f"i{k}": moved})
            kept = [(y, w) for y, w in zip(results, weights, strict=True) if w is not None]
            ends.append(sum(float((y.astype(np.float64) * w).sum()) for y, w in kept))
        slope = (ends[0] - ends[1]) / (2 * _STEP)
        found = float((gradient.numpy().astype(np.float64) * direction).sum())
        assert abs(found - slope) <= 1e-2 * max(1.0, abs(slope)), (op, k, found, slope)


def _listed(results: Any) -> list[Any]:
    return list(results.values()) if isinstance(results, dict) else [results]


def _check_formula(
    op: str, inputs: Sequence[Any], attrs: dict[str, Any], expected: Sequence[Array], most: float
) -> None:
    assert tfx.ops.common.registration.FAMILIES
    formula = formula_of(f"com.microsoft::{op}")
    assert formula is not None
    tensors = [None if x is None else tf.constant(x) for x in inputs]
    record = OpRecord(op, attrs, tensors, [tf.constant(y) for y in expected])
    found = formula(record)
    results = [found] if isinstance(found, tf.Tensor) else found
    for mine, right in zip(results, expected, strict=False):
        if mine is not None:
            np.testing.assert_allclose(mine, right, rtol=most, atol=most * np.abs(right).max())
