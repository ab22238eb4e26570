"""Error functions against SciPy, and the products that take 0 times anything for 0."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.math import error_functions
from tfx.testing import assert_close, check_grads

POINTS = np.array([-6.0, -1.2, -0.75, -0.1, -1e-12, 0.0, 1e-12, 0.5, 0.8, 2.0, 5.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions(name, dtype):
    x = POINTS.astype(dtype)
    expected = getattr(scipy.special, name)(x.astype(np.float64)).astype(dtype)
    result = getattr(error_functions, name)(x)
    assert result.dtype == dtype
    assert_close(result, expected)
    assert_close(run_traced(getattr(error_functions, name), x), expected)


def test_erfc_keeps_its_digits_in_the_tail():
    x = np.array([3.0, 8.0, 15.0, 26.0])
    np.testing.assert_allclose(error_functions.erfc(x), scipy.special.erfc(x), rtol=1e-14)
    x = np.array([3.0, 8.0, 9.0], np.float32)
    np.testing.assert_allclose(error_functions.erfc(x), scipy.special.erfc(x), rtol=2e-7)
    assert_close(error_functions.erfc([40.0, np.inf, -np.inf, np.nan]), [0.0, 0.0, 2.0, np.nan])


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_gradients_of_error_functions(name):
    check_grads(getattr(error_functions, name), [POINTS])


def test_squared_difference():
    assert_close(error_functions.squared_difference([3, 1], 5), [4, 16])
    check_grads(error_functions.squared_difference, [[0.3, 2.0], [[1.0], [0.5]]])


def _divide_no_nan(x, y):
    with np.errstate(all="ignore"):
        return np.where(y == 0, 0.0, x / y)


def _multiply_no_nan(x, y):
    with np.errstate(all="ignore"):
        return np.where(y == 0, 0.0, x * y)


def _xdivy(x, y):
    with np.errstate(all="ignore"):
        return np.where(x == 0, 0.0, x / y)


PRODUCTS = {
    "xlogy": scipy.special.xlogy,
    "xlog1py": scipy.special.xlog1py,
    "xdivy": _xdivy,
    "divide_no_nan": _divide_no_nan,
    "multiply_no_nan": _multiply_no_nan,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, dtype):
    x = np.array([[0.0], [-0.0], [0.5], [-2.0]], dtype)
    y = np.array([0.0, 0.5, 3.0, np.inf], dtype)
    expected = PRODUCTS[name](x, y).astype(dtype)
    f = getattr(error_functions, name)
    assert f(x, y).dtype == dtype
    assert_close(f(x, y), expected)
    assert_close(run_traced(f, x, y), expected)


def test_nothing_times_nan():
    assert_close(
        error_functions.multiply_no_nan([np.nan, np.inf, np.nan], [0.0, 0.0, 1.0]), [0, 0, np.nan]
    )
    assert_close(error_functions.xlogy(0.0, np.nan), 0.0)


def test_division_of_integers_is_real():
    result = error_functions.divide_no_nan([3, 3], [0, 2])
    assert result.dtype == "float64"
    assert_close(result, [0.0, 1.5])


@pytest.mark.parametrize("name", [n for n in PRODUCTS if n != "divide_no_nan"])
def test_only_floats(name):
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by"):
        getattr(error_functions, name)(1, 2)


@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients(name):
    check_grads(getattr(error_functions, name), [[0.5, -2.0, 1.5], [[0.7], [3.0]]])


# The gradients of x and y, as TensorFlow has them.
@pytest.mark.parametrize(
    ("name", "x", "y", "expected"),
    [
        ("xlogy", 0.0, 0.0, (0.0, 0.0)),
        ("xlog1py", 0.0, -1.0, (0.0, 0.0)),
        ("xdivy", 0.0, 0.0, (0.0, 0.0)),
        ("divide_no_nan", 3.0, 0.0, (0.0, 0.0)),
        ("multiply_no_nan", 3.0, 0.0, (0.0, 3.0)),
        ("multiply_no_nan", np.inf, 0.0, (0.0, 0.0)),
    ],
)
def test_gradients_at_zeros_are_finite(name, x, y, expected):
    x, y = constant(x), constant(y)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = getattr(error_functions, name)(x, y)
    assert_close(tape.gradient(z, (x, y)), expected)
