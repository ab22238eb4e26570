"""Products with rows of an input: computed once, outside of the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf


def _recurrent(xs: Any, w: Any, r: Any, steps: Any, first: int = 0) -> Any:
    def body(i, h):
        return i + 1, tf.tanh(tf.matmul(xs[i], w) + tf.matmul(h, r))

    return tf.reduce_sum(
        tf.while_loop(lambda i, _: i < steps, body, (first, tf.zeros([2, 3])))[1] ** 2
    )


def _arrays(steps: int) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = [(steps, 2, 4), (4, 3), (3, 3)]
    return [tf.constant(rng.normal(size=s).astype(np.float32)) for s in shapes]


def _products(function: Any, *args: Any) -> tuple[int, int]:
    """How many matrix products are outside of the loop and in its body."""
    nodes = function.get_concrete_function(*args).graph.graph.nodes
    (loop,) = [n for n in nodes if n.op == "Loop"]
    inside = sum(n.op == "MatMul" for n in loop.attrs["body"].nodes)
    return sum(n.op == "MatMul" for n in nodes), inside


def test_a_product_of_rows_is_computed_once():
    xs, w, r = _arrays(5)
    f = tf.function(lambda xs, w, r: _recurrent(xs, w, r, 5))
    assert _products(f, xs, w, r) == (1, 1)
    np.testing.assert_allclose(f(xs, w, r).numpy(), _recurrent(xs, w, r, 5).numpy(), rtol=1e-5)


@pytest.mark.parametrize("variables", [False, True])
def test_gradients_flow_through_it(variables):
    xs, *weights = _arrays(5)
    if variables:
        weights = [tf.Variable(x) for x in weights]

    def step(xs, w, r):
        with tf.GradientTape() as outer:
            outer.watch([w, r, xs])
            with tf.GradientTape() as tape:
                tape.watch([w, r, xs])
                y = _recurrent(xs, w, r, 5)
            found = tape.gradient(y, [w, r, xs])
            total = sum(tf.reduce_sum(g**2) for g in found)
        return [*found, *outer.gradient(total, [w, r, xs])]

    wanted = step(xs, *weights)
    got = tf.function(lambda xs: step(xs, *weights))(xs)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(("steps", "first"), [(4, 0), (5, 1)])
def test_rows_that_are_not_all_used_stay(steps, first):
    xs, w, r = _arrays(5)
    f = tf.function(lambda xs, w, r: _recurrent(xs, w, r, steps, first))
    assert _products(f, xs, w, r) == (0, 2)
    wanted = _recurrent(xs, w, r, steps, first).numpy()
    np.testing.assert_allclose(f(xs, w, r).numpy(), wanted, rtol=1e-5)


def test_weights_that_the_loop_assigns_stay():
    xs, w, _ = _arrays(5)
    v = tf.Variable(w)

    @tf.function
    def f(xs):
        def body(i, h):
            y = tf.matmul(xs[i], v)
            v.assign_add(tf.ones([4, 3]) * 0.1)
            return i + 1, h + y

        return tf.while_loop(lambda i, _: i < 5, body, (0, tf.zeros([2, 3])))[1]

    wanted = sum(xs.numpy()[i] @ (w.numpy() + np.float32(0.1) * i) for i in range(5))
    np.testing.assert_allclose(f(xs).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_products_that_would_be_much_larger_stay():
    xs, w = tf.ones([5, 2, 1]), tf.ones([1, 64])
    f = tf.function(
        lambda xs, w: tf.while_loop(
            lambda i, _: i < 5,
            lambda i, h: (i + 1, h + tf.matmul(xs[i], w)),
            (0, tf.zeros([2, 64])),
        )[1]
    )
    assert _products(f, xs, w) == (0, 1)
    np.testing.assert_array_equal(f(xs, w).numpy(), np.full([2, 64], 5.0))
