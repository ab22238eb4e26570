"""``one_hot`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.agreement import check
from tests.unit.ops.number_types import NUMBERS
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.ops.array.one_hot import one_hot
from tfx.testing import assert_close, check_grads


def _reference(indices, depth, axis=-1, on=1, off=0, dtype=np.float32):
    hot = np.asarray(indices)[..., None] == np.arange(depth)
    return np.moveaxis(np.where(hot, on, off).astype(dtype), -1, axis)


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [(s, a) for s in ((), (4,), (2, 3), (0,)) for a in (-1, 0, 1) if a <= len(s)],
)
def test_shapes_and_axes(shape, axis, dtype, rng):
    low = 0 if dtype == "uint8" else -2
    indices = rng.integers(low, 6, shape).astype(dtype)
    check(lambda i: one_hot(i, 4, axis=axis), [indices], _reference(indices, 4, axis))
    check(
        lambda i, n: one_hot(i, n, axis=axis),
        [indices, np.array(4, np.int32)],
        _reference(indices, 4, axis),
    )


@pytest.mark.parametrize("depth", [0, 1])
def test_little_depth(depth):
    check(lambda i: one_hot(i, depth), [np.array([0, 1])], _reference([0, 1], depth))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_dtypes(dtype):
    result = one_hot([0, -1, 2], 3, dtype=dtype)
    assert result.dtype == dtype
    assert_close(result, constant(_reference([0, -1, 2], 3).astype(np.int32), dtype))
    assert_close(one_hot([1], 2, on_value=7, off_value=3, dtype=dtype), constant([[3, 7]], dtype))


def test_values():
    assert_close(one_hot([0], 2, on_value=5.5, off_value=-0.5), [[5.5, -0.5]])
    assert one_hot([0], 2, on_value=5).dtype == "int32"
    assert one_hot([0], 2, off_value=np.float64(5)).dtype == "float64"
    assert one_hot([0], 2, 5, dtype="float32").dtype == "float32"
    assert one_hot([0], 2, True, False).numpy().tolist() == [[True, False]]
    assert one_hot([0], 2, "a", "b").numpy().tolist() == [[b"a", b"b"]]


def test_gradients_of_the_values():
    check_grads(lambda on, off: one_hot([0, 2, 7, -1], 3, on, off) ** 2.0, [2.0, 3.0])


@pytest.mark.parametrize("axis", [0, -1])
def test_gradient_of_the_operator(axis):
    indices, depth = constant([[0, 2], [7, -1]], "int64"), constant(3, "int64")
    check_grads(lambda v: apply("OneHot", (indices, depth, v), {"axis": axis}) ** 2.0, [[2.0, 3.0]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0.0], 2), InvalidArgumentError, "Value for attr 'TI' of float32"),
        (([0], -2), InvalidArgumentError, "depth must be non-negative, got: -2"),
        (([0], [2]), InvalidArgumentError, "depth must be a scalar"),
        (([0], 2, None, None, 4), InvalidArgumentError, "Expected axis to be -1 or between"),
        (([0], 2, 5, 1.5), TypeError, "of on_value does not match dtype"),
        (([0], 2, np.float64(5), None, None, "float32"), None, None),
        (([0], 2, constant(5), None, None, "float32"), TypeError, "does not match dtype parameter"),
        (([0], 2, None, None, None, "bool"), TypeError, "Cannot convert 1 to EagerTensor of dtype"),
    ],
    ids=range(8),
)
def test_errors(arguments, error, message):
    if error is None:
        assert one_hot(*arguments).dtype == "float32"
        return
    with pytest.raises(error, match=message):
        one_hot(*arguments)
