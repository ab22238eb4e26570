"""LU decompositions and determinants against NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.linalg_ops.checks import check_both
from tfx.core.errors import InvalidArgumentError

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 4, 4)), RNG.normal(size=(2, 4, 3))


def test_lu_and_what_is_made_of_it() -> None:
    factors, p = tf.linalg.lu(A)
    assert p.dtype == tf.int32
    lower = np.tril(factors, -1) + np.eye(4)
    assert (np.abs(lower) <= 1).all()  # the largest pivot was taken
    rows = np.take_along_axis(A, p.numpy()[:, :, None].astype(np.int64), 1)
    np.testing.assert_allclose(lower @ np.triu(factors), rows, rtol=1e-9)
    np.testing.assert_allclose(tf.linalg.lu_reconstruct(factors, p), A, rtol=1e-9)
    np.testing.assert_allclose(tf.linalg.lu_solve(factors, p, B), np.linalg.solve(A, B), rtol=1e-9)
    np.testing.assert_allclose(tf.linalg.lu_matrix_inverse(factors, p), np.linalg.inv(A), rtol=1e-9)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tf.linalg.lu(x).lu,
        tf.linalg.det,
        lambda x: tf.linalg.slogdet(x).log_abs_determinant,
    ],
    ids=["lu", "det", "slogdet"],
)
def test_gradients(f: Any) -> None:
    check_both(f, A)


def test_determinants() -> None:
    np.testing.assert_allclose(tf.linalg.det(A), np.linalg.det(A), rtol=1e-9)
    sign, size = tf.linalg.slogdet(A)
    expected = np.linalg.slogdet(A)
    np.testing.assert_array_equal(sign, expected.sign)
    np.testing.assert_allclose(size, expected.logabsdet, rtol=1e-9)
    definite = A @ A.swapaxes(1, 2) + np.eye(4)
    expected = np.linalg.slogdet(definite)
    np.testing.assert_allclose(tf.linalg.logdet(definite), expected.logabsdet, rtol=1e-9)


def test_singular_matrices() -> None:
    zeros = np.zeros((2, 2), np.float32)
    assert tf.linalg.det([[1.0, 2.0], [2.0, 4.0]]) == 0.0
    assert tf.linalg.slogdet(zeros) == (0.0, -np.inf)
    with pytest.raises(InvalidArgumentError, match="not invertible"):
        tf.linalg.lu(zeros)
