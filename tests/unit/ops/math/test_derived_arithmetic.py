"""Polynomials, truncated division, scaling and monotony; the answers are NumPy's and TF's."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.math import derived_arithmetic
from tfx.testing import assert_close, check_grads


@pytest.mark.parametrize("coefficients", [[2.0], [1.0, -2.0, 3.0], [0.5, 0.0, 0.0, 1.0]])
def test_polyval(coefficients, rng):
    x = rng.standard_normal((2, 3))

    def f(v):
        return derived_arithmetic.polyval(coefficients, v)

    assert_close(f(x) + 0.0 * x, np.polyval(coefficients, x))
    check_grads(lambda v: derived_arithmetic.polyval([*coefficients, v], v), [x])


def test_polyval_edges():
    assert derived_arithmetic.polyval([1, 2, 3], 2).dtype == "int32"
    assert_close(derived_arithmetic.polyval([], [1.0, 2.0]), [0.0, 0.0])
    with pytest.raises(ValueError, match="coeffs must be list type"):
        derived_arithmetic.polyval((1, 2), 2)


def test_scalar_mul():
    assert_close(derived_arithmetic.scalar_mul(2, constant([1.0, 2.0])), [2.0, 4.0])
    with pytest.raises(ValueError, match=r"Only scalar multiply works, got shape \(1,\)"):
        derived_arithmetic.scalar_mul([2.0], [1.0, 2.0])


def test_accumulate_n():
    assert_close(derived_arithmetic.accumulate_n([[1, 2], [3, 4]], shape=[2]), [4, 6])
    with pytest.raises(ValueError, match="at least one Tensor"):
        derived_arithmetic.accumulate_n([])
    with pytest.raises(ValueError, match="compatible"):
        derived_arithmetic.accumulate_n([constant(1)], shape=[2])
    with pytest.raises(TypeError, match="float32"):
        derived_arithmetic.accumulate_n([constant(1)], tensor_dtype="float32")


def test_reciprocal_no_nan():
    assert_close(derived_arithmetic.reciprocal_no_nan([0.0, 2.0]), [0.0, 0.5])
    check_grads(derived_arithmetic.reciprocal_no_nan, [[0.5, -2.0]])
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by DivNoNan"):
        derived_arithmetic.reciprocal_no_nan(2)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
def test_truncated_division(dtype):
    x, y = np.array([-7, 7, -8, 8, 0], dtype), np.array([[2], [-2], [3]], dtype)
    for f, expected in (
        (derived_arithmetic.truncatediv, np.trunc(x / y).astype(dtype)),
        (derived_arithmetic.truncatemod, np.fmod(x, y)),
    ):
        assert f(x, y).dtype == dtype
        np.testing.assert_array_equal(f(x, y), expected)
        np.testing.assert_array_equal(run_traced(f, x, y), expected)


def test_realdiv():
    assert_close(derived_arithmetic.realdiv(3.0, 2.0), 1.5)
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by RealDiv"):
        derived_arithmetic.realdiv(3, 2)


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
    assert bool(derived_arithmetic.is_non_decreasing(x)) is non_decreasing
    assert bool(derived_arithmetic.is_strictly_increasing(x)) is increasing
    assert bool(run_traced(derived_arithmetic.is_non_decreasing, x)) is non_decreasing


def test_strings_have_no_order():
    with pytest.raises(InvalidArgumentError, match="Order needs numbers; got string"):
        derived_arithmetic.is_non_decreasing(["a"])


def test_realdiv_takes_complex_numbers():
    z = np.array([3 + 4j, 1 - 1j])
    assert_close(derived_arithmetic.realdiv(z, z + 1), z / (z + 1))
