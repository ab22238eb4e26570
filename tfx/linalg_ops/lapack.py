"""Decompositions by LAPACK, which NumPy brings: what the machine at hand computes them with.

The loops of ONNX operators beside this module are what is saved, and what runs inside of branches
and loops; for matrices of some hundred rows they take up to a thousand times as long. A routine
takes arrays ``[batch, ...]`` of float32 or float64, or of complex numbers of these, and gives what
the loop gives, but for rounding and the signs that a decomposition leaves open. None: it is not for
this input, the loop is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfx.core.errors import InvalidArgumentError

Array: TypeAlias = "np.ndarray[Any, Any]"
Results: TypeAlias = Sequence[Array] | None

# Columns that are eliminated, or rows that are solved for, at a time.
_BLOCK = 32
# Rows up to which systems with three diagonals are solved as whole matrices.
_MOST_DENSE = 512


def eigh(a: Array) -> Results:
    """Ascending eigenvalues and the eigenvectors of self-adjoint matrices."""

    def decompose(a: Array) -> Results:
        return np.linalg.eigh(a)

    return _of_finite(decompose, a)


def svd(a: Array) -> Results:
    """``u * s``, singular values and ``v`` of ``[batch, m, n]`` with m >= n."""

    def decompose(a: Array) -> Results:
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return u * s[:, None, :], s, np.conj(np.swapaxes(vt, 1, 2))

    return _of_finite(decompose, a)


def qr(a: Array, *, full: bool) -> Results:
    """Both factors."""
    if not a.size:
        return None
    return np.linalg.qr(a, mode="complete" if full else "reduced")


def cholesky(a: Array) -> Results:
    """The lower triangular factor, of NaN where a matrix is not positive definite."""
    try:
        return [np.linalg.cholesky(a)]
    except np.linalg.LinAlgError:
        return [np.stack([_cholesky_or_nan(x) for x in a])]


def _cholesky_or_nan(x: Array) -> Array:
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        return np.tril(np.full_like(x, np.nan))


def solve(a: Array, b: Array) -> Results:
    """Solutions of linear systems, and whether a matrix is singular: never, that is the loop's.

    Of half precision they are solved in float32, which LAPACK has, and rounded.
    """
    _require_rows(a, b, "MatrixSolve")
    if not (b.size and _finite(a, b)):  # the loop knows what meets a NaN, and what does not
        return None
    half = a.dtype.itemsize < 4
    wide = [x.astype(np.float32) for x in (a, b)] if half else [a, b]
    try:
        return [np.linalg.solve(*wide).astype(a.dtype), np.array(False)]
    except np.linalg.LinAlgError:
        return None


def _require_rows(a: Array, b: Array, op: str) -> None:
    """Refuse what a trace of open sizes could not: NumPy would, in words of its own."""
    if a.shape[-1] != b.shape[-2]:
        raise InvalidArgumentError(
            f"{op}: expected as many rows in rhs as in the matrix; got {a.shape} and {b.shape}.",
            op=op,
        )


def triangular_solve(a: Array, b: Array, *, lower: bool) -> Results:
    """Solutions of triangular systems, whose other triangle is not read."""
    _require_rows(a, b, "MatrixTriangularSolve")
    regular = np.diagonal(a, axis1=1, axis2=2).all()
    if not (b.size and regular and _finite(a, b)):
        return None
    x = np.broadcast_to(b, (a.shape[0], *b.shape[1:])).copy()
    size = a.shape[1]
    starts = range(0, size, _BLOCK)
    for start in starts if lower else reversed(starts):
        here = slice(start, min(start + _BLOCK, size))
        known = slice(0, start) if lower else slice(here.stop, size)
        rest = x[:, here] - a[:, here, known] @ x[:, known]
        block = a[:, here, here]
        triangle = np.tril(block) if lower else np.triu(block)
        x[:, here] = np.linalg.solve(triangle, rest)
    return [x]


def tridiagonal_solve(diagonals: Array, b: Array) -> Results:
    """Solutions of systems with three diagonals, and the pivots; LAPACK's where they are small."""
    size = b.shape[1]
    if not (b.size and _finite(diagonals[:, 1], b)):
        return None
    above, middle, below = diagonals[:, 0, :-1], diagonals[:, 1], diagonals[:, 2, 1:]
    if size > _MOST_DENSE:
        return _eliminated_bands(above, middle, below, b)
    places = np.arange(size)
    whole = np.zeros((len(b), size, size), b.dtype)
    whole[:, places, places] = middle
    whole[:, places[:-1], places[1:]] = above
    whole[:, places[1:], places[:-1]] = below
    try:
        return [np.linalg.solve(whole, b), np.ones_like(middle)[..., None]]
    except np.linalg.LinAlgError:
        return None


