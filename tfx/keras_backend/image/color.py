"""Colours: grey values, and hue, saturation and value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras.src.backend.common import is_float_dtype, standardize_dtype

import tfx as tf
from tfx.keras_backend.image.layout import (
    as_dtype,
    channels_to_first,
    channels_to_last,
    computed_dtype,
    images_tensor,
    is_channels_first,
)

_LUMA = (0.2989, 0.5870, 0.1140)


def rgb_to_grayscale(images: Any, data_format: Any = None) -> Any:
    """The brightness of each pixel as a single channel; images of one channel stay.

    Raises:
        ValueError: another rank, or neither one nor three channels.
    """
    images = images_tensor(images)
    axis = -3 if is_channels_first(data_format) else -1
    channels = images.shape[axis]
    if channels not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). "
            f"Received input with shape: images.shape={images.shape}"
        )
    if channels == 1:
        return tf.identity(images)
    x = tf.cast(images, computed_dtype(images))
    weights = tf.reshape(tf.constant(_LUMA, x.dtype), (3, *(1,) * (-1 - axis)))
    grey = tf.reduce_sum(x * weights, axis=axis, keepdims=True)
    return tf.cast(grey, images.dtype)


def rgb_to_hsv(images: Any, data_format: Any = None) -> Any:
    """Hue, saturation and value of images in red, green and blue.

    Raises:
        ValueError: another rank, or images that are not of a floating dtype.
    """
    return _converted(tf.image.rgb_to_hsv, images, data_format)


def hsv_to_rgb(images: Any, data_format: Any = None) -> Any:
    """Red, green and blue of images in hue, saturation and value.

    Raises:
        ValueError: another rank, or images that are not of a floating dtype.
    """
    return _converted(tf.image.hsv_to_rgb, images, data_format)


def _converted(convert: Callable[[Any], Any], images: Any, data_format: Any) -> Any:
    """Convert images whose channels are last in float32 or float64."""
    images = images_tensor(images)
    dtype = standardize_dtype(images.dtype)
    if not is_float_dtype(dtype):
        raise ValueError(
            f"Invalid images dtype: expected float dtype. Received: images.dtype={dtype}"
        )
    first = is_channels_first(data_format)
    x = channels_to_last(tf.cast(images, computed_dtype(images)), first)
    return as_dtype(channels_to_first(convert(x), first), dtype)
