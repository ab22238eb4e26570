"""Training steps of an LSTM and of a transformer's layer, for tfx and TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BATCH, STEPS, UNITS = 32, 24, 64
HEADS, HIDDEN = 4, 256


def _weights(tf: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [tf.Variable((rng.normal(size=s) * 0.1).astype(np.float32)) for s in shapes]


def _data(tf: Any) -> Any:
    x = np.random.default_rng(1).normal(size=(BATCH, STEPS, UNITS)).astype(np.float32)
    return tf.constant(x)


def _step(
    tf: Any, weights: list[Any], loss_of: Callable[[Any], Any], update: Any
) -> Callable[[], Any]:
    x = _data(tf)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(x)
        update(tape.gradient(loss, weights))
        return loss

    return lambda: step(x)


def lstm(tf: Any, adam: Callable[[list[Any]], Any]) -> Callable[[], Any]:
    """A step that trains an LSTM, whose iterations are written out, to repeat its input.

    Args:
        tf: tfx or TensorFlow.
        adam: Makes the update of variables.
    """
    weights = _weights(tf, [(2 * UNITS, 4 * UNITS), (4 * UNITS,)])

    def loss_of(x: Any) -> Any:
        h = c = tf.zeros([BATCH, UNITS])
        loss: Any = 0.0
        for t in range(STEPS):
            gates = tf.matmul(tf.concat([x[:, t], h], 1), weights[0]) + weights[1]
            i, f, g, o = tf.split(gates, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            loss = loss + tf.reduce_mean(tf.square(h - x[:, t]))
        return loss

    return _step(tf, weights, loss_of, adam(weights))


def transformer(tf: Any, adam: Callable[[list[Any]], Any]) -> Callable[[], Any]:
    """A step that trains a layer with attention, two normalizations and a dense part.

    Args:
        tf: tfx or TensorFlow.
        adam: Makes the update of variables.
    """
    weights = _weights(
        tf,
        [(UNITS, 3 * UNITS), (UNITS, UNITS), (UNITS, HIDDEN), (HIDDEN,), (HIDDEN, UNITS), (UNITS,)],
    )

    def normal(x: Any) -> Any:
        centered = x - tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), axis=-1, keepdims=True)
        return centered * tf.math.rsqrt(variance + 1e-5)

    def heads(x: Any) -> Any:
        return tf.transpose(tf.reshape(x, [BATCH, STEPS, HEADS, UNITS // HEADS]), [0, 2, 1, 3])

    def loss_of(x: Any) -> Any:
        q, k, v = map(heads, tf.split(tf.matmul(normal(x), weights[0]), 3, axis=-1))
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * (UNITS // HEADS) ** -0.5)
        mixed = tf.reshape(tf.transpose(tf.matmul(scores, v), [0, 2, 1, 3]), [BATCH, STEPS, UNITS])
        y = x + tf.matmul(mixed, weights[1])
        hidden = tf.nn.gelu(tf.matmul(normal(y), weights[2]) + weights[3], approximate=True)
        return tf.reduce_mean(tf.square(y + tf.matmul(hidden, weights[4]) + weights[5] - 1.0))

    return _step(tf, weights, loss_of, adam(weights))
