"""Circular and hyperbolic functions against NumPy, in every float dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.function.tracing.function import function
from tfx.ops.math import trigonometry
from tfx.testing import assert_close, check_grads

ALL = [-2.5, -1.0, -0.3, 0.0, 0.3, 0.9, 3.0]
UNIT = [-1.0, -0.9, -0.3, 0.0, 0.3, 0.9, 1.0]
FUNCTIONS = {
    "sin": (np.sin, ALL),
    "cos": (np.cos, ALL),
    "tan": (np.tan, ALL),
    "asin": (np.arcsin, UNIT),
    "acos": (np.arccos, UNIT),
    "atan": (np.arctan, ALL),
    "sinh": (np.sinh, ALL),
    "cosh": (np.cosh, ALL),
    "tanh": (np.tanh, ALL),
    "asinh": (np.arcsinh, ALL),
    "acosh": (np.arccosh, [1.0, 1.1, 2.0, 30.0]),
    "atanh": (np.arctanh, UNIT[1:-1]),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype):
    reference, points = FUNCTIONS[name]
    x = np.array(points).astype(dtype)
    result = getattr(trigonometry, name)(x)
    assert result.dtype == dtype
    assert_close(result, reference(x.astype(np.float64)).astype(dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced(name):
    reference, points = FUNCTIONS[name]
    x = np.array([points])
    assert_close(run_traced(getattr(trigonometry, name), x), reference(x))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    x = np.array([np.nan, np.inf, -np.inf, 2.0, -2.0])
    if name in ("sin", "cos", "tan"):
        x[1:3] = 1.0  # NumPy warns and gives NaN there, as everybody does
    with np.errstate(all="ignore"):
        assert_close(getattr(trigonometry, name)(x), FUNCTIONS[name][0](x))


@pytest.mark.parametrize(
    "name", [n for n in FUNCTIONS if n not in ("cos", "acos", "cosh", "acosh")]
)
def test_zero_keeps_its_sign(name):
    result = np.asarray(getattr(trigonometry, name)(np.array([0.0, -0.0], np.float32)))
    np.testing.assert_array_equal(np.signbit(result), [False, True])


@pytest.mark.parametrize("name", [*FUNCTIONS, "atan2"])
def test_only_floats(name):
    arguments = ([1], [1]) if name == "atan2" else ([1],)
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by"):
        getattr(trigonometry, name)(*arguments)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    points = [x for x in FUNCTIONS[name][1] if not (name != "acosh" and abs(x) == 1.0) and x != 1.0]
    check_grads(getattr(trigonometry, name), [points])


def test_atan2_in_all_directions():
    ends = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan])
    y, x = ends[:, None], ends[None, :]
    expected = np.arctan2(y, x)
    for result in (trigonometry.atan2(y, x), run_traced(trigonometry.atan2, y, x)):
        assert_close(result, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_atan2_dtypes(dtype):
    y, x = np.array([1.0, -2.0], dtype), np.array([-0.5, 3.0], dtype)
    result = trigonometry.atan2(y, x)
    assert result.dtype == dtype
    assert_close(result, np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(dtype))


def test_atan2_gradients(rng):
    check_grads(trigonometry.atan2, [rng.standard_normal((4, 1)), rng.standard_normal(5)])
    check_grads(trigonometry.atan2, [[1.0, -1.0, 0.0], [0.0, 0.0, 2.0]])


@pytest.mark.parametrize("run", [lambda f: f, function], ids=["eager", "traced"])
def test_atanh_of_many_numbers_by_its_formula(run):
    rng = np.random.default_rng(0)
    ends = [0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 9.9e-5, 1.01e-4]
    near = 1 - 10 ** -rng.uniform(0, 7, 5000)
    x = np.concatenate([ends, rng.uniform(-1, 1, 5000), near]).astype(np.float32)
    found = np.asarray(run(trigonometry.atanh)(constant(x)))
    with np.errstate(all="ignore"):
        expected = np.arctanh(x.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=2.5e-7, atol=0)
    assert np.signbit(found[1]) and not np.signbit(found[0])
