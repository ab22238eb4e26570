"""The order of the axes of images, and the dtype that they are computed in."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import standardize_data_format

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor


def images_tensor(images: Any) -> Any:
    """Convert an image or a batch of images to a tensor.

    Raises:
        ValueError: the rank is neither 3 nor 4.
    """
    images = convert_to_tensor(images)
    if images.shape.rank not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={images.shape}"
        )
    return images


def is_channels_first(data_format: Any) -> bool:
    """True if the channels come before height and width, as asked or as configured."""
    return bool(standardize_data_format(data_format) == "channels_first")


def channels_to_last(images: Any, first: bool) -> Any:
    """Move the channels to the end if they come first."""
    return _permuted(images, (1, 2, 0)) if first else images


def channels_to_first(images: Any, first: bool) -> Any:
    """Move the channels from the end before height and width, if they belong there."""
    return _permuted(images, (2, 0, 1)) if first else images


def _permuted(images: Any, order: tuple[int, ...]) -> Any:
    """Transpose the last three axes."""
    lead = images.shape.rank - 3
    return tf.transpose(images, (*range(lead), *(lead + axis for axis in order)))


def computed_dtype(*tensors: Any) -> str:
    """``"float64"`` if one of the tensors has it, else ``"float32"``."""
    return "float64" if any(x.dtype == "float64" for x in tensors) else "float32"


def is_integer(x: Any) -> bool:
    """True for a tensor of integers."""
    return bool(standardize_dtype(x.dtype).startswith(("int", "uint")))


def as_dtype(x: Any, dtype: Any) -> Any:
    """Convert computed pixels to a dtype, rounded and within its range."""
    if x.dtype == dtype:
        return x
    if standardize_dtype(dtype).startswith(("int", "uint")):
        return tf.saturate_cast(tf.round(x), dtype)
    return tf.cast(x, dtype)


def require_one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse what an argument does not allow.

    Raises:
        ValueError: the value is not one of those allowed.
    """
    if value not in allowed:
        raise ValueError(
            f"Invalid value for argument `{name}`. Expected one of {allowed}. "
            f"Received: {name}={value}"
        )
