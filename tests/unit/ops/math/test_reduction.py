"""Reductions against NumPy: dtypes, axes, empty arrays, gradients."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.framework.variable import Variable
from tfx.ops.math import reduction
from tfx.ops.math.elementwise import exp
from tfx.testing import assert_close, check_grads


def _norm(x, axis=None, keepdims=False):
    return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))


FLOATING = {
    "reduce_sum": np.sum,
    "reduce_mean": np.mean,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
    "reduce_logsumexp": scipy.special.logsumexp,
    "reduce_euclidean_norm": _norm,
}
TRUTH = {"reduce_all": np.all, "reduce_any": np.any}
AXES = [None, 0, -1, [1], (0, 2), [-1, 0, 1], np.array([1, 2])]


def _tuple(axis):
    return axis if axis is None or isinstance(axis, int) else tuple(map(int, axis))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", FLOATING)
def test_axes_eager_and_traced(name, axis, keepdims, rng):
    x = rng.uniform(0.5, 2.0, (2, 3, 4))
    expected = FLOATING[name](x, axis=_tuple(axis), keepdims=keepdims)

    def f(v):
        return getattr(reduction, name)(v, axis, keepdims)

    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)
    assert_close(run_traced(f, x, static=True), expected)


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_truth(name, axis, rng):
    x = rng.random((2, 3, 4)) < 0.5
    expected = TRUTH[name](x, axis=_tuple(axis))

    def f(v):
        return getattr(reduction, name)(v, axis)

    np.testing.assert_array_equal(f(x), expected)
    np.testing.assert_array_equal(run_traced(f, x), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", FLOATING)
def test_floats_keep_their_dtype(name, dtype):
    x = np.array([[1.5, 2.0], [0.5, 3.0]]).astype(dtype)
    result = getattr(reduction, name)(x, 1)
    assert result.dtype == dtype
    assert_close(result, FLOATING[name](x.astype(np.float64), axis=1).astype(dtype))


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("name", "reference"),
    [("reduce_sum", np.add), ("reduce_max", np.maximum), ("reduce_min", np.minimum)],
)
def test_integers_keep_their_dtype_and_wrap(name, reference, dtype, rng):
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (3, 50), dtype, endpoint=True)
    x[0, :2] = info.max, 3
    with np.errstate(over="ignore"):
        expected = reference.reduce(x, axis=1, dtype=dtype)
    result = getattr(reduction, name)(x, 1)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integers(dtype):
    result = reduction.reduce_prod(np.array([[2, 3, 4], [5, 1, 7]], dtype), 1)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, [24, 35])


@pytest.mark.parametrize(
    ("x", "mean", "norm"), [([-1, -2], -1, 2), ([1, 2, 4], 2, 4), ([3, 4], 3, 5), ([1, 1], 1, 1)]
)
def test_means_and_norms_of_integers_are_truncated(x, mean, norm):
    assert int(reduction.reduce_mean(x)) == mean
    assert int(reduction.reduce_euclidean_norm(x)) == norm


# What TensorFlow gives for no elements.
EMPTY = {
    "reduce_sum": 0.0,
    "reduce_mean": np.nan,
    "reduce_max": -np.inf,
    "reduce_min": np.inf,
    "reduce_prod": 1.0,
    "reduce_logsumexp": -np.inf,
    "reduce_euclidean_norm": 0.0,
}


@pytest.mark.parametrize("axis", [None, 0, [0, 1]])
@pytest.mark.parametrize("name", EMPTY)
def test_nothing_to_reduce(name, axis):
    x = np.zeros((0, 3), np.float32)

    def f(v):
        return getattr(reduction, name)(v, axis)

    expected = np.full((3,) if axis == 0 else (), EMPTY[name])
    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)
    assert f(x).dtype == "float32"


@pytest.mark.parametrize("name", [*FLOATING, "reduce_all", "reduce_any"])
def test_no_results(name):
    x = np.zeros((0, 3), bool if name in TRUTH else np.float32)
    assert getattr(reduction, name)(x, 1).shape == (0,)


def test_truth_of_nothing():
    nothing = np.zeros((0,), bool)
    assert bool(reduction.reduce_all(nothing)) is True
    assert bool(reduction.reduce_any(nothing)) is False


def test_integers_of_nothing():
    nothing = np.zeros((0,), np.int32)
    assert int(reduction.reduce_mean(nothing)) == 0
    assert int(reduction.reduce_max(nothing)) == -(2**31)


@pytest.mark.parametrize("name", FLOATING)
def test_no_axes_change_nothing(name):
    x = constant([[-1.0, 2.0]])
    expected = np.abs(x) if name == "reduce_euclidean_norm" else x
    assert_close(getattr(reduction, name)(x, []), expected)
    assert_close(run_traced(lambda v: getattr(reduction, name)(v, []), x), expected)


@pytest.mark.parametrize("name", FLOATING)
def test_scalars(name):
    assert_close(getattr(reduction, name)(2.5), np.float32(2.5))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_axes_that_are_tensors(dtype, rng):
    x = rng.standard_normal((2, 3))
    assert_close(reduction.reduce_sum(x, constant(1, dtype)), x.sum(1))
    assert_close(reduction.reduce_sum(x, constant([0, 1], dtype)), x.sum())


@pytest.mark.parametrize("name", [n for n in FLOATING if n != "reduce_euclidean_norm"])
def test_axes_known_only_at_run_time(name, rng):
    x = rng.uniform(0.5, 2.0, (2, 3, 4))

    def f(v, axis):
        return getattr(reduction, name)(v, axis)

    for axis in ([0, -1], [1], []):
        expected = FLOATING[name](x, axis=tuple(axis)) if axis else x
        assert_close(run_traced(f, x, np.array(axis, np.int32)), expected)


def test_an_unknown_axis_has_a_gradient(rng):
    x = rng.standard_normal((2, 3))

    def derivative(v, axis):
        from tfx.autodiff.tape import GradientTape

        with GradientTape() as tape:
            tape.watch(v)
            y = reduction.reduce_sum(exp(reduction.reduce_mean(v, axis)))
        return tape.gradient(y, v)

    expected = np.broadcast_to(np.exp(x.mean(1, keepdims=True)) / 3, x.shape)
    assert_close(run_traced(derivative, x, np.array([1])), expected)


@pytest.mark.parametrize(
    ("axis", "error", "message"),
    [
        (2, InvalidArgumentError, r"Invalid reduction dimension \(2 for input with 2 dim"),
        (-3, InvalidArgumentError, r"Invalid reduction dimension \(-3"),
        ([0, -2], InvalidArgumentError, "Axes contains duplicate dimension: 0"),
        (1.0, TypeError, "axis of ReduceSum must be an integer or several; got 1.0"),
        ("a", TypeError, "got 'a'"),
        (constant(1.0), InvalidArgumentError, "expected an integer dtype"),
    ],
)
def test_bad_axes(axis, error, message):
    with pytest.raises(error, match=message):
        reduction.reduce_sum([[1.0]], axis)


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("x", [True, "a"])
def test_only_numbers(name, x):
    with pytest.raises(InvalidArgumentError, match="not allowed by Reduce"):
        getattr(reduction, name)(x)


def test_only_floats_have_logarithms():
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by ReduceLogSumExp"):
        reduction.reduce_logsumexp([1, 2])


def test_only_truth_is_reduced_to_truth():
    with pytest.raises(TypeError, match=r"Cannot convert \[1, 2\] to EagerTensor of dtype bool"):
        reduction.reduce_all([1, 2])


def test_logsumexp_does_not_overflow():
    assert_close(reduction.reduce_logsumexp([1000.0, 1000.0]), 1000.0 + np.log(2.0))
    assert_close(reduction.reduce_logsumexp([-np.inf, -np.inf]), -np.inf)
    assert_close(reduction.reduce_logsumexp([np.inf, 1.0]), np.inf)


def test_variables_are_read():
    assert_close(reduction.reduce_sum(Variable([1.0, 2.0])), 3.0)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 1, (0, -1), []], ids=str)
@pytest.mark.parametrize("name", FLOATING)
def test_gradients(name, axis, keepdims, rng):
    x = rng.uniform(0.5, 2.0, (2, 3, 2)) * rng.choice([-1.0, 1.0], (2, 3, 2))
    check_grads(lambda v: exp(getattr(reduction, name)(v, axis, keepdims)), [x])


def slope(f, at, traced):
    def derivative(x):
        from tfx.autodiff.tape import GradientTape

        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return run_traced(derivative, np.array(at)) if traced else derivative(constant(np.array(at)))


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("reduce_max", [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
        ("reduce_min", [1.0, 1.0, 3.0], [0.5, 0.5, 0.0]),
        ("reduce_prod", [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
        ("reduce_prod", [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
        ("reduce_euclidean_norm", [0.0, 0.0], [0.0, 0.0]),
        ("reduce_logsumexp", [-np.inf, -np.inf], [0.0, 0.0]),
        ("reduce_logsumexp", [-np.inf, 0.0], [0.0, 1.0]),
    ],
)
def test_gradients_at_ties_and_zeros(name, at, expected, traced):
    assert_close(slope(getattr(reduction, name), at, traced), expected)


def test_products_have_second_derivatives_where_one_factor_is_zero():
    check_grads(lambda x: reduction.reduce_prod(x, 1), [[[0.3, 0.0, 2.0], [1.0, 2.0, 0.0]]])


@pytest.mark.parametrize("op", ["ReduceL1", "ReduceSumSquare", "ReduceLogSum"])
def test_reductions_of_imported_models_have_gradients(op, rng):
    from tfx.framework.apply import apply
    from tfx.framework.convert import int64_constant

    x = rng.uniform(0.5, 2.0, (2, 3))
    for keepdims in (0, 1):
        attrs = {"keepdims": keepdims}
        check_grads(lambda v, a=attrs: apply(op, (v, int64_constant([1])), a), [x])
        check_grads(lambda v, a=attrs: apply(op, (v,), a), [x])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint64])
@pytest.mark.parametrize("keepdims", [False, True])
def test_products_of_integers_wrap_over_axes_that_a_run_tells(dtype, keepdims):
    x = np.random.default_rng(0).integers(1, 100, (3, 4, 5)).astype(dtype)
    signature = [tf.TensorSpec([None] * 3, dtype), tf.TensorSpec([None], tf.int32)]

    @tf.function(input_signature=signature)
    def product(x, axes):
        return tf.reduce_prod(x, axes, keepdims=keepdims)

    for axes in ([0], [1], [2], [-1], [0, 1], [-3, -1], [0, 1, 2], []):
        with np.errstate(over="ignore"):
            expected = np.prod(x, tuple(axes), keepdims=keepdims, dtype=dtype)
        found = product(x, np.array(axes, np.int32))
        assert found.dtype.as_numpy_dtype == dtype
        np.testing.assert_array_equal(found.numpy(), expected)
    for axes in ([3], [-4]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            product(x, np.array(axes, np.int32))
    nothing = product(np.zeros([0, 3, 2], dtype), np.array([0], np.int32))
    assert (nothing.numpy() == 1).all()


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)], ids=str)
def test_many_integers_are_reduced_as_in_a_graph(kind, name, axis):
    info = np.iinfo(kind)
    x = np.random.default_rng(0).integers(info.min, info.max, (30, 20, 10), kind, endpoint=True)
    function = getattr(tf, f"reduce_{name}")
    for keepdims in (False, True):
        found = function(tf.constant(x), axis, keepdims)
        expected = tf.function(lambda x, k=keepdims: function(x, axis, k))(tf.constant(x))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
