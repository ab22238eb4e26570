"""Segments, parts and products of rows, and texts of ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

ROWS = tf.ragged.constant([[3, 1, 4, 1], [], [5, 9, 2], [6], []])
# Looked up where ragged tensors are known already.
math, strings = tf.math, tf.strings


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [[8, 10, 6, 1], [6]]),
        ("max", [[5, 9, 4, 1], [6]]),
        ("min", [[3, 1, 2, 1], [6]]),
        ("prod", [[15, 9, 8, 1], [6]]),
        ("mean", [[4, 5, 3, 1], [6]]),
        ("sqrt_n", [[8 / 2**0.5, 10 / 2**0.5, 6 / 2**0.5, 1], [6]]),
    ],
)
def test_segments_of_rows(name: str, expected: list[list[float]]) -> None:
    x = tf.cast(ROWS, tf.float32)
    operation = getattr(math, f"unsorted_segment_{name}")
    for run in (operation, tf.function(operation)):
        found = run(x, [0, 1, 0, 1, 0], 2)
        assert [len(row) for row in found.to_list()] == [4, 1]
        np.testing.assert_allclose(found.flat_values, np.concatenate(expected), rtol=1e-6)


def test_segments_of_deeper_rows() -> None:
    x = tf.ragged.constant([[[1, 2], [3]], [[4]], [[5, 6, 7]]])
    found = math.unsorted_segment_sum(x, [2, 0, 2], 3)
    assert found.to_list() == [[[4]], [], [[6, 8, 7], [3]]]
    with pytest.raises(ValueError, match="a number for each of its rows"):
        math.unsorted_segment_sum(tf.constant([1]), ROWS, 2)


def test_segments_of_elements() -> None:
    x, numbers = tf.ragged.constant([[1, 2], [3], [4, 5, 6]]), [[0, 1], [1], [0, 1, 1]]
    for run in (math.unsorted_segment_sum, tf.function(math.unsorted_segment_sum)):
        assert run(x, tf.ragged.constant(numbers), 2).numpy().tolist() == [5, 16]
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(x, tf.ragged.constant([[0], [1, 1], [0, 1, 1]]), 2)
    deep = tf.ragged.constant([[[1, 2], [3]], [[4]]])
    found = math.unsorted_segment_max(deep, tf.ragged.constant([[0, 1], [0]]), 2)
    assert found.to_list() == [[4, 2], [3]]


def test_parts() -> None:
    x = tf.ragged.constant([[1, 2], [3], [], [4, 5, 6]])
    assert [p.to_list() for p in tf.split(x, 2)] == [[[1, 2], [3]], [[], [4, 5, 6]]]
    parts = tf.split(x, [1, -1, 1])
    assert [p.to_list() for p in parts] == [[[1, 2]], [[3], []], [[4, 5, 6]]]
    assert [p.shape.as_list() for p in parts] == [[1, None], [2, None], [1, None]]
    uniform = tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1)
    assert [p.to_list() for p in tf.split(uniform, 2, axis=2)] == [
        [[[1], [3]], [[5]]],
        [[[2], [4]], [[6]]],
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match="4 rows of a ragged tensor into 3"):
        tf.split(x, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not add up to the 4 rows"):
        tf.split(x, [1, 1])
    with pytest.raises(ValueError, match="must be 0, or behind the ragged axes"):
        tf.split(x, 2, axis=1)


def test_products() -> None:
    a = tf.ragged.constant([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0]]], ragged_rank=1)
    b = tf.ragged.constant([[[1.0], [1.0]], [[1.0], [2.0]]], ragged_rank=1)
    for run in (tf.matmul, tf.function(lambda x, y: tf.matmul(x, y))):
        assert run(a, tf.ones([2, 2, 1])).to_list() == [[[3.0], [7.0]], [[2.0]]]
        assert run(a, b).to_list() == [[[3.0], [7.0]], [[3.0]]]
        assert run(tf.ones([2, 1, 2]), b).to_list() == [[[2.0]], [[3.0]]]
    with pytest.raises(ValueError, match="no transpose"):
        tf.matmul(a, b, transpose_a=True)
    with pytest.raises(ValueError, match="rank 3"):
        tf.matmul(tf.ragged.constant([[1.0]]), tf.ones([1, 1]))


def test_texts_of_code_points() -> None:
    texts = ["héllo", "", "语言 😊"]
    points = strings.unicode_decode(texts, "UTF-8")
    for run in (strings.unicode_encode, tf.function(lambda *a: strings.unicode_encode(*a))):
        found: Any = run(points, "UTF-8")
        assert [t.decode() for t in found.numpy()] == texts
    found = strings.unicode_encode(tf.ragged.constant([[[72], [105, 106]], [[72]]]), "UTF-16-BE")
    assert found.to_list() == [[b"\0H", b"\0i\0j"], [b"\0H"]]
    wrong = tf.ragged.constant([[72], [0xD800]])
    assert strings.unicode_encode(wrong, "UTF-8", errors="ignore").numpy().tolist() == [b"H", b""]
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range for Unicode"):
        strings.unicode_encode(wrong, "UTF-8", errors="strict")


def test_tensors_in_texts() -> None:
    words = tf.ragged.constant([["b", "a"], ["c"]])
    assert strings.format("a {} b {}", (words, 1)).numpy() == b"a [['b', 'a'], ['c']] b 1"
    written = tf.function(lambda x: strings.format("<{}>", x, summarize=2))
    assert written(ROWS).numpy() == b"<[[3, 1, 4, 1], [], ..., [6], []]>"
    assert written(tf.ragged.constant([[1, 2, 3, 4, 5]])).numpy() == b"<[[1, 2, ..., 4, 5]]>"
    others = (tf.ragged.constant([[1.5]]), tf.ragged.constant([[True]]), [["a'b\\c"]])
    assert strings.format("{}{}{}", (*others[:2], tf.ragged.constant(others[2]))).numpy() == (
        rb"[[1.500000]][[true]][['a\'b\\c']]"
    )
    with pytest.raises(ValueError, match="do not match 2 tensor"):
        strings.format("{}", (words, 1))


def test_assertions() -> None:
    debugging = tf.debugging
    debugging.assert_equal(ROWS, ROWS)
    debugging.assert_greater(ROWS, 0)
    debugging.assert_near(tf.cast(ROWS, tf.float32), tf.cast(ROWS, tf.float32))
    tf.function(lambda x: debugging.assert_less(x, 10))(ROWS)
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        debugging.assert_less(ROWS, 9, message="too large")
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(lambda x: debugging.assert_less(x, 9))(ROWS)
    with pytest.raises(tf.errors.InvalidArgumentError):
        debugging.assert_equal(ROWS, tf.ragged.constant([[3], [1], [4], [1], [5]]))
