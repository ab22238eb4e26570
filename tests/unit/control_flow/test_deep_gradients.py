"""Gradients through loops in loops, however deep: against the same programs run eagerly."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.control_flow.derivatives import F64, POINTS, c, close, first, second


def _range_loop(n, step, start):
    """``step`` applied ``n`` times; how often is known only when it runs."""
    return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, step(y, i)), (0, start))[1]


def _deep(levels, n, step, start, i=0):
    """So many loops, one inside of the other."""
    if levels == 0:
        return step(start, i)
    return _range_loop(n, lambda y, i: _deep(levels - 1, n, step, y, i), start)


def deep_scalar(levels, n, x, v):
    return _deep(levels, n, lambda y, i: tf.sin(y) * v + 0.1 * x[1], x[0])


def deep_vector(levels, n, x, v):
    return tf.reduce_sum(_deep(levels, n, lambda y, i: tf.sin(y) * v + x * 0.2, x))


def deep_counting(levels, n, x, v):
    """Each level runs as often as the number of the iteration around it says."""

    def level(depth, n, y):
        if depth == 0:
            return tf.sin(y) * v + x
        return _range_loop(n, lambda y, i: level(depth - 1, i, y) * 0.9, y)

    return tf.reduce_sum(level(levels, n, x))


def deep_until(levels, n, x, v):
    """How often the innermost loop runs depends on the data."""

    def step(y, i):
        more = tf.while_loop(
            lambda z: tf.reduce_sum(z * z) < 4.0, lambda z: (tf.exp(z * 0.1) * z * 1.2,), (y,)
        )
        return tf.sin(more[0]) * v + x

    return tf.reduce_sum(_deep(levels - 1, n, step, x))


def deep_growing(levels, n, x, v):
    """Two axes change."""

    def grow(y, i):
        return tf.pad(tf.sin(y) * v, [[0, 1], [1, 0]], constant_values=0.3)

    def step(y, i):
        any_shape = tf.TensorShape([None, None])
        z = tf.while_loop(
            lambda j, z: j < n,
            lambda j, z: (j + 1, grow(z, j)),
            (0, tf.reshape(y, [1, 3])),
            shape_invariants=(tf.TensorShape([]), any_shape),
        )[1]
        return y * tf.tanh(tf.reduce_sum(z)) + x

    return tf.reduce_sum(_deep(levels - 1, n, step, x))


def deep_branching(levels, n, x, v):
    def step(y, i):
        return tf.cond(
            y[0] > 0.5,
            lambda: _range_loop(n, lambda z, j: tf.sin(z) * v, y),
            lambda: tf.tanh(y) + x,
        )

    return tf.reduce_sum(_deep(levels - 1, n, step, x))


def deep_in_branch(levels, n, x, v):
    """Loops in loops in a branch in a loop."""

    def loops(y):
        return tf.cond(
            y[0] > 0.2,
            lambda: _deep(levels - 1, n, lambda z, i: tf.sin(z) * v + x * 0.3, y),
            lambda: tf.tanh(y) + x,
        )

    return tf.reduce_sum(_range_loop(n, lambda y, i: loops(y), x))


def deep_called(levels, n, x, v):
    """Loops in loops in a function that a loop calls."""

    @tf.function
    def loops(y):
        return _deep(levels - 1, n, lambda z, i: tf.sin(z) * v + y * 0.3, y)

    return tf.reduce_sum(_range_loop(n, lambda y, i: loops(y) * x, x))


DEEP = [
    deep_in_branch,
    deep_called,
    deep_scalar,
    deep_vector,
    deep_counting,
    deep_until,
    deep_growing,
    deep_branching,
]


@pytest.mark.parametrize("levels", [3, 4])
@pytest.mark.parametrize("program", DEEP, ids=lambda p: p.__name__)
def test_loops_at_any_depth(program, levels):
    """Loops in loops in loops, none of which is known to run how often."""
    v = tf.Variable(0.8, dtype=F64)
    traced = tf.function(lambda n, x: program(levels, n, x, v))
    inside = tf.function(lambda n, x: first(lambda x, v: program(levels, n, x, v), x, v))
    for n in (0, 1, 2, 3):
        x, count = c(POINTS[0]), tf.constant(n)
        expected = first(lambda x, v, n=count: program(levels, n, x, v), x, v)
        close(first(lambda x, v, n=count: traced(n, x), x, v), expected)
        close(inside(count, x), expected)


@pytest.mark.parametrize("levels", [3, 4])
@pytest.mark.parametrize("program", DEEP, ids=lambda p: p.__name__)
def test_second_derivatives_at_any_depth(program, levels):
    v = tf.Variable(0.8, dtype=F64)
    traced = tf.function(lambda n, x: second(lambda x, v: program(levels, n, x, v), x, v))
    for n in (0, 2):
        x, count = c(POINTS[0]), tf.constant(n)
        expected = second(lambda x, v, n=count: program(levels, n, x, v), x, v)
        close(traced(count, x), expected)


def test_loops_at_any_depth_over_tensors_of_any_shape():
    """The sizes are those of the input, whatever they are, in each iteration."""

    def f(n, x):
        return _deep(3, n, lambda y, i: tf.sin(y) * x + tf.matmul(y, tf.transpose(x)) @ x, x)

    any_shape = (tf.TensorSpec([], tf.int32), tf.TensorSpec([None, None], F64))
    traced = tf.function(f, input_signature=any_shape)
    for shape in ((2, 3), (1, 2)):
        x, n = c(np.linspace(0.1, 0.5, shape[0] * shape[1]).reshape(shape)), tf.constant(2)
        results = []
        for g in (f, traced):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = g(n, x)
            results.append((y, tape.gradient(y, x)))
        close(results[1], results[0])


def test_kept_values_of_small_dtypes_at_any_depth():
    """What a gradient keeps of booleans and bfloat16 goes through sequences too."""

    def f(n, x):
        def step(y, i):
            return tf.where(y > 0.5, tf.sin(y), y * tf.cast(1.5, y.dtype))

        return _deep(3, n, step, x)

    for dtype, tolerance in ((tf.float32, 1e-6), (tf.float16, 1e-2), (tf.bfloat16, 1e-1)):
        x, n = tf.constant(0.4, dtype), tf.constant(2)
        results = []
        for g in (f, tf.function(f)):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = g(n, x)
            results.append((float(y), float(tape.gradient(y, x))))
        np.testing.assert_allclose(results[1], results[0], rtol=tolerance)
