"""Unary functions against NumPy: every dtype they take, special values, accuracy, gradients."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.framework.variable import Variable
from tfx.ops.math import elementwise
from tfx.testing import assert_close, check_grads

REALS = np.array([-3.7, -2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.5, 2.0, 40.0])
POSITIVE = np.array([0.0, 1e-3, 0.3, 1.0, 2.0, 40.0])
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])

# name, NumPy's function, where it is compared
FLOATING = [
    ("abs", np.abs, REALS),
    ("negative", np.negative, REALS),
    ("sign", np.sign, REALS),
    ("square", np.square, REALS),
    ("exp", np.exp, REALS),
    ("expm1", np.expm1, REALS),
    ("log", np.log, POSITIVE),
    ("log1p", np.log1p, POSITIVE),
    ("sqrt", np.sqrt, POSITIVE),
    ("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    ("reciprocal", np.reciprocal, POSITIVE),
    ("floor", np.floor, REALS),
    ("ceil", np.ceil, REALS),
    ("round", np.round, REALS),
    ("rint", np.rint, REALS),
]
TESTS = [("is_nan", np.isnan), ("is_inf", np.isinf), ("is_finite", np.isfinite)]
FLOAT_DTYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
INTEGER_DTYPES = [np.int8, np.int16, np.int32, np.int64]


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize(("name", "reference", "points"), FLOATING)
def test_values_are_numpys(name, reference, points, dtype):
    x = points.astype(dtype)
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64)).astype(dtype)
    result = getattr(elementwise, name)(x)
    assert result.dtype == dtype
    assert_close(result, expected)


@pytest.mark.parametrize(("name", "reference", "points"), FLOATING)
def test_special_values_are_numpys(name, reference, points):
    with np.errstate(all="ignore"):
        expected = reference(SPECIAL)
    assert_close(getattr(elementwise, name)(SPECIAL), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(("name", "reference"), TESTS)
def test_tests_of_special_values(name, reference, dtype):
    x = np.concatenate([SPECIAL, REALS]).astype(dtype)
    np.testing.assert_array_equal(getattr(elementwise, name)(x), reference(x))


@pytest.mark.parametrize("dtype", INTEGER_DTYPES)
@pytest.mark.parametrize("name", ["abs", "negative", "sign", "square", "round"])
def test_integers(name, dtype):
    x = np.array([-5, -1, 0, 1, 7], dtype)
    result = getattr(elementwise, name)(x)
    np.testing.assert_array_equal(result, getattr(np, name)(x))
    assert result.dtype == dtype


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)])
@pytest.mark.parametrize("name", ["exp", "expm1", "log1p", "sign", "is_finite"])
def test_shapes_eager_and_traced(name, shape, rng):
    x = rng.uniform(0.1, 2.0, shape).astype(np.float32)
    f = getattr(elementwise, name)
    eager = f(x)
    assert eager.shape == shape
    assert_close(run_traced(f, x), eager)


@pytest.mark.parametrize("name", ["abs", "exp"])
@pytest.mark.parametrize("make", [float, lambda x: [x, x], np.float32, constant, Variable])
def test_anything_that_can_be_a_tensor(name, make):
    result = getattr(elementwise, name)(make(1.5))
    assert_close(np.asarray(result).reshape(-1)[0], getattr(np, name)(np.float32(1.5)))


@pytest.mark.parametrize("magnitude", [1e-30, 1e-12, 1e-7, 1e-4, 0.1, 0.49, 0.51, 0.9])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_expm1_and_log1p_keep_their_digits(magnitude, sign, dtype):
    x = dtype(sign * magnitude)
    few_ulps = 6 * np.finfo(dtype).eps
    wide = np.float64(x)
    np.testing.assert_allclose(elementwise.expm1(x), np.expm1(wide), rtol=few_ulps)
    np.testing.assert_allclose(elementwise.log1p(x), np.log1p(wide), rtol=few_ulps)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "floor", "ceil", "rint", "is_nan", "rsqrt"])
@pytest.mark.parametrize("x", [1, True, "a"])
def test_only_floats(name, x):
    with pytest.raises(InvalidArgumentError, match=r"not allowed by \w+; expected a floating"):
        getattr(elementwise, name)(x)


@pytest.mark.parametrize("name", ["abs", "negative", "sign"])
def test_truth_is_not_a_number(name):
    with pytest.raises(InvalidArgumentError, match="bool"):
        getattr(elementwise, name)(True)


@pytest.mark.parametrize(
    "name", ["abs", "negative", "sign", "square", "exp", "expm1", "reciprocal"]
)
def test_gradients(name):
    check_grads(getattr(elementwise, name), [[-1.3, 0.4, 2.0]])


@pytest.mark.parametrize("name", ["log", "log1p", "sqrt", "rsqrt"])
def test_gradients_of_functions_of_positive_numbers(name):
    check_grads(getattr(elementwise, name), [[0.3, 0.4, 2.0]])


def slope(f, at):
    x = constant(np.float64(at))
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("abs", 0.0, 0.0),
        ("sign", 0.0, 0.0),
        ("sqrt", 0.0, np.inf),
        ("log", 0.0, np.inf),
        ("expm1", 1e-9, np.exp(1e-9)),
        ("expm1", 800.0, np.inf),
        ("log1p", 1e-9, 1 / (1 + 1e-9)),
        ("log1p", -1.0, np.inf),
    ],
)
def test_gradients_at_edges(name, at, expected):
    assert_close(slope(getattr(elementwise, name), at), expected)


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "rint"])
def test_steps_have_no_gradient(name):
    assert slope(getattr(elementwise, name), 0.3) is None


def test_negative_zero_is_not_taken_for_zero():
    assert_close(elementwise.reciprocal(0.0), np.inf)
    assert_close(elementwise.reciprocal(-0.0), -np.inf)
