"""``tf.linalg.experimental.conjugate_gradient``."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

solve = tf.linalg.experimental.conjugate_gradient
RNG = np.random.default_rng(0)
HINTS = {"is_self_adjoint": True, "is_positive_definite": True}


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64])
def test_solutions(kind):
    root, right = RNG.normal(size=(5, 5)), RNG.normal(size=(3, 5))
    if kind is np.complex64:
        root = root + 1j * RNG.normal(size=(5, 5))
    matrix = (root @ root.conj().T + np.eye(5)).astype(kind)
    operator = tf.linalg.LinearOperatorFullMatrix(matrix, **HINTS)
    right = right.astype(kind)
    expected = np.linalg.solve(matrix[None], right[..., None])[..., 0]
    diagonal = (1 / np.diag(matrix)).astype(kind)
    near = tf.linalg.LinearOperatorDiag(diagonal, **HINTS)
    for run in (solve, tf.function(solve)):
        for more in ({}, {"preconditioner": near}, {"x": tf.ones([3, 5], kind)}):
            found = run(operator, right, max_iter=50, **more)
            np.testing.assert_allclose(found.x, expected, rtol=2e-3, atol=2e-4)
            np.testing.assert_allclose(found.r, 0, atol=1e-3)
    assert solve(operator, right, max_iter=2).i == 2
    assert solve(operator, expected * 0).i == 0


def test_operators_that_are_not_known_to_be_positive_are_refused():
    operator = tf.linalg.LinearOperatorFullMatrix([[4.0, 1.0], [1.0, 3.0]])
    with pytest.raises(ValueError, match="positive definite operator"):
        solve(operator, [1.0, 2.0])
    good = tf.linalg.LinearOperatorFullMatrix([[4.0, 1.0], [1.0, 3.0]], **HINTS)
    with pytest.raises(ValueError, match="positive definite preconditioner"):
        solve(good, [1.0, 2.0], preconditioner=operator)
