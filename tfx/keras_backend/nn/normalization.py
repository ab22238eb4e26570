"""Moments, and batch normalization by them."""

from __future__ import annotations

from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.nn.arguments import floating


def moments(
    x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False
) -> tuple[Any, Any]:
    """Mean and variance over axes; there is one replica, so they are synchronized anyhow."""
    x = floating(x)
    if x.dtype != tf.float16:
        return tf.nn.moments(x, axes, keepdims=keepdims)
    # A variance may be beyond what float16 holds: its largest number then, and not infinity.
    found = tf.nn.moments(tf.cast(x, tf.float32), axes, keepdims=keepdims)
    mean, variance = [
        tf.cast(tf.clip_by_value(y, tf.float16.min, tf.float16.max), x.dtype) for y in found
    ]
    return mean, variance


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    axis: int,
    offset: Any = None,
    scale: Any = None,
    epsilon: float = 1e-3,
) -> Any:
    """``(x - mean) / sqrt(variance + epsilon) * scale + offset``, all but ``x`` along an axis."""
    x = floating(x)
    rank = x.shape.rank
    sides = [1] * rank
    sides[axis] = -1

    def along(y: Any) -> Any:
        if y is None:
            return None
        y = convert_to_tensor(y, x.dtype)
        return y if axis % rank == rank - 1 or y.shape.rank != 1 else tf.reshape(y, sides)

    mean, variance, offset, scale = [along(y) for y in (mean, variance, offset, scale)]
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon)
