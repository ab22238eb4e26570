"""Eigenvalues and singular values against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.linalg_ops.checks import check_both, symmetric

RNG = np.random.default_rng(0)
KINDS = [("float32", 3e-5), ("float64", 1e-11)]
SHAPES = [(1, 1), (4, 3), (3, 4), (2, 5, 5), (17, 12)]


@pytest.mark.parametrize(("dtype", "atol"), KINDS, ids=["single", "double"])
@pytest.mark.parametrize("size", [1, 2, 3, 6, 17])
def test_eigh(size: int, dtype: str, atol: float) -> None:
    a = RNG.normal(size=(2, size, size)).astype(dtype)
    a = a + a.swapaxes(1, 2)
    e, v = (x.numpy() for x in tf.linalg.eigh(np.tril(a)))
    np.testing.assert_allclose(e, np.linalg.eigvalsh(a.astype(float)), atol=atol * size)
    np.testing.assert_allclose((v * e[:, None]) @ v.swapaxes(1, 2), a, atol=atol * size)
    np.testing.assert_allclose(v.swapaxes(1, 2) @ v, [np.eye(size)] * 2, atol=atol)


@pytest.mark.parametrize(("dtype", "atol"), KINDS, ids=["single", "double"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_svd(shape: tuple[int, ...], dtype: str, atol: float) -> None:
    a = RNG.normal(size=shape).astype(dtype)
    s, u, v = (x.numpy() for x in tf.linalg.svd(a))
    expected = np.linalg.svd(a.astype(float), compute_uv=False)
    np.testing.assert_allclose(s, expected, atol=atol)
    np.testing.assert_allclose((u * s[..., None, :]) @ v.swapaxes(-1, -2), a, atol=atol)
    for x in tf.linalg.svd(a, full_matrices=True)[1:]:
        gram = tf.matmul(x, x, transpose_a=True).numpy()
        np.testing.assert_allclose(
            gram, np.broadcast_to(np.eye(x.shape[-1]), gram.shape), atol=atol
        )
    np.testing.assert_allclose(tf.linalg.pinv(a), np.linalg.pinv(a), atol=30 * atol)


def test_singular_values_of_bfloat16() -> None:
    a = tf.constant([[3.0, 0.0], [4.0, 0.0]], tf.bfloat16)
    assert tf.linalg.matrix_rank(a) == 1
    s = tf.linalg.svd(a, compute_uv=False)
    assert s.dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(s, tf.float32), [5.0, 0.0], atol=0.1)


def test_degenerate_matrices() -> None:
    line = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]], np.float32)
    assert tf.linalg.matrix_rank(line) == 2
    np.testing.assert_allclose(tf.linalg.pinv(line), np.linalg.pinv(line), atol=1e-6)
    _, u, _ = tf.linalg.svd(line)
    np.testing.assert_allclose(tf.matmul(u, u, transpose_a=True), np.eye(3), atol=1e-6)
    zeros = np.zeros((3, 2), np.float32)
    s, u, _ = tf.linalg.svd(zeros)
    np.testing.assert_array_equal(s, [0.0, 0.0])
    np.testing.assert_array_equal(tf.matmul(u, u, transpose_a=True), np.eye(2))
    np.testing.assert_array_equal(tf.linalg.matrix_rank(np.zeros((2, 3, 3), np.float32)), [0, 0])
    one = tf.constant(np.eye(3))
    with tf.GradientTape() as tape:
        tape.watch(one)
        y = tf.reduce_sum(tf.linalg.eigvalsh(one))
    np.testing.assert_allclose(tape.gradient(y, one), np.eye(3))


def _polar(x: Any) -> Any:
    _, u, v = tf.linalg.svd(x)
    return tf.matmul(u, v, transpose_b=True)


@pytest.mark.parametrize("shape", [(4, 3), (2, 2, 3)], ids=["tall", "wide"])
@pytest.mark.parametrize(
    "f",
    [lambda x: tf.linalg.svd(x, compute_uv=False), _polar, tf.linalg.pinv],
    ids=["values", "vectors", "pinv"],
)
def test_gradients_of_svd(f: Any, shape: tuple[int, ...]) -> None:
    check_both(f, np.random.default_rng(3).normal(size=shape))


def test_gradients_of_eigh() -> None:
    def fixed(x: Any) -> Any:
        e, v = tf.linalg.eigh(x)
        return e, v * tf.sign(v[..., :1, :])

    check_both(symmetric(fixed), RNG.normal(size=(2, 4, 4)))


def test_rotations_of_a_pair_agree_where_eigenvalues_are_equal() -> None:
    # What is left beside the diagonal is rounding, whose signs may differ on its two sides.
    a = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
    a = a @ np.conj(a.T) + np.eye(3)
    twice = np.kron(a.real, np.eye(2)) + np.kron(a.imag, [[0.0, -1.0], [1.0, 0.0]])
    expected = np.linalg.eigvalsh(a).repeat(2)

    @tf.function  # in a branch, where no library of the machine computes it
    def values(x: Any, wanted: Any) -> Any:
        return tf.cond(wanted, lambda: tf.linalg.eigh(x), lambda: tf.linalg.eigh(x * 2.0))

    e, v = values(twice, tf.constant(True))
    np.testing.assert_allclose(e, expected, rtol=1e-10)
    np.testing.assert_allclose(v @ tf.transpose(v), np.eye(6), atol=1e-10)
