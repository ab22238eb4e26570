"""``range`` and ``linspace`` against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.agreement import check
from tests.unit.ops.number_types import NUMBERS
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.ops.array import ranges
from tfx.ops.array.ranges import linspace
from tfx.testing import assert_close, check_grads

DTYPES = [*NUMBERS, "bool"]


@pytest.mark.parametrize(
    "arguments",
    [
        (5,),
        (0,),
        (3, 18, 3),
        (3.0, 1, -0.5),
        (3, 5.5),
        (10, 0, -3),
        (2**40, 2**40 + 2),
        (1, 1),
        (np.int64(1), np.int64(4)),
        (np.float64(0), 2),
    ],
    ids=str,
)
def test_range(arguments):
    result = ranges.range(*arguments)
    assert_close(result, np.arange(*arguments))
    given = [np.asarray(constant(a)) for a in arguments]
    check(ranges.range, given, np.asarray(result))


@pytest.mark.parametrize(
    ("arguments", "dtype"),
    [
        ((3,), "int32"),
        ((3.0,), "float32"),
        ((3, 5.5), "float32"),
        ((np.int64(3),), "int64"),
        ((0, np.float64(2)), "float64"),
        ((2**40, 2**40 + 1), "int64"),
    ],
)
def test_the_widest_dtype_wins(arguments, dtype):
    assert ranges.range(*arguments).dtype == dtype


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_range_of_a_dtype(dtype):
    result = ranges.range(1, 6, 2, dtype=dtype)
    assert result.dtype == dtype
    assert_close(result, constant([1, 3, 5], dtype))


def test_static_shape_of_a_range():
    graph = FuncGraph("f")
    with using(graph=graph):
        assert ranges.range(3, 18, 3).shape == (5,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 0), "Requires start <= limit when delta > 0: 3/0"),
        ((0, 3, -1), "Requires start >= limit when delta < 0: 0/3"),
        ((0, 3, 0), "Requires delta != 0"),
        ((np.int8(3),), "range takes int32, int64, float16, bfloat16, float32, float64; got int8"),
    ],
)
def test_bad_ranges(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        ranges.range(*arguments)


def test_range_dtype_must_hold_the_numbers():
    with pytest.raises(TypeError, match=r"Cannot convert 1\.5"):
        ranges.range(1.5, dtype="int32")


# linspace


@pytest.mark.parametrize("num", [0, 1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linspace(num, dtype):
    start, stop = np.array(-1.5, dtype), np.array(7.25, dtype)
    expected = np.linspace(start, stop, num, dtype=dtype)
    check(lambda a, b: linspace(a, b, num), [start, stop], expected)
    check(linspace, [start, stop, np.array(num)], expected)
    check_grads(lambda a, b: linspace(a, b, num) ** 2.0, [start, stop])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_linspace_of_tensors(axis):
    start, stop = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3) * 7
    check(
        lambda a, b: linspace(a, b, 4, axis=axis),
        [start, stop],
        np.linspace(start, stop, 4, axis=axis),
    )
    check(
        lambda a, b: linspace(a, b, 4, axis=axis),
        [np.float64(1), stop],
        np.linspace(1, stop, 4, axis=axis),
    )


def test_the_last_number_is_stop_itself():
    stop = np.float32(0.1)
    assert float(linspace(constant(-7.3), stop, 1000)[-1]) == stop


def test_linspace_of_integers_is_float64():
    assert linspace(0, 10, 5).dtype == "float64"
    assert_close(linspace(constant(0.0), 1, 3), [0.0, 0.5, 1.0])


def test_bad_linspaces():
    with pytest.raises(ValueError, match="stop: Tensor conversion requested dtype float32"):
        linspace(0.0, constant(1.0, "float64"), 3)
    with pytest.raises(TypeError, match=r"Cannot convert 1\.0"):
        linspace(0, 1.0, 3)
    with pytest.raises(ValueError, match="axis 2 of linspace"):
        linspace([0.0], [1.0], 3, axis=2)


# How many numbers there are. Expected values come from TensorFlow 2.21.


def _everywhere(*arguments):
    yield tf.range(*arguments)
    yield tf.function(lambda: tf.range(*arguments))()
    yield tf.function(tf.range)(*map(tf.constant, arguments))


@pytest.mark.parametrize("start", [2**62, -(2**63), 2**53 + 1, 2**31, 2**63 - 20, -(2**54)])
@pytest.mark.parametrize("delta", [1, 3, -2])
def test_far_from_zero(start, delta):
    start += 12 if delta < 0 else 0
    limit = start + 7 if delta > 0 else start - 7
    expected = np.array([*range(start, limit, delta)], np.int64)
    for found in _everywhere(*(np.int64(v) for v in (start, limit, delta))):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("dtype", "step"), [(np.int32, 2**30), (np.int64, 2**62), (np.int64, 2**62 + 1)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_over_the_whole_dtype(dtype, step, sign):
    info = np.iinfo(dtype)
    ends = (info.min, info.max)[::sign]
    expected = np.array([*range(*map(int, ends), sign * step)], dtype)
    for found in _everywhere(*(dtype(v) for v in (*ends, sign * step))):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_of_floats(dtype, rng):
    for _ in range(30):
        count, delta = rng.integers(0, 25), rng.choice([0.1, 0.3, 1 / 3, -0.1, 0.01])
        start = dtype(rng.choice([0.0, 0.1, 1e7, -2.5]))
        limit, delta = dtype(start + count * delta), dtype(delta)
        size = int(np.ceil(np.abs((limit - start) / delta)))  # in the dtype itself
        expected = start + np.arange(size).astype(dtype) * delta
        for found in itertools.islice(_everywhere(start, limit, delta), None, None, 2):
            np.testing.assert_array_equal(found, expected)


def test_counts_that_were_wrong():
    assert len(tf.range(0.1, 1.1, 0.1)) == 10
    np.testing.assert_array_equal(tf.range(2**62, 2**62 + 2), [2**62, 2**62 + 1])
    small = tf.range(*(tf.constant(v, tf.float16) for v in (3, 18, 3)))
    assert small.dtype == tf.float16
    np.testing.assert_array_equal(small, [3, 6, 9, 12, 15])


def test_ranges_without_an_end():
    for arguments in ((np.nan, 3.0), (0.0, np.nan)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Requires start <= limit"):
            tf.range(*arguments)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(limit - start\) / delta"):
        tf.range(0.0, np.inf)
