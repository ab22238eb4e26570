"""Gradients at kinks and ties: TensorFlow 2.21's, computed beforehand, where they are finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import raw

X = [[[[1.0, 1.0], [1.0, 1.0]]]]
FIRST = [[[[1.0, 0.0], [0.0, 0.0]]]]


def _in_float32(f: Any) -> Any:
    return lambda x: tf.cast(f(tf.cast(x, tf.float32)), tf.float64)


def _two_largest(x: Any) -> Any:
    return raw.TopK(x, tf.constant([2], tf.int64))[0]


def _update(op: Any, indices: Any) -> Any:
    return lambda x, u: op(x, tf.constant(indices, tf.int64), u, reduction="max")


CASES: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "Abs": (raw.Abs, [[-1.0, 0.0, 1.0]], [[-1.0, 0.0, 1.0]]),
    "Sign": (raw.Sign, [[-1.0, 0.0, 1.0]], [[0.0, 0.0, 0.0]]),
    "Relu": (raw.Relu, [[-1.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]),
    "relu6": (tf.nn.relu6, [[-1.0, 0.0, 3.0, 6.0, 7.0]], [[0.0, 0.0, 1.0, 0.0, 0.0]]),
    "ThresholdedRelu": (raw.ThresholdedRelu, [[0.0, 1.0, 2.0]], [[0.0, 0.0, 1.0]]),
    "Shrink": (raw.Shrink, [[-1.0, -0.5, 0.0, 0.5, 1.0]], [[1.0, 0.0, 0.0, 0.0, 1.0]]),
    "LeakyRelu": (
        lambda x: raw.LeakyRelu(x, alpha=0.25),
        [[-1.0, 0.0, 1.0]],
        [[0.25, 0.25, 1.0]],
    ),
    "PRelu": (
        raw.PRelu,
        [[-1.0, 0.0, 1.0], [0.5, 0.5, 0.5]],
        [[0.5, 0.5, 1.0], [-1.0, 0.0, 0.0]],
    ),
    "Elu": (raw.Elu, [[0.0]], [[1.0]]),
    "Selu": (raw.Selu, [[0.0]], [[1.0507009873554805]]),
    "Celu": (_in_float32(raw.Celu), [[0.0]], [[1.0]]),
    "HardSigmoid": (
        lambda x: raw.HardSigmoid(x, alpha=0.25),
        [[-2.0, 0.0, 2.0]],
        [[0.0, 0.25, 0.0]],
    ),
    "HardSwish": (raw.HardSwish, [[-3.0, 0.0, 3.0]], [[0.0, 0.5, 1.0]]),
    "Clip": (
        raw.Clip,
        [[-1.0, 0.0, 0.5, 1.0, 2.0], 0.0, 1.0],
        [[0.0, 1.0, 1.0, 1.0, 0.0], 1.0, 1.0],
    ),
    "Clip_with_limits_exchanged": (
        raw.Clip,
        [[-1.0, 0.5, 2.0], 1.0, 0.0],
        [[0.0, 0.0, 0.0], 0.0, 3.0],
    ),
    "Max": (raw.Max, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
    "Min": (raw.Min, [[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]], [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    "ReduceMax": (raw.ReduceMax, [[1.0, 3.0, 3.0]], [[0.0, 0.5, 0.5]]),
    "ReduceMin": (raw.ReduceMin, [[1.0, 1.0, 3.0]], [[0.5, 0.5, 0.0]]),
    "MaxPool": (lambda x: raw.MaxPool(x, kernel_shape=[2, 2]), [X], [FIRST]),
    "GlobalMaxPool": (raw.GlobalMaxPool, [X], [FIRST]),
    "TopK": (_two_largest, [[1.0, 1.0, 1.0]], [[1.0, 1.0, 0.0]]),
    "sort": (lambda x: tf.sort(x) * [1.0, 2.0, 3.0], [[1.0, 1.0, 1.0]], [[1.0, 2.0, 3.0]]),
    "ScatterND": (
        _update(raw.ScatterND, [[0], [0], [1]]),
        [[1.0, 1.0, 2.0], [1.0, 1.0, 0.0]],
        [[1 / 3, 1.0, 1.0], [1 / 3, 1 / 3, 0.0]],
    ),
    "ScatterElements": (
        _update(raw.ScatterElements, [0, 0, 1]),
        [[1.0, 1.0, 2.0], [1.0, 1.0, 0.0]],
        [[1 / 3, 1.0, 1.0], [1 / 3, 1 / 3, 0.0]],
    ),
    "Sqrt": (raw.Sqrt, [[0.0, 1.0]], [[np.inf, 0.5]]),
    "ReduceProd": (raw.ReduceProd, [[0.0, 2.0, 3.0]], [[6.0, 0.0, 0.0]]),
    "ReduceProd_of_two_zeros": (raw.ReduceProd, [[0.0, 0.0, 3.0]], [[0.0, 0.0, 0.0]]),
    "CumProd": (tf.math.cumprod, [[2.0, 0.0, 3.0]], [[1.0, 8.0, 0.0]]),
}
# Not TensorFlow's, which gives NaN.
FINITE: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "Pow": (
        raw.Pow,
        [[0.0, 0.0, -2.0, 0.0], [0.0, 1.0, 2.0, 2.0]],
        [[0.0, 1.0, -4.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
    ),
    "ReduceL2": (raw.ReduceL2, [[0.0, 0.0]], [[0.0, 0.0]]),
    "LpNormalization": (raw.LpNormalization, [[0.0, 0.0]], [[0.0, 0.0]]),
    "LpPool": (
        lambda x: _in_float32(lambda y: raw.LpPool(y, kernel_shape=[2]))(x),
        [[[[0.0, 0.0]]]],
        [[[[0.0, 0.0]]]],
    ),
    "GlobalLpPool": (_in_float32(raw.GlobalLpPool), [[[[0.0, 0.0]]]], [[[[0.0, 0.0]]]]),
    "MeanVarianceNormalization": (raw.MeanVarianceNormalization, [X], [np.zeros_like(X)]),
}


@pytest.mark.parametrize("name", [*CASES, *FINITE])
def test_gradient(name: str) -> None:
    f, inputs, expected = {**CASES, **FINITE}[name]
    xs = [tf.constant(x, tf.float64) for x in inputs]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    for found, wanted in zip(tape.gradient(y, xs), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [raw.Floor, raw.Ceil, raw.Round, raw.Hardmax, lambda x: tf.cast(raw.ArgMax(x), tf.float32)],
    ids=["Floor", "Ceil", "Round", "Hardmax", "ArgMax"],
)
def test_piecewise_constant_operators_have_none(f: Any) -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x) is None


def test_masked_rows_of_attention_have_no_gradient(rng: np.random.Generator) -> None:
    q, k, v = (tf.constant(rng.standard_normal((1, 1, 3, 2))) for _ in range(3))
    mask = tf.constant([[True, False, True], [False] * 3, [True] * 3])
    with tf.GradientTape() as outer:
        outer.watch([q, k, v])
        with tf.GradientTape() as tape:
            tape.watch([q, k, v])
            y = raw.Attention(q, k, v, mask)
        dq, dk, dv = tape.gradient(y, [q, k, v])
        total = tf.reduce_sum(dq**2) + tf.reduce_sum(dk**2) + tf.reduce_sum(dv**2)
    np.testing.assert_array_equal(dq.numpy()[0, 0, 1], 0.0)
    assert np.isfinite(dk.numpy()).all()
    assert all(np.isfinite(g.numpy()).all() for g in outer.gradient(total, [q, k, v]))
