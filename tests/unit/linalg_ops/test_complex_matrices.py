"""Complex matrices: against NumPy, gradients against differences of real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

SHAPES = [(3, 3), (1, 1), (2, 4, 4), (2, 1, 3, 3), (0, 2, 2)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
kinds = pytest.mark.parametrize(("dtype", "rtol"), [("complex64", 2e-3), ("complex128", 1e-9)])
either = pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])


def _numbers(*shape: int, dtype: str = "complex128") -> Any:
    rng = np.random.default_rng(sum(shape))
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _definite(*shape: int, dtype: str = "complex128") -> Any:
    a = _numbers(*shape, dtype=dtype)
    return a @ _adjoint(a) + np.eye(shape[-1], dtype=dtype)


@shapes
@kinds
@either
def test_solutions(shape: tuple[int, ...], dtype: str, rtol: float, wrap: Any) -> None:
    a, b = _numbers(*shape, dtype=dtype), _numbers(*shape[:-1], 2, dtype=dtype)
    solve, inv = wrap(tf.linalg.solve), wrap(tf.linalg.inv)
    np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b), rtol, rtol)
    turned = solve(a, b, adjoint=True)
    np.testing.assert_allclose(turned, np.linalg.solve(_adjoint(a), b), rtol, rtol)
    np.testing.assert_allclose(inv(a), np.linalg.inv(a), rtol, rtol)
    np.testing.assert_allclose(inv(a, adjoint=True), _adjoint(np.linalg.inv(a)), rtol, rtol)


@shapes
@kinds
@either
def test_triangles(shape: tuple[int, ...], dtype: str, rtol: float, wrap: Any) -> None:
    a, b = _numbers(*shape, dtype=dtype), _numbers(*shape[:-1], 2, dtype=dtype)
    a = a + 3 * np.eye(shape[-1], dtype=dtype)
    for lower in (True, False):
        exact = np.tril(a) if lower else np.triu(a)
        for turned in (True, False):
            found = wrap(tf.linalg.triangular_solve)(a, b, lower=lower, adjoint=turned)
            expected = np.linalg.solve(_adjoint(exact) if turned else exact, b)
            np.testing.assert_allclose(found, expected, rtol, rtol)


@shapes
@kinds
@either
def test_decompositions(shape: tuple[int, ...], dtype: str, rtol: float, wrap: Any) -> None:
    a = _definite(*shape, dtype=dtype)
    real = np.float32 if dtype == "complex64" else np.float64
    factor = wrap(tf.linalg.cholesky)(a)
    np.testing.assert_allclose(factor, np.linalg.cholesky(a), rtol, rtol)
    b = _numbers(*shape[:-1], 2, dtype=dtype)
    found = wrap(tf.linalg.cholesky_solve)(factor, b)
    np.testing.assert_allclose(found, np.linalg.solve(a, b), 10 * rtol, 10 * rtol)
    values = wrap(tf.linalg.eigvalsh)(a)
    assert values.dtype.name == dtype
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), rtol, rtol)
    logs = wrap(tf.linalg.logdet)(a)
    assert logs.dtype.as_numpy_dtype is real
    np.testing.assert_allclose(logs, np.linalg.slogdet(a)[1], rtol, rtol)


@shapes
@kinds
@either
def test_determinants(shape: tuple[int, ...], dtype: str, rtol: float, wrap: Any) -> None:
    a = _numbers(*shape, dtype=dtype)
    np.testing.assert_allclose(wrap(tf.linalg.det)(a), np.linalg.det(a), rtol, rtol)
    sign, logs = wrap(tf.linalg.slogdet)(a)
    expected = np.linalg.slogdet(a)
    np.testing.assert_allclose(sign, expected[0], rtol, rtol)
    np.testing.assert_allclose(logs, expected[1].astype(dtype), rtol, rtol)


@kinds
@either
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (2, 3, 2)], ids=str)
def test_singular_values(shape: tuple[int, ...], dtype: str, rtol: float, wrap: Any) -> None:
    a = _numbers(*shape, dtype=dtype)
    found = wrap(lambda x: tf.linalg.svd(x, compute_uv=False))(a)
    np.testing.assert_allclose(found, np.linalg.svd(a, compute_uv=False), rtol, rtol)
    assert not found.dtype.is_complex
    for full in (False, True):
        s, u, v = wrap(lambda x, full=full: tf.linalg.svd(x, full))(a)
        k = s.shape[-1]
        s, u, v = s.numpy(), u.numpy(), v.numpy()
        np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ _adjoint(v[..., :k]), a, 0, rtol)
        for q in (u, v):
            np.testing.assert_allclose(_adjoint(q) @ q, _ones(q), 0, rtol)
    np.testing.assert_array_equal(wrap(tf.linalg.matrix_rank)(a), np.linalg.matrix_rank(a))
    square = wrap(lambda x: tf.norm(x, ord=2, axis=(-2, -1)))(a)
    np.testing.assert_allclose(square, np.linalg.norm(a, 2, (-2, -1)), rtol, rtol)


def _ones(q: Any) -> Any:
    return np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *q.shape[-1:] * 2))


@shapes
@kinds
@either
def test_factors(shape: tuple[int, ...], dtype: str, rtol: float, wrap: Any) -> None:
    a = _numbers(*shape, dtype=dtype)
    q, r = wrap(tf.linalg.qr)(a)
    for found, expected in zip((q, r), np.linalg.qr(a), strict=True):
        np.testing.assert_allclose(found, expected, rtol, rtol)
    lu, p = wrap(tf.linalg.lu)(a)
    np.testing.assert_allclose(tf.linalg.lu_reconstruct(lu, p), a, rtol, rtol)
    b = _numbers(*shape[:-1], 2, dtype=dtype)
    found = wrap(tf.linalg.lu_solve)(lu, p, b)
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol, rtol)
    e, v = wrap(tf.linalg.eigh)(a)  # the upper triangle, and imaginary parts in it, count nothing
    assert e.dtype.name == dtype
    below = np.tril(a, -1)
    whole = below + _adjoint(below) + np.eye(shape[-1]) * a.real
    np.testing.assert_allclose(e, np.linalg.eigvalsh(whole), rtol, rtol)
    np.testing.assert_allclose(v * e[..., None, :], whole @ v.numpy(), rtol, rtol)


@kinds
def test_loops_are_decompositions(dtype: str, rtol: float) -> None:
    """What runs in a loop or a branch, and what is saved, is not LAPACK's."""
    a = _numbers(2, 5, 4, dtype=dtype)
    a[1, :, 2] = a[1, :, 0] * (1 + 1j)  # without full rank
    h = np.eye(4, dtype=dtype) * [1, 1, 2, 2] + 0 * a[:, :4]
    h[1] = a[0, :4] + _adjoint(a[0, :4])

    @tf.function(input_signature=[tf.TensorSpec([None, None, None], dtype)] * 2)
    def decomposed(a: Any, h: Any) -> Any:
        def parts() -> Any:
            return [*tf.linalg.qr(a), *tf.linalg.svd(a), *tf.linalg.eigh(h), tf.linalg.lu(h).lu]

        def nothing() -> Any:
            return [tf.zeros_like(x) for x in (a, a, tf.math.real(a[0]), a, a, h[0], h, h)]

        return tf.cond(tf.shape(a)[0] > 0, parts, nothing)

    q, r, s, u, v, e, w, lu = (x.numpy() for x in decomposed(a, h))
    for found, whole in ((q @ r, a), (u * s[:, None] @ _adjoint(v), a), (w * e[:, None], h @ w)):
        np.testing.assert_allclose(found, whole, 0, rtol)
    for x in (q, u, v, w):
        np.testing.assert_allclose(_adjoint(x) @ x, _ones(x), 0, rtol)
    np.testing.assert_allclose(r[0], np.linalg.qr(a[0])[1], rtol, rtol)
    np.testing.assert_allclose(lu, tf.linalg.lu(h).lu, rtol, rtol)


