"""Running sums and products against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.math import cumulative
from tfx.testing import assert_close, check_grads

OPTIONS = [(e, r) for e in (False, True) for r in (False, True)]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
BOTH = {"cumsum": np.cumsum, "cumprod": np.cumprod}


def _reference(name, x, axis, exclusive, reverse):
    x = np.flip(x, axis) if reverse else x
    y = BOTH[name](x, axis=axis, dtype=x.dtype)
    if exclusive:
        first = np.full_like(np.take(y, [0], axis), name == "cumprod")
        y = np.concatenate([first, np.delete(y, -1, axis)], axis)
    return np.flip(y, axis) if reverse else y


@pytest.mark.parametrize(("exclusive", "reverse"), OPTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", BOTH)
def test_options_eager_and_traced(name, axis, exclusive, reverse, rng):
    x = rng.standard_normal((3, 2, 4))

    def f(v):
        return getattr(cumulative, name)(v, axis, exclusive, reverse)

    expected = _reference(name, x, axis, exclusive, reverse)
    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)


@pytest.mark.parametrize("dtype", [*INTEGERS, np.float16, np.float32])
@pytest.mark.parametrize("name", BOTH)
def test_dtypes(name, dtype):
    x = np.array([100, 100, 3], dtype)
    with np.errstate(over="ignore"):
        expected = BOTH[name](x, dtype=dtype)
    result = getattr(cumulative, name)(x)
    assert result.dtype == dtype
    assert_close(result, expected)


def test_bfloat16():
    x = np.array([1.0, 2.0, 3.0], ml_dtypes.bfloat16)
    assert_close(cumulative.cumsum(x), [1.0, 3.0, 6.0])


@pytest.mark.parametrize("name", BOTH)
def test_empty(name):
    assert getattr(cumulative, name)(np.zeros((0, 2), np.float32)).shape == (0, 2)


@pytest.mark.parametrize("name", BOTH)
def test_bad_arguments(name):
    f = getattr(cumulative, name)
    with pytest.raises(InvalidArgumentError, match=r"range \[-1, 1\), but got 1"):
        f([1.0], axis=1)
    with pytest.raises(InvalidArgumentError, match=r"range \[0, 0\), but got 0"):
        f(1.0)
    with pytest.raises(InvalidArgumentError, match="bool is not allowed by Cum"):
        f([True])
    with pytest.raises(TypeError, match=r"must be an integer; got 0\.5"):
        f([1.0], axis=0.5)


def test_an_axis_may_be_a_tensor():
    assert_close(cumulative.cumsum([1.0, 2.0], constant(-1)), [1.0, 3.0])
    assert_close(run_traced(cumulative.cumsum, [1.0, 2.0], 0), [1.0, 3.0])


@pytest.mark.parametrize(("exclusive", "reverse"), OPTIONS)
@pytest.mark.parametrize("name", BOTH)
def test_gradients(name, exclusive, reverse, rng):
    check_grads(
        lambda x: getattr(cumulative, name)(x, 1, exclusive, reverse),
        [rng.standard_normal((2, 4))],
    )


@pytest.mark.parametrize(("exclusive", "reverse"), OPTIONS)
def test_gradients_of_products_with_zeros(exclusive, reverse):
    def f(x):
        return cumulative.cumprod(x, 1, exclusive, reverse)

    check_grads(f, [[[0.3, 0.0, 2.0, 0.5], [1.0, 2.0, 0.0, 3.0]]])
    check_grads(f, [[[0.3, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, 3.0]]], order=1)


@pytest.mark.parametrize(("exclusive", "reverse"), OPTIONS)
@pytest.mark.parametrize("axis", [0, -1])
def test_logsumexp(axis, exclusive, reverse, rng):
    x = rng.standard_normal((3, 5)) * 3

    def f(v):
        return cumulative.cumulative_logsumexp(v, axis, exclusive, reverse)

    turned = np.flip(x, axis) if reverse else x
    expected = np.logaddexp.accumulate(turned, axis)
    if exclusive:
        first = np.full_like(np.take(expected, [0], axis), -np.inf)
        expected = np.concatenate([first, np.delete(expected, -1, axis)], axis)
    expected = np.flip(expected, axis) if reverse else expected
    assert_close(f(x), expected)
    for static in (True, False):
        assert_close(run_traced(f, x, static=static), expected)
    if not exclusive:
        check_grads(f, [constant(x)])


def test_logsumexp_of_infinities_and_large_numbers():
    assert_close(cumulative.cumulative_logsumexp([-np.inf, 2.0, -np.inf]), [-np.inf, 2.0, 2.0])
    assert_close(cumulative.cumulative_logsumexp([1e4, 1e4]), [1e4, 1e4 + np.log(2)])
    assert cumulative.cumulative_logsumexp(np.zeros([0], np.float32)).shape == (0,)
