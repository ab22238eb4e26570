"""Decompositions, systems of equations and norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, floats, shape

# It knows bfloat16, but comes without annotations.
_finfo: Any = ml_dtypes.finfo


def _transposed(x: Any) -> Any:
    return tf.linalg.matrix_transpose(x)


def cholesky(a: Any, upper: bool = False) -> Any:
    """The triangular factor of positive definite matrices; refuses others."""
    found = tf.debugging.check_numerics(tf.linalg.cholesky(floats(a)), "Cholesky")
    return _transposed(found) if upper else found


def cholesky_inverse(a: Any, upper: bool = False) -> Any:
    """The inverse of the matrices whose triangular factor is given."""
    factor = floats(a)
    eye = tf.eye(factor.shape[-1], dtype=factor.dtype)
    inverse = tf.linalg.triangular_solve(factor, eye, lower=not upper)
    if upper:
        return tf.matmul(inverse, inverse, transpose_b=True)
    return tf.matmul(inverse, inverse, transpose_a=True)


def det(a: Any) -> Any:
    """Determinants."""
    return tf.linalg.det(floats(a))


def eig(a: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors, which may be complex."""
    values, vectors = tf.linalg.eig(floats(a))
    return values, vectors


def eigh(a: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of symmetric matrices."""
    values, vectors = tf.linalg.eigh(floats(a))
    return values, vectors


def inv(a: Any) -> Any:
    """Inverses."""
    return tf.linalg.inv(floats(a))


def lu_factor(a: Any) -> tuple[Any, Any]:
    """Both triangular factors in one matrix, and for each row the one that it is exchanged with."""
    return tuple(_eliminated(floats(a)))


@tf.function
def _eliminated(a: Any) -> tuple[Any, Any]:
    """Gauss' elimination of matrices of any size, with the exchanges of rows as LAPACK counts."""
    sizes = shape(a)
    batch, (height, width) = list(sizes[:-2]), sizes[-2:]
    rows, columns = tf.range(height), tf.range(width)
    known = isinstance(height, int) and isinstance(width, int)
    count = min(height, width) if known else tf.minimum(height, width)

    def step(k: Any, a: Any, exchanges: Any) -> tuple[Any, Any, Any]:
        column = tf.gather(a, k, axis=-1)
        largest = tf.where(rows < k, -tf.ones_like(column), tf.math.abs(column))
        pivot = tf.argmax(largest, -1, tf.int32)[..., None]
        order = tf.where(rows == k, pivot, tf.where(rows == pivot, k, rows))
        turned = tf.gather(a, order, axis=-2, batch_dims=len(batch))
        row = tf.gather(turned, k, axis=-2)[..., None, :]
        column = tf.gather(turned, k, axis=-1)
        by = tf.gather(column, k, axis=-1)[..., None]
        below = (rows > k) & tf.not_equal(by, 0)
        factors = tf.where(below, column / tf.where(below, by, tf.ones_like(by)), column * 0)
        reduced = turned - factors[..., None] * tf.where(columns > k, row, tf.zeros_like(row))
        kept = tf.where(rows > k, factors, column)[..., None]
        reduced = tf.where(columns == k, kept, reduced)
        reduced.set_shape(a.shape)
        at_k = tf.range(count) == k
        found = tf.where(at_k, pivot, exchanges)
        found.set_shape(exchanges.shape)
        return k + 1, reduced, found

    exchanges = tf.zeros([*batch, count], tf.int32)
    _, factors, exchanges = tf.while_loop(lambda k, *_: k < count, step, (0, a, exchanges))
    return factors, exchanges


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Norms of vectors or matrices.

    Raises:
        ValueError: an order that vectors, or matrices, do not have.
    """
    x = floats(x)
    rank = x.shape.rank
    if axis is None and ord is None:
        return tf.norm(x, keepdims=keepdims)
    axes = list(range(rank)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if any(not -rank <= a < rank for a in axes):
        raise ValueError(f"axis {axis} is out of bounds for a tensor of shape {tuple(x.shape)}.")
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"Improper number of axes: {axes}. `axis` must be one or two integers.")


def _vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        return tf.norm(x, axis=axis, keepdims=keepdims)
    size = tf.math.abs(x)
    if ord == float("inf"):
        return tf.reduce_max(size, axis, keepdims)
    if ord == float("-inf"):
        return tf.reduce_min(size, axis, keepdims)
    if ord == 0:
        return tf.reduce_sum(tf.cast(tf.not_equal(x, 0), x.dtype), axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    return tf.math.pow(tf.reduce_sum(tf.math.pow(size, ord), axis, keepdims), 1.0 / ord)


def _matrix_norm(x: Any, ord: Any, axes: list[int], keepdims: bool) -> Any:
    rank = x.shape.rank
    row, column = (a % rank for a in axes)
    if ord is None or ord == "fro":
        return tf.norm(x, axis=[row, column], keepdims=keepdims)
    sums: dict[Any, tuple[Callable[..., Any], int, int]] = {
        1: (tf.reduce_max, row, column),
        -1: (tf.reduce_min, row, column),
        float("inf"): (tf.reduce_max, column, row),
        float("-inf"): (tf.reduce_min, column, row),
    }
    if ord in sums:
        choose, summed, left = sums[ord]
        found = choose(tf.reduce_sum(tf.math.abs(x), summed, True), left, True)
    elif ord in (2, -2, "nuc"):
        rest = [a for a in range(rank) if a not in (row, column)]
        values = tf.linalg.svd(tf.transpose(x, [*rest, row, column]), compute_uv=False)
        chosen = {2: tf.reduce_max, -2: tf.reduce_min, "nuc": tf.reduce_sum}[ord]
        found = chosen(values, -1)
        if not keepdims:
            return found
        for place in sorted((row, column)):
            found = tf.expand_dims(found, place)
        return found
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    return found if keepdims else tf.squeeze(found, [row, column])


def qr(x: Any, mode: str = "reduced") -> tuple[Any, Any]:
    """An orthogonal and a triangular factor.

    Raises:
        ValueError: another mode than ``"reduced"`` or ``"complete"``.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(
            "`mode` argument value not supported. Expected one of {'reduced', 'complete'}. "
            f"Received: mode={mode}"
        )
    q, r = tf.linalg.qr(floats(x), full_matrices=mode == "complete")
    return q, r


def _pair(a: Any, b: Any) -> tuple[Any, Any]:
    kinds = [standardize_dtype(convert_to_tensor(x).dtype) for x in (a, b)]
    dtype = result_type(*kinds, float)
    return convert_to_tensor(a, dtype), convert_to_tensor(b, dtype)


def solve(a: Any, b: Any) -> Any:
    """The solution of linear systems; ``b`` may be vectors."""
    a, b = _pair(a, b)
    if b.shape.rank == a.shape.rank - 1:
        return tf.linalg.solve(a, b[..., None])[..., 0]
    return tf.linalg.solve(a, b)


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    """The solution of triangular systems; ``b`` may be vectors."""
    a, b = _pair(a, b)
    if b.shape.rank == a.shape.rank - 1:
        return tf.linalg.triangular_solve(a, b[..., None], lower=lower)[..., 0]
    return tf.linalg.triangular_solve(a, b, lower=lower)


def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular values, with the vectors on both sides."""
    found = tf.linalg.svd(floats(x), full_matrices=full_matrices, compute_uv=compute_uv)
    if not compute_uv:
        return found
    s, u, v = found
    return u, s, _transposed(v)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> Any:
    """The shortest of the best solutions of systems with any number of equations.

    Raises:
        ValueError: shapes that do not fit.
    """
    a, b = _pair(a, b)
    if a.shape.rank != 2 or b.shape.rank not in (1, 2):
        raise ValueError(
            f"Expected a matrix and a vector or matrix. Received: a.shape={tuple(a.shape)}, "
            f"b.shape={tuple(b.shape)}"
        )
    if a.shape[0] != b.shape[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    right = b if b.shape.rank == 2 else b[:, None]
    found = tf.matmul(pinv(a, rcond), right)
    return found if b.shape.rank == 2 else found[:, 0]


def pinv(x: Any, rcond: float | None = None) -> Any:
    """The pseudo-inverse: singular values below ``rcond`` times the largest count as 0.

    Raises:
        ValueError: a size that is not known while a function is traced.
    """
    x = floats(x)
    sizes = x.shape[-2:].as_list()
    if None in sizes:
        raise ValueError(f"pinv needs matrices of static size. Received: x.shape={x.shape}")
    if rcond is None:
        rcond = max(sizes) * _finfo(standardize_dtype(x.dtype)).eps
    return tf.linalg.pinv(x, float(rcond))


def matrix_rank(x: Any, tol: Any = None) -> Any:
    """How many singular values are above ``tol``."""
    x = floats(x)
    if x.shape.rank < 2:
        return tf.cast(tf.reduce_any(tf.not_equal(x, 0)), tf.int32)
    return tf.linalg.matrix_rank(x, tol)


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """What a function returns, and its derivative in a direction."""
    primals = [convert_to_tensor(p) for p in primals]
    tangents = [convert_to_tensor(t, p.dtype.name) for t, p in zip(tangents, primals, strict=True)]
    with tf.autodiff.ForwardAccumulator(primals, tangents) as accumulator:
        found = fun(*primals)
    if not has_aux:
        return found, tf.nest.map_structure(accumulator.jvp, found)
    found, aux = found
    return found, tf.nest.map_structure(accumulator.jvp, found), aux
