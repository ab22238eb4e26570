"""Dealing out and stitching rows, histograms and confusion matrices against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.agreement import check
from tfx.core.errors import InvalidArgumentError

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
PLACES = np.array([0, 2, 1, 0, 2, 2], np.int32)


def test_partition_and_stitch_are_inverse() -> None:
    check(
        lambda x, p: tf.dynamic_partition(x, p, 3), [X, PLACES], [X[i == PLACES] for i in range(3)]
    )

    def back(x: Any) -> Any:
        rows = tf.dynamic_partition(tf.range(6), PLACES, 3)
        parts = tf.dynamic_partition(x, PLACES, 3)
        return tf.dynamic_stitch(rows, [part * (i + 1.0) for i, part in enumerate(parts)])

    check(back, [X], X * (PLACES[:, None] + 1).astype(np.float32))
    tf.testing.check_grads(back, [tf.constant(X.astype(float))])


def test_later_rows_win_and_gaps_are_zeros() -> None:
    found = tf.dynamic_stitch([[0, 2], [4, 2]], [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(found, [1.0, 0.0, 4.0, 0.0, 3.0])


def test_histograms() -> None:
    values = np.array([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], np.float32)
    check(lambda x: tf.histogram_fixed_width(x, [0.0, 5.0], 5), [values], np.int32([2, 1, 1, 0, 2]))
    found = tf.histogram_fixed_width_bins([[1, 7], [9, 3]], [0, 10], 5)
    np.testing.assert_array_equal(found, [[0, 3], [4, 1]])


def test_confusion_matrix() -> None:
    found = tf.math.confusion_matrix(
        [1, 2, 4], [2, 2, 4], weights=[1.0, 2.0, 0.5], dtype=tf.float32
    )
    expected = np.zeros((5, 5), np.float32)
    expected[[1, 2, 4], [2, 2, 4]] = [1.0, 2.0, 0.5]
    np.testing.assert_array_equal(found, expected)
    assert tf.math.confusion_matrix([0, 1], [1, 1], num_classes=3).shape == (3, 3)


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda: tf.dynamic_partition(X, PLACES, 2), InvalidArgumentError, r"in \[0, 2\)"),
        (lambda: tf.dynamic_partition(X, PLACES, 0), ValueError, "above 0"),
        (lambda: tf.dynamic_partition(X, PLACES[:4], 3), InvalidArgumentError, "start with"),
        (lambda: tf.dynamic_stitch([[0]], []), InvalidArgumentError, "as many indices"),
        (lambda: tf.histogram_fixed_width([1.0], [2.0, 1.0]), InvalidArgumentError, "value_range"),
        (lambda: tf.math.confusion_matrix([3], [0], 2), InvalidArgumentError, "labels"),
    ],
    ids=["number", "count", "shape", "lists", "range", "class"],
)
def test_refused(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        f()


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_stitching_takes_the_last_row_of_a_place_and_refuses_negative_ones(wrap: Any) -> None:
    stitch = wrap(lambda a, b: tf.dynamic_stitch([a, [3]], [b, [["new"]]]))
    found = stitch(tf.constant([3, 0]), tf.constant([["old"], ["first"]]))
    assert found.numpy().tolist() == [[b"first"], [b""], [b""], [b"new"]]
    with pytest.raises(InvalidArgumentError, match="must not be negative"):
        stitch(tf.constant([3, -1]), tf.constant([["old"], ["first"]]))
