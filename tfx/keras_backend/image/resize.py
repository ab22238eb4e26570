"""Images of another size, with or without their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, shape
from tfx.keras_backend.image import resampling
from tfx.keras_backend.image.layout import (
    channels_to_first,
    channels_to_last,
    computed_dtype,
    images_tensor,
    is_channels_first,
    is_integer,
    require_one_of,
)

_INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic", "area")


def resize(
    images: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: Any = 0.0,
    data_format: Any = None,
) -> Any:
    """Images of another height and width; integers become float32 where pixels are mixed.

    Raises:
        ValueError: another rank, size, interpolation or fill mode.
    """
    require_one_of("interpolation", interpolation, _INTERPOLATIONS)
    require_one_of("fill_mode", fill_mode, ("constant",))
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError(
            "Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`."
        )
    size = tuple(size)
    if len(size) != 2:
        raise ValueError(
            "Argument `size` must be a tuple of two elements (height, width). "
            f"Received: size={size}"
        )
    images = images_tensor(images)
    first = is_channels_first(data_format)
    x = channels_to_last(images, first)
    if crop_to_aspect_ratio:
        x = _cropped(x, size)
    elif pad_to_aspect_ratio:
        x = _padded(x, size, fill_value)
    x = _resized(x, size, interpolation, antialias)
    if not is_integer(images):
        x = tf.cast(x, images.dtype)
    return channels_to_first(x, first)


def _resized(x: Any, size: tuple[Any, Any], interpolation: str, antialias: bool) -> Any:
    """Resize images whose channels are last."""
    top = x.shape.rank - 3
    known = None not in x.shape[top : top + 2].as_list()
    simple = interpolation == "nearest" or (interpolation in _SIMPLE and not antialias)
    if known or simple:
        return tf.image.resize(x, size, method=interpolation, antialias=antialias)
    return resampling.resized(tf.cast(x, computed_dtype(x)), top, size, interpolation, antialias)


# Those that tfx has for images of any size.
_SIMPLE = ("bilinear", "bicubic")


def _ratio_sides(x: Any, size: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Height and width, and those that fit the width and the height in the ratio of a size."""
    height, width = shape(x)[-3:-1]
    return height, width, width * size[0] // size[1], height * size[1] // size[0]


def _cropped(x: Any, size: Sequence[Any]) -> Any:
    """The largest window in the middle that has the ratio of a size."""
    height, width, fitting_height, fitting_width = _ratio_sides(x, size)
    rows = _larger(_smaller(height, fitting_height), 1)
    columns = _larger(_smaller(width, fitting_width), 1)
    top, left = (height - rows) // 2, (width - columns) // 2
    return x[..., top : top + rows, left : left + columns, :]


def _padded(x: Any, size: Sequence[Any], fill_value: Any) -> Any:
    """Images with as much added on both sides as gives them the ratio of a size."""
    height, width, fitting_height, fitting_width = _ratio_sides(x, size)
    rows = (_larger(height, fitting_height) - height) // 2
    columns = (_larger(width, fitting_width) - width) // 2
    paddings = [[0, 0]] * (x.shape.rank - 3) + [[rows, rows], [columns, columns], [0, 0]]
    return tf.pad(x, paddings, constant_values=convert_to_tensor(fill_value, x.dtype))


def _larger(a: Any, b: Any) -> Any:
    """The larger of two numbers, known now or not."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else tf.maximum(a, b)


def _smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers, known now or not."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else tf.minimum(a, b)
