"""Matrices with three diagonals against whole ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.testing import check_grads

RNG = np.random.default_rng(0)
COMPACT = RNG.uniform(size=(2, 3, 5)) + np.array([0.0, 3.0, 0.0])[:, None]
RIGHT = RNG.uniform(size=(2, 5, 2))
WHOLE = np.stack([np.diag(d[1]) + np.diag(d[0, :-1], 1) + np.diag(d[2, 1:], -1) for d in COMPACT])
FORMS: dict[str, Any] = {
    "compact": COMPACT,
    "sequence": (COMPACT[:, 0], COMPACT[:, 1], COMPACT[:, 2]),
    "matrix": WHOLE,
}


@pytest.mark.parametrize("form", FORMS)
def test_products_and_equations(form: str) -> None:
    given = FORMS[form]
    found = tf.linalg.tridiagonal_matmul(given, RIGHT, form)
    np.testing.assert_allclose(found, WHOLE @ RIGHT)
    solved = tf.linalg.tridiagonal_solve(given, RIGHT, form)
    np.testing.assert_allclose(solved, np.linalg.solve(WHOLE, RIGHT))
    vector = tf.linalg.tridiagonal_solve(given, RIGHT[..., 0], form)
    np.testing.assert_allclose(vector, np.linalg.solve(WHOLE, RIGHT)[..., 0])
    turned = np.swapaxes(RIGHT, 1, 2).copy()
    other = tf.linalg.tridiagonal_solve(given, turned, form, transpose_rhs=True)
    np.testing.assert_allclose(other, solved)


def test_short_diagonals_and_functions() -> None:
    d = COMPACT[0]
    short = (d[0, :4], d[1], d[2, 1:])
    found = tf.function(lambda: tf.linalg.tridiagonal_solve(short, RIGHT[0], "sequence"))()
    np.testing.assert_allclose(found, np.linalg.solve(WHOLE[0], RIGHT[0]))
    specs = [tf.TensorSpec([None, 3, None], tf.float64), tf.TensorSpec([None, None], tf.float64)]
    unknown = tf.function(tf.linalg.tridiagonal_solve, input_signature=specs)
    solved = unknown(COMPACT, RIGHT[..., 0])
    np.testing.assert_allclose(solved, np.linalg.solve(WHOLE, RIGHT)[..., 0])


def test_gradients() -> None:
    check_grads(tf.linalg.tridiagonal_solve, [COMPACT, RIGHT])
    check_grads(tf.linalg.tridiagonal_matmul, [COMPACT, RIGHT])


def test_eigenvalues() -> None:
    middle, beside = RNG.uniform(size=6), RNG.uniform(size=5)
    whole = np.diag(middle) + np.diag(beside, 1) + np.diag(beside, -1)
    values, vectors = np.linalg.eigh(whole)
    call = tf.linalg.eigh_tridiagonal
    np.testing.assert_allclose(call(middle, beside), values)
    part = call(middle, beside, select="i", select_range=[1, 3])
    np.testing.assert_allclose(part, values[1:4])
    some = call(middle, beside, select="v", select_range=[0.0, 1.0])
    np.testing.assert_allclose(some, values[(values > 0) & (values <= 1)])
    found, found_vectors = call(middle, beside, eigvals_only=False)
    np.testing.assert_allclose(found, values)
    np.testing.assert_allclose(np.abs(found_vectors), np.abs(vectors), atol=1e-9)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="diagonals_format"):
        tf.linalg.tridiagonal_solve(COMPACT, RIGHT, "dense")
    with pytest.raises(ValueError, match="length 3"):
        tf.linalg.tridiagonal_solve((COMPACT,), RIGHT, "sequence")
    with pytest.raises(ValueError, match=r"\[..., 3, n\]"):
        tf.linalg.tridiagonal_matmul(WHOLE, RIGHT)
    with pytest.raises(ValueError, match="perturb_singular"):
        tf.linalg.tridiagonal_solve(COMPACT, RIGHT, perturb_singular=True)
    with pytest.raises(ValueError, match="select"):
        tf.linalg.eigh_tridiagonal([1.0], [], select="x")
    with pytest.raises(ValueError, match="select_range"):
        tf.linalg.eigh_tridiagonal([1.0, 2.0], [1.0], select="i", select_range=[2, 1])
