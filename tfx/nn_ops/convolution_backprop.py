"""The gradients of convolutions as functions of their own, as programs write them by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.autodiff.tape import GradientTape
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import zeros
from tfx.ops.common.arguments import tensor
from tfx.ops.nn.convolution import conv2d, conv3d, depthwise_conv2d

_NO_DILATION = (1, 1, 1, 1)


def depthwise_conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Sequence[int] = _NO_DILATION,
    name: str | None = None,
) -> Tensor:
    """The gradient of ``depthwise_conv2d`` with respect to its filter.

    Args:
        input: Its input.
        filter_sizes: The shape of its filter.
        out_backprop: The gradient with respect to its result.
        strides: See ``depthwise_conv2d``.
        padding: See ``depthwise_conv2d``.
        data_format: See ``depthwise_conv2d``.
        dilations: Four numbers, of which those of the height and the width count.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> x, dy = tf.ones([1, 3, 3, 1]), tf.ones([1, 2, 2, 1])
        >>> dw = tf.nn.depthwise_conv2d_backprop_filter(x, [2, 2, 1, 1], dy, [1] * 4, "VALID")
        >>> dw[:, :, 0, 0].numpy()
        array([[4., 4.],
               [4., 4.]], dtype=float32)
    """
    x, rates = tensor(input), _inner(dilations, data_format)
    return _gradient(
        lambda w: depthwise_conv2d(x, w, strides, padding, data_format, rates),
        filter_sizes,
        out_backprop,
    )


def depthwise_conv2d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Sequence[int] = _NO_DILATION,
    name: str | None = None,
) -> Tensor:
    """The gradient of ``depthwise_conv2d`` with respect to its input.

    Args:
        input_sizes: The shape of its input.
        filter: Its filter.
        out_backprop: The gradient with respect to its result.
        strides: See ``depthwise_conv2d``.
        padding: See ``depthwise_conv2d``.
        data_format: See ``depthwise_conv2d``.
        dilations: Four numbers, of which those of the height and the width count.
        name: Accepted for compatibility.
    """
    w, rates = tensor(filter), _inner(dilations, data_format)
    return _gradient(
        lambda x: depthwise_conv2d(x, w, strides, padding, data_format, rates),
        input_sizes,
        out_backprop,
    )


def _inner(dilations: Sequence[int], data_format: str) -> list[int]:
    return list(dilations[2:4] if data_format == "NCHW" else dilations[1:3])


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = _NO_DILATION,
    name: str | None = None,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its filter.

    Args:
        input: Its input.
        filter_sizes: The shape of its filter.
        out_backprop: The gradient with respect to its result.
        strides: See ``conv2d``.
        padding: See ``conv2d``.
        use_cudnn_on_gpu: Accepted for compatibility.
        data_format: See ``conv2d``.
        dilations: See ``conv2d``.
        name: Accepted for compatibility.
    """
    x = tensor(input)
    return _gradient(
        lambda w: conv2d(x, w, strides, padding, data_format, list(dilations)),
        filter_sizes,
        out_backprop,
    )


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = _NO_DILATION,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its input.

    Args:
        input_sizes: The shape of its input.
        filter: Its filter.
        out_backprop: The gradient with respect to its result.
        strides: See ``conv2d``.
        padding: See ``conv2d``.
        use_cudnn_on_gpu: Accepted for compatibility.
        data_format: See ``conv2d``.
        dilations: See ``conv2d``.
        name: Accepted for compatibility.
        filters: Newer name of ``filter``.
    """
    w = tensor(filter if filters is None else filters)
    return _gradient(
        lambda x: conv2d(x, w, strides, padding, data_format, list(dilations)),
        input_sizes,
        out_backprop,
    )


def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its filter; see ``conv2d_backprop_filter``."""
    x = tensor(input)
    return _gradient(
        lambda w: conv3d(x, w, strides, padding, data_format, list(dilations)),
        filter_sizes,
        out_backprop,
    )


def conv3d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its input; see ``conv2d_backprop_input``."""
    w = tensor(filter)
    return _gradient(
        lambda x: conv3d(x, w, strides, padding, data_format, list(dilations)),
        input_sizes,
        out_backprop,
    )


def _gradient(convolve: Callable[[Tensor], Tensor], sizes: Any, out_backprop: Any) -> Tensor:
    """The gradient of what is linear, at zeros of some shape."""
    dy = tensor(out_backprop)
    at = zeros(sizes, dy.dtype)
    with GradientTape() as tape:
        tape.watch(at)
        result = convolve(at)
    found: Tensor = tape.gradient(result, at, dy)
    return found
