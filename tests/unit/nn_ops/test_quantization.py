"""``tfx.quantization`` against what TensorFlow gave: numbers and gradients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError

RECORDED = dict(np.load(Path(__file__).parent / "tensorflow_quantization.npz", allow_pickle=False))
CASES = json.loads(str(RECORDED["cases"]))
X = RECORDED["x"]


def named(op: str) -> Any:
    numbers = [i for i, case in enumerate(CASES) if case["op"] == op]
    return pytest.mark.parametrize("number", numbers)


def test_every_operation_was_recorded() -> None:
    assert {case["op"] for case in CASES} == {
        "fake_quant_with_min_max_args",
        "fake_quant_with_min_max_vars",
        "fake_quant_with_min_max_vars_per_channel",
        "quantize_and_dequantize_v2",
        "quantize",
    }


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("number", [i for i, case in enumerate(CASES) if case["op"] != "quantize"])
def test_numbers_and_gradients(number: int, traced: bool) -> None:
    case = CASES[number]
    given = [tf.constant(v, tf.float32) for v in (X, *case["bounds"])]
    function = getattr(tf.quantization, case["op"])

    def call(*tensors: Any) -> Any:
        return function(*tensors, **case["options"])

    with tf.GradientTape() as tape:
        tape.watch(given)
        y = (tf.function(call) if traced else call)(*given)
        loss = tf.reduce_sum(y * np.arange(X.size, dtype=np.float32).reshape(X.shape))
    np.testing.assert_allclose(y, RECORDED[f"{number}/y"], rtol=1e-6, atol=1e-6)
    for i, found in enumerate(tape.gradient(loss, given)):
        right = RECORDED[f"{number}/d{i}"]
        assert found.shape == right.shape
        np.testing.assert_allclose(found, right, rtol=1e-6)


@named("quantize")
def test_integers_and_back(number: int) -> None:
    case = CASES[number]
    options = {**case["options"], "axis": case["axis"]}
    kind = getattr(tf, case["kind"])
    bounds = [np.asarray(b, np.float32) for b in case["bounds"]]
    found = tf.quantization.quantize(X, *bounds, kind, **options)
    expected = RECORDED[f"{number}/y"]
    assert found.output.dtype == expected.dtype
    np.testing.assert_array_equal(found.output, expected)
    np.testing.assert_allclose(found.output_min, RECORDED[f"{number}/low"], rtol=1e-6)
    np.testing.assert_allclose(found.output_max, RECORDED[f"{number}/high"], rtol=1e-6)
    back = tf.quantization.dequantize(*found, **options)
    np.testing.assert_allclose(back, RECORDED[f"{number}/back"], rtol=1e-5, atol=1e-5)


def test_ranges_learn_and_are_saved(tmp_path: Any) -> None:
    class Layer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.low, self.high = tf.Variable(-0.5), tf.Variable(0.5)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def __call__(self, x: Any) -> Any:
            """Round."""
            return tf.quantization.fake_quant_with_min_max_vars(x, self.low, self.high)

    layer, x = Layer(), tf.constant(np.linspace(-3, 3, 41).astype(np.float32))
    optimizer = tf.optimizers.SGD(0.5)
    for _ in range(60):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(x) - x) ** 2)
        variables = [layer.low, layer.high]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    assert float(loss) < 0.01
    tf.saved_model.save(layer, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(loaded(4.0 * x))
    assert np.count_nonzero(tape.gradient(y, x)) < 20


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda q: q.fake_quant_with_min_max_args(X, 1.0, 1.0), "min has to be smaller"),
        (lambda q: q.fake_quant_with_min_max_args(X, num_bits=17), "num_bits is 17"),
        (lambda q: q.fake_quant_with_min_max_args(np.arange(3)), "expected floating-point"),
        (lambda q: q.fake_quant_with_min_max_vars(X, [0.0], [1.0]), "expected a scalar"),
        (lambda q: q.fake_quant_with_min_max_vars_per_channel(X, 0.0, 1.0), "expected a vector"),
        (lambda q: q.quantize_and_dequantize_v2(X, 0, 1, round_mode="UP"), "round_mode is 'UP'"),
        (lambda q: q.quantize_and_dequantize_v2(X, 0, 1, num_bits=64), "num_bits is 64"),
        (lambda q: q.quantize(X, 0, 1, tf.int64), "T is int64"),
        (lambda q: q.quantize(X, 0, 1, tf.qint8, mode="NO"), "mode is 'NO'"),
        (lambda q: q.quantize(X, 0, 1, tf.qint8, round_mode="HALF_TO_EVEN"), "for mode 'SCALED'"),
        (lambda q: q.quantize(X, [0.0], [1.0], tf.qint8, axis=2), "axis is 2"),
        (lambda q: q.dequantize(X, 0, 1), "input's dtype is float32"),
        (lambda q: q.dequantize(np.int8([1]), 0, 1, dtype=tf.float64), "dtype is float64"),
    ],
)
def test_mistakes(call: Any, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        call(tf.quantization)
