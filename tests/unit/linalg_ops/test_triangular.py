"""Triangular systems and Cholesky's decomposition against NumPy; gradients by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.linalg_ops.checks import check_both, symmetric
from tfx.core.errors import InvalidArgumentError
from tfx.testing import assert_close, check_grads

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 4, 4)), RNG.normal(size=(2, 4, 3))
DEFINITE = A @ A.swapaxes(1, 2) + np.eye(4)


@pytest.mark.parametrize("adjoint", [False, True], ids=["plain", "adjoint"])
@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
def test_triangular_solve(lower: bool, adjoint: bool) -> None:
    def solve(a: Any, b: Any) -> Any:
        return tf.linalg.triangular_solve(a, b, lower=lower, adjoint=adjoint)

    triangle = np.tril(A) if lower else np.triu(A)
    expected = np.linalg.solve(triangle.swapaxes(1, 2) if adjoint else triangle, B)
    np.testing.assert_allclose(solve(A, B), expected, rtol=1e-9)
    check_both(solve, A, B)


def test_batches_broadcast() -> None:
    found = tf.linalg.triangular_solve(A[0], B)
    np.testing.assert_allclose(found, np.linalg.solve(np.tril(A[0]), B), rtol=1e-9)


@pytest.mark.parametrize(
    ("of_matrix", "of_rhs"),
    [((), (5,)), ((), (2, 3)), ((3,), (4, 3)), ((1,), (4, 3)), ((3,), (4, 1))],
)
@pytest.mark.parametrize("adjoint", [False, True])
def test_one_matrix_for_many_right_hand_sides(of_matrix, of_rhs, adjoint):
    rng = np.random.default_rng(0)
    a = np.tril(rng.standard_normal((*of_matrix, 3, 3))) + 3 * np.eye(3)
    b = rng.standard_normal((*of_rhs, 3, 2))
    wanted = np.linalg.solve(np.swapaxes(a, -1, -2) if adjoint else a, b)

    def solve(a, b):
        return tf.linalg.triangular_solve(a, b, adjoint=adjoint)

    free = [tf.TensorSpec([None] * x.ndim, tf.float64) for x in (a, b)]
    for f in (solve, tf.function(solve), tf.function(solve, input_signature=free)):
        np.testing.assert_allclose(f(tf.constant(a), tf.constant(b)), wanted, rtol=1e-9)
    check_both(lambda a, b: solve(tf.linalg.band_part(a, -1, 0), b), a, b)
    known = tf.function(solve).get_concrete_function(*map(tf.constant, (a, b)))
    assert known.outputs[0].shape == wanted.shape


def test_right_hand_sides_of_no_elements():
    for shape in ([0, 3, 2], [4, 3, 0]):
        assert tf.linalg.triangular_solve(tf.eye(3), tf.zeros(shape)).shape == shape
    assert tf.linalg.triangular_solve(tf.zeros([0, 0]), tf.zeros([4, 0, 2])).shape == [4, 0, 2]


def test_cholesky() -> None:
    np.testing.assert_allclose(
        tf.linalg.cholesky(DEFINITE), np.linalg.cholesky(DEFINITE), rtol=1e-9
    )
    check_both(symmetric(tf.linalg.cholesky), DEFINITE)


def test_matrices_that_are_not_positive_definite_give_nan(caplog):
    matrices = np.array([[[1.0, 2.0], [2.0, 1.0]], [[4.0, 2.0], [2.0, 5.0]]])
    found = tf.linalg.cholesky(matrices)
    np.testing.assert_array_equal(found, [[[np.nan, 0], [np.nan, np.nan]], [[2, 0], [1, 2]]])
    assert "not successful" in caplog.text
    traced = tf.function(tf.linalg.cholesky)(tf.constant(matrices)).numpy()
    assert np.isnan(traced[0, 1, 1])
    np.testing.assert_array_equal(traced[1], found[1])
    assert np.isnan(tf.linalg.logdet(matrices)).tolist() == [True, False]
    with tf.GradientTape() as tape:
        x = tf.Variable([[1.0, 2.0], [2.0, 1.0]])
        y = tf.reduce_sum(tf.linalg.cholesky(x))
    assert np.isnan(tape.gradient(y, x)).any()


def test_only_the_lower_triangle_is_read() -> None:
    found = tf.linalg.cholesky(np.tril(DEFINITE))
    np.testing.assert_allclose(found, np.linalg.cholesky(DEFINITE), rtol=1e-9)


def test_half_precision() -> None:
    found = tf.linalg.cholesky(tf.constant([[4.0, 2.0], [2.0, 5.0]], tf.bfloat16))
    assert found.dtype == tf.bfloat16
    np.testing.assert_array_equal(tf.cast(found, tf.float32), [[2.0, 0.0], [1.0, 2.0]])


def test_cholesky_solve() -> None:
    factor = np.linalg.cholesky(DEFINITE)
    np.testing.assert_allclose(
        tf.linalg.cholesky_solve(factor, B), np.linalg.solve(DEFINITE, B), rtol=1e-9
    )


def test_of_each_element() -> None:
    found = tf.vectorized_map(tf.linalg.cholesky, tf.constant(DEFINITE))
    np.testing.assert_allclose(found, np.linalg.cholesky(DEFINITE), rtol=1e-9)


def test_unknown_shapes() -> None:
    spec = tf.TensorSpec([None, None, None], tf.float64)
    f = tf.function(tf.linalg.cholesky, input_signature=[spec], autograph=False)
    np.testing.assert_allclose(f(DEFINITE), np.linalg.cholesky(DEFINITE), rtol=1e-9)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: tf.linalg.cholesky([[1.0, 2.0]]), "must be square"),
        (lambda: tf.linalg.cholesky([1.0]), "at least 2 dimensions"),
        (lambda: tf.linalg.cholesky([[1]]), "floating or complex dtype"),
        (lambda: tf.linalg.triangular_solve([[0.0]], [[1.0]]), "not invertible"),
        (lambda: tf.linalg.triangular_solve([[1.0]], [[1.0], [2.0]]), "as many rows"),
    ],
    ids=["square", "rank", "integer", "zero", "rows"],
)
def test_refused(f: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        f()


def _banded(bands: np.ndarray, lower: bool) -> np.ndarray:
    width, n = bands.shape
    dense = np.zeros((n, n))
    for i in range(width):
        for r in range(n):
            c = r - i if lower else r + width - 1 - i
            if 0 <= c < n:
                dense[r, c] = bands[i, r]
    return dense


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_banded_systems(lower, adjoint, rng):
    bands, rhs = rng.uniform(1.0, 2.0, (3, 5)), rng.normal(size=(5, 2))
    dense = _banded(bands, lower)
    expected = np.linalg.solve(dense.T if adjoint else dense, rhs)

    def solve(bands: tf.Tensor, rhs: tf.Tensor) -> tf.Tensor:
        return tf.linalg.banded_triangular_solve(bands, rhs, lower=lower, adjoint=adjoint)

    assert_close(solve(bands, rhs), expected)
    spec = [tf.TensorSpec([3, None], tf.float64), tf.TensorSpec([None, None], tf.float64)]
    assert_close(tf.function(solve, input_signature=spec)(bands, rhs), expected)
    assert_close(solve(np.stack([bands, bands]), rhs), np.stack([expected, expected]))
    check_grads(solve, [bands, rhs], order=1)


def test_banded_systems_that_do_not_fit():
    solve = tf.linalg.banded_triangular_solve
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many rows in rhs"):
        solve(np.ones((2, 3)), np.ones((4, 1)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="zero on the diagonal"):
        solve(np.zeros((1, 3)), np.ones((3, 1)))
    spec = [tf.TensorSpec([None, 3])]
    with pytest.raises(tf.errors.InvalidArgumentError, match="number of diagonals"):
        tf.function(lambda x: solve(x, tf.ones([3, 1])), input_signature=spec)(np.ones((2, 3)))
