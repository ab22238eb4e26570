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
    with pytest.raises(tf.errors.InvalidArgumentError, match="complex"):
        tf.linalg.svd(a)


def test_three_diagonals() -> None:
    diagonals, x = _numbers(3, 4), _numbers(4, 2)
    diagonals[1] += 5
    dense = np.diag(diagonals[1]) + np.diag(diagonals[0, :-1], 1) + np.diag(diagonals[2, 1:], -1)
    np.testing.assert_allclose(tf.linalg.tridiagonal_matmul(diagonals, x), dense @ x)
    found = tf.linalg.tridiagonal_solve(diagonals, x)
    np.testing.assert_allclose(found, np.linalg.solve(dense, x))
    turned = tf.linalg.tridiagonal_solve(diagonals, x.T, transpose_rhs=True, conjugate_rhs=True)
    np.testing.assert_allclose(turned, np.linalg.solve(dense, np.conj(x)))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda a: tf.linalg.solve(a, tf.constant(_numbers(3, 2))),
    "solve with the adjoint": lambda a: tf.linalg.solve(a, tf.constant(_numbers(3, 2)), True),
    "triangular_solve": lambda a: tf.linalg.triangular_solve(a, tf.constant(_numbers(3, 2))),
    "cholesky": lambda a: tf.linalg.cholesky(tf.matmul(a, a, adjoint_b=True)),
    "det": tf.linalg.det,
    "slogdet": lambda a: tf.linalg.slogdet(a).log_abs_determinant,
    "eigvalsh": lambda a: tf.linalg.eigvalsh(a + tf.linalg.adjoint(a)),
    "svd": lambda a: tf.cast(tf.linalg.svd(a, compute_uv=False), tf.complex128),
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
