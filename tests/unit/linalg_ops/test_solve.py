"""Linear systems: against NumPy in float64, their gradients against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

RNG = np.random.default_rng(0)


def _system(*shape: int, columns: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return RNG.normal(size=shape), RNG.normal(size=(*shape[:-1], columns))


@pytest.mark.parametrize(
    "shape",
    [(3, 3), (1, 1), (2, 4, 4), (2, 3, 5, 5), (0, 3, 3)],
    ids=lambda s: "x".join(map(str, s)),
)
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 2e-3), ("float64", 1e-9)])
def test_solutions(shape: tuple[int, ...], dtype: str, rtol: float) -> None:
    a, b = (x.astype(dtype) for x in _system(*shape))
    exact, right = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_allclose(tf.linalg.solve(a, b), np.linalg.solve(exact, right), rtol)
    turned = np.swapaxes(exact, -1, -2)
    found = tf.linalg.solve(a, b, adjoint=True)
    np.testing.assert_allclose(found, np.linalg.solve(turned, right), rtol)
    np.testing.assert_allclose(tf.linalg.inv(a), np.linalg.inv(exact), rtol)


def test_rows_are_exchanged() -> None:
    a = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    np.testing.assert_array_equal(tf.linalg.solve(a, [[1.0], [2.0]]), [[2.0], [1.0]])
    tiny = np.array([[1e-20, 1.0], [1.0, 1.0]], np.float32)
    np.testing.assert_allclose(tf.linalg.solve(tiny, [[1.0], [2.0]]), [[1.0], [1.0]], rtol=1e-6)


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_gradients(staged: bool) -> None:
    a, b = (tf.constant(x) for x in _system(3, 3))
    solve = tf.function(tf.linalg.solve, autograph=False) if staged else tf.linalg.solve
    tf.testing.check_grads(solve, [a, b])
    with tf.GradientTape() as outer:
        outer.watch(a)
        with tf.GradientTape() as inner:
            inner.watch(a)
            y = tf.reduce_sum(solve(a, b) ** 2)
        total = tf.reduce_sum(inner.gradient(y, a) ** 2)
    second = outer.gradient(total, a)

    def slope(a: np.ndarray) -> float:
        x = np.linalg.solve(a, b.numpy())
        found = -np.linalg.solve(a.T, 2 * x) @ x.T
        return float((found**2).sum())

    expected = np.zeros((3, 3))
    for place in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[place] = 1e-6
        expected[place] = (slope(a.numpy() + step) - slope(a.numpy() - step)) / 2e-6
    np.testing.assert_allclose(second, expected, rtol=1e-4)


def test_unknown_shapes() -> None:
    spec = tf.TensorSpec([None, None], tf.float64)
    solve = tf.function(tf.linalg.solve, input_signature=[spec, spec], autograph=False)
    a, b = _system(4, 4)
    np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b), rtol=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([[1.0, 2.0], [2.0, 4.0]], [[1.0], [2.0]], "not invertible"),
        ([[1.0, 2.0]], [[1.0]], "square matrices"),
        ([[1.0]], [[1.0], [2.0]], "as many rows"),
        ([1.0], [1.0], "got \\(1,\\)"),
        ([[1]], [[1]], "int32"),
    ],
    ids=["singular", "square", "rows", "rank", "dtype"],
)
def test_bad_systems(a: Any, b: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.linalg.solve(a, b)
