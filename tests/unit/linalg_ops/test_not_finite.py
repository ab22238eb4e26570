"""Matrices with NaN and infinity: no decomposition gives finite numbers for them, or hangs."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

REGULAR = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
PLACES = [(0, 0), (0, 1), (1, 1), (2, 2), (0, 2)]
BAD = [np.nan, np.inf, -np.inf]


def _symmetric(place, value, dtype):
    a = REGULAR.astype(dtype)
    a[place] = a[place[::-1]] = value
    return np.stack([REGULAR.astype(dtype), a])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("place", PLACES)
def test_decompositions(place, value, dtype):
    # TensorFlow gives NaN as well, or refuses all matrices of the batch.
    a = _symmetric(place, value, dtype)
    for found in (*tf.linalg.eigh(a), tf.linalg.eigvalsh(a), *tf.linalg.svd(a)):
        assert np.isfinite(found[0]).all()
        assert np.isnan(found[1]).all()
    np.testing.assert_allclose(tf.linalg.eigvalsh(a)[0], np.linalg.eigvalsh(REGULAR), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", PLACES)
def test_elimination(place, dtype):
    a = _symmetric(place, np.nan, dtype)
    right = np.ones((2, 3, 2), dtype)
    for call in (lambda f: f, tf.function):
        for f in (
            tf.linalg.det,
            lambda a: tf.linalg.slogdet(a)[0],
            lambda a: tf.linalg.slogdet(a)[1],
        ):
            found = call(f)(tf.constant(a))
            assert np.isfinite(found[0])
            assert np.isnan(found[1])
        for f in (tf.linalg.inv, lambda a: tf.linalg.solve(a, right)):
            found = call(f)(tf.constant(a))
            assert np.isfinite(found[0]).all()
            assert np.isnan(found[1]).all()


@pytest.mark.parametrize("lower", [True, False])
def test_the_other_triangle_is_not_read(lower):
    # TensorFlow's numbers are those of the matrix without it.
    a = np.tril(REGULAR) if lower else np.triu(REGULAR)
    b = np.array([[1.0, 2], [3, 4], [5, 6]])
    expected = np.linalg.solve(a, b)
    for value in BAD:
        filled = a + np.where(np.tri(3, k=-1).T if lower else np.tri(3, k=-1), value, 0)
        np.testing.assert_allclose(tf.linalg.triangular_solve(filled, b, lower), expected)
        turned = tf.linalg.triangular_solve(filled.T, b, not lower, adjoint=True)
        np.testing.assert_allclose(turned, expected)
        if lower:
            spd = np.linalg.solve(a @ a.T, b)
            np.testing.assert_allclose(tf.linalg.cholesky_solve(filled, b), spd)


def test_what_does_not_meet_nan_is_known():
    b = np.array([[1.0, 2], [3, np.nan], [5, 6]])
    found = tf.linalg.triangular_solve(np.tril(REGULAR), b).numpy()
    expected = np.linalg.solve(np.tril(REGULAR), np.nan_to_num(b))
    np.testing.assert_allclose(found[:, 0], expected[:, 0])
    np.testing.assert_array_equal(np.isnan(found), [[False, False], [False, True], [False, True]])
    infinite = np.diag([np.inf, 2.0, 4.0])
    np.testing.assert_allclose(
        tf.linalg.triangular_solve(infinite, np.ones((3, 1))), [[0], [0.5], [0.25]]
    )
