"""Tensors as messages, and the events of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

VALUES: list[Any] = [
    [[1.5, 2.0]],
    3,
    ["a", "é"],
    True,
    np.arange(6, dtype=np.uint16),
    np.zeros((0, 2)),
]


@pytest.mark.parametrize("values", VALUES, ids=range(len(VALUES)))
def test_there_and_back(values: Any) -> None:
    expected = tf.constant(values).numpy()
    found = tf.make_ndarray(tf.make_tensor_proto(values))
    np.testing.assert_array_equal(found, expected)
    assert np.shape(found) == np.shape(expected)
    serialized = tf.make_tensor_proto(values).SerializeToString()
    np.testing.assert_array_equal(
        tf.io.parse_tensor(serialized, tf.constant(values).dtype), expected
    )


def test_shapes_and_dtypes() -> None:
    made = tf.make_tensor_proto(2, tf.float64, [2, 2], allow_broadcast=True)
    np.testing.assert_array_equal(tf.make_ndarray(made), np.full([2, 2], 2.0))
    assert tf.make_ndarray(tf.make_tensor_proto([1, 2], shape=[2, 1])).shape == (2, 1)
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.make_tensor_proto([1, 2], shape=[2, 1], verify_shape=True)
    with pytest.raises(ValueError, match="reshape"):
        tf.make_tensor_proto([1, 2], shape=[3])
    with pytest.raises(TypeError, match="a tensor of a graph"):
        tf.function(lambda x: tf.make_tensor_proto(x))(tf.constant(1))


def test_events_of_a_file(tmp_path: Path) -> None:
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        for step in range(3):
            tf.summary.scalar("loss", step * 0.5, step=step)
    (path,) = tmp_path.iterdir()
    found = [
        (event.step, value.tag, tf.make_ndarray(value.tensor).item())
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
    ]
    assert found == [(0, "loss", 0.0), (1, "loss", 0.5), (2, "loss", 1.0)]
