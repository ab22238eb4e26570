"""QR decompositions and least squares against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.linalg_ops.checks import check_both
from tfx.core.errors import InvalidArgumentError

RNG = np.random.default_rng(0)
SHAPES = [(2, 4, 4), (5, 3), (2, 3, 5), (1, 1), (3, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_qr(shape: tuple[int, ...]) -> None:
    a = RNG.normal(size=shape)
    expected = np.linalg.qr(a)
    for found, want in zip(tf.linalg.qr(a), expected, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    q, r = tf.linalg.qr(a, full_matrices=True)
    assert q.shape[-2:] == (shape[-2], shape[-2])
    np.testing.assert_allclose(q @ r, a, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES[:3], ids=lambda s: "x".join(map(str, s)))
def test_gradients_of_qr(shape: tuple[int, ...]) -> None:
    check_both(tf.linalg.qr, RNG.normal(size=shape))


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "careful"])
@pytest.mark.parametrize("wide", [False, True], ids=["tall", "wide"])
def test_lstsq(wide: bool, fast: bool) -> None:
    a, b = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))
    a, b = (a.T.copy(), b[:3]) if wide else (a, b)
    expected = np.linalg.lstsq(a, b, rcond=None)[0]
    np.testing.assert_allclose(tf.linalg.lstsq(a, b, fast=fast), expected, rtol=1e-7)
    check_both(lambda x, y: tf.linalg.lstsq(x, y, fast=fast), a, b, order=1)


def test_lstsq_with_a_regularizer() -> None:
    a, b = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))
    expected = np.linalg.solve(a.T @ a + 0.3 * np.eye(3), a.T @ b)
    np.testing.assert_allclose(tf.linalg.lstsq(a, b, 0.3), expected, rtol=1e-9)


def test_lstsq_of_other_rows() -> None:
    with pytest.raises(InvalidArgumentError, match="as many rows"):
        tf.linalg.lstsq([[1.0]], [[1.0], [2.0]])
