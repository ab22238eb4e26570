"""Fractional pools against NumPy's, by the borders that they return."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tfx as tf

X = np.random.default_rng(0).integers(0, 50, (2, 9, 11, 3)).astype(np.float32)
KINDS = {"max": (tf.nn.fractional_max_pool, np.max), "avg": (tf.nn.fractional_avg_pool, np.mean)}


def _expected(rows: Any, columns: Any, overlapping: bool, combine: Any) -> Any:
    more = int(overlapping)
    return np.stack(
        [
            np.stack(
                [
                    combine(X[:, a : b + more, c : d + more], axis=(1, 2))
                    for c, d in itertools.pairwise(columns)
                ],
                1,
            )
            for a, b in itertools.pairwise(rows)
        ],
        1,
    )


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_windows(kind: str, pseudo_random: bool, overlapping: bool, traced: bool) -> None:
    function, combine = KINDS[kind]
    for ratio in (1.0, [1.44, 1.73], [1.0, 2.7, 4.4, 1.0]):

        def run(x: Any, ratio: Any = ratio) -> Any:
            return function(x, ratio, pseudo_random, overlapping)

        open_sizes = tf.function(run, input_signature=[tf.TensorSpec([None, None, None, 3])])
        output, rows, columns = (open_sizes if traced else run)(tf.constant(X))
        for borders, size in ((rows.numpy(), 9), (columns.numpy(), 11)):
            steps = np.diff(borders)
            assert borders[0] == 0 and borders[-1] == size
            assert set(steps) <= {size // len(steps), size // len(steps) + 1}
        expected = _expected(rows.numpy(), columns.numpy(), overlapping, combine)
        np.testing.assert_allclose(output, expected, rtol=1e-6)


def test_borders_are_drawn_anew_unless_there_is_a_seed() -> None:
    drawn = {
        tuple(tf.nn.fractional_max_pool(X, 1.4).row_pooling_sequence.numpy()) for _ in range(9)
    }
    assert len(drawn) > 1
    again = {tuple(tf.nn.fractional_max_pool(X, 1.4, seed=3)[1].numpy()) for _ in range(9)}
    assert len(again) == 1


def test_gradients_go_to_the_first_largest_element_and_evenly() -> None:
    x = tf.ones([1, 4, 4, 1])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        largest = tf.nn.fractional_max_pool(x, 2.0).output
        mean = tf.nn.fractional_avg_pool(x, 2.0).output
    first = [[1.0, 0.0, 1.0, 0.0], [0.0] * 4] * 2
    assert tape.gradient(largest, x)[0, :, :, 0].numpy().tolist() == first
    assert (tape.gradient(mean, x).numpy() == 0.25).all()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="should be"):
        tf.nn.fractional_max_pool(X, [1.0, 0.5, 1.0, 1.0])
    with pytest.raises(ValueError, match="first and last"):
        tf.nn.fractional_avg_pool(X, [2.0, 1.5, 1.0, 1.0])
    with pytest.raises(ValueError, match="shape"):
        tf.nn.fractional_avg_pool(X[0], 1.5)
