"""Derivatives at the edges of operators: sizes of 0 and 1, windows that do not fit, odd shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.framework.apply import apply

# Operator, attributes, shapes: small, with axes that broadcast or windows that stick out.
CASES: dict[str, tuple[str, dict[str, Any], list[list[int]]]] = {
    "ceil pool whose last window would begin in the padding": (
        "AveragePool",
        {"ceil_mode": 1, "kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [3, 3]},
        [[1, 3, 2, 2]],
    ),
    "ceil max pool": (
        "MaxPool",
        {"ceil_mode": 1, "kernel_shape": [1, 1], "strides": [2, 2]},
        [[1, 1, 2, 2]],
    ),
    "transposed convolution made larger than its windows reach": (
        "ConvTranspose",
        {"output_shape": [10, 8], "strides": [3, 2]},
        [[1, 1, 3, 3], [1, 2, 3, 3]],
    ),
    "einsum with an axis of one": ("Einsum", {"equation": "i,i"}, [[1], [5]]),
    "global max pool of no images": ("GlobalMaxPool", {}, [[0, 1, 3, 3]]),
    "grid of no images": ("GridSample", {}, [[0, 1, 4, 4], [0, 6, 6, 2]]),
    "LRN of no images": ("LRN", {"size": 3}, [[0, 4, 3, 3]]),
    "log softmax of no rows": ("LogSoftmax", {}, [[0, 3]]),
    "norms of nothing": ("LpNormalization", {}, [[2, 0, 3]]),
}


def _modes(op: str, attrs: dict[str, Any], shapes: list[list[int]]) -> list[Any]:
    def run(*inputs: Any) -> Any:
        return apply(op, inputs, attrs)

    return [run, tf.function(run)]


@pytest.mark.parametrize("name", sorted(CASES))
def test_gradients_to_second_order(name: str) -> None:
    op, attrs, shapes = CASES[name]
    rng = np.random.default_rng(0)
    xs = [tf.constant(rng.normal(size=s), tf.float32) for s in shapes]
    ones = [tf.ones_like(x) for x in xs]
    found = []
    for f in _modes(op, attrs, shapes):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(xs)
            with tf.GradientTape() as tape:
                tape.watch(xs)
                y = f(*xs)
                loss = tf.reduce_sum(y * y)
            gradients = tape.gradient(loss, xs)
            total = tf.add_n([tf.reduce_sum(g) for g in gradients])
        second = outer.gradient(total, xs, unconnected_gradients="zero")
        for g, x in zip([*gradients, *second], [*xs, *xs], strict=True):
            assert g.shape == x.shape
        with tf.autodiff.ForwardAccumulator(xs, ones) as acc:
            y = f(*xs)
            loss = tf.reduce_sum(y * y)
        along = sum(float(tf.reduce_sum(g)) for g in gradients)
        np.testing.assert_allclose(acc.jvp(loss), along, rtol=1e-4, atol=1e-5)
        assert tf.function(f)(*xs).shape == y.shape
        found.append([g.numpy() for g in (*gradients, *second)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_mask_longer_than_what_it_chooses_from() -> None:
    x, mask = tf.constant([1.0, 2.0]), tf.constant([True, False, False])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = apply("Compress", (x, mask), {"axis": 0})
    np.testing.assert_array_equal(tape.gradient(y, x), [1.0, 0.0])


def test_maps_over_no_elements_have_the_shapes_of_elements() -> None:
    x = tf.zeros([0, 1, 3, 4, 4])
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.vectorized_map(lambda e: apply("AveragePool", (e,), pool), x)
    assert y.shape == (0, 1, 3, 2, 2)
    assert tape.gradient(y, x).shape == x.shape


def test_jacobian_behind_a_branch_that_was_not_taken() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * x, lambda: tf.exp(x) * x)

    for sign in (1.0, -1.0):
        x = tf.constant(np.linspace(0.5, 1.0, 4).reshape(2, 2) * sign)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found = tape.jacobian(y, x).numpy().reshape(4, 4)
        v = x.numpy().ravel()
        wanted = np.cos(v) * v + np.sin(v) if sign > 0 else np.exp(v) * (1 + v)
        np.testing.assert_allclose(found, np.diag(wanted), rtol=1e-9)
