"""The shapes of sparse tensors, and sums of their elements along axes."""

from __future__ import annotations

import math
from typing import Any

import tfx as tf
from tfx.keras_backend.sparse import dense, is_sparse


def reshape(x: Any, newshape: Any) -> Any:
    """The same elements in another shape, one size of which may be -1."""
    found = tf.sparse.reshape(x, newshape)
    if isinstance(newshape, list | tuple):
        found.set_shape(_known(x.shape, newshape))
    return found


def _known(shape: Any, newshape: Any) -> list[int | None]:
    """What is known of a shape that is asked for, of which one size may follow from the rest."""
    sizes: list[Any] = [d if isinstance(d, int) else None for d in newshape]
    if -1 in sizes and None not in sizes:
        count, others = shape.num_elements(), -math.prod(sizes)
        rest = None if count is None or others == 0 else count // others
        return [rest if d == -1 else d for d in sizes]
    return [None if d == -1 else d for d in sizes]


def squeeze(x: Any, axis: Any) -> Any:
    """Without axes of size 1.

    Raises:
        ValueError: an axis is of another size.
    """
    known = x.shape.as_list()
    axes = {a % len(known) for a in ([axis] if isinstance(axis, int) else axis or ())}
    for a in axes:
        if known[a] not in (1, None):
            raise ValueError(f"Cannot squeeze axis={a} of shape {tuple(known)}: its size is not 1.")
    if axis is None:
        axes = {a for a, size in enumerate(known) if size == 1}
    kept = [a for a in range(len(known)) if a not in axes]
    places = tf.gather(x.indices, tf.constant(kept, tf.int32), axis=1)
    return tf.SparseTensor(places, x.values, tf.gather(x.dense_shape, tf.constant(kept, tf.int32)))


def total(x: Any, axis: Any, keepdims: bool) -> Any:
    """The sums along axes, as a sparse tensor."""
    if axis == []:
        return x
    return tf.sparse.reduce_sum(x, axis, keepdims, output_is_sparse=True)


def mean(x: Any, axis: Any, keepdims: bool) -> Any:
    """The means along axes, as a sparse tensor."""
    if axis == []:
        return x
    found = total(x, axis, keepdims)
    axes = range(x.shape.rank) if axis is None else [axis] if isinstance(axis, int) else axis
    count = tf.reduce_prod([x.dense_shape[a] for a in axes])
    return found.with_values(found.values / tf.cast(count, found.dtype))


def mean_of_slices(x: Any, axis: Any, keepdims: bool) -> Any:
    """The means of slices along axes: slices of the same rows where each keeps its own.

    Args:
        x: ``IndexedSlices`` of a floating dtype.
        axis: None, a number or a list.
        keepdims: Keep the axes with size 1.
    """
    if axis == []:
        return x
    rank = x.values.shape.rank
    axes = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted(a % rank for a in axes)
    shape = tf.cast(tf.convert_to_tensor(x.dense_shape), tf.int64)
    if 0 in axes:
        count = tf.reduce_prod(tf.gather(shape, axes))
        return tf.reduce_sum(x.values, axes, keepdims) / tf.cast(count, x.dtype)
    kept = [a for a in range(rank) if a not in axes]
    sizes = tf.gather(shape, kept)
    if keepdims:
        ones = tf.constant([0 if a in axes else 1 for a in range(rank)], tf.int64)
        sizes = shape * ones + (1 - ones)
    found = tf.IndexedSlices(tf.reduce_mean(x.values, axes, keepdims), x.indices, sizes)
    return found if keepdims or len(kept) > 1 else dense(found)


def ones_at(classes: Any, count: int, axis: int, dtype: str) -> Any:
    """A 1 at the place of each class along a new axis.

    Args:
        classes: int64; where one does not exist, the entry is 0. Of a sparse tensor its entries.
        count: How many classes there are.
        axis: The new axis.
        dtype: Of the ones.

    Returns:
        A ``SparseTensor`` with an entry for each class that is given.
    """
    shape = classes.shape.as_list()
    axis = axis % (len(shape) + 1)
    if is_sparse(classes):
        at, flat, sizes = classes.indices, classes.values, classes.dense_shape
    else:
        at, flat = tf.where(tf.ones_like(classes, tf.bool)), tf.reshape(classes, [-1])
        sizes = tf.shape(classes, tf.int64)
    exists = tf.logical_and(flat >= 0, flat < count)
    place = tf.clip_by_value(flat, 0, count - 1)[:, None]
    places = tf.concat([at[:, :axis], place, at[:, axis:]], 1)
    sizes = tf.concat([sizes[:axis], tf.constant([count], tf.int64), sizes[axis:]], 0)
    found = tf.SparseTensor(places, tf.cast(exists, dtype), sizes)
    found.set_shape([*shape[:axis], count, *shape[axis:]])
    return found if axis == len(shape) else tf.sparse.reorder(found)
