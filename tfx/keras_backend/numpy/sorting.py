"""Order: sorting, extremes by index, medians and quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.numpy.promotion import floats, is_whole, tensor


def _orderable(x: Any) -> Any:
    return tf.cast(x, tf.uint8) if x.dtype == tf.bool else x


def sort(x: Any, axis: int | None = -1) -> Any:
    """Ascending along an axis, or all elements."""
    x = tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    found = tf.sort(_orderable(x), axis=axis)
    return tf.cast(found, tf.bool) if x.dtype == tf.bool else found


def argsort(x: Any, axis: int | None = -1) -> Any:
    """The indices that would sort, equal elements in their order."""
    x = tensor(x)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    if x.shape.rank == 0:
        return tf.zeros([], tf.int32)
    return tf.argsort(_orderable(x), axis=axis, stable=True)


def argpartition(x: Any, kth: int, axis: int = -1) -> Any:
    """Indices of which those of the ``kth`` smallest come first: all in order."""
    return argsort(x, axis)


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the largest element along an axis, or of all elements."""
    return _index(x, axis, keepdims, tf.argmax)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the smallest element along an axis, or of all elements."""
    return _index(x, axis, keepdims, tf.argmin)


def _index(x: Any, axis: int | None, keepdims: bool, find: Callable[..., Any]) -> Any:
    x = _orderable(tensor(x))
    rank = x.shape.rank
    if axis is None:
        found = find(tf.reshape(x, [-1]), 0, tf.int32)
        return tf.reshape(found, [1] * rank) if keepdims else found
    found = find(x, axis, tf.int32)
    return tf.expand_dims(found, axis) if keepdims else found


def nanargmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the largest element without NaN; -1 where there is nothing else."""
    return _nan_index(x, axis, keepdims, -math.inf, argmax)


def nanargmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the smallest element without NaN; -1 where there is nothing else."""
    return _nan_index(x, axis, keepdims, math.inf, argmin)


def _nan_index(x: Any, axis: int | None, keepdims: bool, outside: float, find: Any) -> Any:
    x = tensor(x)
    if is_whole(x):
        return find(x, axis, keepdims)
    missing = tf.math.is_nan(x)
    found = find(tf.where(missing, tf.constant(outside, x.dtype), x), axis, keepdims)
    nothing = tf.reduce_all(missing, axis, keepdims)
    return tf.where(nothing, -1, found)


# Quantiles


def quantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """The values below which given parts of the elements lie."""
    x, q = floats(x)[0], convert_to_tensor(q)
    return _quantiles(x, tf.cast(q, x.dtype), axis, method, keepdims, skip=False)


def percentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """The values below which given percentages of the elements lie."""
    x, q = floats(x)[0], convert_to_tensor(q)
    return _quantiles(x, tf.cast(q, x.dtype) / 100, axis, method, keepdims, skip=False)


def median(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The value in the middle."""
    (x,) = floats(x)
    return _quantiles(x, tf.constant(0.5, x.dtype), axis, "linear", keepdims, skip=False)


def nanquantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """The values below which given parts of the elements lie, NaN left out."""
    x, q = floats(x)[0], convert_to_tensor(q)
    return _quantiles(x, tf.cast(q, x.dtype), axis, method, keepdims, skip=True)


def nanpercentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """The values below which given percentages of the elements lie, NaN left out."""
    x, q = floats(x)[0], convert_to_tensor(q)
    return _quantiles(x, tf.cast(q, x.dtype) / 100, axis, method, keepdims, skip=True)


def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The value in the middle, NaN left out."""
    (x,) = floats(x)
    return _quantiles(x, tf.constant(0.5, x.dtype), axis, "linear", keepdims, skip=True)


def _quantiles(x: Any, q: Any, axis: Any, method: str, keepdims: bool, *, skip: bool) -> Any:
    rank = x.shape.rank
    axes = list(range(rank)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    axes = [a % rank for a in axes]
    kept = [a for a in range(rank) if a not in axes]
    rows = tf.transpose(x, kept + axes)
    shape = tf.shape(rows)[: len(kept)]
    rows = tf.sort(tf.reshape(rows, tf.concat([shape, [-1]], 0)), axis=-1)
    missing = tf.math.is_nan(rows)
    size = tf.shape(rows)[-1]
    total = tf.reduce_sum(tf.cast(~missing, tf.int32), -1) if skip else tf.fill(shape, size)
    flat = tf.reshape(q, [-1])
    # [q, *kept]: where each quantile lies among the sorted elements.
    lead = tf.reshape(flat, [-1] + [1] * len(kept))
    wide = tf.float64 if x.dtype == tf.float64 else tf.float32
    exact = tf.cast(lead, wide) * tf.cast(tf.maximum(total - 1, 0), wide)[None]
    below, above = (
        tf.cast(tf.maximum(f(exact), 0), tf.int32) for f in (tf.math.floor, tf.math.ceil)
    )
    pick = {"lower": below, "higher": above, "nearest": tf.cast(tf.math.round(exact), tf.int32)}
    if method in pick:
        found = _at(rows, pick[method])
    elif method in ("linear", "midpoint"):
        low, high = _at(rows, below), _at(rows, above)
        part = tf.cast(exact - tf.math.floor(exact), x.dtype)
        if method == "midpoint":
            part = tf.cast(part > 0, x.dtype) / 2
        # Two infinities have no difference.
        found = tf.where(tf.equal(low, high), low, low + (high - low) * part)
    else:
        raise ValueError(
            "Invalid method. Method must be one of 'linear', 'lower', 'higher', 'midpoint' or "
            f"'nearest'. Received: method={method}"
        )
    lost = tf.equal(total, 0) if skip else tf.reduce_any(missing, -1)
    found = tf.where(lost, tf.constant(math.nan, x.dtype), found)
    if keepdims:
        for place in sorted(axes):
            found = tf.expand_dims(found, place + 1)
    tail = found.shape[1:].as_list()
    if q.shape.rank == 0:
        return tf.squeeze(found, 0)
    if q.shape.rank == 1:
        return found
    known = None not in tail and None not in q.shape.as_list()
    target = [*q.shape, *tail] if known else tf.concat([tf.shape(q), tf.shape(found)[1:]], 0)
    return tf.reshape(found, target)


def _at(rows: Any, places: Any) -> Any:
    """Elements of sorted rows at ``places [q, *kept]``."""
    rank = rows.shape.rank
    by_row = tf.transpose(places, [*range(1, rank), 0])  # [*kept, q]
    picked = tf.gather(rows, by_row, axis=-1, batch_dims=rank - 1)
    return tf.transpose(picked, [rank - 1, *range(rank - 1)])
