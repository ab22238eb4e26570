"""``unravel_index`` and ``invert_permutation`` against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.agreement import check


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("numbers", "dims"), [([2, 5, 7], [3, 3]), ([0, 23], [2, 3, 4]), ([], [2]), ([3], [4])]
)
def test_unravel_index(numbers: list[int], dims: list[int], dtype: Any) -> None:
    given = [np.array(numbers, dtype), np.array(dims, dtype)]
    expected = np.array(np.unravel_index(given[0].astype(np.int64), dims)).astype(dtype)
    check(tf.unravel_index, given, expected.reshape(len(dims), len(numbers)))


def test_unravel_a_scalar() -> None:
    check(tf.unravel_index, [np.int32(5), np.array([2, 3], np.int32)], np.array([1, 2], np.int32))


def test_unravel_what_is_not_there() -> None:
    for wrong in (6, -1):
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bound"):
            tf.unravel_index(wrong, [2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar or vector"):
        tf.unravel_index([[1, 2]], [2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32 or int64"):
        tf.unravel_index([1.0], [2.0])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("order", [[3, 4, 0, 2, 1], [0], []])
def test_invert_permutation(order: list[int], dtype: Any) -> None:
    given = np.array(order, dtype)
    check(tf.math.invert_permutation, [given], np.argsort(given).astype(dtype))


@pytest.mark.parametrize(
    ("order", "message"),
    [([1, 1], "1 is duplicated"), ([0, 2], "2 is not between 0 and 2"), ([[0]], "1D vector")],
)
def test_no_permutations(order: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.math.invert_permutation(order)


def test_numbers_of_unknown_rank() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None, tf.int32)])
    def coordinates(x: tf.Tensor) -> tf.Tensor:
        return tf.unravel_index(x, [3, 4])

    assert coordinates(5).numpy().tolist() == [1, 1]
    assert coordinates([5, 11]).numpy().tolist() == [[1, 2], [1, 3]]
