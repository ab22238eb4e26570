"""Long transforms by NumPy: eagerly and as steps of plans they are what the operator gives."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.ops.signal import dft, dft_by_numpy


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("attrs", [{}, {"inverse": 1}, {"onesided": 1}], ids=str)
@pytest.mark.parametrize("axis", [-2, 1])
def test_numpy_gives_what_the_operator_gives(
    kind: Any, parts: int, attrs: dict[str, int], axis: int
) -> None:
    if attrs.get("onesided") and parts == 2:
        pytest.skip("the operator wants real numbers")
    x = np.random.default_rng(0).normal(size=(2, 64, 3, parts)).astype(kind)
    if axis == -2:
        x = x.transpose(0, 2, 1, 3)
    found = dft_by_numpy.transformed(x, axis, **attrs)
    expected = ox.DFT(tf.constant(x), None, int64_constant(axis), **attrs).numpy()
    assert found.dtype == kind
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if kind == np.float32 else 1e-13)


def test_a_plan_has_a_step_for_a_long_transform_and_what_is_saved_has_the_operator() -> None:
    x = tf.constant(np.random.default_rng(0).normal(size=(2, 8192)).astype(np.float32))
    function = tf.function(lambda x: tf.math.real(tf.signal.rfft(x)))
    concrete = function.get_concrete_function(x)
    assert any(node.op_type == "DFT" for node in concrete.as_onnx().graph.node)
    np.testing.assert_allclose(concrete(x).numpy(), np.fft.rfft(x.numpy()).real, atol=1e-3)


def test_a_tape_goes_through_what_numpy_computed() -> None:
    x = tf.constant(np.random.default_rng(0).normal(size=(2048,)).astype(np.float32))

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.abs(tf.signal.rfft(x)) ** 2)
        return tape.gradient(y, x)

    half = np.arange(2048) <= 1024
    expected = 2 * 2048 * np.fft.ifft(np.fft.fft(x.numpy().astype(float)) * half).real
    for function in (slope, tf.function(slope)):
        np.testing.assert_allclose(function(x).numpy(), expected, rtol=1e-4, atol=1e-2)


def test_a_module_that_is_first_met_in_a_trace_keeps_nothing_of_its_graph() -> None:
    x = tf.ones([1 << 14])

    @tf.function
    def first(x: Any) -> Any:
        importlib.reload(dft)
        return tf.abs(tf.signal.rfft(x))

    expected = np.asarray(first(x))
    second = tf.function(lambda x: tf.abs(tf.signal.rfft(x)))
    np.testing.assert_array_equal(np.asarray(second(x)), expected)
    np.testing.assert_array_equal(np.asarray(tf.abs(tf.signal.rfft(x))), expected)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 8)])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft"])
def test_no_samples_have_no_transform_where_sizes_are_open(
    name: str, shape: tuple[int, ...]
) -> None:
    transform = getattr(tf.signal, name)
    dtype = tf.float32 if name == "rfft" else tf.complex64
    function = tf.function(transform, [tf.TensorSpec([None] * len(shape), dtype)])
    size = shape[-1] // 2 + 1 if name == "rfft" and shape[-1] else shape[-1]
    assert function(tf.zeros(shape, dtype)).shape == (*shape[:-1], size)
