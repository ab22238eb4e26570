"""Counts, correlations, differences and integrals."""

from __future__ import annotations

from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.numpy.promotion import cast, floats, is_whole, result_type, tensor
from tfx.keras_backend.numpy.reductions import sum
from tfx.keras_backend.sparse import is_sparse


def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    """How often each number is there, or the sums of its weights; rows of matrices apart.

    The counts of a sparse tensor are those of its entries, and sparse.
    """
    if sparse or is_sparse(x):
        return _sparse_counts(x, weights, minlength)
    x = convert_to_tensor(x, "int32")
    kind = tf.int32 if weights is None else tensor(weights).dtype
    if kind == tf.bool:
        kind = tf.int32
    empty = x.shape.num_elements() == 0
    length = minlength if empty else tf.maximum(tf.reduce_max(x) + 1, minlength)
    values = tf.ones_like(x, kind) if weights is None else tf.cast(tensor(weights), kind)
    numbers = tf.range(length)
    hits = tf.where(tf.equal(x[..., None], numbers), values[..., None], tf.zeros([], kind))
    return cast(sum(hits, -2), kind)


def _sparse_counts(x: Any, weights: Any, minlength: int) -> Any:
    x = convert_to_tensor(x, "int32")
    kind = tf.int32
    if weights is not None:
        weights = tensor(weights)
        kind = result_type("int32", weights.dtype.name)
    found = tf.sparse.bincount(x, weights, minlength=minlength, axis=-1)
    return convert_to_tensor(found, kind)


def histogram(x: Any, bins: Any = 10, range: Any = None) -> tuple[Any, Any]:
    """Counts of the elements in bins, and the bins' edges."""
    x = tensor(x)
    flat = tf.reshape(floats(x)[0] if is_whole(x) else x, [-1])
    if isinstance(bins, int):
        low, high = (
            (tf.reduce_min(flat), tf.reduce_max(flat))
            if range is None
            else tuple(convert_to_tensor(r, flat.dtype.name) for r in range)
        )
        same = tf.equal(low, high)
        low, high = tf.where(same, low - 0.5, low), tf.where(same, high + 0.5, high)
        edges = tf.linspace(low, high, bins + 1)
    else:
        edges = convert_to_tensor(bins, flat.dtype.name)
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    place = tf.searchsorted(edges, flat, side="right") - 1
    count = tf.shape(edges)[0] - 1
    place = tf.clip_by_value(place, 0, count - 1)  # the last bin has its upper edge
    hits = tf.equal(place[:, None], tf.range(count)) & inside[:, None]
    return tf.reduce_sum(tf.cast(hits, tf.int32), 0), edges


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """Differences of neighbours along an axis, ``n`` times."""
    x = tensor(a)
    rank = x.shape.rank
    before = (slice(None),) * (axis % rank)
    for _ in [None] * n:
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = tf.math.logical_xor(later, earlier) if x.dtype == tf.bool else later - earlier
    return x


def corrcoef(x: Any) -> Any:
    """Correlations of the rows."""
    (x,) = floats(x)
    if x.shape.rank == 0:
        return tf.constant(float("nan"), x.dtype)
    rows = x[None] if x.shape.rank == 1 else x
    apart = rows - tf.reduce_mean(rows, -1, True)
    products = tf.matmul(apart, apart, transpose_b=True)
    sizes = tf.math.sqrt(tf.linalg.diag_part(products))
    found = products / (sizes[:, None] * sizes[None, :])
    found = tf.clip_by_value(found, -1.0, 1.0)
    return tf.reshape(found, []) if x.shape.rank == 1 else found


def correlate(x1: Any, x2: Any, mode: str = "valid") -> Any:
    """The cross-correlation of two vectors."""
    x1, x2 = floats(x1, x2)
    kind = x1.dtype
    n1, n2 = x1.shape[0], x2.shape[0]
    if n1 < n2 and mode == "valid":
        return tf.reverse(correlate(x2, x1, mode), [0])
    around = {"full": (n2 - 1, n2 - 1), "same": (n2 // 2, (n2 - 1) - n2 // 2), "valid": (0, 0)}
    if mode == "same" and n1 < n2:
        full = correlate(x1, x2, "full")
        start = (n1 - 1) // 2 if n1 % 2 else n1 // 2
        start = (full.shape[0] - n2) // 2 + ((full.shape[0] - n2) % 2 and n1 % 2 == 0)
        return full[start : start + n2]
    low, high = around[mode]
    wide = tf.pad(cast(x1, tf.float64 if kind == tf.float64 else tf.float32), [[low, high]])
    count = n1 + low + high - n2 + 1
    places = tf.range(count)[:, None] + tf.range(n2)[None, :]
    found = tf.linalg.matvec(tf.gather(wide, places), cast(x2, wide.dtype))
    return cast(found, kind)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    (y,) = floats(y)
    rank = y.shape.rank
    before = (slice(None),) * (axis % rank)
    means = (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]) / 2
    if x is None:
        return tf.reduce_sum(means * convert_to_tensor(dx, y.dtype.name), axis)
    x = convert_to_tensor(x, y.dtype.name)
    width = diff(x, axis=axis if x.shape.rank == rank else -1)
    if width.shape.rank == 1 and rank != 1:
        shape = [1] * rank
        shape[axis] = -1
        width = tf.reshape(width, shape)
    return tf.reduce_sum(means * width, axis)
