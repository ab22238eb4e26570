"""Convolutions and their gradients against loops over the taps."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops import sliding
from tests.unit.ops.graphs import operators
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.nn import convolution as module
from tfx.testing import assert_close, check_grads

# input shape, filter shape, strides, padding, dilations
CASES = [
    *(((2, 7, 8, 3), (k, k, 3, 4), s, p, 1)
      for k in (1, 2, 3, 5) for s in (1, 2, 3) for p in ("SAME", "VALID")),
    ((2, 9, 8, 3), (3, 2, 3, 2), (2, 1), "SAME", 1),
    ((2, 9, 8, 3), (3, 2, 3, 2), [1, 1, 3, 1], "VALID", 1),
    ((1, 9, 9, 2), (3, 3, 2, 4), 1, "SAME", 2),
    ((1, 9, 9, 2), (3, 2, 2, 4), 1, "VALID", (2, 3)),
    ((1, 9, 9, 2), (3, 3, 2, 4), 2, "SAME", 2),
    ((1, 6, 7, 4), (3, 3, 2, 6), 2, "SAME", 1),  # two groups
    ((1, 6, 7, 4), (2, 2, 1, 8), 1, "VALID", 1),  # four groups
    ((2, 7, 8, 3), (3, 3, 3, 4), 2, [[0, 0], [1, 2], [0, 3], [0, 0]], 1),
    ((2, 9, 3), (4, 3, 5), 2, "SAME", 1),
    ((2, 9, 3), (4, 3, 5), 1, "VALID", 2),
    ((1, 5, 4, 6, 2), (2, 3, 2, 2, 3), [1, 2, 1, 2, 1], "SAME", 1),
]  # fmt: skip
GRADIENT_CASES = CASES[4:12:3] + CASES[24:]


def convolution(case):
    _, _, strides, padding, dilations = case
    return lambda x, w: module.convolution(
        x, w, strides=strides, padding=padding, dilations=dilations
    )


def with_channels(x, case):
    """All that must be known while tracing: the filter, and how many channels there are."""
    x.set_shape([None] * (len(case[0]) - 1) + [case[0][-1]])
    return x


@pytest.mark.parametrize("case", CASES, ids=str)
def test_against_loops(case, rng):
    x, w = rng.standard_normal(case[0]), rng.standard_normal(case[1])
    expected = sliding.conv(x, w, *case[2:])
    f = convolution(case)
    assert_close(f(x, w), expected)
    assert_close(run_traced(f, x, w, static=True), expected)
    assert_close(run_traced(lambda x: f(with_channels(x, case), w), x), expected)


@pytest.mark.parametrize("case", GRADIENT_CASES, ids=str)
def test_gradients(case, rng):
    check_grads(convolution(case), [rng.standard_normal(case[0]), rng.standard_normal(case[1])])


@pytest.mark.parametrize("case", GRADIENT_CASES, ids=str)
def test_gradients_with_sizes_known_at_run_time_only(case, rng):
    x, w = rng.standard_normal(case[0]), rng.standard_normal(case[1])
    f = convolution(case)
    weights = rng.standard_normal(f(x, w).shape.as_list())

    def gradients(x):
        filters = constant(w)
        with GradientTape() as tape:
            tape.watch([x, filters])
            loss = reduce_sum(f(with_channels(x, case), filters) * weights)
        return tape.gradient(loss, [x, filters])

    expected = gradients(constant(x))
    assert_close(run_traced(gradients, x), expected)
    assert_close(run_traced(gradients, x, static=True), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_dtypes(dtype, rng):
    x, w = rng.standard_normal((1, 5, 5, 2)), rng.standard_normal((3, 3, 2, 2))
    result = module.conv2d(x.astype(dtype), w.astype(dtype), 1, "SAME")
    assert result.dtype == dtype
    rough = 0.1 if dtype is ml_dtypes.bfloat16 else 1e-2 if dtype is np.float16 else 1e-5
    assert_close(result, sliding.conv(x, w, 1, "SAME").astype(dtype), atol=rough, rtol=rough)


@pytest.mark.parametrize(
    ("function", "x", "w"),
    [(module.conv1d, (2, 9, 3), (3, 3, 4)), (module.conv2d, (2, 6, 7, 3), (3, 2, 3, 4)),
     (module.conv3d, (1, 4, 5, 6, 3), (2, 2, 2, 3, 4)),
     (module.depthwise_conv2d, (2, 6, 7, 3), (3, 2, 3, 2))],
)  # fmt: skip
def test_channels_first(function, x, w, rng):
    x, w = rng.standard_normal(x), rng.standard_normal(w)
    axes = x.ndim - 2
    first = "NC" + "DHW"[3 - axes :]
    last = function(x, w, [1] * (axes + 2), "SAME")
    moved = function(np.moveaxis(x, -1, 1), w, [1] * (axes + 2), "SAME", data_format=first)
    assert_close(moved, np.moveaxis(last.numpy(), -1, 1))


def test_several_batch_axes(rng):
    x, w = rng.standard_normal((2, 3, 5, 6, 2)), rng.standard_normal((3, 3, 2, 4))
    expected = sliding.conv(x.reshape(6, 5, 6, 2), w, 2, "SAME").reshape(2, 3, 3, 3, 4)
    assert_close(module.conv2d(x, w, 2, "SAME"), expected)
    assert_close(run_traced(lambda x: module.conv2d(x, w, 2, "SAME"), x), expected)


def test_no_images():
    x, w = np.ones((0, 4, 4, 2), np.float32), np.ones((3, 3, 2, 5), np.float32)
    result = module.conv2d(x, w, 1, "SAME")
    assert result.shape == [0, 4, 4, 5]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("x", "w", "strides", "dilations"),
    [((2, 7, 8, 3), (3, 3, 3, 1), 1, 1), ((2, 7, 8, 3), (3, 2, 3, 2), 2, 1),
     ((1, 9, 9, 2), (3, 3, 2, 1), 1, 2)],
)  # fmt: skip
def test_depthwise(x, w, strides, dilations, padding, rng):
    x, w = rng.standard_normal(x), rng.standard_normal(w)

    def f(x, w):
        return module.depthwise_conv2d(
            x, w, [1, strides, strides, 1], padding, dilations=[dilations, dilations]
        )

    expected = sliding.depthwise(x, w, strides, padding, dilations)
    assert_close(f(x, w), expected)
    assert_close(run_traced(lambda x: f(x, w), x), expected)
    check_grads(f, [x, w])


def test_separable(rng):
    x = rng.standard_normal((1, 5, 6, 3))
    depth, point = rng.standard_normal((3, 3, 3, 2)), rng.standard_normal((1, 1, 6, 4))
    result = module.separable_conv2d(x, depth, point, [1, 1, 1, 1], "SAME")
    assert_close(result, sliding.depthwise(x, depth, 1, "SAME") @ point[0, 0])
    with pytest.raises(ValueError, match="pointwise_filter"):
        module.separable_conv2d(x, depth, np.ones((2, 1, 6, 4)), 1, "SAME")


def test_atrous(rng):
    x, w = rng.standard_normal((1, 9, 9, 2)), rng.standard_normal((3, 3, 2, 4))
    assert_close(module.atrous_conv2d(x, w, 2, "SAME"), sliding.conv(x, w, 1, "SAME", 2))


def test_static_padding_is_written_down():
    def f(x):
        return module.conv2d(x, np.ones((3, 3, 3, 4), np.float32), 2, "SAME")

    assert "Pad" not in operators(f, ("n", 7, 8, 3))
    assert "Pad" not in operators(f, ("n", "h", "w", 3))


@pytest.mark.parametrize(
    ("x", "w", "options", "message"),
    [
        ((1, 3, 3, 2), (2, 2, 3, 1), {}, "input depth must be evenly divisible"),
        ((1, 3, 3, 4), (2, 2, 2, 3), {}, "input depth must be evenly divisible"),
        ((1, 3, 3, 2), (5, 5, 2, 1), {"padding": "VALID"}, "output size would be negative: -1"),
        ((3, 3, 2), (2, 2, 2, 1), {}, "4-dimensional"),
        ((1, 3, 3, 2), (2, 2, 2), {}, "filter must be 4-dimensional"),
        ((1, 3, 3, 2), (2, 2, 2, 1), {"strides": [1, 2, 2]}, "length 1, 2 or 4"),
        ((1, 3, 3, 2), (2, 2, 2, 1), {"strides": [2, 1, 1, 1]}, "batch and channel"),
        ((1, 3, 3, 2), (2, 2, 2, 1), {"strides": 0}, "must be positive"),
        ((1, 3, 3, 2), (2, 2, 2, 1), {"padding": "FULL"}, "'SAME', 'VALID'"),
        ((1, 3, 3, 2), (2, 2, 2, 1), {"padding": [[1, 0]]}, "explicit `padding`"),
        ((1, 3, 3, 2), (2, 2, 2, 1), {"padding": [[1, 1], [0, 0], [0, 0], [0, 0]]}, "must be 0"),
        ((1, 3, 3, 2), (2, 2, 2, 1), {"data_format": "CHWN"}, "data_format"),
    ],
)
def test_errors(x, w, options, message):
    given = {"strides": 1, "padding": "SAME", **options}
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        module.conv2d(np.ones(x), np.ones(w), **given)


def test_integers_are_refused():
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by Conv2D"):
        module.conv2d(np.ones((1, 3, 3, 1), np.int32), np.ones((1, 1, 1, 1), np.int32), 1, "SAME")


@pytest.mark.parametrize(
    ("value", "bias", "data_format"),
    [((2, 3), (3,), None), ((2, 4, 4, 3), (3,), "NHWC"), ((2, 3, 4, 4), (3,), "NCHW"),
     ((2, 3), (3,), "NCHW")],
)  # fmt: skip
def test_bias_add(value, bias, data_format, rng):
    x, b = rng.standard_normal(value), rng.standard_normal(bias)
    shape = [1, -1, *[1] * (x.ndim - 2)] if data_format == "NCHW" else [-1]

    def f(x, b):
        return module.bias_add(x, b, data_format)

    assert_close(f(x, b), x + b.reshape(shape))
    assert_close(run_traced(f, x, b), x + b.reshape(shape))
    check_grads(f, [x, b])


@pytest.mark.parametrize(
    ("value", "bias", "data_format", "message"),
    [((2, 3), (2,), None, "as many biases"), ((2, 3), (3, 1), None, "must be 1D"),
     ((3,), (3,), None, "at least 2D"), ((2, 3), (3,), "CN", "data_format")],
)  # fmt: skip
def test_bias_add_errors(value, bias, data_format, message):
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        module.bias_add(np.ones(value), np.ones(bias), data_format)


@pytest.mark.parametrize(("axes", "stride"), [(1, 1), (2, 2), (3, 1)])
def test_windows_that_just_do_not_fit_have_no_positions(axes: int, stride: int) -> None:
    x, w = tf.ones([2, *[2] * axes, 3]), tf.ones([*[3] * axes, 3, 4])
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = tf.nn.convolution(x, w, stride, "VALID")
    assert y.shape == [2, *[0] * axes, 4]
    dx, dw = tape.gradient(y, [x, w])
    assert not dx.numpy().any()
    assert not dw.numpy().any()
    assert dw.shape == w.shape
