"""Polynomials, truncated division, scaling and monotony; the answers are NumPy's and TF's."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.operators  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops import algebra
from tfx.testing import assert_close, check_grads


@pytest.mark.parametrize("coefficients", [[2.0], [1.0, -2.0, 3.0], [0.5, 0.0, 0.0, 1.0]])
def test_polyval(coefficients, rng):
    x = rng.standard_normal((2, 3))

    def f(v):
        return algebra.polyval(coefficients, v)

    assert_close(f(x) + 0.0 * x, np.polyval(coefficients, x))
    check_grads(lambda v: algebra.polyval([*coefficients, v], v), [x])


def test_polyval_edges():
    assert algebra.polyval([1, 2, 3], 2).dtype == "int32"
    assert_close(algebra.polyval([], [1.0, 2.0]), [0.0, 0.0])
    with pytest.raises(ValueError, match="coeffs must be list type"):
        algebra.polyval((1, 2), 2)


def test_scalar_mul():
    assert_close(algebra.scalar_mul(2, constant([1.0, 2.0])), [2.0, 4.0])
    with pytest.raises(ValueError, match=r"Only scalar multiply works, got shape \(1,\)"):
        algebra.scalar_mul([2.0], [1.0, 2.0])


def test_accumulate_n():
    assert_close(algebra.accumulate_n([[1, 2], [3, 4]], shape=[2]), [4, 6])
    with pytest.raises(ValueError, match="at least one Tensor"):
        algebra.accumulate_n([])
    with pytest.raises(ValueError, match="compatible"):
        algebra.accumulate_n([constant(1)], shape=[2])
    with pytest.raises(TypeError, match="float32"):
        algebra.accumulate_n([constant(1)], tensor_dtype="float32")


def test_reciprocal_no_nan():
    assert_close(algebra.reciprocal_no_nan([0.0, 2.0]), [0.0, 0.5])
    check_grads(algebra.reciprocal_no_nan, [[0.5, -2.0]])
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by DivNoNan"):
        algebra.reciprocal_no_nan(2)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
def test_truncated_division(dtype):
    x, y = np.array([-7, 7, -8, 8, 0], dtype), np.array([[2], [-2], [3]], dtype)
    for f, expected in (
        (algebra.truncatediv, np.trunc(x / y).astype(dtype)),
        (algebra.truncatemod, np.fmod(x, y)),
    ):
        assert f(x, y).dtype == dtype
        np.testing.assert_array_equal(f(x, y), expected)
        np.testing.assert_array_equal(run_traced(f, x, y), expected)


def test_realdiv():
    assert_close(algebra.realdiv(3.0, 2.0), 1.5)
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by RealDiv"):
        algebra.realdiv(3, 2)


@pytest.mark.parametrize(
    ("x", "non_decreasing", "increasing"),
    [
        ([1, 2, 3], True, True),
        ([1, 1, 2], True, False),
        ([2.0, 1.0], False, False),
        ([[1, 2], [3, 4]], True, True),
        (3, True, True),
        ([], True, True),
    ],
)
def test_monotony(x, non_decreasing, increasing):
    assert bool(algebra.is_non_decreasing(x)) is non_decreasing
    assert bool(algebra.is_strictly_increasing(x)) is increasing
    assert bool(run_traced(algebra.is_non_decreasing, x)) is non_decreasing


def test_strings_have_no_order():
    with pytest.raises(InvalidArgumentError, match="Order needs numbers; got string"):
        algebra.is_non_decreasing(["a"])
