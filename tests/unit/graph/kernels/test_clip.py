"""``Clip`` behind ``Relu`` in every floating type: ONNX Runtime's fusion of the two takes two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_clip_of_relu(name: str) -> None:
    x = tf.cast(tf.constant([-1.0, 0.5, 2.0, 9.0, np.nan]), name)
    for low, high in ((0.75, 3.0), (-1.0, 3.0)):

        def run(x: Any, low: float = low, high: float = high) -> Any:
            return tf.clip_by_value(tf.nn.relu(x), low, high)

        wanted = np.clip(np.maximum([-1.0, 0.5, 2.0, 9.0, np.nan], 0), low, high)
        found = tf.function(run)(x)
        assert found.dtype.name == name
        np.testing.assert_array_equal(tf.cast(found, "float64"), wanted)
        np.testing.assert_array_equal(tf.cast(run(x), "float64"), wanted)


def test_relu6_of_relu_in_float64() -> None:
    x = tf.constant([-1.0, 7.0], "float64")
    np.testing.assert_array_equal(tf.function(lambda x: tf.nn.relu6(tf.nn.relu(x)))(x), [0.0, 6.0])
