"""Which operations have ``IndexedSlices`` as gradients: those that have them in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
ONES = np.ones((3, 2), np.float32)


def sparse() -> Any:
    return tf.sparse.from_dense([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])


def gathered_from_an_array(x: Any) -> Any:
    return tf.TensorArray(tf.float32, 3).unstack(x).gather(tf.constant([2, 0, 2]))


def counted(*rows: float) -> Any:
    return ONES * np.array(rows, np.float32)[:, None]


DENSE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    # The sums of the sparse matrix' columns.
    "sparse_dense_matmul": (lambda x: tf.sparse.sparse_dense_matmul(sparse(), x), counted(1, 0, 5)),
    "segment_sum": (lambda x: tf.sparse.segment_sum(x, [0, 1], [0, 0]), counted(1, 1, 0)),
    "segment_mean": (lambda x: tf.sparse.segment_mean(x, [0, 1], [0, 0]), counted(0.5, 0.5, 0)),
    "segment_sqrt_n": (
        lambda x: tf.sparse.segment_sqrt_n(x, [2, 2, 1, 1], [0, 0, 0, 0]),
        counted(0, 1, 1),
    ),
    "repeat": (lambda x: tf.repeat(x, [1, 2, 0], 0), counted(1, 2, 0)),
    "frame": (lambda x: tf.signal.frame(x, 2, 1, axis=0), counted(1, 2, 1)),
    "TensorArray.gather": (gathered_from_an_array, counted(1, 0, 2)),
}
SLICES: dict[str, Callable[[Any], Any]] = {
    "gather": lambda x: tf.gather(x, [0, 2, 0]),
    "embedding_lookup": lambda x: tf.nn.embedding_lookup(x, [0, 2, 0]),
}


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", DENSE)
def test_dense(name: str, traced: bool) -> None:
    f, expected = DENSE[name]

    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    found = (tf.function(gradient) if traced else gradient)(tf.constant(X))
    assert isinstance(found, tf.Tensor)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", SLICES)
def test_slices(name: str) -> None:
    x = tf.Variable(X)
    with tf.GradientTape() as tape:
        y = SLICES[name](x)
    found = tape.gradient(y, x)
    assert isinstance(found, tf.IndexedSlices)
    np.testing.assert_allclose(tf.convert_to_tensor(found).numpy(), counted(2, 0, 1))
