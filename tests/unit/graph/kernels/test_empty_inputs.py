"""Inputs without elements: what kernels refuse, never end with or die of has a result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.ops.overrides import RELEASE
from tfx.framework.apply import apply
from tfx.graph.passes.pipeline import prepare

PADDED = {"pads": [1, 1, 1, 1]}
# Operator, attributes, shapes of the inputs, what comes out.
CASES: dict[str, tuple[str, dict[str, Any], list[list[int]], np.ndarray]] = {
    "Conv, no channels": ("Conv", PADDED, [[2, 0, 5, 5], [3, 0, 3, 3]], np.zeros([2, 3, 5, 5])),
    "Conv, no images": ("Conv", PADDED, [[0, 2, 5, 5], [3, 2, 3, 3]], np.zeros([0, 3, 5, 5])),
    "Conv, no channels, bias": (
        *("Conv", PADDED, [[1, 0, 2, 2], [3, 0, 3, 3], [3]]),
        np.ones([1, 3, 2, 2]),
    ),
    "Attention, no heads": ("Attention", {}, [[1, 0, 3, 8]] * 3, np.zeros([1, 0, 3, 8])),
    "Attention, no batch": ("Attention", {}, [[0, 2, 3, 8]] * 3, np.zeros([0, 2, 3, 8])),
    "Attention, no keys": (
        *("Attention", {}, [[1, 2, 3, 8], [1, 2, 0, 8], [1, 2, 0, 8]]),
        np.zeros([1, 2, 3, 8]),
    ),
    "InstanceNormalization, no pixels": (
        *("InstanceNormalization", {}, [[4, 2, 0, 3], [2], [2]]),
        np.zeros([4, 2, 0, 3]),
    ),
    "LayerNormalization, nothing to norm": (
        *("LayerNormalization", {}, [[3, 0], [0]]),
        np.zeros([3, 0]),
    ),
    "MatMul, no matrices": ("MatMul", {}, [[2, 7], [0, 7, 5]], np.zeros([0, 2, 5])),
}
# The kernels refuse these at run time where shapes are open: case, the error.
REFUSED_IF_OPEN = {
    "Attention, no keys": "cannot be reshaped to|KV sequence length must be greater than 0",
    "LayerNormalization, nothing to norm": "must be at least 1, got 0",
}
if RELEASE < (1, 32):  # of ONNX Runtime
    REFUSED_IF_OPEN |= {
        "Attention, no batch": "Batch size must be greater than 0",
        "MatMul, no matrices": "right operand cannot broadcast",
    }


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("mode", ["eager", "static", "open"])
def test_result(name: str, mode: str) -> None:
    op, attrs, shapes, wanted = CASES[name]
    given = [tf.ones(s) for s in shapes]

    def run(*inputs: Any) -> Any:
        return apply(op, inputs, attrs)

    if mode == "eager":
        y = run(*given)
    elif mode == "static":
        y = tf.function(run)(*given)
    else:
        signature = [tf.TensorSpec([None] * len(s)) for s in shapes]
        traced = tf.function(run, input_signature=signature)
        if name in REFUSED_IF_OPEN:
            with pytest.raises(tf.errors.InvalidArgumentError, match=REFUSED_IF_OPEN[name]):
                traced(*given)
            return
        y = traced(*given)
    assert y.shape.as_list() == list(wanted.shape)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("pixels", [0, 4])
def test_regions(pixels: int) -> None:
    regions = tf.constant([[0.0, 0.0, 2.0, 2.0]] * 2)
    places = tf.constant([0, 0], dtype=tf.int64)

    def run(x: Any) -> Any:
        return apply("RoiAlign", (x, regions, places), {"output_height": 2})

    x = tf.ones([1, 3, pixels, 4])
    signature = [tf.TensorSpec([None] * 4)]
    for f in (run, tf.function(run), tf.function(run, input_signature=signature)):
        np.testing.assert_array_equal(f(x), np.full([2, 3, 2, 1], float(pixels > 0)))


def test_convolutions_of_unknown_channels_are_what_they_were() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=[2, 3, 5, 5]), rng.normal(size=[4, 3, 3, 3])
    x, w = x.astype(np.float32), w.astype(np.float32)
    run = tf.function(
        lambda x, w: apply("Conv", (x, w), PADDED),
        input_signature=[tf.TensorSpec([None] * 4)] * 2,
    )
    np.testing.assert_allclose(run(x, w), apply("Conv", (tf.constant(x), tf.constant(w)), PADDED))


def test_known_channels_cost_no_branch() -> None:
    w = tf.ones([4, 3, 3, 3])
    f = tf.function(lambda x: apply("Conv", (x, w), PADDED))
    f = f.get_concrete_function(tf.TensorSpec([None, 3, None, None]))
    assert [node.op for node in prepare(f.graph.graph).nodes] == ["Conv"]


# How an operand of [2, 4, n] x [2, n, 5] is made: its shape where n is 0, and the axes' order.
ORDERS = {"swapped": ([2, 0, 4], [0, 2, 1]), "turned": ([0, 2, 4], [1, 2, 0])}


@pytest.mark.parametrize("name", sorted(ORDERS))
@pytest.mark.parametrize("known", [False, True], ids=["open", "rows known"])
def test_products_over_nothing_of_what_was_transposed(name: str, known: bool) -> None:
    shape, order = ORDERS[name]
    spec = tf.TensorSpec([d if d and known else None for d in shape])

    def run(a: Any, b: Any) -> Any:
        return tf.matmul(tf.transpose(a, order), b)

    f = tf.function(run, input_signature=[spec, tf.TensorSpec([None, None, 5])])
    np.testing.assert_array_equal(f(tf.ones(shape), tf.ones([2, 0, 5])), np.zeros([2, 4, 5]))
    full = [d or 3 for d in shape]
    np.testing.assert_array_equal(f(tf.ones(full), tf.ones([2, 3, 5])), np.full([2, 4, 5], 3.0))


def test_the_optimizer_may_still_take_transpositions_into_products_over_something() -> None:
    f = tf.function(lambda a, b: tf.matmul(tf.transpose(a, [0, 2, 1]), b))
    specs = [tf.TensorSpec([None, 3, None]), tf.TensorSpec([None, 3, 5])]
    graph = f.get_concrete_function(*specs).graph.graph
    assert [node.op for node in prepare(graph).nodes] == ["Transpose", "MatMul"]


@pytest.mark.parametrize("op", ["DFT", "ReverseSequence", "STFT"])
def test_scalars_are_refused_where_the_kernel_would_end_the_process(op: str) -> None:
    number = tf.constant(1, dtype=tf.int64)
    rest: list[Any] = [tf.constant([1], dtype=tf.int64)] if op == "ReverseSequence" else [number]
    with pytest.raises(tf.errors.InvalidArgumentError, match=op):
        apply(op, (tf.constant(1.0), *rest))


def test_gradients_of_an_empty_batch() -> None:
    w = tf.Variable(tf.ones([3, 3, 2, 4]))

    def loss(x: Any) -> Any:
        y = tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME"))
        y = tf.nn.avg_pool2d(tf.nn.max_pool2d(y, 2, 2, "VALID"), 3, 1, "SAME")
        return tf.reduce_sum(tf.nn.log_softmax(tf.reduce_mean(y, [1, 2]), -1) ** 2)

    open_shapes = tf.function(loss, input_signature=[tf.TensorSpec([None, None, None, 2])])
    for f in (loss, tf.function(loss), open_shapes):
        x = tf.zeros([0, 8, 8, 2])
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            dx, dw = tape.gradient(y, [x, w])
        assert dx.shape == x.shape
        np.testing.assert_array_equal(dw, np.zeros(w.shape))
        np.testing.assert_array_equal(outer.gradient(dw, w), np.zeros(w.shape))
