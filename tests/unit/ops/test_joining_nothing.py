"""Tensors without elements are joined like any others: their shapes must fit."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx import errors


@pytest.mark.parametrize(
    ("a", "b", "axis"),
    [((1, 0), (1, 2), 0), ((1, 2), (1, 0), 0), ((0, 3), (1, 2), 1), ((2, 0), (1, 2), 0)],
    ids=["front", "behind", "other_axis", "rows"],
)
def test_shapes_that_do_not_fit_are_refused(
    a: tuple[int, ...], b: tuple[int, ...], axis: int
) -> None:
    """ONNX Runtime joins them: what comes of it is what the memory held."""
    with pytest.raises(errors.InvalidArgumentError, match="must be equal"):
        tf.concat([tf.zeros(a), tf.ones(b)], axis)


def test_shapes_that_fit_are_joined() -> None:
    joined = tf.concat([tf.zeros([0, 2]), tf.ones([1, 2]), tf.zeros([0, 2])], 0)
    np.testing.assert_array_equal(joined, np.ones((1, 2), np.float32))
    assert tf.concat([tf.zeros([2, 0]), tf.zeros([2, 0])], 1).shape == (2, 0)


@pytest.mark.parametrize(
    ("a", "b", "axis"),
    [((1, 0), (1, 2), 0), ((1, 2), (1, 0), 0), ((0, 3), (1, 2), 1), ((2, 0), (1, 2), 0)],
    ids=["front", "behind", "other_axis", "rows"],
)
def test_shapes_that_only_a_run_knows_are_compared(
    a: tuple[int, ...], b: tuple[int, ...], axis: int
) -> None:
    spec = tf.TensorSpec([None, None])
    joined = tf.function(lambda x, y: tf.concat([x, y, x], axis), input_signature=[spec, spec])
    with pytest.raises(errors.InvalidArgumentError, match="differ in shape along another axis"):
        joined(tf.zeros(a), tf.ones(b))
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    np.testing.assert_array_equal(joined(x, y), np.concatenate([x, y, x], axis))
    empty = np.zeros((3, 0) if axis else (0, 3), np.float32)
    rest = np.ones((3, 3), np.float32)
    np.testing.assert_array_equal(joined(rest, empty), np.concatenate([rest, empty, rest], axis))