@kinds
@either
def test_functions_of_matrices(dtype: str, rtol: float, wrap: Any) -> None:
    a = _definite(2, 3, 3, dtype=dtype) + 1j * np.eye(3)
    a = a.astype(dtype)
    root = wrap(tf.linalg.sqrtm)(a)
    np.testing.assert_allclose(root @ root, a, rtol, rtol)
    logs = wrap(tf.linalg.logm)(a)
    np.testing.assert_allclose(wrap(tf.linalg.expm)(logs), a, rtol, 10 * rtol)
    e, v = np.linalg.eig(a)
    np.testing.assert_allclose(logs, v * np.log(e)[..., None, :] @ np.linalg.inv(v), rtol, rtol)
    with pytest.raises(tf.errors.InvalidArgumentError, match="complex64, complex128"):
        tf.linalg.logm(a.real)


@kinds
def test_least_squares(dtype: str, rtol: float) -> None:
    for shape in ((5, 3), (3, 5)):
        a, b = _numbers(*shape, dtype=dtype), _numbers(shape[0], 2, dtype=dtype)
        expected = np.linalg.lstsq(a, b, rcond=None)[0]
        for fast in (True, False):
            found = tf.linalg.lstsq(a, b, fast=fast)
            np.testing.assert_allclose(found, expected, 10 * rtol, 10 * rtol)
    with pytest.raises(NotImplementedError, match="l2_regularizer"):
        tf.linalg.lstsq(a, b, l2_regularizer=0.1)


