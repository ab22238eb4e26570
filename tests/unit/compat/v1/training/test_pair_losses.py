"""Losses of margins, angles, outliers and pairs, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
rng = np.random.default_rng(0)
LABELS, FOUND = rng.random((2, 4, 3), np.float32)
WEIGHTS = np.array([[1.0], [0.0], [2.0], [0.5]], np.float32)


def _weighted(losses: Any) -> float:
    weights = np.broadcast_to(WEIGHTS, losses.shape)
    return float((losses * weights).sum() / (weights != 0).sum())


def test_hinge() -> None:
    signs = (LABELS > 0.5).astype(np.float32)
    expected = _weighted(np.maximum(0, 1 - (2 * signs - 1) * FOUND))
    found = v1.losses.hinge_loss(signs, FOUND, WEIGHTS)
    assert float(found) == pytest.approx(expected, rel=1e-5)


def test_huber() -> None:
    distance = abs(4 * LABELS - FOUND)
    losses = np.where(distance <= 1.5, distance**2 / 2, 1.5 * distance - 1.5**2 / 2)
    found = v1.losses.huber_loss(4 * LABELS, FOUND, WEIGHTS, delta=1.5)
    assert float(found) == pytest.approx(_weighted(losses), rel=1e-5)


def test_cosine_distance() -> None:
    losses = 1 - (LABELS * FOUND).sum(1, keepdims=True)
    found = v1.losses.cosine_distance(LABELS, FOUND, dim=1, weights=WEIGHTS)
    assert float(found) == pytest.approx(_weighted(losses), rel=1e-5)


def test_mean_pairwise_squared_error() -> None:
    error = FOUND - LABELS
    pairs = (error[:, :, None] - error[:, None, :]) ** 2
    rows = pairs.sum((1, 2)) / 6  # three elements make six ordered pairs
    expected = (rows * WEIGHTS[:, 0]).sum()
    with v1.Graph().as_default(), v1.Session() as session:
        loss = v1.losses.mean_pairwise_squared_error(LABELS, tf.constant(FOUND), WEIGHTS)
        assert v1.losses.get_losses() == [loss]
        assert session.run(loss) == pytest.approx(expected, rel=1e-4)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="`logits` must not be None"):
        v1.losses.hinge_loss([1.0], None)
    with pytest.raises(ValueError, match="incompatible"):
        v1.losses.huber_loss([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="specify argument `axis`"):
        v1.losses.cosine_distance([1.0], [1.0])
