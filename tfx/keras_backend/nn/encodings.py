"""Classes as vectors: ``one_hot`` and ``multi_hot``."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common import standardize_dtype

import tfx as tf
from tfx.framework.composite.ragged import is_ragged
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.sparse import dense, is_sparse
from tfx.keras_backend.sparse_shapes import ones_at


def one_hot(
    x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Any:
    """A 1 at the place of each class along a new axis; none for a class that there is not."""
    dtype = "float32" if dtype is None else standardize_dtype(dtype)
    x = convert_to_tensor(x, "int64")
    if sparse or is_sparse(x):
        found = ones_at(x.to_sparse() if is_ragged(x) else x, num_classes, axis, dtype)
        return found if sparse else dense(found)
    if dtype == "bool":
        return tf.one_hot(x, num_classes, True, False, axis, dtype)
    return tf.one_hot(x, num_classes, axis=axis, dtype=dtype)


def multi_hot(
    x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False
) -> Any:
    """A 1 at the places of all the classes of a row."""
    x = convert_to_tensor(x)
    if sparse or is_sparse(x):
        found = _sparse_multi_hot(x, num_classes, axis, dtype)
        return found if sparse else dense(found)
    each = one_hot(x, num_classes, axis, dtype)
    axis = 1 if x.shape.rank > 1 else 0
    if is_ragged(each):  # a row without elements has no greatest one
        return tf.cast(tf.reduce_any(tf.cast(each, tf.bool), axis), each.dtype)
    any_of = tf.reduce_any if each.dtype == tf.bool else tf.reduce_max
    return any_of(each, axis)


def _sparse_multi_hot(x: Any, num_classes: int, axis: int, dtype: Any) -> Any:
    dtype = "float32" if dtype is None else standardize_dtype(dtype)
    each = one_hot(x, num_classes, axis, "int32" if dtype == "bool" else dtype, sparse=True)
    found = tf.sparse.reduce_max(each, 1 if x.shape.rank > 1 else 0, output_is_sparse=True)
    return convert_to_tensor(found, dtype)
