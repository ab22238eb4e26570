"""Gradients through quantizations, against the definition and models of the runtime's quantizer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.importing.samples import constant, make, node, numbers, run_stock, value

RNG = np.random.default_rng(0)


def slopes(x: Any, scale: Any, zero: Any, weights: Any, **attrs: Any) -> Any:
    """Gradients of quantizing and dequantizing by the numbers and the scale."""
    x, s, z = tf.constant(x), tf.constant(scale), tf.constant(zero)
    with tf.GradientTape() as tape:
        tape.watch([x, s])
        q = tf.raw.QuantizeLinear(x, s, z, **attrs)
        y = tf.raw.DequantizeLinear(q, s, z, **attrs)
        loss = tf.reduce_sum(y * weights)
    return tape.gradient(loss, [x, s])


def expected(x: Any, scale: Any, zero: Any, weights: Any) -> Any:
    """The definition: everything of one shape, in float64."""
    bounds = np.iinfo(zero.dtype)
    x, s = x.astype(np.float64), scale.astype(np.float64)
    low, high = ((int(b) - zero.astype(np.float64)) * s for b in (bounds.min, bounds.max))
    inside = (low <= x) & (x <= high)
    q = np.clip(np.round(x / s) + zero, bounds.min, bounds.max) - zero
    return weights * inside, weights * (q - np.where(inside, x / s, 0))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_one_scale(dtype: Any) -> None:
    x = (RNG.normal(size=(4, 5)) * (3 if np.dtype(dtype).itemsize == 1 else 600)).astype(np.float32)
    weights = RNG.normal(size=x.shape).astype(np.float32)
    scale, zero = np.float32(0.02), np.array(3, dtype)
    dx, ds = slopes(x, scale, zero, weights)
    right = expected(x, np.full(x.shape, scale), np.full(x.shape, zero, dtype), weights)
    assert 0 < np.count_nonzero(right[0]) < x.size
    np.testing.assert_allclose(dx, right[0], rtol=1e-6)
    np.testing.assert_allclose(ds, right[1].sum(), rtol=1e-2)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_scale_for_each_slice(axis: int) -> None:
    x = (RNG.normal(size=(3, 4, 5)) * 3).astype(np.float32)
    weights = RNG.normal(size=x.shape).astype(np.float32)
    count = x.shape[axis]
    scale = (0.01 + 0.01 * np.arange(count)).astype(np.float32)
    zero = np.arange(count).astype(np.int8)
    form = [1, 1, 1]
    form[axis] = count
    dx, ds = slopes(x, scale, zero, weights, axis=axis)
    wide = [np.broadcast_to(v.reshape(form), x.shape) for v in (scale, zero)]
    right = expected(x, *wide, weights)
    others = tuple(a for a in range(3) if a != axis % 3)
    np.testing.assert_allclose(dx, right[0], rtol=1e-6)
    np.testing.assert_allclose(ds, right[1].sum(others), rtol=1e-3, atol=1e-3)


def test_a_scale_for_each_block() -> None:
    x = (RNG.normal(size=(2, 6)) * 3).astype(np.float32)
    weights = RNG.normal(size=x.shape).astype(np.float32)
    scale = np.array([[0.01, 0.02], [0.03, 0.04]], np.float32)
    zero = np.array([[0, 1], [2, 3]], np.int8)
    dx, ds = slopes(x, scale, zero, weights, axis=1, block_size=3)
    wide = [np.repeat(v, 3, axis=1) for v in (scale, zero)]
    right = expected(x, *wide, weights)
    np.testing.assert_allclose(dx, right[0], rtol=1e-6)
    np.testing.assert_allclose(ds, right[1].reshape(2, 2, 3).sum(2), rtol=1e-3, atol=1e-3)


def test_integers_that_no_rounding_made_carry_nothing() -> None:
    x = tf.constant([3.0, 1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        places = tf.argsort(x)
        y = tf.cast(places, tf.float32) * 2.0
    assert tape.gradient(y, x) is None
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(tf.cast(x, tf.int32), tf.float32)
    assert tape.gradient(y, x) is None


def test_what_is_between_is_passed() -> None:
    x = tf.constant(numbers(1, 2, 4, 4))
    scale, zero = tf.constant(0.05), tf.constant(0, tf.int8)
    with tf.GradientTape() as tape:
        tape.watch(x)
        q = tf.raw.QuantizeLinear(x, scale, zero)
        q = tf.raw.MaxPool(q, kernel_shape=[2, 2], strides=[2, 2])
        q = tf.raw.Concat(tf.transpose(q, [0, 1, 3, 2]), q, axis=1)
        y = tf.raw.DequantizeLinear(tf.reshape(q, [-1])[3:], scale, zero)
        loss = tf.reduce_sum(y)
    found = tape.gradient(loss, x).numpy()
    assert found.sum() == 13
    assert np.count_nonzero(found) == 8


def network() -> onnx.ModelProto:
    """A convolution, a pool and two dense layers."""
    stored = {"c": numbers(4, 1, 3, 3) * 0.4, "a": numbers(16, 16, seed=1) * 0.3}
    stored |= {"b": numbers(16, seed=2) * 0.1, "d": numbers(16, 4, seed=3) * 0.3}
    nodes = [
        node("Reshape", ["x", "s"], ["x4"]),
        node("Conv", ["x4", "c"], ["h0"], pads=[1, 1, 1, 1]),
        node("Relu", ["h0"], ["h1"]),
        node("MaxPool", ["h1"], ["h2"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["h2"], ["h3"]),
        node("Gemm", ["h3", "a", "b"], ["h4"]),
        node("Relu", ["h4"], ["h5"]),
        node("MatMul", ["h5", "d"], ["y"]),
    ]
    initializers = [constant(n, x) for n, x in stored.items()]
    initializers.append(constant("s", np.array([-1, 1, 4, 4])))
    return make(nodes, [value("x", ["n", 16])], [value("y", ["n", 4])], initializers)


class Batches:
    """Inputs for calibration."""

    def __init__(self) -> None:
        self.left = iter([{"x": numbers(32, 16, seed=i)} for i in range(4)])

    def get_next(self) -> Any:
        return next(self.left, None)

    def __iter__(self) -> Iterator[Any]:
        return self.left


def made(kind: str, folder: Path) -> Path:
    import onnxruntime
    from onnxruntime.quantization import QuantFormat, quantize_dynamic, quantize_static

    target = folder / f"{kind}.onnx"
    if kind.startswith("dynamic"):
        quantize_dynamic(network(), target)
    else:
        form = QuantFormat.QOperator if kind == "integers" else QuantFormat.QDQ
        # Of 7 bits: sums of products of 8 overflow in kernels for processors without instructions
        # for them, and so differ from machine to machine.
        settings: Any = {"per_channel": kind == "qdq", "reduce_range": True}
        quantize_static(network(), target, Batches(), quant_format=form, **settings)
    if not kind.endswith("fused"):
        return target
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(folder / "fused.onnx")
    onnxruntime.InferenceSession(str(target), options)
    return folder / "fused.onnx"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["qdq", "integers", "dynamic", "qdq fused", "dynamic fused"])
def test_quantized_models_have_nearly_the_gradient_of_the_network(
    kind: str, tmp_path: Path
) -> None:
    path = made(kind, tmp_path)
    x, weights = numbers(5, 16, seed=9), numbers(5, 4, seed=8)

    def gradient(model: Any, **options: Any) -> Any:
        given = tf.constant(x)
        imported = tf.import_onnx(model, **options)
        with tf.GradientTape() as tape:
            tape.watch(given)
            y = imported(given)
            loss = tf.reduce_sum(y * weights)
        return y, tape.gradient(loss, given)

    (_, exact), (y, found) = gradient(network()), gradient(path)
    np.testing.assert_array_equal(y, run_stock(path, {"x": x})[0])
    cosine = np.vdot(exact, found) / np.linalg.norm(exact) / np.linalg.norm(found)
    assert cosine > 0.97  # some activations are cut off at the ends of ranges
    assert abs(np.linalg.norm(found) / np.linalg.norm(exact) - 1) < 0.05
    assert gradient(path, straight_through=False)[1] is None
    lone = tf.export_gradient(path, inputs="x")
    np.testing.assert_allclose(
        run_stock(lone, {"x": x, "y_grad": weights})[1], found, rtol=1e-4, atol=1e-5
    )
    with pytest.raises(ValueError, match="through a quantization"):
        tf.export_gradient(path, inputs="x", straight_through=False)


def test_training_with_quantization_learns() -> None:
    """A network with weights that are quantized in the model is trained by its latent weights."""
    w = numbers(4, 3)
    stored = [constant("w", w), constant("s", np.float32(0.05)), constant("z", np.int8(0))]
    nodes = [
        node("QuantizeLinear", ["w", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("MatMul", ["x", "d"], ["y"]),
    ]
    proto = make(nodes, [value("x", ["n", 4])], [value("y", ["n", 3])], stored)
    model = tf.import_onnx(proto)
    x, right = tf.constant(numbers(32, 4, seed=1)), tf.constant(numbers(4, 3, seed=2))
    optimizer = tf.optimizers.SGD(0.2)
    losses = []
    for _ in range(60):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - x @ right) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(float(loss))
    assert losses[-1] < 0.01 * losses[0]


@pytest.mark.filterwarnings("ignore")
def test_attention_of_quantized_rows(tmp_path: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    stored = [constant("w", numbers(8, 24) * 0.3), constant("b", numbers(24, seed=1))]
    fused = node("Attention", ["x", "w", "b"], ["y"], domain="com.microsoft", num_heads=2)
    rows = value("x", [2, 3, 8])
    proto = make([fused], [rows], [value("y", [2, 3, 8])], stored, domains=("com.microsoft",))
    quantize_dynamic(proto, tmp_path / "q.onnx")
    kinds = {n.op_type for n in onnx.load(tmp_path / "q.onnx").graph.node}
    assert kinds == {"DynamicQuantizeLinear", "QAttention"}
    x, weights = tf.constant(numbers(2, 3, 8, seed=2)), numbers(2, 3, 8, seed=3)
    found = []
    for model in (proto, tmp_path / "q.onnx"):
        imported = tf.import_onnx(model)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(imported(x) * weights)
        found.append(tape.gradient(loss, x).numpy())
    np.testing.assert_allclose(found[1], found[0], atol=0.05 * np.abs(found[0]).max())


def test_dynamic_ranges_have_gradients_that_cancel_but_for_the_rounding() -> None:
    x, weights = tf.constant(numbers(40)), numbers(40, seed=1)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        q, scale, zero = tf.raw.DynamicQuantizeLinear(x)
        y = tf.raw.DequantizeLinear(q, scale, zero)
        loss, width = tf.reduce_sum(y * weights), scale * 255.0
        span = tf.reduce_max(x) - tf.reduce_min(x)
    np.testing.assert_allclose(tape.gradient(width, x), tape.gradient(span, x), rtol=1e-5)
    found = tape.gradient(loss, x).numpy()
    extremes = [int(np.argmax(x)), int(np.argmin(x))]
    np.testing.assert_allclose(np.delete(found, extremes), np.delete(weights, extremes), rtol=1e-5)
    assert np.abs(found - weights).max() < 0.1
