"""Images resampled along each axis by a matrix of weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, shape
from tfx.keras_backend.image.layout import computed_dtype, is_integer, require_one_of

# Weights that sum to less count as none.
_NOTHING = 1000.0 * 2.0**-23


def _triangle(x: Any) -> Any:
    """The weights of linear interpolation at distances."""
    return tf.nn.relu(1 - x)


def _cubic(x: Any) -> Any:
    """Keys' cubic weights at distances."""
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return tf.where(x < 1, near, tf.where(x < 2, far, tf.zeros_like(x)))


def _lanczos(radius: int) -> Callable[[Any], Any]:
    """The function of Lanczos' weights at distances."""

    def weights(x: Any) -> Any:
        close = x <= 1e-3
        angle = math.pi * tf.where(close, tf.ones_like(x), x)
        waves = radius * tf.sin(angle) * tf.sin(angle / radius) / tf.square(angle)
        inside = tf.where(x > radius, tf.zeros_like(x), waves)
        return tf.where(close, tf.ones_like(x), inside)

    return weights


_KERNELS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), _triangle),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _cubic),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
}


def scale_and_translate(
    images: Any,
    output_shape: Sequence[Any],
    scale: Any,
    translation: Any,
    spatial_dims: Sequence[int],
    method: str,
    antialias: bool = True,
) -> Any:
    """Images of another shape, scaled and moved along some axes; what comes from outside is zero.

    Raises:
        ValueError: another method.
    """
    require_one_of("method", method, tuple(_KERNELS))
    images = convert_to_tensor(images)
    dtype = computed_dtype(images)
    scale = tf.cast(convert_to_tensor(scale), dtype)
    translation = tf.cast(convert_to_tensor(translation), dtype)
    x = tf.cast(images, dtype)
    for number, axis in enumerate(spatial_dims):
        x = _resampled(
            x,
            axis % images.shape.rank,
            output_shape[axis],
            scale[number],
            translation[number],
            _KERNELS[method],
            antialias,
        )
    if not spatial_dims or not is_integer(images):
        return tf.cast(x, images.dtype)
    low, high = tf.reduce_min(images), tf.reduce_max(images)
    within = tf.clip_by_value(tf.round(x), tf.cast(low, dtype), tf.cast(high, dtype))
    return tf.cast(within, images.dtype)


def _resampled(
    x: Any, axis: int, size: Any, scale: Any, translation: Any, kernel: Any, antialias: bool
) -> Any:
    """Multiply an axis by the weights of another number of places along it."""
    given = shape(x)[axis]
    step = 1 / scale
    width = tf.maximum(step, 1) if antialias else tf.ones_like(step)
    places = (_places(size, x.dtype) + 0.5 - translation) * step - 0.5
    distances = tf.abs(_places(given, x.dtype)[:, tf.newaxis] - places) / width
    weights = kernel(distances)
    total = tf.reduce_sum(weights, axis=0)
    inside = (places >= -0.5) & (places <= tf.cast(given, x.dtype) - 0.5)
    enough = tf.abs(total) > _NOTHING
    weights = weights / tf.where(enough, total, tf.ones_like(total))
    return multiplied(x, axis, tf.where(inside & enough, weights, tf.zeros_like(weights)))


def _places(size: Any, dtype: Any) -> Any:
    """The numbers of the places along an axis."""
    return tf.cast(tf.range(size), dtype)


def multiplied(x: Any, axis: int, matrix: Any) -> Any:
    """Multiply one axis by a matrix ``[its size, another size]``."""
    rank = x.shape.rank
    if axis == rank - 1:
        return tf.matmul(x, matrix)
    if axis == rank - 2:
        return tf.matmul(matrix, x, transpose_a=True)
    order = [*(other for other in range(rank) if other != axis), axis]
    back = [order.index(position) for position in range(rank)]
    return tf.transpose(tf.matmul(tf.transpose(x, order), matrix), back)


def resized(x: Any, top: int, size: Sequence[Any], method: str, antialias: bool) -> Any:
    """Images in a floating dtype of another height and width; their own need not be known."""
    for axis, wanted in ((top, size[0]), (top + 1, size[1])):
        given = tf.cast(shape(x)[axis], x.dtype)
        if method == "area":
            x = multiplied(x, axis, _overlaps(shape(x)[axis], wanted, x.dtype))
        else:
            scale = tf.cast(wanted, x.dtype) / given
            zero = tf.zeros_like(scale)
            x = _resampled(x, axis, wanted, scale, zero, _KERNELS[method], antialias)
    return x


def _overlaps(given: Any, wanted: Any, dtype: Any) -> Any:
    """How much each of the given pixels has part in each of the wanted ones."""
    step = tf.cast(given, dtype) / tf.cast(wanted, dtype)
    start, pixel = _places(wanted, dtype) * step, _places(given, dtype)[:, tf.newaxis]
    part = tf.minimum(pixel + 1, start + step) - tf.maximum(pixel, start)
    return tf.nn.relu(part) / step
