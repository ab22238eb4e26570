"""``Scan`` read as ``Loop``: the same values as ONNX Runtime's, and gradients by differences."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tfx as tf
from tfx.core.errors import UnimplementedError

NAMES = ("S", "X", "Y", "w")
# input directions and axes, output direction and axis
CASES = [
    ((0, 0), (0, 0), 0, 0),
    ((1, 0), (1, 0), 1, 1),
    ((0, 1), (-1, 1), 1, -1),
]


def info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(directions, axes, out_direction, out_axis, *, known_ranks=True):
    nodes = [
        helper.make_node("Mul", ["s", "x"], ["p"]),
        helper.make_node("Add", ["p", "y"], ["q"]),
        helper.make_node("Tanh", ["q"], ["r"]),
        helper.make_node("Mul", ["r", "w"], ["next"]),
        helper.make_node("Identity", ["r"], ["out"]),
    ]
    body = helper.make_graph(
        nodes, "body", [info(n, [3]) for n in ("s", "x", "y")],
        [info(n, [3]) for n in ("next", "out")],
    )  # fmt: skip
    scan = helper.make_node(
        "Scan", ["S", "X", "Y"], ["last", "rows"], body=body, num_scan_inputs=2,
        scan_input_directions=directions, scan_input_axes=axes,
        scan_output_directions=[out_direction], scan_output_axes=[out_axis],
    )  # fmt: skip
    shapes = [[5, 3] if a == 0 else [3, 5] for a in axes]
    graph = helper.make_graph(
        [scan], "g",
        [info("S", [3]), info("X", shapes[0] if known_ranks else None), info("Y", shapes[1]),
         info("w", [3])],
        [info("last", [3]), info("rows", None)],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return made, [(3,), *map(tuple, shapes), (3,)]


def results(found):
    return list(found.values()) if isinstance(found, dict) else list(found)


@pytest.mark.parametrize("case", CASES, ids=["plain", "backwards", "last axes"])
def test_values_and_gradients(case, rng):
    proto, shapes = model(*case)
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    session = onnxruntime.InferenceSession(proto.SerializeToString())

    def reference(values):
        feeds = {n: v.astype(np.float32) for n, v in zip(NAMES, values, strict=True)}
        return session.run(None, feeds)

    expected = reference(args)
    weights = [rng.standard_normal(y.shape).astype(np.float32) for y in expected]
    function = tf.import_onnx(proto)
    tensors = [tf.constant(a) for a in args]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        found = results(function(*tensors))
        total = tf.add_n([tf.reduce_sum(y * w) for y, w in zip(found, weights, strict=True)])
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want, atol=1e-6)
    for i, gradient in enumerate(tape.gradient(total, tensors)):
        direction, step = rng.standard_normal(shapes[i]), 1e-2
        sums = []
        for sign in (1, -1):
            moved = [a + sign * step * direction if k == i else a for k, a in enumerate(args)]
            pairs = zip(reference(moved), weights, strict=True)
            sums.append(sum(float((y.astype(np.float64) * w).sum()) for y, w in pairs))
        got = float((gradient.numpy() * direction).sum())
        assert got == pytest.approx((sums[0] - sums[1]) / (2 * step), rel=2e-3, abs=2e-3)


def test_in_vectorized_map(rng):
    proto, shapes = model(*CASES[1])
    function = tf.import_onnx(proto)
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    batch = rng.standard_normal((4, *shapes[1])).astype(np.float32)

    def one(x):
        return results(function(args[0], x, *args[2:]))

    found = tf.vectorized_map(one, tf.constant(batch), fallback_to_while_loop=False)
    for k in range(4):
        for got, want in zip(found, one(tf.constant(batch[k])), strict=True):
            np.testing.assert_allclose(got.numpy()[k], want.numpy(), atol=1e-6)


def test_an_unknown_rank_is_named():
    proto, _ = model(*CASES[1], known_ranks=False)
    with pytest.raises(UnimplementedError, match="'X', which a Scan reads"):
        tf.import_onnx(proto)
