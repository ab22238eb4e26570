"""Specs of values."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


@pytest.mark.parametrize(
    ("value", "shape", "dtype"),
    [
        (tf.constant([1, 2]), [2], tf.int32),
        (tf.Variable([1.0], shape=[None]), [None], tf.float32),
        (np.ones((2, 3)), [2, 3], tf.float64),
        ([1.0, 2.0], [2], tf.float32),
        (3, [], tf.int32),
    ],
    ids=str,
)
def test_type_spec_from_value(value, shape, dtype):
    assert tf.type_spec_from_value(value) == tf.TensorSpec(shape, dtype)


def test_no_spec():
    with pytest.raises(TypeError, match=r"Could not build a TypeSpec for .* of type object"):
        tf.type_spec_from_value(object())
