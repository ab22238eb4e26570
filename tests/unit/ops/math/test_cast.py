"""Conversions between dtypes, and what identity and stop_gradient pass on."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import UnimplementedError
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.variable import Variable
from tfx.graph.tags import Mark
from tfx.ops.math.arithmetic import multiply
from tfx.ops.math.cast import cast, identity, identity_n, saturate_cast, stop_gradient
from tfx.ops.math.elementwise import exp
from tfx.testing import check_grads

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]


@pytest.mark.parametrize("to", [*INTEGERS, *FLOATS, np.bool_])
@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, np.bool_])
def test_every_pair(source, to):
    x = np.array([0, 1, 3, 100]).astype(source)
    result = cast(x, to)
    assert result.dtype == to
    np.testing.assert_array_equal(result, x.astype(to))


def test_fractions_are_dropped_and_wide_integers_wrap():
    np.testing.assert_array_equal(cast([1.8, -2.2], "int32"), [1, -2])
    np.testing.assert_array_equal(cast(np.array([300, -1]), np.uint8), [44, 255])


def test_everything_but_zero_is_true():
    np.testing.assert_array_equal(cast([0.5, 0.0, np.nan, -1.0], "bool"), [True, False, True, True])


def test_the_same_dtype_is_the_same_tensor():
    x = constant([1.0])
    assert cast(x, "float32") is x


def test_a_variable_is_read():
    np.testing.assert_array_equal(cast(Variable([1.5]), "int64"), [1])


@pytest.mark.parametrize(("x", "to"), [("1", "int32"), (1, "string")])
def test_strings_are_refused(x, to):
    with pytest.raises(UnimplementedError, match=r"is not supported; use tf\.strings\."):
        cast(x, to)


def test_unknown_dtype():
    with pytest.raises(TypeError, match="cannot convert 'int33'"):
        cast(1, "int33")


@pytest.mark.parametrize(
    ("x", "to", "expected"),
    [
        (np.array([-5.0, 300.0, 7.9], np.float32), np.uint8, [0, 255, 7]),
        (np.array([-5, 300, 7]), np.uint8, [0, 255, 7]),
        (np.array([1e20, -1e20], np.float32), np.int32, [2147483520, -2147483648]),
        (np.array([1e20, -1e20]), np.int32, [2147483647, -2147483648]),
        (np.array([2**64 - 1], np.uint64), np.int64, [2**63 - 1]),
        (np.array([-1], np.int64), np.uint64, [0]),
        (np.array([1e30, -np.inf], np.float32), np.float16, [65504, -65504]),
        (np.array([1e5], ml_dtypes.bfloat16), np.int8, [127]),
        (np.array([7], np.int8), np.float32, [7]),
    ],
)
def test_saturation(x, to, expected):
    result = saturate_cast(x, to)
    assert result.dtype == to
    np.testing.assert_array_equal(result, np.array(expected, to))


def test_gradients_come_back_in_the_dtype_they_left():
    x = constant([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = exp(cast(x, "float64"))
    dx = tape.gradient(y, x)
    assert dx.dtype == "float32"
    np.testing.assert_allclose(dx, np.exp([1.0, 2.0]), rtol=1e-6)


def test_integers_pass_no_gradient():
    x = constant([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = exp(cast(cast(x, "int32"), "float32"))
    assert tape.gradient(y, x) is None


def test_identity():
    x = constant([1.0, 2.0])
    y = identity(x)
    assert y is not x
    np.testing.assert_array_equal(y, x)
    check_grads(lambda v: exp(identity(v)), [[0.3, 0.7]])


def _product_with_constant(x):
    return multiply(x, stop_gradient(exp(x)))


def test_stop_gradient_eagerly():
    x = constant(0.5)
    with GradientTape() as tape:
        tape.watch(x)
        y = _product_with_constant(x)
    np.testing.assert_allclose(tape.gradient(y, x), np.exp(0.5), rtol=1e-6)


def test_stop_gradient_in_a_trace():
    def derivative(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = _product_with_constant(x)
        return y, tape.gradient(y, x)

    y, dx = run_traced(derivative, np.float32(0.5))
    np.testing.assert_allclose(y, 0.5 * np.exp(0.5), rtol=1e-6)
    np.testing.assert_allclose(dx, np.exp(0.5), rtol=1e-6)


def test_stop_gradient_is_written_into_the_graph():
    graph = FuncGraph("f")
    with using(graph=graph):
        stop_gradient(graph.add_argument("x", 1, ()))
    assert [node.tag for node in graph.graph.nodes] == [Mark.STOP_GRADIENT]


def test_identity_n():
    a, b = identity_n([1, np.ones(2)])
    assert a.dtype == "int32"
    assert b.numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("kind", "expected"), [("float16", [65504, 0]), ("bfloat16", [(1 << 64) - (1 << 56), 0])]
)
def test_saturating_to_more_than_a_small_float_holds(kind, expected):
    """Infinity is the largest number there is of the narrower one."""
    found = saturate_cast(constant([np.inf, -np.inf], kind), "uint64")
    assert found.numpy().tolist() == expected


def test_saturating_complex_numbers() -> None:
    wide = tf.constant([1e300 - 2j, -3 - 1e200j], tf.complex128)
    most = np.finfo(np.float32).max
    narrow = tf.saturate_cast(wide, tf.complex64).numpy()
    assert narrow.tolist() == [complex(most, -2), complex(-3, -most)]
    assert tf.saturate_cast(tf.constant(1e300, tf.float64), tf.complex64).numpy() == most
    assert tf.saturate_cast([300 + 2j, -1], tf.uint8).numpy().tolist() == [255, 0]
    assert tf.saturate_cast([1 + 2j], tf.float32).numpy().tolist() == [1]
