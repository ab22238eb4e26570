"""Convolutions along one to three axes, with the channels last or first.

A convolution of each channel by itself is one with as many groups as there are channels.
"""

from __future__ import annotations

import math
from typing import Any

from keras.src.backend.common.backend_utils import (
    check_conv_input_channels,
    check_conv_transpose_input_channels,
    compute_conv_transpose_output_shape,
)
from keras.src.backend.config import standardize_data_format

import tfx as tf
from tfx.keras_backend.conversion import shape
from tfx.keras_backend.nn.arguments import each_axis, layout, together


def conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """Convolution with a kernel ``[*sizes, channels / groups, filters]``.

    Raises:
        ValueError: shapes that do not fit, or windows that do not fit into the input.
    """
    inputs, kernel = together(inputs, kernel)
    return _convolution(inputs, kernel, strides, padding, data_format, dilation_rate)


def _convolution(
    inputs: Any, kernel: Any, strides: Any, padding: str, data_format: str | None, dilations: Any
) -> Any:
    names = layout(data_format, inputs.shape.rank)
    channels, depth = inputs.shape[names.index("C")], kernel.shape[-2]
    if channels is not None and depth is not None and (not depth or channels % depth):
        check_conv_input_channels(inputs, kernel, standardize_data_format(data_format))
    if isinstance(padding, str):
        padding = padding.upper()
    outputs = tf.nn.convolution(inputs, kernel, strides, padding, names, dilations)
    if _is_empty(outputs) and not _is_empty(inputs):
        raise ValueError(
            "The convolution operation resulted in an empty output: the inputs, of shape "
            f"{inputs.shape}, are too small for a kernel of shape {kernel.shape} with "
            f"strides={strides}, dilation_rate={dilations} and padding={padding}."
        )
    return outputs


def _is_empty(x: Any) -> bool:
    return bool(x.shape.is_fully_defined()) and math.prod(x.shape.as_list()) == 0


def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """Convolution of each channel with filters of its own, ``[*sizes, channels, multiplier]``."""
    inputs, kernel = together(inputs, kernel)
    return _depthwise(inputs, kernel, strides, padding, data_format, dilation_rate)


def _depthwise(
    inputs: Any, kernel: Any, strides: Any, padding: str, data_format: str | None, dilations: Any
) -> Any:
    check_conv_input_channels(inputs, kernel, standardize_data_format(data_format))
    *sizes, channels, multiplier = kernel.shape
    if inputs.shape.rank is not None:
        # The number of groups follows from the channels: both must be known.
        names = layout(data_format, inputs.shape.rank)
        known = inputs.shape.as_list()
        if known[names.index("C")] is None:
            known[names.index("C")] = channels
            inputs = tf.ensure_shape(inputs, known)
    grouped = tf.reshape(kernel, [*sizes, 1, channels * multiplier])
    return _convolution(inputs, grouped, strides, padding, data_format, dilations)


def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """A depthwise convolution, and one of single elements that mixes its channels."""
    inputs, depthwise, pointwise = together(inputs, depthwise_kernel, pointwise_kernel)
    apart = _depthwise(inputs, depthwise, strides, padding, data_format, dilation_rate)
    return _convolution(apart, pointwise, 1, "valid", data_format, 1)


def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    output_padding: Any = None,
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """The transpose of ``conv``, with a kernel ``[*sizes, filters, channels]``."""
    inputs, kernel = together(inputs, kernel)
    data_format = standardize_data_format(data_format)
    check_conv_transpose_input_channels(inputs, kernel, data_format)
    names = layout(data_format, inputs.shape.rank)
    sizes = tuple(kernel.shape[:-2])
    dilations = each_axis(dilation_rate, len(sizes))
    surplus = [0] * len(sizes)
    if padding.lower() == "same" and output_padding is not None:
        # Where an even kernel is to add nothing, no convolution has such a transpose: one that
        # adds an element has, and its first element is cut off.
        added = each_axis(output_padding, len(sizes))
        surplus = [
            int(more == 0 and size is not None and (size - 1) * dilation % 2 == 1)
            for more, size, dilation in zip(added, sizes, dilations, strict=True)
        ]
        output_padding = tuple(map(sum, zip(added, surplus, strict=True)))
    target = compute_conv_transpose_output_shape(
        list(shape(inputs)),
        sizes,
        kernel.shape[-2],
        strides,
        padding,
        output_padding,
        data_format,
        dilation_rate,
    )
    outputs = tf.nn.conv_transpose(
        inputs, kernel, target, strides, padding.upper(), names, dilation_rate
    )
    if not any(surplus):
        return outputs
    return outputs[(..., *[slice(n, None) for n in surplus], *[slice(None)] * (names[-1] == "C"))]
