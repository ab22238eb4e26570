"""bitcast, nextafter and the parts of complex numbers against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.testing import assert_close


@pytest.mark.parametrize(
    ("source", "target", "shape"),
    [
        ("float32", "uint32", (2, 4)),
        ("float32", "int64", (2, 2)),
        ("float64", "int8", (2, 4)),
        ("uint8", "float32", (3, 4)),
        ("int32", "complex64", (3, 2)),
        ("complex128", "float64", (3,)),
        ("float16", "int16", ()),
        ("int16", "uint8", ()),
    ],
)
def test_bitcast(source, target, shape, rng):
    x = rng.integers(0, 100, shape).astype(source)
    flat = np.frombuffer(x.tobytes(), target)
    found = tf.bitcast(tf.constant(x), getattr(tf, target))
    assert found.dtype.name == target
    np.testing.assert_array_equal(found.numpy().reshape(-1), flat)
    wide, narrow = np.dtype(source).itemsize, np.dtype(target).itemsize
    expected = (*shape, wide // narrow) if wide > narrow else shape
    assert found.shape == (shape[:-1] if narrow > wide else expected)


def test_bitcast_in_a_function():
    spec = [tf.TensorSpec([None, None], tf.float32)]
    f = tf.function(lambda x: tf.bitcast(x, tf.uint8), input_signature=spec)
    assert f.get_concrete_function().output_shapes == (None, None, 4)
    assert_close(f([[1.0, 2.0]]), [[[0, 0, 128, 63], [0, 0, 0, 64]]])


@pytest.mark.parametrize(
    ("value", "target"),
    [([1.0, 2.0, 3.0], tf.int64), (1.0, tf.complex128), (True, tf.uint8), (1, tf.string)],
)
def test_bitcast_of_what_does_not_fit(value, target):
    with pytest.raises(InvalidArgumentError, match="Cannot bitcast from"):
        tf.bitcast(value, target)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nextafter(dtype):
    a, b = np.array([[1.0], [0.0]], dtype), np.array([2.0, -np.inf, 0.0], dtype)
    np.testing.assert_array_equal(tf.math.nextafter(a, b).numpy(), np.nextafter(a, b))
    np.testing.assert_array_equal(tf.function(tf.math.nextafter)(a, b), np.nextafter(a, b))


def test_nextafter_of_integers():
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by NextAfter"):
        tf.math.nextafter(1, 2)


@pytest.mark.parametrize("name", ["conj", "real", "imag", "angle"])
def test_parts(name):
    f, reference = getattr(tf.math, name), getattr(np, name)
    z = np.array([1 + 2j, -3 - 0.5j, 0], np.complex64)
    assert_close(f(z), reference(z))
    x = np.array([-2.0, 0.0, 3.0], np.float32)
    assert_close(f(x), reference(x).astype(np.float32))
    assert_close(tf.function(f)(x), f(x))
    assert f(x).dtype == tf.float32


@pytest.mark.parametrize(("part", "whole"), [("float32", "complex64"), ("float64", "complex128")])
def test_complex(part, whole):
    a, b = np.array([[1.0], [np.nan]], part), np.array([2.0, np.inf], part)
    found = tf.complex(a, b)
    assert found.dtype.name == whole
    np.testing.assert_array_equal(tf.math.real(found), np.broadcast_to(a, (2, 2)))
    np.testing.assert_array_equal(tf.math.imag(found), np.broadcast_to(b, (2, 2)))
    np.testing.assert_array_equal(tf.function(tf.complex)(a, b), found)
    assert tf.dtypes.complex is tf.complex


@pytest.mark.parametrize("imag", [1, tf.constant(1.0, tf.float64)])
def test_complex_of_other_parts(imag):
    with pytest.raises(TypeError):
        tf.complex(tf.constant(1.0) if tf.is_tensor(imag) else 1, imag)


def test_the_gradient_of_real_numbers_passes_through():
    x = tf.constant([2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.real(x) * tf.math.conj(x)
    assert_close(tape.gradient(y, x), [4.0])
