"""Extremes of numbers with NaN among them, small and large, of known and unknown shapes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tfx as tf

SHAPES = [(), (5,), (3, 4), (2, 60, 150)]  # the last is too large to be looked at as a whole
FILLINGS = {
    "nan": [np.nan],
    "nan and infinities": [np.nan, np.inf, -np.inf],
    "infinities": [np.inf, -np.inf],
    "overflow": [3e38, 3e38, -3e38, -3e38],
    "nothing": [],
}


def _filled(shape, values, dtype, rng):
    x = rng.normal(size=shape)
    count = min(len(values), x.size)
    places = rng.choice(x.size, count, replace=False)
    x.reshape(-1)[places] = values[:count]
    return np.asarray(x, dtype)


def _ways(f, x, axes):
    """Eagerly, traced, of unknown sizes, and of axes that are known at run time alone."""
    unknown = tf.TensorSpec([None] * x.ndim, x.dtype)
    yield f(x, axes)
    yield tf.function(lambda x: f(x, axes))(tf.constant(x))
    yield tf.function(lambda x: f(x, axes), input_signature=[unknown])(x)
    if axes is not None:
        yield tf.function(f)(tf.constant(x), tf.constant(axes))


@pytest.mark.parametrize(
    ("dtype", "filling"),
    [
        (d, f)
        for d in (np.float32, np.float64, np.float16)
        for f in FILLINGS
        if (d, f) != (np.float16, "overflow")  # those numbers are infinite
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions_pass_nan_on(shape, filling, dtype, rng):
    x = _filled(shape, FILLINGS[filling], dtype, rng)
    for axes in (None, [0], [x.ndim - 1], [0, x.ndim - 1]):
        if (axes is not None and len(set(axes)) < len(axes)) or (axes and not x.ndim):
            continue
        numpy_axes = None if axes is None else tuple(axes)
        for f, reference in ((tf.reduce_max, np.max), (tf.reduce_min, np.min)):
            for found in _ways(f, x, axes):
                np.testing.assert_array_equal(found, reference(x, axis=numpy_axes))
                assert found.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("filling", ["nan", "nan and infinities", "infinities"])
@pytest.mark.parametrize("shape", SHAPES[1:])
def test_positions_pass_over_nan(shape, filling, dtype, rng):
    x = _filled(shape, FILLINGS[filling] * 3, dtype, rng)
    for axis in range(x.ndim):
        for f, reference, worst in (
            (tf.argmax, np.argmax, -np.inf),
            (tf.argmin, np.argmin, np.inf),
        ):
            expected = reference(np.where(np.isnan(x), worst, x), axis)
            for found in itertools.islice(_ways(f, x, axis), 3):
                np.testing.assert_array_equal(found, expected)


def test_negative_nan():
    x = np.array([1.0, -np.nan, 2.0], np.float32)
    assert np.isnan(tf.reduce_max(x))
    assert np.isnan(tf.reduce_min(x))


def test_raw_axes_that_are_none():
    x = np.array([[1.0, np.nan], [3.0, 2.0]], np.float32)
    none = tf.constant([], tf.int64)
    assert np.isnan(tf.raw.ReduceMax(x, none))
    same = tf.raw.ReduceMax(x, none, noop_with_empty_axes=1)
    np.testing.assert_array_equal(same, x)

    @tf.function(input_signature=[tf.TensorSpec([2, 2]), tf.TensorSpec([None], tf.int64)])
    def largest(x, axes):
        return tf.raw.ReduceMax(x, axes, keepdims=0, noop_with_empty_axes=1)

    np.testing.assert_array_equal(largest(x, none), x)
    np.testing.assert_array_equal(largest(x, tf.constant([1], tf.int64)), [np.nan, 3])


def test_what_rests_on_extremes():
    x = np.array([[1, np.nan, 3], [2, 5, 4]], np.float32)
    np.testing.assert_array_equal(tf.norm(x, ord=np.inf, axis=1), [np.nan, 5])
    np.testing.assert_array_equal(tf.norm(x, ord=1, axis=[0, 1]), np.nan)
    assert np.isnan(tf.reduce_logsumexp(np.array([-np.inf, np.nan, np.inf, np.nan, -np.inf])))
    wide = tf.nn.log_softmax(x.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(wide), [[True] * 3, [False] * 3])


@pytest.mark.parametrize(
    ("f", "of_second"), [(tf.reduce_max, [0, 1, 0]), (tf.reduce_min, [1, 0, 0])]
)
def test_gradient_of_nan(f, of_second):
    # TensorFlow's too: no element equals NaN, and none of none is NaN.
    x = tf.constant([[1.0, np.nan, 3.0], [4.0, 6.0, 5.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, 1)
    np.testing.assert_array_equal(tape.gradient(y, x), [[np.nan] * 3, of_second])


@pytest.mark.parametrize(
    ("f", "to_x"), [(tf.maximum, [0, 0, 0, 1, 1]), (tf.minimum, [0, 0, 1, 0, 1])]
)
def test_gradient_of_a_pair_with_nan(f, to_x):
    # TensorFlow's: the second operand gets what the first one, by comparison, does not.
    x, y = tf.constant([np.nan, 1, 1, 3, 2]), tf.constant([1, np.nan, 2.0, 2, 2])
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y)
    dx, dy = tape.gradient(z, [x, y])
    np.testing.assert_array_equal(dx, to_x)
    np.testing.assert_array_equal(dy, 1 - np.array(to_x))
