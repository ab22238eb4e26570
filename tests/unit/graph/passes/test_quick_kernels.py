"""Operators in the form that the CPU's kernels are quickest at, with the same results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tfx as tf
from tfx.graph.passes.pipeline import prepare, tune_for_cpu
from tfx.testing import assert_close


def tuned(function, *specs):
    graph = function.get_concrete_function(*specs)._observed.make_pure().graph
    return tune_for_cpu(prepare(graph, runs_here=True), 2).nodes


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("sizes", [(3, 3, 32, 48), (1, 1, 64, 80), (1, 64, 1, 80)])
def test_transposes_move_the_same_elements(order, sizes):
    f = tf.function(lambda x: tf.transpose(x, order))
    x = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    np.testing.assert_array_equal(f(tf.constant(x)), x.transpose(order))


def test_filters_are_turned_in_two_steps():
    f = tf.function(lambda x: tf.transpose(x, [3, 2, 0, 1]))
    orders = [n.attrs["perm"] for n in tuned(f, tf.TensorSpec([3, 3, 64, 64])) if "perm" in n.attrs]
    assert orders == [(0, 2, 1), (2, 0, 1)]
    # So few that one step is quicker.
    small = tuned(f, tf.TensorSpec([3, 3, 2, 2]))
    assert [n.op for n in small] == ["Transpose"]


def slopes(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.relu(x) ** 2 + tf.nn.relu6(x) ** 2
        first = tape.gradient(y, x)
    return first, outer.gradient(first, x)


@pytest.mark.parametrize("traced", [False, True])
def test_slopes_of_rectifiers(traced):
    x = tf.constant([-1.0, -0.0, 0.0, 1e-40, 1e-30, 0.5, 5.0, 6.0, 7.0])
    f = tf.function(slopes) if traced else slopes
    first, second = f(x)
    inside = np.array([0, 0, 0, 1, 1, 1, 1, 0, 0], np.float32)
    above = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1], np.float32)
    n = x.numpy()
    assert_close(first, 2 * n * inside + 2 * n * above)
    assert_close(second, 2 * inside + 2 * above)


def test_infinity_behind_a_flat_part_is_what_tensorflow_has():
    x = tf.constant([-1.0, 1.0, 7.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = tf.nn.relu(x), tf.nn.relu6(x)
    seed = tf.fill([3], np.float32(np.inf))
    np.testing.assert_array_equal(tape.gradient(y, x, seed), [np.nan, np.inf, np.inf])
    np.testing.assert_array_equal(tape.gradient(z, x, seed), [np.nan, np.inf, np.nan])


@pytest.mark.parametrize("side", ["left", "right", "both"])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_products_of_transposed_matrices_of_unknown_size(side, size):
    def product(a, b):
        turned = [tf.linalg.matrix_transpose(x) for x in (a, b)]
        return tf.matmul(a if side == "right" else turned[0], b if side == "left" else turned[1])

    f = tf.function(product, input_signature=[tf.TensorSpec([None, None, None])] * 2)
    nodes = tuned(f)
    assert [n.op for n in nodes] == ["Shape", "Greater", "Squeeze", "If"]
    rng = np.random.default_rng(size)
    a = rng.standard_normal((2, 5, size) if side == "right" else (2, size, 5)).astype(np.float32)
    b = rng.standard_normal((2, size, 4) if side == "left" else (2, 4, size)).astype(np.float32)
    expected = (a if side == "right" else a.swapaxes(1, 2)) @ (
        b if side == "left" else b.swapaxes(1, 2)
    )
    assert_close(f(a, b), expected)
