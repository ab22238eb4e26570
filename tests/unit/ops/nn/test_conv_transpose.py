"""Transposed convolutions against what loops over the taps send back."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops import sliding
from tests.unit.ops.tracing import run_traced
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.ops.array.shape import shape
from tfx.ops.nn import conv_transpose as module
from tfx.testing import assert_close, check_grads


def output_sizes(sizes, kernel, stride, padding, extra):
    if padding == "SAME":
        return [n * stride - extra for n in sizes]
    return [(n - 1) * stride + kernel + extra for n in sizes]


# With a stride of one there is one result only that the convolution leads back from.
STRIDES = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 2)]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "extra"), STRIDES)
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
def test_against_loops(kernel, stride, padding, extra, rng):
    y, w = rng.standard_normal((2, 3, 4, 3)), rng.standard_normal((kernel, kernel, 5, 3))
    target = [2, *output_sizes((3, 4), kernel, stride, padding, extra), 5]

    def f(y):
        return module.conv2d_transpose(y, w, target, stride, padding)

    expected = sliding.conv_transpose(y, w, target, stride, padding)
    assert_close(f(y), expected)
    assert_close(run_traced(f, y), expected)
    # The sizes come from a tensor.
    dynamic = run_traced(
        lambda y, like: module.conv2d_transpose(y, w, shape(like), stride, padding),
        y,
        np.zeros(target),
    )
    assert_close(dynamic, expected)


@pytest.mark.parametrize(
    ("function", "y", "w", "target", "strides"),
    [
        (module.conv1d_transpose, (2, 4, 3), (3, 5, 3), [2, 8, 5], 2),
        (module.conv2d_transpose, (1, 3, 3, 2), (3, 2, 4, 2), [1, 6, 3, 4], [2, 1]),
        (module.conv3d_transpose, (1, 2, 3, 2, 3), (3, 2, 3, 2, 3), [1, 4, 6, 4, 2], 2),
        (module.conv_transpose, (1, 3, 3, 2), (2, 2, 4, 2), [1, 6, 6, 4], 2),
    ],
)
def test_every_rank_and_gradients(function, y, w, target, strides, rng):
    y, w = rng.standard_normal(y), rng.standard_normal(w)

    def f(y, w):
        return function(y, w, target, strides)

    assert_close(f(y, w), sliding.conv_transpose(y, w, target, strides, "SAME"))
    check_grads(f, [y, w])


def test_channels_first_and_dilation(rng):
    y, w = rng.standard_normal((2, 5, 6, 3)), rng.standard_normal((3, 3, 4, 3))
    expected = sliding.conv_transpose(y, w, [2, 5, 6, 4], 1, "SAME", 2)
    result = module.conv2d_transpose(
        np.moveaxis(y, -1, 1), w, [2, 4, 5, 6], 1, "SAME", "NCHW", dilations=2
    )
    assert_close(result, np.moveaxis(expected, -1, 1))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_an_unknown_batch_computes_no_padding(padding):
    graph = FuncGraph("f")
    with using(graph=graph):
        y = graph.add_argument("y", dtypes.float32.onnx, ("batch", 3, 4, 3))
        target = [shape(y)[0], *output_sizes((3, 4), 3, 2, padding, 0), 5]
        result = module.conv2d_transpose(y, np.ones((3, 3, 5, 3), "f"), target, 2, padding)
    assert result.shape.as_list() == [None, *target[1:]]
    assert "Pad" not in {node.op for node in graph.graph.nodes}


@pytest.mark.parametrize(
    ("target", "w", "message"),
    [
        ([1, 9, 9, 4], (3, 3, 4, 2), "doesn't match computed"),
        ([1, 6, 6, 5], (3, 3, 4, 2), "channels"),
        ([1, 6, 6], (3, 3, 4, 2), "length 4"),
        ([1, 6, 6, 4], (3, 3, 4, 3), "channels"),
        ([1, 6, 6, 4], (3, 4, 2), "4-dimensional"),
    ],
)
def test_errors(target, w, message):
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        module.conv2d_transpose(np.ones((1, 3, 3, 2)), np.ones(w), target, 2)
