"""Gradients of operands that broadcast, of sizes that only a run tells."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def gradients_of(function, *specs):
    """A function of two tensors, with the gradients by both."""

    @tf.function(input_signature=[tf.TensorSpec(s) for s in specs])
    def gradients(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            total = tf.reduce_sum(tf.sin(function(x, y)))
        return tape.gradient(total, [x, y])

    return gradients


def reductions(gradients):
    graph = gradients.get_concrete_function().graph.graph
    return sum(node.op == "ReduceSum" for node in graph.nodes)


OPERATORS = [tf.add, tf.subtract, tf.multiply, tf.divide]
NUMPY = {
    tf.add: np.add,
    tf.subtract: np.subtract,
    tf.multiply: np.multiply,
    tf.divide: np.divide,
}


def expected(function, x, y):
    """By differences along each number."""
    found = []
    for i in range(2):
        slope = np.zeros((x, y)[i].shape)
        for at in np.ndindex(slope.shape):
            ends = []
            for sign in (1, -1):
                moved = [x.copy(), y.copy()]
                moved[i][at] += sign * 1e-6
                ends.append(np.sin(function(*moved)).sum())
            slope[at] = (ends[0] - ends[1]) / 2e-6
        found.append(slope)
    return found


@pytest.mark.parametrize("function", OPERATORS)
@pytest.mark.parametrize(
    ("specs", "sizes", "most"),
    [
        # The second operand has no axis along which the first could be spread: one sum for it.
        (([None, None, 3], [3]), ((2, 4, 3), (3,)), 2),
        (([None, None, 3], [1, 1]), ((2, 4, 3), (1, 1)), 2),
        (([None, 4], [1, 4]), ((3, 4), (1, 4)), 2),
        # Either may be: sums that a run decides about.
        (([None, 3], [None, 3]), ((1, 3), (5, 3)), 3),
        (([None, 3], [None, 3]), ((5, 3), (1, 3)), 3),
        (([None, 3], [None, 1, 3]), ((1, 3), (2, 1, 3)), 3),
        (([None, 3], [2, 1, 3]), ((4, 3), (2, 1, 3)), 3),
    ],
)
def test_only_what_may_be_spread_is_added_up(function, specs, sizes, most, rng):
    x, y = (1.5 + rng.random(size) for size in sizes)
    gradients = gradients_of(function, *specs)
    found = gradients(x.astype(np.float32), y.astype(np.float32))
    for got, want in zip(found, expected(NUMPY[function], x, y), strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
    assert reductions(gradients) <= most


def test_a_matrix_spreads_no_batch(rng):
    """Rows of any number times a matrix: the gradient by them is a product and nothing more."""
    gradients = gradients_of(tf.matmul, [None, None, 3], [3, 2])
    x, y = rng.random((2, 4, 3)), rng.random((3, 2))
    found = gradients(x.astype(np.float32), y.astype(np.float32))
    for got, want in zip(found, expected(np.matmul, x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
    assert reductions(gradients) == 1  # of the function itself
