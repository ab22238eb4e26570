"""``reduce_retracing``: what has varied is left open, as in TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def _counts(f, calls):
    result = []
    for args in calls:
        f(*args)
        result.append(f.experimental_get_tracing_count())
    return result


def _ones(*shapes):
    return tuple(tf.ones(s) for s in shapes)


def test_dimensions_then_ranks():
    """The numbers are TensorFlow's for the same calls."""
    f = tf.function(lambda x: x + 1.0, reduce_retracing=True)
    shapes = [(1, 3), (2, 3), (5, 3), (5, 4), (6, 7), (2,), (3,), (4,), (2, 2, 2), ()]
    assert _counts(f, [_ones(s) for s in shapes]) == [1, 2, 2, 3, 3, 4, 4, 4, 4, 4]
    text = [line for line in f.pretty_printed_concrete_signatures().split("\n") if " x (" in line]
    assert [line.split("shape=")[1].split(", dtype")[0] for line in text] == [
        "(1, 3)", "(None, 3)", "(None, None)", "<unknown>"
    ]  # fmt: skip


def test_several_arguments():
    f = tf.function(lambda x, y: x, reduce_retracing=True)
    calls = [((1, 3), (4,)), ((2, 3), (4,)), ((5, 3), (4,)), ((5, 3), (5,)), ((5, 3), (6,)),
             ((7, 3), (4,))]  # fmt: skip
    assert _counts(f, [_ones(*c) for c in calls]) == [1, 2, 2, 3, 3, 3]


def test_only_shapes_are_generalised():
    f = tf.function(lambda x, n: x * n, experimental_relax_shapes=True)
    x = tf.ones([3])
    assert _counts(f, [(x, n) for n in (1.0, 2.0, 3.0)]) == [1, 2, 3]
    # Another Python value is another kind of call: its sizes have not varied.
    f(tf.ones([4]), 4.0)
    assert f.concrete_functions[-1].outputs[0].shape == [4]


def test_structures_and_dtypes():
    f = tf.function(lambda d: d, reduce_retracing=True)
    assert _counts(f, [({"a": tf.ones([n])},) for n in range(1, 5)]) == [1, 2, 2, 2]
    assert _counts(f, [([tf.ones([n])],) for n in range(1, 5)]) == [3, 4, 4, 4]
    assert _counts(f, [(tf.ones([n], tf.int32),) for n in range(1, 4)]) == [5, 6, 6]


def test_sizes_that_varied_are_not_taken_for_equal():
    f = tf.function(lambda x, y: (tf.reshape(x, [-1]), y), reduce_retracing=True)
    f(*_ones((2,), (2,)))
    f(*_ones((3,), (3,)))
    x, y = f(*_ones((4,), (5,)))
    assert (x.shape, y.shape) == ([4], [5])
    assert f.experimental_get_tracing_count() == 2


def test_what_needs_a_rank_is_traced_for_each():
    def last(x):
        if x.shape.rank is None:
            raise ValueError("needs a rank")
        return tf.reduce_sum(x, axis=x.shape.rank - 1)

    f = tf.function(last, reduce_retracing=True)
    for shape in ((2,), (3,), (2, 3), (4, 3), (5, 5), (4,), (2, 2, 2), (2, 2, 3)):
        np.testing.assert_array_equal(f(tf.ones(shape)), np.ones(shape).sum(-1))
    traced = f.experimental_get_tracing_count()
    for shape in ((7,), (8, 9), (6, 3)):
        np.testing.assert_array_equal(f(tf.ones(shape)), np.ones(shape).sum(-1))
    assert f.experimental_get_tracing_count() == traced


def test_errors_of_the_function_itself_come_through():
    def broken(x):
        raise KeyError("mine")

    f = tf.function(broken, reduce_retracing=True)
    for shape in ((2,), (3,), (2, 3)):
        with pytest.raises(KeyError, match="mine"):
            f(tf.ones(shape))


def test_methods():
    class Model:
        @tf.function(reduce_retracing=True)
        def double(self, x):
            return x * 2.0

    model = Model()
    assert _counts(model.double, [_ones((n,)) for n in range(1, 5)]) == [1, 2, 2, 2]


def test_gradients_of_a_relaxed_trace():
    f = tf.function(lambda x: tf.reduce_sum(x * x), reduce_retracing=True)
    for n in range(1, 5):
        x = tf.constant(np.arange(n, dtype=np.float32))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        np.testing.assert_array_equal(tape.gradient(y, x), 2 * np.arange(n))
    assert f.experimental_get_tracing_count() == 2
