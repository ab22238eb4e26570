"""Pools: the maximum or the mean of windows along one to three axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, shape
from tfx.keras_backend.nn.arguments import each_axis, floating, layout


def max_pool(
    inputs: Any,
    pool_size: Any,
    strides: Any = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """The largest element of each window."""
    inputs = convert_to_tensor(inputs)
    return _pool(tf.nn.max_pool, inputs, pool_size, strides, padding, data_format)


def average_pool(
    inputs: Any,
    pool_size: Any,
    strides: Any = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Any:
    """The mean of each window; what is padded does not count."""
    inputs = floating(inputs)
    return _pool(tf.nn.avg_pool, inputs, pool_size, strides, padding, data_format)


def _pool(
    compute: Callable[..., Any],
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
) -> Any:
    names = layout(data_format, inputs.shape.rank)
    steps = pool_size if strides is None else strides
    return compute(inputs, pool_size, steps, padding.upper(), names)


def adaptive_max_pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Any:
    """The largest element of each of as many windows as asked for, which cover the input."""
    return _adaptive_pool(
        tf.nn.max_pool, _windows_maximum, convert_to_tensor(inputs), output_size, data_format
    )


def adaptive_average_pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Any:
    """The mean of each of as many windows as asked for, which cover the input."""
    return _adaptive_pool(tf.nn.avg_pool, _windows_mean, floating(inputs), output_size, data_format)


def _adaptive_pool(
    pool: Callable[..., Any],
    along: Callable[[Any, int, Any, int], Any],
    inputs: Any,
    output_size: Any,
    data_format: str | None,
) -> Any:
    names = layout(data_format, inputs.shape.rank)
    counts = each_axis(output_size, len(names) - 2)
    first = 2 if names[1] == "C" else 1
    sizes = shape(inputs)[first : first + len(counts)]
    if all(isinstance(n, int) and n % k == 0 for n, k in zip(sizes, counts, strict=True)):
        window = [n // k for n, k in zip(sizes, counts, strict=True)]
        return pool(inputs, window, window, "VALID", names)
    # From the last axis on: what is behind an axis is then known where it is multiplied.
    for axis in reversed(range(first, first + len(counts))):
        size, count = sizes[axis - first], counts[axis - first]
        if size is not count:
            inputs = along(inputs, axis, size, count)
    return inputs


def _bounds(size: Any, count: int) -> tuple[Any, Any, Any]:
    """What counts places, and where each window begins and ends; neighbours may overlap."""
    known = isinstance(size, int)
    numbers: Any = np.arange if known else tf.range
    divide: Any = operator.floordiv if known else tf.truncatediv
    window = numbers(count)
    return numbers, divide(window * size, count), divide((window + 1) * size + count - 1, count)


def _windows_maximum(x: Any, axis: int, size: Any, count: int) -> Any:
    numbers, begin, end = _bounds(size, count)
    known = isinstance(size, int)
    # No window is longer; a shorter one has its last element more than once.
    longest = size // count + 2 if known else tf.truncatediv(size, count) + 2
    least: Any = np.minimum if known else tf.minimum
    places = least(begin[:, None] + numbers(longest), end[:, None] - 1)
    return tf.reduce_max(tf.gather(x, places, axis=axis), axis + 1)


def _windows_mean(x: Any, axis: int, size: Any, count: int) -> Any:
    numbers, begin, end = _bounds(size, count)
    place = numbers(size)
    inside = (place >= begin[:, None]) & (place < end[:, None])
    if isinstance(size, int):
        shares = tf.constant(inside / (end - begin)[:, None], x.dtype)
    else:
        shares = tf.cast(inside, x.dtype) / tf.cast(end - begin, x.dtype)[:, None]
    behind = x.shape.rank - 1 - axis
    if behind == 0:
        return tf.matmul(x, shares, transpose_b=True)
    if behind == 1:
        return tf.matmul(shares, x)
    sides = shape(x)
    rest = math.prod(sides[axis + 1 :])
    means = tf.matmul(shares, tf.reshape(x, [-1, size, rest]))
    return tf.reshape(means, [*sides[:axis], count, *sides[axis + 1 :]])
