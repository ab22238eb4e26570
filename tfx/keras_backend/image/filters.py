"""Filters: each pixel becomes a sum over its neighbourhood."""

from __future__ import annotations

from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, shape
from tfx.keras_backend.image.layout import (
    as_dtype,
    channels_to_first,
    channels_to_last,
    computed_dtype,
    images_tensor,
    is_channels_first,
)
from tfx.keras_backend.image.resampling import multiplied


def gaussian_blur(
    images: Any,
    kernel_size: Any = (3, 3),
    sigma: Any = (1.0, 1.0),
    data_format: Any = None,
) -> Any:
    """Images blurred by a bell curve; outside of an image is zero.

    Raises:
        ValueError: another rank.
    """
    images = images_tensor(images)
    first = is_channels_first(data_format)
    x = tf.cast(images, computed_dtype(images))
    x = x if first else channels_to_first(x, True)
    sides = shape(x)
    # A channel is an image of its own: one kernel serves any number of them.
    planes = tf.reshape(x, (-1, 1, *sides[-2:]))
    rows, columns = _pair(kernel_size, "int32")
    # The second deviation is that of the rows: so do all backends of Keras.
    across, down = _pair(sigma, x.dtype)
    planes = _blurred(planes, 2, rows, down)
    planes = _blurred(planes, 3, columns, across)
    blurred = tf.reshape(planes, sides)
    blurred = blurred if first else channels_to_last(blurred, True)
    return as_dtype(tf.ensure_shape(blurred, images.shape), images.dtype)


def _pair(values: Any, dtype: Any) -> tuple[Any, Any]:
    """Two numbers: of Python as they are, others as scalar tensors."""
    if isinstance(values, list | tuple):
        first, second = values
        return _number(first, dtype), _number(second, dtype)
    values = convert_to_tensor(values, dtype)
    return values[0], values[1]


def _number(value: Any, dtype: Any) -> Any:
    """A number of Python as it is, another as a scalar tensor."""
    return value if isinstance(value, int | float) else convert_to_tensor(value, dtype)


def _blurred(planes: Any, axis: int, size: Any, sigma: Any) -> Any:
    """Blur planes along one axis, with as many weights as asked; they keep their size."""
    places = tf.cast(tf.range(size), planes.dtype) - tf.cast(size - 1, planes.dtype) / 2
    weights = tf.exp(-0.5 * tf.square(places / sigma))
    weights = weights / tf.reduce_sum(weights)
    before = (size - 1) // 2
    if not isinstance(size, int):
        return _banded(planes, axis, weights, before)
    paddings = [[0, 0]] * 4
    paddings[axis] = [before, size - 1 - before]
    kernel = tf.reshape(weights, [-1 if other == axis - 2 else 1 for other in range(4)])
    return tf.nn.conv2d(tf.pad(planes, paddings), kernel, 1, "VALID", data_format="NCHW")


def _banded(planes: Any, axis: int, weights: Any, before: Any) -> Any:
    """Convolve along one axis with weights whose number only a run tells: by a matrix product."""
    places = tf.range(shape(planes)[axis])
    number = places[:, tf.newaxis] - places + before
    last = shape(weights)[0] - 1
    within = (number >= 0) & (number <= last)
    band = tf.gather(weights, tf.minimum(tf.maximum(number, 0), last))
    return multiplied(planes, axis, tf.where(within, band, tf.zeros_like(band)))


def sobel_edges(images: Any, data_format: Any = None) -> Any:
    """The changes of images from row to row and from column to column, along a new last axis."""
    images = convert_to_tensor(images)
    first = is_channels_first(data_format)
    x = channels_to_last(tf.cast(images, computed_dtype(images)), first)
    edges = tf.image.sobel_edges(x)
    edges = tf.transpose(edges, (0, 3, 1, 2, 4)) if first else edges
    return as_dtype(edges, images.dtype)
