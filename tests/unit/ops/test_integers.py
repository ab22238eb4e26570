"""Integers near the limits of their dtypes: they wrap around, as in NumPy and TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

DTYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def _numbers(dtype):
    info = np.iinfo(dtype)
    near = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, info.max // 3]
    return np.array([*near, 0, 1, 2, 3, 77, 93], dtype)


def _wrapped(number, dtype):
    """A Python integer in a dtype."""
    bits = 8 * np.dtype(dtype).itemsize
    return np.array([number % 2**bits], np.uint64).astype(f"uint{bits}").view(dtype)[0]


def _ways(f, *arguments):
    yield f(*arguments)
    yield tf.function(f)(*map(tf.constant, arguments))
    unknown = [tf.TensorSpec(None, np.asarray(a).dtype) for a in arguments]
    yield tf.function(f, input_signature=unknown)(*arguments)


def _check(f, expected, *arguments):
    for found in _ways(f, *arguments):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers(dtype, rng):
    x, y = _numbers(dtype), rng.integers(0, 127, 12).astype(dtype)
    expected = [_wrapped(pow(int(a), int(b)), dtype) for a, b in zip(x, y, strict=True)]
    _check(tf.pow, np.array(expected, dtype), x, y)
    matrix = [[_wrapped(pow(int(a), int(b)), dtype) for b in y[:3]] for a in x]
    _check(tf.pow, np.array(matrix, dtype), x[:, None], y[:3])
    for exponent in (0, 1, 2, 3, 7, 64, 100):
        expected = [_wrapped(pow(int(a), exponent), dtype) for a in x]
        _check(lambda x, e=exponent: x**e, np.array(expected, dtype), tf.constant(x))
    _check(tf.square, np.array([_wrapped(int(a) ** 2, dtype) for a in x], dtype), x)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_negative_powers(dtype):
    # TensorFlow raises the same error.
    bad, fine = np.array([2, -1], dtype), np.array([2, 0], dtype)
    f = tf.function(tf.pow, input_signature=[tf.TensorSpec([2], dtype)] * 2)
    np.testing.assert_array_equal(f(bad, fine), [4, 1])
    for call in (tf.pow, f):
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative integer powers"):
            call(fine, bad)
    with pytest.raises(tf.errors.InvalidArgumentError, match="exponent -3"):
        tf.constant([3]) ** -3


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype):
    x = np.stack([_numbers(dtype)[::2], _numbers(dtype)[1::2], _numbers(dtype)[:6] | 1])
    for axis in (0, 1, (0, 1), (), None):
        expected = np.prod(x, axis, dtype)
        given = list(axis) if isinstance(axis, tuple) else axis
        _check(lambda x, a=given: tf.reduce_prod(x, a), np.asarray(expected), x)
        kept = np.prod(x, axis, dtype, keepdims=True)
        _check(lambda x, a=given: tf.reduce_prod(x, a, True), kept, x)
    _check(lambda x: tf.reduce_prod(x, -1), np.prod(x, -1, dtype), x)
    threes = np.full((2, 70), 3, dtype)
    _check(lambda x: tf.reduce_prod(x, 1), np.full(2, _wrapped(3**70, dtype)), threes)
    _check(lambda x: tf.reduce_prod(x, 1), np.ones(2, dtype), np.zeros((2, 0), dtype))


def test_products_of_shapes_stay_static():
    @tf.function(input_signature=[tf.TensorSpec([None, 3, 4])])
    def flat(x):
        return tf.reshape(x, [-1, tf.reduce_prod(tf.shape(x)[1:])])

    assert flat.get_concrete_function().output_shapes.as_list() == [None, 12]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_means_of_64_bits(dtype):
    x = np.array([[2**62, 2**62, 3], [2**53, 1, 1]]).astype(dtype)
    expected = np.array([(2**63 + 3) // 3 if dtype == np.uint64 else 0, (2**53 + 2) // 3])
    if dtype == np.int64:  # the sum wraps around, the quotient is truncated
        expected[0] = -((2**63 - 3) // 3)
    _check(lambda x: tf.reduce_mean(x, 1), expected.astype(dtype), x)
    _check(tf.reduce_mean, np.zeros((), dtype), np.zeros(0, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_of_nothing(dtype):
    info, nothing = np.iinfo(dtype), np.zeros((0, 2), dtype)
    _check(lambda x: tf.reduce_max(x, 0), np.full(2, info.min, dtype), nothing)
    _check(lambda x: tf.reduce_min(x, 0), np.full(2, info.max, dtype), nothing)


@pytest.mark.parametrize("dtype", DTYPES)
def test_shifts_beyond_the_width(dtype):
    # TensorFlow brings the amount into the range.
    x, bits = _numbers(dtype), 8 * np.dtype(dtype).itemsize
    for by in (0, 1, bits - 1, bits, 100, -1):
        if by < np.iinfo(dtype).min:
            continue
        amounts, places = np.full(x.shape, by, dtype), min(max(by, 0), bits - 1)
        left = np.array([_wrapped(int(a) << places, dtype) for a in x])
        _check(tf.bitwise.left_shift, left, x, amounts)
        _check(tf.bitwise.right_shift, np.array([int(a) >> places for a in x], dtype), x, amounts)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_relu(dtype):
    x = _numbers(dtype)
    _check(tf.nn.relu, np.maximum(x, 0), x)
    _check(tf.nn.relu6, np.clip(x, 0, 6), x)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_blocks(dtype):
    x = np.arange(32, dtype=dtype).reshape(2, 2, 2, 4) + dtype(np.iinfo(dtype).max - 40)
    deep = x.reshape(2, 2, 2, 2, 2, 1).transpose(0, 1, 3, 2, 4, 5).reshape(2, 4, 4, 1)
    np.testing.assert_array_equal(tf.nn.depth_to_space(x, 2), deep)
    np.testing.assert_array_equal(tf.nn.space_to_depth(deep, 2), x)
    raw = tf.raw.DepthToSpace(tf.constant(x.transpose(0, 3, 1, 2)), blocksize=2)
    np.testing.assert_array_equal(raw, deep.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("dtype", "wide"), [(np.int8, np.float32), (np.uint16, np.float32), (np.int32, np.float64)]
)
def test_linspace(dtype, wide):
    line = tf.linspace(tf.constant(3, dtype), tf.constant(100, dtype), 5)
    assert line.dtype == wide  # as in TensorFlow
    np.testing.assert_array_equal(line, [3, 27.25, 51.5, 75.75, 100])
