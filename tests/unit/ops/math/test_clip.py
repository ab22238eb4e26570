"""clip_by_value against NumPy, in the two ways it is written."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.ops.math.clip import clip_by_value
from tfx.testing import assert_close, check_grads

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]


@pytest.mark.parametrize("wrap", [int, np.asarray])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_dtypes(dtype, wrap):
    x = np.array([1, 5, 9], dtype)
    low, high = (wrap(dtype(v)) for v in (2, 6))
    result = clip_by_value(x, low, high)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, [2, 5, 6])


def test_the_upper_half_of_int64():
    x = np.array([2**32 - 5, 7, -(2**62)])
    np.testing.assert_array_equal(clip_by_value(x, 5, 2**32 - 7), [2**32 - 7, 7, 5])


@pytest.mark.parametrize(
    ("low", "high"),
    [(-0.5, 0.5), (np.array([-1.0, 0.0, 0.5]), 0.7), (0.0, np.array([[0.5], [1.0]]))],
)
def test_limits_of_smaller_shape(low, high, rng):
    x = rng.standard_normal((2, 3))
    expected = np.clip(x, low, high)
    assert_close(clip_by_value(x, low, high), expected)
    assert_close(run_traced(lambda v: clip_by_value(v, low, high), x), expected)


def test_the_minimum_counts_where_limits_cross():
    np.testing.assert_array_equal(clip_by_value([1, 5, 9], 6, 2), [6, 6, 6])


def test_nan_stays():
    assert_close(clip_by_value([np.nan, 2.0], 0.0, 1.0), [np.nan, 1.0])


def test_bad_limits():
    with pytest.raises(ValueError, match=r"Shapes \(\) and \(2,\) are incompatible"):
        clip_by_value(1.0, [0.0, 0.0], [1.0, 2.0])
    with pytest.raises(TypeError, match=r"Cannot convert 0\.5 to EagerTensor of dtype int32"):
        clip_by_value([1, 2], 0.5, 2)


def test_one_operator_where_limits_are_numbers():
    from tfx.framework.context import using
    from tfx.framework.func_graph import FuncGraph

    graph = FuncGraph("f")
    with using(graph=graph):
        clip_by_value(graph.add_argument("x", 1, ("n",)), 0.0, 6.0)
    assert [node.op for node in graph.graph.nodes] == ["Clip"]


def test_gradients():
    check_grads(lambda x: clip_by_value(x, -1.0, 1.0), [[-3.0, -0.5, 0.5, 3.0]])
    check_grads(clip_by_value, [[-3.0, 0.5, 3.0], [-1.0, 0.0, 0.5], 2.0])
    check_grads(lambda x, a, b: apply("Clip", (x, a, b)), [[-3.0, 0.5, 3.0], -1.0, 2.0])
    check_grads(lambda x, b: apply("Clip", (x, None, b)), [[-3.0, 0.5, 3.0], 2.0])


@pytest.mark.parametrize("limits", [(0.0, 1.0), (np.float32([0.0, 0.0]), np.float32([1.0, 1.0]))])
def test_the_ends_of_the_range_have_gradients(limits):
    x = constant([0.0, 1.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = clip_by_value(x, *limits)
    assert_close(tape.gradient(y, x), [1.0, 1.0])
