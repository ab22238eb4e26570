"""Probabilities of scores: ``sigmoid``, ``softmax`` and its relatives.

A result remembers the scores that it was made of: ``losses`` computes with them, where the
probabilities would have lost what is nearly 0 or nearly 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tfx as tf
from tfx.keras_backend.nn.arguments import floating


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` of each element."""
    x = floating(x)
    output: Any = tf.nn.sigmoid(x)
    output._scores = (x, None)
    return output


def softmax(x: Any, axis: int | None = -1) -> Any:
    """``exp(x)`` over its sum along an axis; over all of it for None."""
    x = floating(x)
    output = _along(tf.nn.softmax, x, axis)
    if axis is not None and x.shape.rank:
        output._scores = (x, axis % x.shape.rank)
    return output


def log_softmax(x: Any, axis: int | None = -1) -> Any:
    """The logarithm of ``softmax``, without underflow."""
    return _along(tf.nn.log_softmax, floating(x), axis)


def scores_of(output: Any, axis: int | None) -> Any:
    """The scores of which a sigmoid (axis None), or a softmax along an axis, made a tensor.

    None if the tensor is not known to be the result of that.
    """
    scores, along = getattr(output, "_scores", (None, None))
    if scores is None or axis is None:
        return scores if along is None and axis is None else None
    return scores if along == axis % output.shape.rank else None


def _along(compute: Callable[..., Any], x: Any, axis: int | None) -> Any:
    if axis is not None or x.shape.rank == 1:
        return compute(x, -1 if axis is None else axis)
    shape = x.shape if x.shape.is_fully_defined() else tf.shape(x)
    return tf.reshape(compute(tf.reshape(x, [-1]), -1), shape)


def sparsemax(x: Any, axis: int = -1) -> Any:
    """The nearest point whose elements along an axis are probabilities."""
    x = floating(x)
    falling = tf.sort(x, axis, "DESCENDING")
    above = tf.cumsum(falling, axis) - 1.0
    size = tf.shape(x)[axis] if x.shape[axis] is None else x.shape[axis]
    sides = [1] * x.shape.rank
    sides[axis] = -1
    count = tf.reshape(tf.cast(tf.range(1, size + 1), x.dtype), sides)
    # The largest elements are those that stay; the threshold makes their sum 1.
    stays = count * falling > above
    kept = tf.reduce_sum(tf.cast(stays, x.dtype), axis, keepdims=True)
    total = tf.reduce_sum(tf.where(stays, falling, tf.zeros([], x.dtype)), axis, keepdims=True)
    return tf.nn.relu(x - (total - 1.0) / kept)
