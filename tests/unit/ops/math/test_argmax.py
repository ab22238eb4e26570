"""Positions of extremes against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.math import argmax

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
BOTH = {"argmax": np.argmax, "argmin": np.argmin}


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", BOTH)
def test_axes_eager_and_traced(name, axis, rng):
    x = rng.integers(0, 5, (3, 4, 2)).astype(np.float32)  # with ties: the first one counts

    def f(v):
        return getattr(argmax, name)(v, axis)

    expected = BOTH[name](x, axis=axis or 0)
    assert f(x).dtype == "int64"
    np.testing.assert_array_equal(f(x), expected)
    np.testing.assert_array_equal(run_traced(f, x), expected)


@pytest.mark.parametrize("dtype", [np.bool_, *INTEGERS, np.float16, np.float64])
@pytest.mark.parametrize("name", BOTH)
def test_dtypes(name, dtype):
    x = np.array([1, 0, 1, 0]).astype(dtype)
    assert int(getattr(argmax, name)(x)) == BOTH[name](x)
    bfloat16 = x.astype(ml_dtypes.bfloat16)
    assert int(getattr(argmax, name)(bfloat16)) == BOTH[name](x)


@pytest.mark.parametrize("name", BOTH)
def test_the_largest_integers(name):
    x = np.array([2**63 + 5, 3, 2**64 - 1, 7], np.uint64)
    assert int(getattr(argmax, name)(x)) == BOTH[name](x)


@pytest.mark.parametrize("output_type", ["int16", "uint16", "int32", "int64"])
def test_output_types(output_type):
    assert argmax.argmax([1, 2], output_type=output_type).dtype == output_type


def test_no_results():
    assert argmax.argmax(np.zeros((0, 3)), 1).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"input": np.zeros((0,))}, r"Reduction axis 0 is empty in shape \[0\]"),
        ({"input": 3.0}, r"Expected dimension in the range \[0, 0\), but got 0"),
        ({"input": [1.0], "axis": 1}, r"range \[-1, 1\), but got 1"),
        ({"input": ["a"]}, "string is not allowed by ArgMax"),
        ({"input": [1], "output_type": "float32"}, "attr 'output_type' of float32 is not allowed"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        argmax.argmax(**arguments)


def test_an_index_has_no_gradient():
    from tfx.autodiff.tape import GradientTape

    x = constant([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = argmax.argmax(x)
    assert tape.gradient(y, x) is None
