"""Losses of many targets, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

CLASSES = 3
WEIGHTS = np.array([0.1, 0.7, 0.3], np.float32)


def scores(op, *shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    if op == "NegativeLogLikelihoodLoss":
        x -= np.log(np.exp(x).sum(1, keepdims=True))
    return x


def reference(op, x, target, weights, ignored, reduction):
    x = x.astype(np.float64)
    if op == "SoftmaxCrossEntropyLoss":
        x = x - np.log(np.exp(x).sum(1, keepdims=True))
    counts = target != ignored
    classes = np.where(counts, target, 0)
    factors = counts * (1.0 if weights is None else weights.astype(np.float64)[classes])
    losses = -np.take_along_axis(x, classes[:, None], 1)[:, 0] * factors
    return losses.sum() / (factors.sum() if reduction == "mean" else 1)


@pytest.mark.parametrize("how", ["eager", "static", "unknown"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, 1])
@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("shape", [(1_000_003, CLASSES), (20, CLASSES, 300, 7), (4, CLASSES)])
def test_losses(shape, op, ignored, weighted, reduction, how):
    x = scores(op, *shape)
    target = np.random.default_rng(1).integers(0, CLASSES, (shape[0], *shape[2:]))
    weights = WEIGHTS if weighted else None
    attrs = {"reduction": reduction, **({} if ignored is None else {"ignore_index": ignored})}

    def loss(v, t):
        given = () if weights is None else (tf.constant(weights),)
        return getattr(tf.raw, op)(v, t, *given, **attrs)

    unknown = [
        tf.TensorSpec([None, CLASSES, *[None] * len(shape[2:])]),
        tf.TensorSpec([None] * target.ndim, tf.int64),
    ]
    call = {
        "eager": loss,
        "static": tf.function(loss),
        "unknown": tf.function(loss, input_signature=unknown),
    }[how]
    y = call(tf.constant(x), tf.constant(target)).numpy()
    exact = reference(op, x, target, weights, ignored, reduction)
    assert y.shape == ()
    np.testing.assert_allclose(y, exact, rtol=5e-7)


@pytest.mark.parametrize("how", ["eager", "static"])
def test_the_logarithm_comes_as_well(how):
    x, target = scores("", 5000, CLASSES), np.zeros(5000, np.int32)

    def loss(v, t):
        return tf.raw.SoftmaxCrossEntropyLoss(v, t, n_outputs=2)

    call = loss if how == "eager" else tf.function(loss)
    y, log = call(tf.constant(x), tf.constant(target))
    np.testing.assert_allclose(
        y, reference("SoftmaxCrossEntropyLoss", x, target, None, None, "mean")
    )
    wide = x.astype(np.float64)
    exact = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    np.testing.assert_allclose(log.numpy(), exact, atol=1e-6)


def test_nothing_counts():
    x, target = scores("", 5000, CLASSES), np.full(5000, 7)

    def loss(v, t):
        return tf.raw.SoftmaxCrossEntropyLoss(v, t, ignore_index=7)

    for call in (loss, tf.function(loss)):
        assert np.isnan(call(tf.constant(x), tf.constant(target)).numpy())


def test_gradients():
    x = scores("", 100_003, CLASSES)
    target = np.random.default_rng(1).integers(0, CLASSES, 100_003)

    def slope(v):
        with tf.GradientTape() as tape:
            tape.watch(v)
            loss = tf.raw.SoftmaxCrossEntropyLoss(v, tf.constant(target), tf.constant(WEIGHTS))
        return tape.gradient(loss, v)

    wide = x.astype(np.float64)
    p = np.exp(wide) / np.exp(wide).sum(1, keepdims=True)
    factors = WEIGHTS.astype(np.float64)[target][:, None]
    exact = (p - np.eye(CLASSES)[target]) * factors / factors.sum()
    for call in (slope, tf.function(slope)):
        y = call(tf.constant(x)).numpy()
        np.testing.assert_allclose(y, exact, atol=1e-6 * np.abs(exact).max())
