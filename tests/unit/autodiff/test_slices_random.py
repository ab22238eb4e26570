"""Random uses of a table, with ``gather`` and with products by one-hot matrices: one gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

ROWS, WIDTH = 6, 3
Pick = Callable[[Any, np.ndarray], tf.Tensor]


def _gathered(table: Any, indices: np.ndarray) -> tf.Tensor:
    return tf.gather(table, tf.constant(indices))


def _multiplied(table: Any, indices: np.ndarray) -> tf.Tensor:
    hot = np.eye(table.shape[0], dtype=table.dtype.as_numpy_dtype)[indices]
    return tf.tensordot(tf.constant(hot), tf.convert_to_tensor(table), 1)


def _indices(rng: np.random.Generator, rows: int) -> np.ndarray:
    shape = [(), (4,), (2, 3), (0,), (1, 2, 2)][rng.integers(5)]
    return rng.integers(0, rows, shape).astype([np.int32, np.int64][rng.integers(2)])


def _program(seed: int, pick: Pick) -> Callable[[Any, Any], tf.Tensor]:
    """A scalar function of two tables; the same one for each way to pick rows."""

    def run(a: Any, b: Any) -> tf.Tensor:
        rng = np.random.default_rng(seed)
        total = tf.constant(0.0)
        for _ in range(rng.integers(1, 5)):
            table = [a, b][rng.integers(2)]
            kind = rng.integers(7)
            if kind == 1:
                table = tf.identity(table)
            elif kind == 2:
                table = -tf.convert_to_tensor(table)
            elif kind == 3:
                table = tf.concat([a, b], 0)
            elif kind == 4:
                table = tf.convert_to_tensor(table) + 1.0
            elif kind == 5:
                table = tf.add_n([a, b])
            elif kind == 6:
                table = pick(table, np.array([2, 0, 2, 5]))
            found = pick(table, _indices(rng, table.shape[0]))
            total += tf.reduce_sum(found**2 * float(rng.normal()))
        if rng.integers(4) == 0:
            total += tf.reduce_sum(a * b)
        return total

    return run


def _gradients(function: Any, seed: int, staged: int) -> list[Any]:
    rng = np.random.default_rng(seed + 1000)
    a, b = (tf.Variable(rng.normal(size=(ROWS, WIDTH)).astype(np.float32)) for _ in range(2))

    def slopes() -> list[Any]:
        with tf.GradientTape() as tape:
            y = (tf.function(function, autograph=False) if staged == 1 else function)(a, b)
        return tape.gradient(y, [a, b], unconnected_gradients="zero")

    found = (tf.function(slopes, autograph=False) if staged == 2 else slopes)()
    return [tf.convert_to_tensor(g).numpy() for g in found]


@pytest.mark.parametrize("staged", [0, 1, 2], ids=["eager", "function", "tape inside"])
@pytest.mark.parametrize("seed", range(12))
def test_random_uses(seed: int, staged: int) -> None:
    expected = _gradients(_program(seed, _multiplied), seed, 0)
    found = _gradients(_program(seed, _gathered), seed, staged)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
