"""``unique`` and ``bincount`` against NumPy and results noted from TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.agreement import check
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.array.unique import bincount, unique, unique_with_counts
from tfx.testing import assert_close, check_grads


def _unique(x):
    _, first, inverse, count = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return x[first[order]], rank[inverse].astype(np.int32), count[order].astype(np.int32)


@pytest.mark.parametrize(
    "dtype",
    [
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "bool",
    ],
)
def test_unique(dtype, rng):
    x = rng.integers(0, 2 if dtype == "bool" else 5, 12).astype(dtype)
    y, index, count = _unique(x)
    check(unique, [x], (y, index))
    check(unique_with_counts, [x], (y, index, count))


def test_unique_more():
    assert unique(["b", "a", "b"]).y.numpy().tolist() == [b"b", b"a"]
    assert unique([3, 1], out_idx="int64").idx.dtype == "int64"
    assert unique(np.zeros(0, np.int32)).y.shape == (0,)
    assert_close(unique(constant([2, 1, 2], "bfloat16")).y, constant([2, 1], "bfloat16"))
    with pytest.raises(InvalidArgumentError, match="unique expects a 1D vector"):
        unique([[1, 2]])


@pytest.mark.parametrize(
    ("arr", "options", "expected"),
    [
        ([1, 1, 3], {}, [0, 2, 0, 1]),
        ([[1, 2], [2, 2]], {}, [0, 1, 3]),
        ([[1, 2], [2, 2]], {"axis": 0}, [0, 1, 3]),
        ([[1, 2], [2, 2]], {"axis": -1}, [[0, 1, 1], [0, 0, 2]]),
        ([1, 2], {"axis": -1}, [0, 1, 1]),
        ([1], {"minlength": 4}, [0, 1, 0, 0]),
        ([1, 7], {"maxlength": 4}, [0, 1, 0, 0]),
        ([1, 7], {"minlength": 6, "maxlength": 4}, [0, 1, 0, 0]),
        ([[1, 2], [2, 2]], {"axis": -1, "minlength": 5}, [[0, 1, 1, 0, 0], [0, 0, 2, 0, 0]]),
        ([[1, 2], [2, 2]], {"axis": -1, "maxlength": 2}, [[0, 1], [0, 0]]),
        ([1, 1, 3], {"binary_output": True}, [0, 1, 0, 1]),
        ([[1, 2], [2, 2]], {"axis": -1, "binary_output": True}, [[0, 1, 1], [0, 0, 1]]),
        ([1, 1, 3], {"weights": np.array([0.5, 1.0, 2.0])}, [0.0, 1.5, 0.0, 2.0]),
        (
            [[1, 2], [2, 2]],
            {"weights": np.array([[1.0, 2.0], [3.0, 4.0]]), "axis": -1},
            [[0.0, 1.0, 2.0], [0.0, 0.0, 7.0]],
        ),
        ([1], {"dtype": "float32"}, [0.0, 1.0]),
    ],
    ids=range(15),
)
def test_bincount(arr, options, expected):
    kind = np.float64 if "weights" in options else options.get("dtype", np.int32)
    for dtype in (np.int32, np.int64):
        check(lambda x: bincount(x, **options), [np.array(arr, dtype)], np.array(expected, kind))


def test_bincount_of_nothing():
    assert bincount(np.zeros(0, np.int32)).shape == (0,)
    assert_close(bincount(np.zeros(0, np.int32), minlength=2), [0, 0])


def test_bincount_of_many(rng):
    x = rng.integers(0, 50, 100_000)
    assert_close(bincount(x), np.bincount(x).astype(np.int32))


def test_gradients_of_weights():
    check_grads(lambda w: bincount([1, 1, 3], weights=w) ** 2.0, [[0.5, 1.0, 2.0]])


@pytest.mark.parametrize(
    ("arr", "options", "error", "message"),
    [
        ([-1], {}, InvalidArgumentError, "Input arr must be non-negative"),
        ([[[1]]], {"axis": -1}, InvalidArgumentError, "Shape must be at most rank 2"),
        ([[1]], {"axis": 1}, ValueError, "Only 0 and -1 are currently supported"),
        ([1], {"weights": [1.0], "binary_output": True}, ValueError, "mutually exclusive"),
    ],
    ids=range(4),
)
def test_bad_bincounts(arr, options, error, message):
    with pytest.raises(error, match=message):
        bincount(arr, **options)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_each_nan_is_distinct(dtype):
    # As in TensorFlow 2.21, whose elements are compared by ==.
    x = tf.cast([np.nan, -0.0, 1.0, np.nan, 0.0, 1.0, -np.nan, -0.0], dtype)
    unknown = [tf.TensorSpec([None], dtype)]
    traced = tf.function(tf.unique_with_counts, input_signature=unknown)
    for found in (tf.unique_with_counts(x), tf.function(tf.unique_with_counts)(x), traced(x)):
        y = tf.cast(found.y, "float32").numpy()
        assert found.y.dtype == dtype
        np.testing.assert_array_equal(y, [np.nan, 0, 1, np.nan, np.nan])
        assert np.signbit(y[1])
        np.testing.assert_array_equal(found.idx, [0, 1, 2, 3, 1, 2, 4, 1])
        np.testing.assert_array_equal(found.count, [1, 3, 2, 1, 1])
    numbers = tf.unique(tf.constant([0.0, -0.0, 2.0], dtype))
    np.testing.assert_array_equal(tf.cast(numbers.y, "float32"), [0, 2])
    assert not np.signbit(tf.cast(numbers.y, "float32")[0])
    assert traced(tf.zeros([0], dtype)).y.shape == (0,)


@pytest.mark.parametrize("values", [[1.0, 2.0, 1.0], [1.0, np.nan, 1.0]])
def test_there_is_no_gradient_of_distinct_elements(values):
    x = tf.constant(values)
    for function in (lambda x: tf.unique(x).y, lambda x: tf.unique_with_counts(x).y):
        for each in (function, tf.function(function)):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = each(x) * 2.0
            assert tape.gradient(y, x) is None


@pytest.mark.parametrize("values", [[1.7, 2.2, 0.0], [True, True, False], [1 + 2j, 2, 0]])
def test_bincount_counts_numbers_without_their_fraction(values):
    expected = np.bincount(np.real(np.array(values)).astype(int))
    assert np.asarray(tf.math.bincount(tf.constant(values))).tolist() == expected.tolist()
