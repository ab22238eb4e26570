"""Variance, normalization and counts against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.ops.math import statistics
from tfx.testing import assert_close, check_grads

SPREAD = {"reduce_variance": np.var, "reduce_std": np.std}


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", SPREAD)
def test_spread(name, axis, keepdims, rng):
    x = rng.standard_normal((3, 4)).astype(np.float32)

    def f(v):
        return getattr(statistics, name)(v, axis, keepdims)

    expected = SPREAD[name](x.astype(np.float64), axis=axis, keepdims=keepdims)
    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)


def test_spread_of_nothing():
    assert_close(statistics.reduce_variance(np.zeros((0,))), np.nan)


@pytest.mark.parametrize("name", SPREAD)
def test_spread_of_integers_is_refused(name):
    with pytest.raises(TypeError, match=r"must be either real or complex\. Received integer type"):
        getattr(statistics, name)([1, 2])


@pytest.mark.parametrize("axis", [None, 0, [0, 1]], ids=str)
def test_l2_normalize(axis, rng):
    x = rng.standard_normal((3, 4))
    reduced = (0, 1) if axis != 0 else 0
    expected = x / np.sqrt(np.sum(x**2, axis=reduced, keepdims=True))
    assert_close(statistics.l2_normalize(x, axis), expected)
    assert_close(run_traced(lambda v: statistics.l2_normalize(v, axis), x), expected)


def test_l2_normalize_keeps_zero():
    assert_close(statistics.l2_normalize([0.0, 0.0]), [0.0, 0.0])
    assert_close(statistics.l2_normalize([0.1], epsilon=1.0), [0.1])


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool", "float16"])
def test_count_nonzero(dtype):
    x = np.array([[0, 1, 0], [2, 3, 0]]).astype(dtype)
    counts = statistics.count_nonzero(x, axis=1, keepdims=True)
    assert counts.dtype == "int64"
    np.testing.assert_array_equal(counts, [[1], [2]])
    np.testing.assert_array_equal(run_traced(statistics.count_nonzero, x), 3)


def test_count_nonzero_options():
    assert int(statistics.count_nonzero(["", "a"])) == 1
    assert statistics.count_nonzero([1, 0], dtype="int32").dtype == "int32"


def test_zero_fraction():
    assert_close(statistics.zero_fraction([[0, 1], [0, 3]]), 0.5)


@pytest.mark.parametrize("name", ["reduce_variance", "reduce_std", "l2_normalize"])
def test_gradients(name, rng):
    check_grads(lambda x: getattr(statistics, name)(x, 1), [rng.standard_normal((2, 3))])


def test_false_counts_as_zero():
    assert_close(statistics.zero_fraction([True, False, False, True]), np.float32(0.5))
