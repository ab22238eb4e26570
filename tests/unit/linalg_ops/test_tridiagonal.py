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


def _dense(d: Any) -> Any:
    return np.diag(d[1]) + np.diag(d[0, :-1], 1) + np.diag(d[2, 1:], -1)


@pytest.mark.parametrize(
    ("form", "size"),
    [("compact", 1), *[(form, size) for form in FORMS for size in (2, 3, 50, 600)]],
)
def test_rows_are_exchanged(form: str, size: int) -> None:
    # Small pivots on the diagonal, and what does not count is no number.
    rng = np.random.default_rng(size)
    d = rng.normal(size=(3, size)) * np.array([1.0, 1e-3, 1.0])[:, None]
    d[1] += rng.choice([0.0, 2.0], size)
    x = rng.normal(size=(size, 2))
    dense = _dense(d)
    right = dense @ x
    d[0, -1] = d[2, 0] = np.nan
    given: Any = {"compact": d, "sequence": tuple(d), "matrix": dense}[form]
    error = 1e-9 * np.linalg.cond(dense)
    found = tf.linalg.tridiagonal_solve(given, right, form)
    np.testing.assert_allclose(found, x, error, error)
    branch = tf.function(  # where no library of the machine computes it
        lambda given, right, wanted: tf.cond(
            wanted,
            lambda: tf.linalg.tridiagonal_solve(given, right, form),
            lambda: tf.zeros([size, 2], tf.float64),
        )
    )
    np.testing.assert_allclose(branch(given, right, tf.constant(True)), x, error, error)


@pytest.mark.parametrize("form", FORMS)
def test_unknown_ranks(form: str) -> None:
    given = tf.nest.map_structure(tf.constant, FORMS[form])
    specs = tf.nest.map_structure(lambda x: tf.TensorSpec(None, x.dtype), given)

    @tf.function(input_signature=[specs, tf.TensorSpec(None, tf.float64)])
    def both(given: Any, right: Any) -> Any:
        product = tf.linalg.tridiagonal_matmul(given, right, form)
        return product, tf.linalg.tridiagonal_solve(given, right, form)

    product, solution = both(given, RIGHT)
    np.testing.assert_allclose(product, WHOLE @ RIGHT)
    np.testing.assert_allclose(solution, np.linalg.solve(WHOLE, RIGHT))


def test_matrices_without_inverse() -> None:
    singular = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.tridiagonal_solve(singular, np.ones((2, 1)))
    wide = np.zeros((3, 600))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.tridiagonal_solve(wide, np.ones((600, 1)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many rows"):
        tf.linalg.tridiagonal_solve(singular, np.ones((3, 1)))
