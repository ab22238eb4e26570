"""``sort``, ``argsort``, ``top_k``, ``in_top_k`` and ``searchsorted`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.agreement import check
from tests.unit.ops.number_types import NUMBERS
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.array.sort import (
    approx_max_k,
    approx_min_k,
    argsort,
    in_top_k,
    searchsorted,
    sort,
    top_k,
)
from tfx.testing import assert_close, check_grads


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(5, 4), (1, 3), (2, 0)])
def test_sort_and_argsort(shape, axis, direction, rng):
    x = rng.integers(0, 4, shape).astype(np.float32)  # many ties
    sign = -1 if direction == "DESCENDING" else 1
    order = np.argsort(sign * x, axis, kind="stable")
    check(lambda x: sort(x, axis, direction), [x], np.take_along_axis(x, order, axis))
    check(lambda x: argsort(x, axis, direction), [x], order.astype(np.int32))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_dtypes(dtype):
    values = [3, 1, 2, 1] if dtype.startswith(("u", "f", "bf")) else [3, -1, 2, -1]
    x = constant(values, dtype)
    assert_close(sort(x), constant(sorted(values), dtype))
    assert_close(sort(x, direction="DESCENDING"), constant(sorted(values)[::-1], dtype))
    assert argsort(x).numpy().tolist() == [1, 3, 2, 0]
    result = top_k(x, 2)
    assert_close(result.values, constant([3, 2], dtype))
    assert result.indices.numpy().tolist() == [0, 2]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint32", "uint64"])
def test_the_ends_of_the_range(dtype):
    info = np.iinfo(dtype)
    x = np.array([0, info.max, info.min, info.max - 1], dtype)
    assert_close(sort(x), np.sort(x))
    assert_close(sort(x, direction="DESCENDING"), np.sort(x)[::-1])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.0,), InvalidArgumentError, r"range \[0, 0\)"),
        (([1.0], 2), InvalidArgumentError, "but got 2"),
        (([1.0], -1, "UP"), ValueError, "should be one of ASCENDING, DESCENDING"),
        (([True],), InvalidArgumentError, "bool is not allowed by sort"),
        ((["a"],), InvalidArgumentError, "string is not allowed by sort"),
    ],
)
def test_bad_sorts(arguments, error, message):
    for f in (sort, argsort):
        with pytest.raises(error, match=message):
            f(*arguments)


def test_sort_gradients(rng):
    x = rng.permutation(12).reshape(3, 4).astype(np.float64)
    for axis in (0, 1):
        check_grads(lambda x, a=axis: sort(x, a) ** 2.0 * np.arange(12.0).reshape(3, 4), [x])


# top_k


@pytest.mark.parametrize("k", [0, 1, 3, 5])
@pytest.mark.parametrize("shape", [(5,), (2, 5), (2, 0, 5)])
def test_top_k(shape, k, rng):
    x = rng.integers(0, 4, shape).astype(np.float32)
    order = np.argsort(-x, -1, kind="stable")[..., :k]
    expected = (np.take_along_axis(x, order, -1), order.astype(np.int32))
    check(lambda x: top_k(x, k), [x], expected)
    check(lambda x, k: top_k(x, k), [x, np.array(k, np.int32)], expected)


def test_top_k_unsorted_and_index_types():
    result = top_k([1.0, 4.0, 2.0, 3.0], 3, sorted=False)
    assert sorted(result.values.numpy()) == [2.0, 3.0, 4.0]
    for kind in ("int16", "int64"):
        assert top_k([1.0, 4.0], index_type=kind).indices.dtype == kind


def test_top_k_gradient():
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = top_k(x, 2).values
            y = y * y
        return tape.gradient(y, x)

    x = np.array([[1.0, 4.0, 3.0], [2.0, 0.0, 1.0]])
    check(f, [x], np.array([[0.0, 8.0, 6.0], [4.0, 0.0, 2.0]]))
    check_grads(lambda x: top_k(x, 2).values ** 2.0, [x])


def test_indices_have_no_gradient():
    x = constant([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = top_k(x).indices
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], 3), "input must have at least k columns. Had 2, needed 3"),
        (([1.0], -1), "Need k >= 0, got -1"),
        ((1.0,), "input must be >= 1-D"),
        (([1.0], 1, True, "float32"), "Value for attr 'index_type' of float32"),
        (([True],), "bool is not allowed by TopKV2"),
    ],
)
def test_bad_top_k(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        top_k(*arguments)


def test_too_large_a_k_at_run_time():
    with pytest.raises(InvalidArgumentError):
        run_traced(lambda x: top_k(x, 3), np.array([1.0, 2.0]))


# in_top_k: results noted from TensorFlow


@pytest.mark.parametrize(
    ("targets", "predictions", "k", "expected"),
    [
        ([1, 0, 7, -1], [[0.1, 0.2]] * 4, 1, [True, False, False, False]),
        ([0, 1], [[0.2, 0.2]] * 2, 1, [True, True]),
        ([0, 1], [[np.nan, 0.2]] * 2, 2, [False, False]),
        ([0, 1], [[np.inf, 0.2]] * 2, 2, [False, False]),
        ([1], [[-np.inf, 0.2]], 1, [False]),
        ([1], [[0.1, 0.2]], 0, [False]),
        ([2, 0], [[0.3, 0.1, 0.2]] * 2, 2, [True, True]),
    ],
)
def test_in_top_k(targets, predictions, k, expected):
    args = [np.array(targets, np.int32), np.array(predictions, np.float32)]
    check(lambda t, p: in_top_k(t, p, k), args, np.array(expected))


# searchsorted

_NUMBERS = st.lists(st.integers(-5, 5), max_size=12)


@given(_NUMBERS, _NUMBERS, st.sampled_from(["left", "right"]))
def test_searchsorted(sequence, values, side):
    a, v = np.sort(np.array(sequence, np.float32)), np.array(values, np.float32)
    result = searchsorted(a, v, side)
    assert result.dtype == "int32"
    assert_close(result, np.searchsorted(a, v, side))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "bfloat16", "uint8"])
def test_searchsorted_rows(side, dtype, rng):
    a = np.sort(rng.integers(0, 9, (2, 3, 6)), -1)
    v = rng.integers(0, 9, (2, 3, 4))
    expected = np.stack(
        [
            np.searchsorted(x, y, side)
            for x, y in zip(a.reshape(-1, 6), v.reshape(-1, 4), strict=True)
        ]
    ).reshape(v.shape)
    result = searchsorted(
        constant(a.astype(np.int32), dtype),
        constant(v.astype(np.int32), dtype),
        side,
        out_type="int64",
    )
    assert_close(result, expected)
    if dtype == "int64":
        check(lambda a, v: searchsorted(a, v, side), [a, v], expected.astype(np.int32))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1], [0], "middle"), ValueError, "`side` must be either 'right' or 'left'"),
        (([1.0], [2]), InvalidArgumentError, "cannot compute searchsorted"),
        (([1], 2), InvalidArgumentError, "rank 1 or more"),
        (([1, 2], [[1], [2]]), InvalidArgumentError, "Leading dim_size of both tensors must match"),
    ],
)
def test_bad_searches(arguments, error, message):
    with pytest.raises(error, match=message):
        searchsorted(*arguments)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_approximate_extremes_are_exact(axis, rng):
    x = rng.normal(size=(5, 6)).astype(np.float32)
    order = np.argsort(x, axis)
    for f, places in ((approx_min_k, order), (approx_max_k, np.flip(order, axis))):
        expected = np.take(places, [0, 1, 2], axis)
        values, indices = f(x, 3, axis)
        assert indices.dtype.name == "int32"
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, axis))
        check_grads(lambda x, f=f: f(x, 3, axis)[0], [x.astype(np.float64)])


def test_approximate_extremes_of_what_does_not_fit():
    for x, k in (([1, 2], 1), (1.0, 1), ([1.0], 2)):
        with pytest.raises(InvalidArgumentError):
            approx_max_k(x, k)


def test_what_leads_the_last_axis_counts_as_rows() -> None:
    sequences, values = tf.constant([[1, 5], [2, 4]]), tf.constant([[[1, 3]], [[4, 9]]])
    assert tf.searchsorted(sequences, values).numpy().tolist() == [[[0, 1]], [[1, 2]]]
    assert tf.searchsorted([1, 5], [[5, 6]], side="right").numpy().tolist() == [[2, 2]]

    @tf.function(input_signature=[tf.TensorSpec(None, tf.int32)] * 2)
    def places(sequence: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
        return tf.searchsorted(sequence, wanted)

    assert places([1, 5], [0, 5, 7]).numpy().tolist() == [0, 1, 2]
    assert places(sequences, values).numpy().tolist() == [[[0, 1]], [[1, 2]]]
