"""Operators of all classes beside their dense matrices, for the tests here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tfx as tf

L = tf.linalg
Array = Any


class Case(NamedTuple):
    """A class of operators.

    Attributes:
        make: Makes an operator of arrays, or of tensors in their places.
        arrays: The arrays, given a generator, the shape of the batch and a dtype.
        dense: The dense matrix of the same arrays, computed by NumPy.
    """

    make: Callable[..., Any]
    arrays: Callable[[Any, tuple[int, ...], str], list[Array]]
    dense: Callable[..., Array]


def numbers(rng: Any, *shape: int, dtype: str) -> Array:
    """Normal numbers, complex if the dtype is."""
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if "complex" in dtype else x).astype(dtype)


def adjoint(x: Array) -> Array:
    """The transposed conjugates."""
    return np.conj(np.swapaxes(x, -1, -2))


def definite(rng: Any, batch: tuple[int, ...], size: int, dtype: str) -> Array:
    """Self-adjoint and positive definite matrices."""
    a = numbers(rng, *batch, size, size, dtype=dtype)
    return (a @ adjoint(a) + size * np.eye(size)).astype(dtype)


def solvable(rng: Any, batch: tuple[int, ...], size: int, dtype: str) -> Array:
    """Matrices that are far from singular."""
    a = numbers(rng, *batch, size, size, dtype=dtype)
    return (a + 2 * size * np.eye(size)).astype(dtype)


def diagonal(d: Array) -> Array:
    """Diagonal matrices."""
    return d[..., None] * np.eye(d.shape[-1], dtype=d.dtype)


def kron(a: Array, b: Array) -> Array:
    """Kronecker products of batches."""
    found = np.einsum("...ij,...kl->...ikjl", a, b)
    rows, columns = a.shape[-2] * b.shape[-2], a.shape[-1] * b.shape[-1]
    return found.reshape(*found.shape[:-4], rows, columns)


def blocks(rows: list[list[Array]]) -> Array:
    """A matrix of blocks."""
    return np.concatenate([np.concatenate(row, -1) for row in rows], -2)


def householder(v: Array) -> Array:
    """Reflections."""
    unit = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return np.eye(v.shape[-1]) - 2 * unit[..., :, None] * np.conj(unit[..., None, :])


def toeplitz(col: Array, row: Array) -> Array:
    """Matrices with constant diagonals."""
    size = col.shape[-1]
    found = np.zeros((*col.shape, size), col.dtype)
    for i in range(size):
        for j in range(size):
            found[..., i, j] = col[..., i - j] if i >= j else row[..., j - i]
    return found


def tridiagonal(d: Array) -> Array:
    """Matrices of three diagonals in the compact format."""
    found = diagonal(d[..., 1, :])
    for i in range(d.shape[-1] - 1):
        found[..., i, i + 1] = d[..., 0, i]
        found[..., i + 1, i] = d[..., 2, i + 1]
    return found


def circulant(spectrum: Array) -> Array:
    """Circulant matrices of a spectrum."""
    size = spectrum.shape[-1]
    column = np.fft.ifft(spectrum)
    places = (np.arange(size)[:, None] - np.arange(size)) % size
    return column[..., places]


def permutation(perm: Array, dtype: str) -> Array:
    """Matrices that put rows in another order."""
    return np.eye(perm.shape[-1], dtype=dtype)[perm]


def _zeros_like(a: Array, rows: int, columns: int) -> Array:
    return np.zeros((*a.shape[:-2], rows, columns), a.dtype)


def _low_rank(base: Array, u: Array, d: Array, v: Array) -> Array:
    return base + (u * d[..., None, :]) @ adjoint(v)


def _three_blocks(a: Array, r: Array, b: Array) -> Array:
    return blocks([[a, _zeros_like(a, 3, 2)], [r, b]])


def _with_adjoint(a: Array) -> Array:
    low = np.tril(a)
    return low @ adjoint(low)


def _product_with_adjoint(a: Any) -> Any:
    low = L.LinearOperatorLowerTriangular(a, is_non_singular=True)
    return low @ low.H


SURE = {"is_self_adjoint": True, "is_positive_definite": True}
SQUARE: dict[str, Case] = {
    "full": Case(L.LinearOperatorFullMatrix, lambda g, b, t: [solvable(g, b, 3, t)], lambda a: a),
    "definite": Case(
        lambda a: L.LinearOperatorFullMatrix(a, **SURE),
        lambda g, b, t: [definite(g, b, 3, t)],
        lambda a: a,
    ),
    "diag": Case(L.LinearOperatorDiag, lambda g, b, t: [numbers(g, *b, 3, dtype=t)], diagonal),
    "triangular": Case(
        L.LinearOperatorLowerTriangular, lambda g, b, t: [solvable(g, b, 3, t)], np.tril
    ),
    "scaled": Case(
        lambda m: L.LinearOperatorScaledIdentity(3, m),
        lambda g, b, t: [numbers(g, *b, dtype=t)],
        lambda m: np.asarray(m)[..., None, None] * np.eye(3, dtype=m.dtype),
    ),
    "householder": Case(
        L.LinearOperatorHouseholder, lambda g, b, t: [numbers(g, *b, 3, dtype=t)], householder
    ),
    "toeplitz": Case(
        L.LinearOperatorToeplitz,
        lambda g, b, t: [
            numbers(g, *b, 3, dtype=t) + np.array([6, 0, 0], t),
            numbers(g, *b, 3, dtype=t),
        ],
        toeplitz,
    ),
    "tridiagonal": Case(
        L.LinearOperatorTridiag,
        lambda g, b, t: [numbers(g, *b, 3, 4, dtype=t) + np.array([[0], [6], [0]], t)],
        tridiagonal,
    ),
    "tridiagonal sequence": Case(
        lambda d: L.LinearOperatorTridiag([d[..., i, :] for i in range(3)], "sequence"),
        lambda g, b, t: [numbers(g, *b, 3, 4, dtype=t) + np.array([[0], [6], [0]], t)],
        tridiagonal,
    ),
    "tridiagonal matrix": Case(
        lambda a: L.LinearOperatorTridiag(a, "matrix"),
        lambda g, b, t: [tridiagonal(numbers(g, *b, 3, 4, dtype=t) + np.array([[0], [6], [0]], t))],
        lambda a: a,
    ),
    "kronecker": Case(
        lambda a, d: L.LinearOperatorKronecker(
            [L.LinearOperatorFullMatrix(a), L.LinearOperatorDiag(d)]
        ),
        lambda g, b, t: [solvable(g, b, 3, t), numbers(g, *b, 2, dtype=t)],
        lambda a, d: kron(a, diagonal(d)),
    ),
    "composition": Case(
        lambda a, d: L.LinearOperatorComposition(
            [L.LinearOperatorFullMatrix(a), L.LinearOperatorDiag(d)]
        ),
        lambda g, b, t: [solvable(g, b, 3, t), numbers(g, *b, 3, dtype=t)],
        lambda a, d: a * d[..., None, :],
    ),
    "product with adjoint": Case(
        _product_with_adjoint, lambda g, b, t: [solvable(g, b, 3, t)], _with_adjoint
    ),
    "adjoint": Case(
        lambda a: L.LinearOperatorAdjoint(L.LinearOperatorFullMatrix(a)),
        lambda g, b, t: [solvable(g, b, 3, t)],
        adjoint,
    ),
    "inversion": Case(
        lambda a: L.LinearOperatorInversion(L.LinearOperatorFullMatrix(a)),
        lambda g, b, t: [solvable(g, b, 3, t)],
        np.linalg.inv,
    ),
    "low rank": Case(
        lambda a, u, d, v: L.LinearOperatorLowRankUpdate(L.LinearOperatorFullMatrix(a), u, d, v),
        lambda g, b, t: [
            solvable(g, b, 3, t),
            numbers(g, *b, 3, 2, dtype=t) / 2,
            numbers(g, *b, 2, dtype=t),
            numbers(g, *b, 3, 2, dtype=t) / 2,
        ],
        _low_rank,
    ),
    "low rank definite": Case(
        lambda d, u: L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag(d, **SURE), u),
        lambda g, b, t: [
            (np.abs(numbers(g, *b, 3, dtype=t)) + 1).astype(t),
            numbers(g, *b, 3, 2, dtype=t),
        ],
        lambda d, u: diagonal(d) + u @ adjoint(u),
    ),
    "block diag": Case(
        lambda a, d: L.LinearOperatorBlockDiag(
            [L.LinearOperatorFullMatrix(a, is_square=True), L.LinearOperatorDiag(d)]
        ),
        lambda g, b, t: [solvable(g, b, 3, t), numbers(g, *b, 2, dtype=t)],
        lambda a, d: blocks([[a, _zeros_like(a, 3, 2)], [_zeros_like(a, 2, 3), diagonal(d)]]),
    ),
    "block triangular": Case(
        lambda a, r, b: L.LinearOperatorBlockLowerTriangular(
            [
                [L.LinearOperatorFullMatrix(a)],
                [L.LinearOperatorFullMatrix(r), L.LinearOperatorFullMatrix(b)],
            ]
        ),
        lambda g, b, t: [
            solvable(g, b, 3, t),
            numbers(g, *b, 2, 3, dtype=t),
            solvable(g, b, 2, t),
        ],
        _three_blocks,
    ),
}
