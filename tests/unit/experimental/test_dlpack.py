"""Tensors to and from capsules."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool"]


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype, shape, rng):
    x = tf.cast(rng.integers(0, 2, shape), dtype)
    found = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x))
    assert found.dtype is x.dtype
    np.testing.assert_array_equal(found, x)


def test_a_capsule_is_used_once():
    capsule = tf.experimental.dlpack.to_dlpack([1.0, 2.0])
    tf.experimental.dlpack.from_dlpack(capsule)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not been used yet"):
        tf.experimental.dlpack.from_dlpack(capsule)
    with pytest.raises(tf.errors.InvalidArgumentError, match="capsule named"):
        tf.experimental.dlpack.from_dlpack(3)


def test_contents_are_a_copy():
    array = np.arange(3.0)
    y = tf.experimental.dlpack.from_dlpack(array.__dlpack__())
    array[0] = 7
    assert y.numpy().tolist() == [0, 1, 2]


def test_a_traced_tensor_has_no_capsule():
    with pytest.raises(TypeError, match="outside of"):
        tf.function(tf.experimental.dlpack.to_dlpack)(tf.constant(1.0))
