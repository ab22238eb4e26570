"""Sampled losses against the formula in NumPy, samplers against their distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError

RNG = np.random.default_rng(0)
W, B, X = RNG.normal(size=(50, 8)), RNG.normal(size=50), RNG.normal(size=(4, 8))
RIGHT = np.array([[2], [5], [8], [9]])
DRAWN = np.array([3, 9, 20, 30, 40])
COUNTS = np.array([[0.1], [0.2], [0.1], [0.3]]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])


def _logits(*, remove: bool) -> np.ndarray:
    own = (X * W[RIGHT[:, 0]]).sum(1, keepdims=True) + B[RIGHT] - np.log(COUNTS[0])
    others = X @ W[DRAWN].T + B[DRAWN] - np.log(COUNTS[1])
    others[(RIGHT == DRAWN) & remove] = -np.inf
    return np.concatenate([own, others], 1)


def test_sampled_softmax() -> None:
    found = tf.nn.sampled_softmax_loss(
        W, B, RIGHT, tf.constant(X), 5, 50, sampled_values=(DRAWN, *COUNTS)
    )
    logits = _logits(remove=True)
    expected = np.log(np.exp(logits).sum(1)) - logits[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_nce() -> None:
    found = tf.nn.nce_loss(W, B, RIGHT, tf.constant(X), 5, 50, sampled_values=(DRAWN, *COUNTS))
    logits = _logits(remove=False)
    expected = np.log1p(np.exp(-logits[:, 0])) + np.log1p(np.exp(logits[:, 1:])).sum(1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_step_touches_few_rows() -> None:
    w = tf.Variable(W.astype(np.float32))
    with tf.GradientTape() as tape:
        x = tf.constant(X, tf.float32)
        losses = tf.nn.sampled_softmax_loss(w, B.astype(np.float32), RIGHT, x, 5, 50)
        loss = tf.reduce_mean(losses)
    gradient = tape.gradient(loss, w)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.values.shape == (9, 8)


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "repeating"])
@pytest.mark.parametrize("name", ["log_uniform", "uniform"])
def test_samplers(name: str, unique: bool) -> None:
    tf.random.set_seed(1)
    draw: Any = getattr(tf.random, f"{name}_candidate_sampler")
    right = tf.constant([[0, 7]], tf.int64)
    share = np.diff(np.log(np.arange(1, 12))) / np.log(11) if name == "log_uniform" else None
    share = np.full(10, 0.1) if share is None else share
    seen = np.zeros(10)
    runs = 400
    for _ in range(runs):
        sampled, own, drawn = draw(right, 2, 3, unique, 10)
        np.add.at(seen, sampled.numpy(), 1)
        assert not unique or len(set(sampled.numpy().tolist())) == 3
    assert own.shape == (1, 2)
    assert drawn.shape == (3,)
    expected = own.numpy()[0]
    assert abs(seen[[0, 7]] / runs - expected).max() < 0.1
    if not unique:
        np.testing.assert_allclose(expected, 3 * share[[0, 7]], rtol=1e-5)


def test_too_many_to_draw() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot draw 5 different classes"):
        tf.random.uniform_candidate_sampler([[0]], 1, 5, True, 4)
    with pytest.raises(ValueError, match="num_true=2"):
        tf.nn.nce_loss(W, B, RIGHT, tf.constant(X), 5, 50, num_true=2)
