"""Integer operators over their whole range, where ONNX Runtime's own kernels are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tfx.framework.apply import apply
from tfx.framework.convert import constant, int64_constant

REDUCTIONS = {"ReduceSum": np.add, "ReduceMax": np.maximum, "ReduceMin": np.minimum}
INTEGERS = [np.int32, np.int64, np.uint32, np.uint64]


@pytest.fixture(params=[(None, 2**33), (None, None), (2**32 - 50, 2**32 + 50)], ids=str)
def numbers(request, rng):
    """Draw integers of a dtype between limits (None: the dtype's own)."""

    def draw(dtype, shape):
        info = np.iinfo(dtype)
        low, high = request.param
        low = info.min if low is None else min(low, info.max - 100)
        high = info.max if high is None else min(high, info.max)
        return rng.integers(max(low, info.min), high, shape, dtype, endpoint=True)

    return draw


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("op", "reference"),
    [("ReduceSum", np.add), ("ReduceMax", np.maximum), ("ReduceMin", np.minimum)],
)
def test_reductions(op, reference, dtype, keepdims, axes, numbers):
    x = numbers(dtype, (3, 17, 4))
    reference = REDUCTIONS[op]
    with np.errstate(over="ignore"):
        expected = x
        for axis in sorted(axes, reverse=True):
            expected = reference.reduce(expected, axis, dtype=dtype, keepdims=bool(keepdims))
    result = apply(op, (constant(x), int64_constant(axes)), {"keepdims": keepdims})
    np.testing.assert_array_equal(result, expected)
    if len(axes) == 3:
        all_axes = apply(op, (constant(x),), {"keepdims": keepdims})
        np.testing.assert_array_equal(all_axes, expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_reductions_of_nothing(dtype):
    info, nothing = np.iinfo(dtype), constant(np.zeros((0, 2), dtype))
    for op, expected in (("ReduceSum", 0), ("ReduceMax", info.min), ("ReduceMin", info.max)):
        result = apply(op, (nothing, int64_constant([0])), {"keepdims": 0})
        np.testing.assert_array_equal(result, np.full(2, expected, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("op", "reference"), [("ArgMax", np.argmax), ("ArgMin", np.argmin)])
def test_positions(op, reference, dtype, numbers):
    x = numbers(dtype, (5, 30))
    result = apply(op, (constant(x),), {"axis": 1, "keepdims": 0})
    np.testing.assert_array_equal(result, reference(x, 1))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("op", "reference"), [("Max", np.maximum), ("Min", np.minimum)])
def test_extremes_of_several(op, reference, dtype, numbers):
    x, y, z = numbers(dtype, (1, 40)), numbers(dtype, (3, 1)), numbers(dtype, ())
    np.testing.assert_array_equal(apply(op, (constant(x),)), x)
    np.testing.assert_array_equal(apply(op, (constant(x), constant(y))), reference(x, y))
    result = apply(op, (constant(x), constant(y), constant(z)))
    np.testing.assert_array_equal(result, reference(reference(x, y), z))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_clip(dtype, numbers):
    x = numbers(dtype, (60,))
    low, high = np.sort(x)[[20, 40]]
    pair = constant(low), constant(high)
    np.testing.assert_array_equal(apply("Clip", (constant(x), *pair)), np.clip(x, low, high))
    np.testing.assert_array_equal(apply("Clip", (constant(x), pair[0])), np.maximum(x, low))
    np.testing.assert_array_equal(apply("Clip", (constant(x), None, pair[1])), np.minimum(x, high))
    np.testing.assert_array_equal(apply("Clip", (constant(x),)), x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sign(dtype, numbers):
    x = np.append(numbers(dtype, (60,)), dtype(0))
    np.testing.assert_array_equal(apply("Sign", (constant(x),)), np.sign(x))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("op", ["Div", "Mod"])
def test_smallest_integer_over_minus_one(op, dtype, rng):
    """On x86 this division traps and would end the process."""
    lowest = np.iinfo(dtype).min
    x = np.array([lowest, lowest, 7, -7, 0, lowest + 1], dtype)
    y = np.array([-1, 1, -1, 2, -1, -1], dtype)
    expected = np.array([lowest, lowest, -7, -3, 0, -(lowest + 1)], dtype)
    if op == "Mod":
        expected = np.array([0, 0, 0, 1, 0, 0], dtype)
    np.testing.assert_array_equal(apply(op, (constant(x), constant(y))).numpy(), expected)
