"""Shapes that broadcast, static and dynamic, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.agreement import check
from tfx.ops.common.broadcast_shapes import broadcast_dynamic_shape

PAIRS = [([1, 3], [5, 1, 3]), ([2, 1], [3]), ([], [4]), ([1], [0, 1]), ([7], [7]), ([], [])]


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_known_shapes(x: list[int], y: list[int]) -> None:
    expected = list(np.broadcast_shapes(tuple(x), tuple(y)))
    assert tf.broadcast_static_shape(tf.TensorShape(x), tf.TensorShape(y)) == expected
    for dtype in (np.int32, np.int64):
        shapes = [np.array(x, dtype), np.array(y, dtype)]
        check(broadcast_dynamic_shape, shapes, np.array(expected, dtype))


def test_unknown_dimensions() -> None:
    static = tf.broadcast_static_shape
    assert static(tf.TensorShape([None, 3]), tf.TensorShape([5, 1, 3])).as_list() == [5, None, 3]
    assert static(tf.TensorShape([None, 3]), tf.TensorShape([4, 3])) == [4, 3]
    assert static(tf.TensorShape(None), tf.TensorShape([4, 3])).rank is None


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3"):
        tf.broadcast_dynamic_shape([2], [3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32 or int64"):
        tf.broadcast_dynamic_shape([2.0], [3.0])
    late = tf.function(tf.broadcast_dynamic_shape, [tf.TensorSpec([None], tf.int32)] * 2)
    assert late([4, 1], [3, 1, 2]).numpy().tolist() == [3, 4, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        late([4, 3], [3, 1, 2])
