"""Sigmoids and softmaxes against SciPy."""

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
from tfx.ops.nn import softmax
from tfx.testing import assert_close, check_grads

ELEMENTWISE = {
    "sigmoid": scipy.special.expit,
    "softplus": lambda x: np.logaddexp(0.0, x),
    "log_sigmoid": lambda x: -np.logaddexp(0.0, -x),
    "softsign": lambda x: x / (1.0 + np.abs(x)),
}
ALONG_AXIS = {"softmax": scipy.special.softmax, "log_softmax": scipy.special.log_softmax}
POINTS = np.array([-10.0, -1.5, -1e-3, 0.0, 0.3, 2.0, 15.0])
FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*ELEMENTWISE, *ALONG_AXIS])
def test_dtypes(name, dtype):
    x = POINTS.astype(dtype)
    reference = {**ELEMENTWISE, **ALONG_AXIS}[name]
    result = getattr(softmax, name)(x)
    assert result.dtype == dtype
    assert_close(result, reference(x.astype(np.float64)).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nothing_overflows(dtype):
    x = np.array([-1e4, 1e4, -np.inf, np.inf, np.nan], dtype)
    assert_close(softmax.sigmoid(x), [0.0, 1.0, 0.0, 1.0, np.nan])
    assert_close(softmax.softplus(x), [0.0, 1e4, 0.0, np.inf, np.nan])
    assert_close(softmax.log_sigmoid(x), [-1e4, 0.0, -np.inf, 0.0, np.nan])
    assert_close(softmax.softmax(x[:2]), [0.0, 1.0])
    assert_close(softmax.log_softmax(x[:2]), [-2e4, 0.0])


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -2])
@pytest.mark.parametrize("name", ALONG_AXIS)
def test_axes_eager_and_traced(name, axis, rng):
    x = rng.standard_normal((2, 3, 4))

    def f(v):
        return getattr(softmax, name)(v, axis)

    expected = ALONG_AXIS[name](x, axis=-1 if axis is None else axis)
    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2)])
@pytest.mark.parametrize("name", ALONG_AXIS)
def test_empty(name, shape):
    assert getattr(softmax, name)(np.zeros(shape, np.float32)).shape == shape


@pytest.mark.parametrize("name", ALONG_AXIS)
def test_bad_axes(name):
    with pytest.raises(InvalidArgumentError, match=r"range \[-1, 1\), but got 1"):
        getattr(softmax, name)([1.0, 2.0], axis=1)
    with pytest.raises(InvalidArgumentError, match=r"Softmax"):
        getattr(softmax, name)(1.0)


@pytest.mark.parametrize("name", [*ELEMENTWISE, *ALONG_AXIS])
def test_only_floats(name):
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by"):
        getattr(softmax, name)([1, 2])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_gradients(name):
    check_grads(getattr(softmax, name), [[-3.0, -0.2, 0.4, 2.5]])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ALONG_AXIS)
def test_gradients_along_axes(name, axis, rng):
    check_grads(lambda x: getattr(softmax, name)(x, axis), [rng.standard_normal((2, 3))])


def test_the_gradient_of_softsign_keeps_what_is_small():
    x = np.array([-7e3, 0.5, 1e4, np.inf], np.float32)
    v = constant(x)
    with GradientTape() as tape:
        tape.watch(v)
        y = softmax.softsign(v)
    expected = 1 / (1 + np.abs(x.astype(np.float64))) ** 2
    np.testing.assert_allclose(tape.gradient(y, v).numpy(), expected, rtol=3e-7)
