"""``transpose``, ``reverse``, ``roll`` and ``reverse_sequence`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.agreement import check
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.graph.passes.pipeline import prepare
from tfx.ops.array.transpose import reverse, reverse_sequence, roll, transpose
from tfx.testing import assert_close, check_grads

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("perm", [None, [0, 1, 2], [2, 0, 1], (1, 2, 0), [-1, 0, 1]], ids=str)
def test_transpose(perm):
    check(lambda x: transpose(x, perm), [X], np.transpose(X, perm))
    check_grads(lambda x: transpose(x, perm) ** 2.0, [X + 1])


def test_transpose_of_little():
    assert_close(transpose(3.0), 3.0)
    assert_close(transpose([1, 2]), [1, 2])
    assert_close(transpose(X, constant([2, 1, 0]), conjugate=True), X.T)


@pytest.mark.parametrize(
    ("perm", "message"),
    [
        ([0], "transpose expects a vector of size 3. But input.1. is a vector of size 1"),
        ([0, 0, 1], "2 is missing from {0,0,1}"),
    ],
)
def test_bad_perms(perm, message):
    with pytest.raises(InvalidArgumentError, match=message):
        transpose(X, perm)


@pytest.mark.parametrize("axes", [[0], [1, 2], [-1], [0, 1, 2], []], ids=str)
def test_reverse(axes):
    check(lambda x: reverse(x, axes), [X], np.flip(X, axes))
    check_grads(lambda x: reverse(x, axes) ** 2.0, [X + 1])


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ([0, 0], "axis 0 specified more than once"),
        ([0, -3], "axis 0 specified more than once"),
        (0, "'dims' must be 1-dimension, not 0"),
        ([3], r"range \[-3, 3\), but got 3"),
    ],
    ids=str,
)
def test_bad_reverses(axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        reverse(X, axis)


@pytest.mark.parametrize(
    ("shift", "axis"),
    [(1, 0), (-1, 2), (5, 1), (0, 1), ([1, -2], [0, 2]), ([1, 1], [1, 1]), (-7, -1)],
    ids=str,
)
def test_roll(shift, axis):
    expected = np.roll(X, shift, axis)
    check(lambda x: roll(x, shift, axis), [X], expected)
    check(lambda x, s: roll(x, s, axis), [X, np.array(shift)], expected)
    check_grads(lambda x: roll(x, shift, axis) ** 2.0, [X + 1])


def test_roll_of_nothing():
    empty = np.zeros((2, 0), np.float32)
    check(lambda x: roll(x, 3, 1), [empty], empty)


@pytest.mark.parametrize(
    ("shift", "axis", "message"),
    [(1, [0, 1], "shift and axis must have the same size"), (1, 5, "but got 5")],
)
def test_bad_rolls(shift, axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        roll(X, shift, axis)


def _reversed(x, lengths, seq_axis, batch_axis):
    y = np.moveaxis(x, (batch_axis, seq_axis), (0, 1)).copy()
    for i, n in enumerate(lengths):
        y[i, :n] = y[i, :n][::-1]
    return np.moveaxis(y, (0, 1), (batch_axis, seq_axis))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("seq_axis", "batch_axis"), [(1, 0), (0, 1), (2, 0), (1, 2), (0, 2), (-1, -3)]
)
def test_reverse_sequence(seq_axis, batch_axis, dtype, rng):
    lengths = rng.integers(0, X.shape[seq_axis] + 1, X.shape[batch_axis]).astype(dtype)

    def f(x, n):
        return reverse_sequence(x, n, seq_axis, batch_axis)

    check(f, [X, lengths], _reversed(X, lengths, seq_axis, batch_axis))
    check_grads(lambda x: f(x, lengths) ** 2.0, [X + 1])


@pytest.mark.parametrize(
    ("lengths", "axis", "message"),
    [
        ([2, 5], 1, r"seq_lens\(1\) = 5 must be in \[0, 3\]"),
        ([1], 1, r"Length of seq_lens"),
        ([1, 1], 0, "batch_dim == seq_dim == 0"),
        ([1, 1], 7, "but got 7"),
    ],
)
def test_bad_sequences(lengths, axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        reverse_sequence(X, lengths, axis)


def test_the_sequence_axis_is_needed():
    with pytest.raises(ValueError, match="needs seq_axis"):
        reverse_sequence(X, [1, 1])


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "uint16", "int64", "bool"]
)
def test_dtypes(dtype):
    x = constant(X % 2 == 0 if dtype == "bool" else X, dtype)
    a = np.asarray(x)
    assert_close(transpose(x), a.T)
    assert_close(reverse(x, [1]), a[:, ::-1])
    assert_close(roll(x, 1, 1), np.roll(a, 1, 1))
    assert_close(reverse_sequence(x, [2, 3], 1), _reversed(a, [2, 3], 1, 0))


def test_gradients_of_transpositions_cancel_out():
    """Of a transposition of a transposition one is left, or none; what tapes record stays."""

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.transpose(x, [0, 2, 1])
            z = tf.transpose(tf.sin(y), [2, 1, 0]) * 2.0
            z = tf.transpose(tf.transpose(z, [1, 2, 0]), [0, 2, 1])
        return tape.gradient(z, x)

    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 10
    concrete = tf.function(gradient).get_concrete_function(x)
    assert_close(concrete(x), 2 * np.cos(x))
    plan = [n.op for n in prepare(concrete.graph.graph).nodes]
    assert plan.count("Transpose") == 2  # to the sine's axes, and from there to the argument's


def test_transpositions_have_second_derivatives(rng):
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)

    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.transpose(tf.transpose(x, [2, 0, 1]) ** 3, [1, 2, 0])
            slope = inner.gradient(y, x)
            z = tf.sin(tf.transpose(slope))
        return slope, outer.gradient(z, x)

    for slope, found in (second(tf.constant(x)), tf.function(second)(tf.constant(x))):
        assert_close(slope, 3 * x**2, rtol=1e-5)
        assert_close(found, 6 * x * np.cos(3 * x**2), rtol=1e-4, atol=1e-4)
