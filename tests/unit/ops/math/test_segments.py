"""Reductions over segments against a plain loop in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.agreement import check
from tfx.core.errors import InvalidArgumentError

X = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
IDS = np.array([2, 0, -1, 2, 0, 2], np.int32)
SORTED = np.array([0, 0, 1, 3, 3, 3], np.int32)
BIG = np.finfo(np.float32)
# What is reduced, how, and what a segment without rows has: unsorted and sorted.
KINDS: dict[str, tuple[Any, float, float]] = {
    "sum": (lambda r: r.sum(0), 0.0, 0.0),
    "prod": (lambda r: r.prod(0), 1.0, 1.0),
    "mean": (lambda r: r.mean(0), 0.0, 0.0),
    "max": (lambda r: r.max(0), float(BIG.min), 0.0),
    "min": (lambda r: r.min(0), float(BIG.max), 0.0),
    "sqrt_n": (lambda r: r.sum(0) / np.sqrt(np.float32(len(r))), 0.0, 0.0),
}


def _expected(name: str, ids: np.ndarray, count: int, *, ordered: bool) -> np.ndarray:
    reduce, *empty = KINDS[name]
    blank = np.full(2, empty[ordered], np.float32)
    return np.stack([reduce(X[ids == i]) if (ids == i).any() else blank for i in range(count)])


@pytest.mark.parametrize("name", KINDS)
def test_unsorted(name: str) -> None:
    reduce = getattr(tf.math, f"unsorted_segment_{name}")
    expected = _expected(name, IDS, 4, ordered=False)
    check(lambda x, ids: reduce(x, ids, 4), [X, IDS], expected)
    check(lambda x, ids: reduce(x, ids, 4), [X, IDS.astype(np.int64)], expected)


@pytest.mark.parametrize("name", [k for k in KINDS if k != "sqrt_n"])
def test_sorted(name: str) -> None:
    check(
        getattr(tf.math, f"segment_{name}"), [X, SORTED], _expected(name, SORTED, 4, ordered=True)
    )


@pytest.mark.parametrize("name", KINDS)
def test_gradients(name: str) -> None:
    reduce = getattr(tf.math, f"unsorted_segment_{name}")
    ids = np.array([2, 0, -1, 2, 1, 2])
    tf.testing.check_grads(lambda x: reduce(x, ids, 3), [tf.constant(X.astype(float))])


@pytest.mark.parametrize("zeros", [[0], [0, 3], [0, 3, 5]], ids=["one", "two", "all"])
def test_products_with_zeros(zeros: list[int]) -> None:
    x = X.astype(float)
    x[zeros] = 0.0

    def prod(v: Any) -> Any:
        return tf.math.unsorted_segment_prod(v, IDS, 3)

    tf.testing.check_grads(prod, [tf.constant(x)], order=1)


def test_ids_of_two_axes_and_no_rows() -> None:
    ids = np.array([[0, 1], [1, 1], [2, 0]])
    x = X.reshape(3, 2, 2)
    found = tf.math.unsorted_segment_sum(x, ids, 3)
    expected = [x[ids == i].sum(0) for i in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert tf.math.unsorted_segment_sum(tf.zeros([0, 2]), tf.zeros([0], tf.int32), 3).shape == (
        3,
        2,
    )
    assert tf.math.segment_max(tf.zeros([0, 2]), tf.zeros([0], tf.int32)).shape == (0, 2)


def test_of_each_element() -> None:
    both = tf.stack([X, 2 * X])
    found = tf.vectorized_map(lambda x: tf.math.unsorted_segment_sum(x, IDS, 3), both)
    one = tf.math.unsorted_segment_sum(X, IDS, 3).numpy()
    np.testing.assert_allclose(found, [one, 2 * one], rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: tf.math.unsorted_segment_sum(X, IDS + 2, 3), r"= 4 is out of range \[0, 3\)"),
        (lambda: tf.math.unsorted_segment_sum(X, IDS[:3], 3), "one number for each row"),
        (lambda: tf.math.unsorted_segment_sum(X, X[:, 0], 3), "int32 or int64"),
        (lambda: tf.math.segment_sum(X, IDS), "not increasing"),
        (lambda: tf.math.segment_sum(X, IDS[:, None]), "should be a vector"),
    ],
    ids=["range", "shape", "dtype", "order", "rank"],
)
def test_refused(f: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        f()


def test_a_number_out_of_range_in_a_function() -> None:
    for bad in (3, 4):
        f = tf.function(lambda ids: tf.math.unsorted_segment_sum(X, ids, 3), autograph=False)
        with pytest.raises(InvalidArgumentError):
            f(tf.constant([0, 1, 2, 0, 1, bad]))


def test_sorted_segments_of_infinities():
    # TensorFlow 2.21: the limits of the dtype are for segments of the unsorted ones alone.
    x = np.array([-np.inf, -np.inf, np.inf, np.inf], np.float32)
    np.testing.assert_array_equal(tf.math.segment_max(x, [0, 0, 2, 2]), [-np.inf, 0, np.inf])
    np.testing.assert_array_equal(tf.math.segment_min(x, [0, 0, 2, 2]), [-np.inf, 0, np.inf])
    lowest = np.finfo(np.float32).min
    np.testing.assert_array_equal(
        tf.math.unsorted_segment_max(x, [0, 0, 2, 2], 2 + 1), [lowest, lowest, np.inf]
    )


SIGNATURE = [tf.TensorSpec(None), tf.TensorSpec(None, tf.int32)]


def of_unknown_rank(f: Any) -> Any:
    return tf.function(f, autograph=False, input_signature=SIGNATURE)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "mean", "sqrt_n"])
@pytest.mark.parametrize("shape", [(6,), (2, 3)], ids=["vector", "matrix"])
def test_numbers_of_unknown_rank(kind: str, shape: tuple[int, ...]) -> None:
    f = getattr(tf.math, f"unsorted_segment_{kind}")
    ids, data = np.abs(IDS).reshape(shape), X.reshape(*shape, 2)
    found = of_unknown_rank(lambda x, i: f(x, i, 3))(data, ids)
    np.testing.assert_allclose(found, f(data, ids, 3), rtol=1e-6)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "mean"])
def test_sorted_numbers_of_unknown_rank(kind: str) -> None:
    f = getattr(tf.math, f"segment_{kind}")
    g = of_unknown_rank(f)
    np.testing.assert_allclose(g(X, SORTED), f(X, SORTED), rtol=1e-6)
    for bad in (SORTED[None], SORTED[:3], IDS):  # a matrix, too few, not in order
        with pytest.raises(InvalidArgumentError):
            g(X, bad)


def test_numbers_of_unknown_rank_that_do_not_fit() -> None:
    g = of_unknown_rank(lambda x, i: tf.math.unsorted_segment_sum(x, i, 3))
    for bad in (np.zeros([2, 6], np.int32), np.zeros([5], np.int32), np.zeros([6, 1], np.int32)):
        with pytest.raises(InvalidArgumentError):
            g(X, bad)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "bool", "int16"])
def test_numbers_that_are_no_indices(dtype: str) -> None:
    ids = SORTED.astype(dtype)
    for error in (InvalidArgumentError, TypeError):  # TensorFlow: one eagerly, the other in graphs
        with pytest.raises(error, match="int32 or int64"):
            tf.math.segment_sum(X, ids)


def test_means_of_integers_are_floats():
    found = tf.math.unsorted_segment_mean([1, 2, 5], [0, 0, 2], 3)
    assert found.dtype is tf.float64
    np.testing.assert_array_equal(found, [1.5, 0, 5])


@pytest.mark.parametrize("kind", ["sum", "mean", "sqrt_n"])
@pytest.mark.parametrize("ids", [[0, 1, 0], [-1, 0, 1], [0, 0, 3]], ids=["order", "below", "above"])
def test_chosen_rows_of_segments_out_of_order(kind: str, ids: list[int]) -> None:
    f = getattr(tf.sparse, f"segment_{kind}")
    with pytest.raises(InvalidArgumentError):
        f(X, [0, 1, 3], ids, num_segments=2)


def test_means_of_complex_numbers() -> None:
    z = np.array([3 + 4j, 2j, 1 - 1j])
    np.testing.assert_allclose(tf.math.segment_mean(z, [0, 0, 2]), [1.5 + 3j, 0, 1 - 1j])
    np.testing.assert_allclose(tf.math.unsorted_segment_mean(z, [1, 1, 1], 2), [0, z.mean()])
