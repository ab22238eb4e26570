"""Operators newer than the runtime takes: values and gradients of onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import tfx as tf
from tfx.core.errors import UnimplementedError
from tfx.graph.onnx_import.newer_ops import newer_function

B, TIME, HEADS, DEPTH = 2, 4, 2, 3
PACKED = (B, TIME, HEADS * DEPTH)
STATE = (B, HEADS, DEPTH, DEPTH)


def attention(rule):
    rate = (B, TIME, HEADS)
    shapes = {
        "query": PACKED, "key": PACKED, "value": PACKED, "past_state": STATE,
        "decay": rate if "gated" in rule else None, "beta": rate if "delta" in rule else None,
    }  # fmt: skip
    attrs = {"q_num_heads": HEADS, "kv_num_heads": HEADS, "update_rule": rule}
    return "LinearAttention", shapes, attrs


def convolution(*, state, **attrs):
    shapes = {"input": (2, 3, 6), "weight": (3, 1, 4)}
    shapes |= {"bias": (3,), "past_state": (2, 3, 3)} if state else {}
    return "CausalConvWithState", shapes, attrs


CASES = [
    *(attention(rule) for rule in ("linear", "gated", "delta", "gated_delta")),
    convolution(state=True),
    convolution(state=True, activation="silu"),
    convolution(state=False),
]


def info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(op, shapes, attrs):
    names = [n if s is not None else "" for n, s in shapes.items()]
    node = helper.make_node(op, names, ["output", "present"], **attrs)
    given = {n: s for n, s in shapes.items() if s is not None}
    graph = helper.make_graph(
        [node], "g", [info(n, s) for n, s in given.items()],
        [info("output", None), info("present", None)],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=11)
    return made, given


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_values_and_gradients(case, rng):
    proto, shapes = model(*case)
    args = [(rng.standard_normal(s) * 0.5).astype(np.float32) for s in shapes.values()]
    evaluator = ReferenceEvaluator(proto)

    def reference(values):
        feeds = {n: np.asarray(v, np.float32) for n, v in zip(shapes, values, strict=True)}
        return evaluator.run(None, feeds)

    expected = reference(args)
    weights = [rng.standard_normal(y.shape).astype(np.float32) for y in expected]
    function, tensors = tf.import_onnx(proto), [tf.constant(a) for a in args]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        found = tf.nest.flatten(function(*tensors))
        total = tf.add_n([tf.reduce_sum(y * w) for y, w in zip(found, weights, strict=True)])
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want, atol=1e-5)
    for i, gradient in enumerate(tape.gradient(total, tensors)):
        direction, step = rng.standard_normal(args[i].shape), 1e-2
        sums = []
        for sign in (1, -1):
            moved = [a + sign * step * direction if k == i else a for k, a in enumerate(args)]
            pairs = zip(reference(moved), weights, strict=True)
            sums.append(sum(float((y.astype(np.float64) * w).sum()) for y, w in pairs))
        got = float((gradient.numpy() * direction).sum())
        assert got == pytest.approx((sums[0] - sums[1]) / (2 * step), rel=3e-3, abs=3e-3)


def test_what_the_runtime_takes_is_left():
    assert newer_function("Relu", 27, [], []) is None
    assert newer_function("LinearAttention", 26, [], []) is None
    assert newer_function("NoSuchOperator", 27, [], []) is None
    assert newer_function("Cast", 28, [], []) is None


def test_what_has_no_function_is_refused():
    node = helper.make_node("BitShift", ["x", "x"], ["y"], direction="LEFT")
    kinds = [helper.make_tensor_value_info(n, TensorProto.UINT8, [2]) for n in "xy"]
    graph = helper.make_graph([node], "g", kinds[:1], kinds[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=11)
    with pytest.raises(UnimplementedError, match="opset 28"):
        tf.import_onnx(proto)