def test_three_diagonals() -> None:
    diagonals, x = _numbers(3, 4), _numbers(4, 2)
    diagonals[1] += 5
    dense = np.diag(diagonals[1]) + np.diag(diagonals[0, :-1], 1) + np.diag(diagonals[2, 1:], -1)
    np.testing.assert_allclose(tf.linalg.tridiagonal_matmul(diagonals, x), dense @ x)
    found = tf.linalg.tridiagonal_solve(diagonals, x)
    np.testing.assert_allclose(found, np.linalg.solve(dense, x))
    turned = tf.linalg.tridiagonal_solve(diagonals, x.T, transpose_rhs=True, conjugate_rhs=True)
    np.testing.assert_allclose(turned, np.linalg.solve(dense, np.conj(x)))
    bands = np.stack([diagonals[1], diagonals[2]])
    lower = np.diag(diagonals[1]) + np.diag(diagonals[2, 1:], -1)
    for adjoint, whole in ((False, lower), (True, _adjoint(lower))):
        found = tf.linalg.banded_triangular_solve(bands, x, adjoint=adjoint)
        np.testing.assert_allclose(found, np.linalg.solve(whole, x))
    above, middle = diagonals[0, :-1], diagonals[1].real.astype(complex)
    values, vectors = tf.linalg.eigh_tridiagonal(middle, above, eigvals_only=False)
    symmetric = np.diag(middle) + np.diag(above, 1) + np.diag(np.conj(above), -1)
    assert not values.dtype.is_complex
    np.testing.assert_allclose(symmetric @ vectors, vectors * values.numpy())


def _turned(u: Any, v: Any) -> Any:
    return tf.matmul(u, v, adjoint_b=True)


def _weighted(e: Any, v: Any) -> Any:
    """What does not depend on the phases of eigenvectors, nor on their order."""
    return tf.cast(tf.matmul(tf.abs(v) ** 2, tf.abs(e)[:, None]), tf.complex128)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda a: tf.linalg.solve(a, tf.constant(_numbers(3, 2))),
    "solve with the adjoint": lambda a: tf.linalg.solve(a, tf.constant(_numbers(3, 2)), True),
    "triangular_solve": lambda a: tf.linalg.triangular_solve(a, tf.constant(_numbers(3, 2))),
    "cholesky": lambda a: tf.linalg.cholesky(tf.matmul(a, a, adjoint_b=True)),
    "det": tf.linalg.det,
    "slogdet": lambda a: tf.linalg.slogdet(a).log_abs_determinant,
    "eigvalsh": lambda a: tf.linalg.eigvalsh(a + tf.linalg.adjoint(a)),
    "svd": lambda a: tf.cast(tf.linalg.svd(a, compute_uv=False), tf.complex128),
    "singular vectors": lambda a: _turned(*tf.linalg.svd(a)[1:]),
    "more rows": lambda a: _turned(*tf.linalg.svd(a[:, :2])[1:]),
    "more columns": lambda a: _turned(*tf.linalg.svd(a[:2])[1:]),
    "eigh": lambda a: _weighted(*tf.linalg.eigh(a + tf.linalg.adjoint(a))),
    "eig": lambda a: _weighted(*tf.linalg.eig(a)),
    "eigvals": lambda a: tf.cast(tf.abs(tf.linalg.eigvals(a)), tf.complex128),
    "qr": lambda a: tf.concat(tf.linalg.qr(a), 0),
    "qr of columns": lambda a: tf.concat(tf.linalg.qr(a[:, :2]), 0),
    "qr of rows": lambda a: tf.concat(tf.linalg.qr(a[:2]), 1),
    "lu": lambda a: tf.linalg.lu(a).lu,
    "lstsq": lambda a: tf.linalg.lstsq(a[:, :2], a),
    "expm": tf.linalg.expm,
    "sqrtm": tf.linalg.sqrtm,
    "logm": tf.linalg.logm,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    a = _numbers(3, 3) + 3 * np.eye(3)

    def total(real: Any, imag: Any) -> Any:
        found = FUNCTIONS[name](tf.complex(real, imag))
        return tf.reduce_sum(tf.sin(tf.math.real(found)) + 2.0 * tf.math.imag(found))

    points = [tf.constant(a.real), tf.constant(a.imag)]
    tf.testing.check_grads(total, points, order=1)
    tf.testing.check_grads(tf.function(total), points, order=1)


def test_what_is_singular_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.solve(np.zeros((2, 2), np.complex64), np.ones((2, 1), np.complex64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="zero on the diagonal"):
        tf.linalg.triangular_solve(np.zeros((2, 2), np.complex64), np.ones((2, 1), np.complex64))
    assert np.isnan(tf.linalg.cholesky(-np.eye(2, dtype=np.complex64)).numpy()[0, 0])
    assert complex(tf.linalg.det(np.zeros((2, 2), np.complex64))) == 0