def _eliminated_bands(above: Array, middle: Array, below: Array, b: Array) -> Results:
    """Row by row, for all of a batch at a time, which is the first or only axis of each row."""
    batch, size, columns = b.shape
    rows = np.zeros((size + 1, batch, 3 + columns), b.dtype)
    rows[1:size, :, 0], rows[:size, :, 1], rows[: size - 1, :, 2] = below.T, middle.T, above.T
    rows[:size, :, 3:] = b.transpose(1, 0, 2)
    left = np.zeros((batch, 3 + columns), b.dtype)
    left[:, :2], left[:, 3:] = rows[0, :, 1:3], rows[0, :, 3:]
    for i in range(size):
        following = rows[i + 1]
        swap = (np.abs(following[:, :1]) > np.abs(left[:, :1])).astype(bool)
        rows[i] = np.where(swap, following, left)
        pivot = np.where(rows[i, :, :1] == 0, 1, rows[i, :, :1])
        bottom = np.where(swap, left, following)
        rest = bottom - bottom[:, :1] / pivot * rows[i]
        left = np.concatenate([rest[:, 1:3], np.zeros_like(pivot), rest[:, 3:]], 1)
    if not rows[:size, :, 0].all():
        return None
    x = np.zeros((size + 2, batch, columns), b.dtype)
    for i in reversed(range(size)):
        known = rows[i, :, 1:2] * x[i + 1] + rows[i, :, 2:3] * x[i + 2]
        x[i] = (rows[i, :, 3:] - known) / rows[i, :, :1]
    pivots = np.ascontiguousarray(rows[:size, :, :1].transpose(1, 0, 2))
    return [np.ascontiguousarray(x[:size].transpose(1, 0, 2)), pivots]


def lu(a: Array) -> Results:
    """Both triangles in one matrix, the order of the rows and its sign."""
    if not (a.size and _finite(a)):
        return None
    found = [_eliminated(x) for x in a]
    return [np.stack(parts) for parts in zip(*found, strict=True)]


def complex_pivots(x: Array) -> Results:
    """What is on the diagonals behind an elimination, and the sign of the order of rows.

    Args:
        x: ``[batch, 2, n, n]``, real and imaginary parts.
    """
    found = lu(x[:, 0] + 1j * x[:, 1].astype(x.dtype))
    if found is None:
        return None
    pivots = np.diagonal(found[0], axis1=1, axis2=2)
    planes = np.stack([pivots.real, pivots.imag], 1).astype(x.dtype)
    return [planes, found[2].real.astype(x.dtype)]


def _eliminated(a: Array) -> tuple[Array, Array, Array]:
    """Elimination with pivots: a block of columns first, then what is right of it."""
    m = a.copy()
    size = len(m)
    order = np.arange(size)
    sign = m.dtype.type(1)
    for start in range(0, size, _BLOCK):
        end = min(start + _BLOCK, size)
        for j in range(start, end):
            best = j + int(np.argmax(np.abs(m[j:, j])))
            if best != j:
                m[[j, best]], order[[j, best]], sign = m[[best, j]], order[[best, j]], -sign
            if m[j, j] != 0:
                m[j + 1 :, j] /= m[j, j]
            m[j + 1 :, j + 1 : end] -= np.outer(m[j + 1 :, j], m[j, j + 1 : end])
        if end < size:
            unit = np.tril(m[start:end, start:end], -1) + np.eye(end - start, dtype=m.dtype)
            m[start:end, end:] = np.linalg.solve(unit, m[start:end, end:])
            m[end:, end:] -= m[end:, start:end] @ m[start:end, end:]
    return m, order, sign


def _finite(*arrays: Array) -> bool:
    return all(np.isfinite(x).all() for x in arrays)


def _of_finite(decompose: Callable[[Array], Results], a: Array) -> Results:
    """Results that are NaN for each matrix that is not finite."""
    if not a.size:
        return None
    finite = np.asarray(np.isfinite(a).all(axis=(1, 2)))
    whole = bool(finite.all())
    try:
        found = decompose(a if whole else np.where(finite[:, None, None], a, a.dtype.type(0)))
    except np.linalg.LinAlgError:  # the iteration did not converge
        return None
    if found is None or whole:
        return found
    return [
        np.where(finite.reshape(-1, *[1] * (x.ndim - 1)), x, np.nan).astype(x.dtype) for x in found
    ]
