"""Products of sparse matrices with dense ones and with each other, of batches too."""

from __future__ import annotations

from typing import Any

import tfx as tf
from tfx.keras_backend.sparse import is_sparse


def matmul(x1: Any, x2: Any) -> Any:
    """The matrix product of two tensors of one dtype, of which one at least is sparse.

    Returns:
        A ``SparseTensor`` if both are, otherwise a tensor.
    """
    if is_sparse(x1) and is_sparse(x2):
        found = _of_two_sparse(x1, x2)
    elif is_sparse(x1):
        found = _sparse_times_dense(x1, x2)
    else:
        found = _turned(_sparse_times_dense(_turned(x2), _turned(x1)))
    found.set_shape(_product_shape(x1.shape.as_list(), x2.shape.as_list()))
    return found


def _product_shape(first: list[Any], second: list[Any]) -> list[Any]:
    rows, columns = first[-2:-1], second[-1:] if len(second) > 1 else []
    batch = max(first[:-2], second[:-2], key=len)
    return [*batch, *rows, *columns]


def _turned(x: Any) -> Any:
    rank = x.shape.rank
    order = [*range(rank - 2), rank - 1, rank - 2]
    return tf.sparse.transpose(x, order) if is_sparse(x) else tf.linalg.matrix_transpose(x)


def _sparse_times_dense(x: Any, y: Any) -> Any:
    if y.shape.rank == 1:
        return _sparse_times_dense(x, y[:, None])[..., 0]
    batch = x.shape.rank - 2
    if batch == 0 and y.shape.rank > 2:
        # One matrix for all of the batch: its columns side by side.
        front = tf.shape(y)[:-2]
        columns = tf.reshape(tf.transpose(y, _last_first(y.shape.rank)), [tf.shape(y)[-2], -1])
        found = tf.sparse.sparse_dense_matmul(x, columns)
        each = tf.concat([tf.shape(found)[:1], front, tf.shape(y)[-1:]], 0)
        rank = y.shape.rank
        return tf.transpose(tf.reshape(found, each), [*range(1, rank - 1), 0, rank - 1])
    if batch == 0:
        return _of_rows(x, y)
    sizes = x.dense_shape
    result = tf.concat([sizes[:-1], tf.shape(y, tf.int64)[-1:]], 0)
    if y.shape.rank == 2:
        flat = tf.sparse.reshape(x, tf.stack([-1, sizes[-1]]))
        return tf.reshape(_of_rows(flat, y), result)
    y = tf.broadcast_to(y, tf.concat([sizes[:-2], tf.shape(y, tf.int64)[-2:]], 0))
    flat, rows = _as_one_matrix(x), tf.reshape(y, tf.stack([-1, tf.shape(y, tf.int64)[-1]]))
    return tf.reshape(tf.sparse.sparse_dense_matmul(flat, rows), result)


def _of_rows(x: Any, y: Any) -> Any:
    """The product with a matrix, such as weights, whose gradient is that of the rows it meets.

    ``sparse_dense_matmul`` is the same with a dense gradient, and says what does not fit.
    """
    width = x.shape[1]
    if width is None or width != y.shape[0]:
        return tf.sparse.sparse_dense_matmul(x, y)
    weighted = tf.gather(y, x.indices[:, 1]) * x.values[:, None]
    return tf.math.unsorted_segment_sum(weighted, x.indices[:, 0], x.dense_shape[0])


def _last_first(rank: int) -> list[int]:
    """The order of axes with the one before the last in front."""
    return [rank - 2, *range(rank - 2), rank - 1]


def _as_one_matrix(x: Any) -> Any:
    """A batch of matrices as one matrix with these on its diagonal."""
    m, n = x.dense_shape[-2], x.dense_shape[-1]
    count = tf.reduce_prod(x.dense_shape[:-2])
    x = tf.sparse.reshape(x, tf.stack([count, m, n]))
    at = x.indices
    places = tf.stack([at[:, 0] * m + at[:, 1], at[:, 0] * n + at[:, 2]], 1)
    return tf.SparseTensor(places, x.values, tf.stack([count * m, count * n]))


def _of_two_sparse(x: Any, y: Any) -> Any:
    batch = x.dense_shape[:-2]
    m, n = x.dense_shape[-2], y.dense_shape[-1]
    if x.shape.rank == y.shape.rank == 2:
        return _of_two_matrices(x, y)
    found = _of_two_matrices(_as_one_matrix(x), _as_one_matrix(y))
    row, column = found.indices[:, 0], found.indices[:, 1]
    at = tf.stack([row // m, row % m, column % n], 1)
    count = tf.reduce_prod(batch)
    found = tf.SparseTensor(at, found.values, tf.stack([count, m, n]))
    return tf.sparse.reshape(found, tf.concat([batch, tf.stack([m, n])], 0))


def _of_two_matrices(x: Any, y: Any) -> Any:
    """Each element of ``x`` meets the row of ``y`` that its column says."""
    inner = x.indices[:, 1]
    starts = tf.searchsorted(y.indices[:, 0], inner, side="left", out_type=tf.int64)
    ends = tf.searchsorted(y.indices[:, 0], inner, side="right", out_type=tf.int64)
    counts = ends - starts
    left = tf.repeat(tf.range(tf.size(inner)), counts)
    before = tf.cumsum(counts, exclusive=True)
    right = tf.range(tf.cast(tf.size(left), tf.int64)) + tf.gather(starts - before, left)
    products = tf.gather(x.values, left) * tf.gather(y.values, right)
    width = y.dense_shape[1]
    places = tf.gather(x.indices[:, 0], left) * width + tf.gather(y.indices[:, 1], right)
    distinct, at = tf.unique(places)
    values = tf.math.unsorted_segment_sum(products, at, tf.size(distinct))
    order = tf.argsort(distinct)
    distinct, values = tf.gather(distinct, order), tf.gather(values, order)
    indices = tf.stack([distinct // width, distinct % width], 1)
    return tf.SparseTensor(indices, values, tf.stack([x.dense_shape[0], width]))
