"""Images taken apart into patches and put together again, and compared."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from keras.src.backend.config import standardize_data_format

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, shape
from tfx.keras_backend.nn.arguments import each_axis, together


def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The patches of images ``[batch, channels, height, width]`` as columns.

    Returns:
        ``[batch, channels * elements of a patch, patches]``.
    """
    x = convert_to_tensor(input)
    kernel, dilations, pads, strides = (
        each_axis(v, 2) for v in (kernel_size, dilation, padding, stride)
    )
    if any(pads):
        x = tf.pad(x, [[0, 0], [0, 0], *[[p, p] for p in pads]])
    batch, channels, *sizes = shape(x)
    counts = []
    for i, size in enumerate(sizes):
        known = isinstance(size, int)
        divide: Any = operator.floordiv if known else tf.truncatediv
        count = divide(size - dilations[i] * (kernel[i] - 1) - 1, strides[i]) + 1
        numbers: Any = np.arange if known else tf.range
        taps = np.arange(kernel[i])[:, None] * dilations[i]
        x = tf.gather(x, taps + numbers(count) * strides[i], axis=2 + 2 * i)
        counts.append(count)
    # [batch, channels, taps, rows, taps, columns]
    x = tf.transpose(x, [0, 1, 2, 4, 3, 5])
    return tf.reshape(x, [batch, channels * math.prod(kernel), counts[0] * counts[1]])


def fold(
    x: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """The sum of patches at their places: the transpose of ``unfold``."""
    sizes, kernel, dilations, pads, strides = (
        each_axis(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)
    )
    return tf.raw.Col2Im(
        convert_to_tensor(x),
        tf.constant(sizes, tf.int64),
        tf.constant(kernel, tf.int64),
        dilations=dilations,
        pads=pads * 2,
        strides=strides,
    )


def depth_to_space(x: Any, block_size: int, data_format: str = "channels_last") -> Any:
    """Channels spread over blocks of pixels."""
    return _rearranged(tf.raw.DepthToSpace, x, block_size, data_format)


def space_to_depth(x: Any, block_size: int, data_format: str = "channels_last") -> Any:
    """Blocks of pixels laid behind each other as channels."""
    return _rearranged(tf.raw.SpaceToDepth, x, block_size, data_format)


def _rearranged(compute: Callable[..., Any], x: Any, block_size: int, data_format: str) -> Any:
    x = convert_to_tensor(x)
    if standardize_data_format(data_format) == "channels_first":
        return compute(x, blocksize=block_size)
    # Between convolutions, whose channels are first, too, these transpositions fall away.
    moved = compute(tf.transpose(x, [0, 3, 1, 2]), blocksize=block_size)
    return tf.transpose(moved, [0, 2, 3, 1])


def psnr(x1: Any, x2: Any, max_val: Any) -> Any:
    """Peak signal-to-noise ratio of two images, in decibels.

    Raises:
        ValueError: shapes that differ.
    """
    x1, x2 = together(x1, x2)
    if not x1.shape.is_compatible_with(x2.shape):
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation.")
    error = tf.reduce_mean(tf.math.squared_difference(x1, x2))
    peak = tf.math.log(convert_to_tensor(max_val, x2.dtype))
    return (20.0 * peak - 10.0 * tf.math.log(error)) * (1 / math.log(10))
