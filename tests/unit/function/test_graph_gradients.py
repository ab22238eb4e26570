"""``gradients`` inside functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

X, Y = tf.constant(2.0), tf.constant(3.0)


def numbers(values: Any) -> list[float | None]:
    return [None if v is None else float(v) for v in values]


def test_values() -> None:
    @tf.function
    def f(x: Any, y: Any) -> Any:
        z = x * x * y
        return (
            tf.gradients(z, [x, y]),
            tf.gradients([z, x], x, grad_ys=[2.0, None]),
            tf.gradients(x, y),
            tf.gradients(x, y, unconnected_gradients="zero"),
            tf.gradients([z, z], x),
        )

    assert [numbers(v) for v in f(X, Y)] == [[12.0, 4.0], [25.0], [None], [0.0], [24.0]]


def test_integers_have_none_also_where_floating_point_follows_from_them() -> None:
    counts, labels = tf.Variable([1, 2]), tf.constant([0, 1])

    @tf.function
    def f(labels: Any, x: Any) -> Any:
        scores = tf.stack([[x, 1.0], [0.0, x]])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
        scaled = tf.cast(labels, tf.float32) * x + tf.cast(counts, tf.float32)
        return (
            [*tf.gradients(loss, [labels]), *tf.gradients(scaled, [labels, counts, x])],
            tf.gradients(scaled, [labels, counts], unconnected_gradients="zero"),
        )

    found, zeros = f(labels, X)
    assert numbers(found) == [None, None, None, 1.0]
    assert [z.dtype for z in zeros] == [tf.int32] * 2 and not np.any(zeros)


def test_constants_on_the_way() -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = x * x
        z = y * x
        return (
            tf.gradients(z, x, stop_gradients=y),
            tf.gradients(z, [x, y], stop_gradients=[x, y]),
            tf.gradients(tf.stop_gradient(y) * x, x),
        )

    # x itself may be fixed: the derivative with respect to it is that at its uses.
    assert [numbers(v) for v in f(X)] == [[4.0], [4.0, 2.0], [4.0]]


def test_variables_and_assignments() -> None:
    v = tf.Variable(3.0)

    @tf.function
    def f(x: Any) -> Any:
        a = x * v
        v.assign_add(1.0)
        b = a * v
        return tf.gradients(b, [x, v, a])

    # b = x v1 v2: both reads are of the variable.
    assert numbers(f(X)) == [12.0, 14.0, 4.0]
    unused = tf.Variable(1.0)
    assert numbers(tf.function(lambda x: tf.gradients(x * x, unused))(X)) == [None]


def test_called_functions_and_orders() -> None:
    v = tf.Variable(3.0)

    @tf.function
    def inner(x: Any) -> Any:
        return x * x * v, x + 1.0

    @tf.function
    def f(x: Any) -> Any:
        y, _ = inner(x)
        (g,) = tf.gradients(y, x)
        return g, tf.gradients(g, x)[0], tf.gradients(y, v)[0]

    assert numbers(f(X)) == [12.0, 6.0, 4.0]


def test_custom_gradients() -> None:
    @tf.custom_gradient
    def odd(x: Any) -> Any:
        return x * 1.0, lambda dy: dy * 100.0 * x

    @tf.function
    def f(x: Any) -> Any:
        (g,) = tf.gradients(odd(x) * 2.0, x)
        return g, tf.gradients(g, x)[0]

    assert numbers(f(X)) == [400.0, 200.0]


def test_captured_tensors_and_operators_of_several_results() -> None:
    captured = tf.constant([3.0, 4.0])

    @tf.function
    def f(x: Any) -> Any:
        _first, second = tf.split(x * captured, 2)
        return tf.gradients(second * 10.0, [x, captured])

    dx, dc = f(tf.constant([1.0, 2.0]))
    np.testing.assert_array_equal(dx, [0.0, 40.0])
    np.testing.assert_array_equal(dc, [0.0, 20.0])


def test_under_a_tape() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.gradients(x * x * x, x)[0]

    with tf.GradientTape() as tape:
        tape.watch(X)
        y = f(X)
    assert float(tape.gradient(y, X)) == 12.0


def test_mistakes() -> None:
    with pytest.raises(RuntimeError, match="eager execution"):
        tf.gradients(X, X)
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 grad_ys for 1 ys"):
        tf.function(lambda x: tf.gradients(x, x, grad_ys=[1.0, 2.0]))(X)


def test_integers_have_the_gradient_they_are_given_and_none_through_operations():
    @tf.function
    def slopes(n):
        flag = n > 1
        assert tf.gradients(2 * n, [n]) == tf.gradients(tf.cast(n, tf.float32), [n]) == [None]
        return tf.gradients([n, n], [n], [None, 3 * n]) + tf.gradients(flag, [flag])

    of_n, of_flag = slopes(tf.constant([1, 2]))
    np.testing.assert_array_equal(of_n, [4, 7])
    assert of_flag.dtype == tf.bool
