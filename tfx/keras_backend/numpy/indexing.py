"""Elements by index, and indices of elements."""

from __future__ import annotations

from typing import Any

import tfx as tf
import tfx.experimental.numpy as tnp
from tfx.framework.composite.ragged import is_ragged
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.numpy.promotion import is_whole, tensor, together
from tfx.keras_backend.sparse import dense, is_sparse


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Elements by index along an axis, or of all elements; negative ones count from the end."""
    x = tensor(x)
    indices = _whole(indices)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    if is_ragged(indices):
        places = _from_start(indices.flat_values, x, axis)
        return tf.gather(x, indices.with_flat_values(places), axis=axis)
    indices = dense(indices)  # where a sparse tensor has no entry, element 0 is meant
    return tf.gather(x, _from_start(indices, x, axis), axis=axis)


def take_along_axis(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Elements by an index for each place; the other axes are broadcast."""
    x, indices = tensor(x), _whole(indices)
    if axis is None:
        x, indices, axis = tf.reshape(x, [-1]), tf.reshape(indices, [-1]), 0
    return tnp.take_along_axis(x, indices, axis)


def _whole(indices: Any) -> Any:
    indices = tensor(indices)
    return indices if indices.dtype in (tf.int32, tf.int64) else tf.cast(indices, tf.int32)


def _from_start(indices: Any, x: Any, axis: int) -> Any:
    if indices.dtype.is_unsigned:
        return indices
    known = x.shape[axis]
    size = tf.cast(tf.shape(x)[axis] if known is None else known, indices.dtype)
    return tf.where(indices < 0, indices + size, indices)


def nonzero(x: Any) -> Any:
    """The indices of elements that are not 0, an int32 vector for each axis."""
    x = tensor(x)
    truth = x if x.dtype == tf.bool else tf.not_equal(x, tf.zeros([], x.dtype))
    return tuple(tf.unstack(tf.cast(tf.where(truth), tf.int32), num=x.shape.rank, axis=-1))


def unravel_index(indices: Any, shape: Any) -> Any:
    """The index in each axis of places in a flat array; negative ones count from the end."""
    indices = convert_to_tensor(indices)
    if not is_whole(indices):
        indices = tf.cast(indices, tf.int32)
    size = 1
    for d in shape:
        size *= d
    rest = tf.where(indices < 0, indices + size, indices)
    found = []
    for d in reversed(shape):
        found.append(tf.math.floormod(rest, d))
        rest = tf.math.floordiv(rest, d)
    return tuple(reversed(found))


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left") -> Any:
    """Where values belong in a sorted vector.

    Raises:
        ValueError: the sequence has another rank than 1.
    """
    sequence, found = together(sorted_sequence, values)
    if sequence.shape.rank != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use "
            "`keras.ops.vectorized_map` to extend it to N-D sequences. Received: "
            f"sorted_sequence.shape={tuple(sequence.shape)}"
        )
    places = tf.searchsorted(sequence, tf.reshape(found, [-1]), side=side)
    return tf.reshape(places, tf.shape(found))


def digitize(x: Any, bins: Any) -> Any:
    """The number of the bin of each element."""
    x, bins = together(x, bins)
    if x.dtype == tf.bool:
        x, bins = tf.cast(x, tf.int32), tf.cast(bins, tf.int32)
    if is_ragged(x):
        return x.with_flat_values(digitize(x.flat_values, bins))
    if is_sparse(x):
        return x.with_values(digitize(x.values, bins))
    places = tf.searchsorted(bins, tf.reshape(x, [-1]), side="right")
    return tf.reshape(places, tf.shape(x))


def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """True for the elements of the first that are among those of the second."""
    x1, x2 = together(x1, x2)
    if x1.dtype == tf.bool:
        x1, x2 = tf.cast(x1, tf.int32), tf.cast(x2, tf.int32)
    among = tf.reduce_any(tf.equal(x1[..., None], tf.reshape(x2, [-1])), -1)
    return ~among if invert else among


def unique(
    x: Any,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements, or slices along an axis, in ascending order.

    Args:
        x: A tensor.
        sorted: Accepted for compatibility: the result is always sorted.
        return_index: Also where each is first.
        return_inverse: Also the number of each element's value.
        return_counts: Also how often each is there.
        axis: Whose slices are compared; None: all elements.
        size: The number of results: the rest is cut off, what is missing is filled.
        fill_value: What to fill with; None: the first of the results.
    """
    x = tensor(x)
    rows = tf.reshape(x, [-1]) if axis is None else x
    truth = rows.dtype == tf.bool
    work = tf.cast(rows, tf.int32) if truth else rows
    if axis is None and not is_whole(work):
        values, first, inverse, counts = _runs(work)
    else:
        values, first, inverse, counts = tf.raw.Unique(work, axis=axis, sorted=1, n_outputs=4)
    if truth:
        values = tf.cast(values, tf.bool)
    if size is not None:
        values = _sized(values, size, axis or 0, fill_value)
        first, counts = _sized(first, size, 0, None), _sized(counts, size, 0, 0)
    found = [values]
    if return_index:
        found.append(tf.cast(first, tf.int32))
    if return_inverse:
        inverse = tf.cast(inverse, tf.int32)
        found.append(tf.reshape(inverse, tf.shape(x)) if axis is None else inverse)
    if return_counts:
        found.append(tf.cast(counts, tf.int32))
    return tuple(found) if len(found) > 1 else values


def _runs(x: Any) -> tuple[Any, Any, Any, Any]:
    """The results of ``Unique`` for a vector of floats, each NaN of which is a value of its own."""
    order = tf.argsort(x, stable=True)
    ascending = tf.gather(x, order)
    begins = tf.concat([tf.ones_like(x[:1], tf.bool), ascending[1:] != ascending[:-1]], 0)
    numbers = tf.math.cumsum(tf.cast(begins, tf.int32)) - 1
    inverse = tf.scatter_nd(order[:, None], numbers, tf.shape(x))
    starts = tf.reshape(tf.where(begins), [-1])
    ends = tf.concat([starts[1:], tf.cast(tf.shape(x), starts.dtype)], 0)
    return tf.gather(ascending, starts), tf.gather(order, starts), inverse, ends - starts


def _sized(values: Any, size: int, axis: int, fill: Any) -> Any:
    """Exactly ``size`` slices: the first ones, and a filling behind."""
    rank = values.shape.rank
    axis %= rank
    filling = (
        tf.gather(values, [0], axis=axis)
        if fill is None
        else tf.cast(
            tf.fill(
                tf.concat([tf.shape(values)[:axis], [1], tf.shape(values)[axis + 1 :]], 0), fill
            ),
            values.dtype,
        )
    )
    counts = [1] * rank
    more = tf.tile(filling, [*counts[:axis], size, *counts[axis + 1 :]])
    wide = tf.concat([values, more], axis)
    return tf.gather(wide, tf.range(size), axis=axis)
