"""Comparisons and truth operations against NumPy; the rules of == and != on tensors."""

from __future__ import annotations

import operator

import ml_dtypes
import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.convert import constant
from tfx.framework.variable import Variable
from tfx.ops.math import comparison

ORDERED = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
ALL = {"equal": np.equal, "not_equal": np.not_equal, **ORDERED}
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
NUMBERS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, *INTEGERS]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", ALL)
def test_numbers(name, dtype):
    x, y = np.array([[0, 1, 2]]).astype(dtype), np.array([[1], [2]]).astype(dtype)
    result = getattr(comparison, name)(x, y)
    assert result.dtype == "bool"
    np.testing.assert_array_equal(result, ALL[name](x, y))


@pytest.mark.parametrize("name", ALL)
def test_the_largest_integers(name):
    x, y = np.array([2**64 - 1, 2**63], np.uint64), np.array([1, 2**63 - 1], np.uint64)
    np.testing.assert_array_equal(getattr(comparison, name)(x, y), ALL[name](x, y))


@pytest.mark.parametrize("name", ALL)
def test_nan_and_infinity(name):
    x, y = np.array([np.nan, np.nan, np.inf, -np.inf]), np.array([np.nan, 1.0, np.inf, 1.0])
    np.testing.assert_array_equal(getattr(comparison, name)(x, y), ALL[name](x, y))


@pytest.mark.parametrize("shapes", [((), ()), ((0,), ()), ((2, 1), (3,)), ((2, 0), (1, 0))])
def test_shapes_eager_and_traced(shapes, rng):
    x, y = (rng.integers(0, 3, s) for s in shapes)
    for name, reference in ALL.items():
        f = getattr(comparison, name)
        np.testing.assert_array_equal(f(x, y), reference(x, y))
        np.testing.assert_array_equal(run_traced(f, x, y), reference(x, y))


def test_truth_and_strings_can_be_equal():
    np.testing.assert_array_equal(comparison.equal([True, False], True), [True, False])
    np.testing.assert_array_equal(comparison.not_equal(["a", "b"], "b"), [True, False])


@pytest.mark.parametrize("x", [True, "a"])
@pytest.mark.parametrize("name", ORDERED)
def test_truth_and_strings_have_no_order(name, x):
    with pytest.raises(InvalidArgumentError, match="expected a real number dtype"):
        getattr(comparison, name)(x, x)


def test_python_values_follow_the_tensor():
    x = constant([1, 2], "int64")
    assert comparison.less(x, 2).dtype == "bool"
    with pytest.raises(TypeError, match=r"Cannot convert 1\.5 to EagerTensor of dtype int64"):
        comparison.less(x, 1.5)


def test_different_dtypes_and_shapes_are_refused():
    with pytest.raises(DTypeMismatchError, match="int32 tensor but is a float32"):
        comparison.equal(constant(1), constant(1.0))
    with pytest.raises(InvalidArgumentError, match=r"int32\[2\], int32\[3\]"):
        comparison.equal([1, 2], [1, 2, 3])


TRUTH = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}


@pytest.mark.parametrize("name", TRUTH)
def test_truth_tables(name):
    x, y = np.array([[True], [False]]), np.array([True, False])
    f = getattr(comparison, name)
    np.testing.assert_array_equal(f(x, y), TRUTH[name](x, y))
    np.testing.assert_array_equal(run_traced(f, x, y), TRUTH[name](x, y))


def test_logical_not():
    np.testing.assert_array_equal(comparison.logical_not([True, False]), [False, True])


@pytest.mark.parametrize("name", [*TRUTH, "logical_not"])
def test_truth_operations_take_truth_only(name):
    f, count = getattr(comparison, name), 1 if name == "logical_not" else 2
    with pytest.raises(TypeError, match="Cannot convert 1 to EagerTensor of dtype bool"):
        f(*[1] * count)
    with pytest.raises(TypeError, match="requested dtype bool"):
        f(*[constant(1)] * count)


@pytest.mark.parametrize("make", [constant, Variable])
class TestPythonOperators:
    """``==`` and ``!=``: the answers were read off TensorFlow 2.21."""

    def test_element_by_element(self, make):
        x = make([1, 2])
        np.testing.assert_array_equal(x == [1, 3], [True, False])
        np.testing.assert_array_equal(x != [1, 3], [False, True])
        np.testing.assert_array_equal(x == np.array([1.0, 2.5]), [True, True])

    def test_none_is_never_equal(self, make):
        assert (make([1, 2]) == None) is False  # noqa: E711
        assert (make([1, 2]) != None) is True  # noqa: E711

    def test_shapes_that_do_not_broadcast_differ(self, make):
        equal, differ = make([1, 2]) == [1, 2, 3], make([1, 2]) != [1, 2, 3]
        assert equal.shape == differ.shape == ()
        assert (bool(equal), bool(differ)) == (False, True)

    @pytest.mark.parametrize("compare", [operator.eq, operator.ne])
    def test_what_is_no_number_is_an_error(self, make, compare):
        with pytest.raises(TypeError, match="Cannot convert 'a' to EagerTensor of dtype int32"):
            compare(make([1, 2]), "a")
        with pytest.raises(ValueError, match="unsupported type"):
            compare(make([1, 2]), object())
        with pytest.raises(InvalidArgumentError, match="expected to be a int32 tensor"):
            compare(make([1, 2]), constant([1.0, 2.0]))


def test_equality_in_a_trace():
    def f(x):
        return x == x, x != [1.0, 2.0, 3.0], x == 2.0

    same, differs, two = run_traced(f, np.array([1.0, 2.0], np.float32), static=True)
    np.testing.assert_array_equal(same, [True, True])
    assert differs
    np.testing.assert_array_equal(two, [False, True])
