"""The networks, written once: ``ops`` is what they are computed with.

``tensorflow_ops`` serves tfx and TensorFlow, ``jax_ops`` JAX.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np

CHAINS, DIM, LEAPFROGS, HIDDEN = 200, 2, 10, 10
BATCH, LAYERS = 128, (784, 512, 512, 10)
# Adam's.
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def tensorflow_ops(tf: Any) -> Any:
    """What the networks need of TensorFlow, or of tfx."""
    return SimpleNamespace(
        matmul=tf.matmul,
        exp=tf.exp,
        tanh=tf.tanh,
        relu=tf.nn.relu,
        square=tf.square,
        minimum=tf.minimum,
        constant=tf.constant,
        sin=tf.sin,
        stack=tf.stack,
        sum=lambda x: tf.reduce_sum(x, axis=1),
        mean=tf.reduce_mean,
        loss=lambda labels, logits: tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        ),
    )


def jax_ops() -> Any:
    """The same of JAX."""
    import jax
    import jax.numpy as jnp

    def loss(labels: Any, logits: Any) -> Any:
        rows = jnp.arange(logits.shape[0])
        return -jnp.mean(jax.nn.log_softmax(logits)[rows, labels])

    return SimpleNamespace(
        matmul=jnp.matmul,
        exp=jnp.exp,
        tanh=jnp.tanh,
        relu=jax.nn.relu,
        square=jnp.square,
        minimum=jnp.minimum,
        constant=jnp.asarray,
        sin=jnp.sin,
        stack=jnp.stack,
        sum=lambda x: jnp.sum(x, axis=1),
        mean=jnp.mean,
        loss=loss,
    )


def sampler_weights() -> list[np.ndarray[Any, Any]]:
    """Of the two networks of L2HMC, then the logarithm of the step size."""
    rng = np.random.default_rng(0)
    shapes = [(DIM, HIDDEN), (DIM, HIDDEN), (2, HIDDEN), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,)]
    shapes += [(HIDDEN, DIM)] * 3 + [(1, DIM)] * 2
    weights = [(rng.normal(size=s) * 0.3).astype(np.float32) for s in shapes * 2]
    return [*weights, np.float32(np.log(0.1))]


def sampler_loss(ops: Any, weights: Any, x: Any, v: Any) -> tuple[Any, Any, Any]:
    """L2HMC's loss on a strongly correlated Gaussian, the proposal, and its acceptance.

    Args:
        ops: See above.
        weights: As ``sampler_weights`` has them.
        x: Positions, ``[CHAINS, DIM]``.
        v: Momenta.
    """
    size = len(weights) // 2
    networks, epsilon = (weights[:size], weights[size:-1]), ops.exp(weights[-1])
    covariance = np.array([[50.05, -49.95], [-49.95, 50.05]])
    precision = ops.constant(np.linalg.inv(covariance).astype(np.float32))

    def scales(network: Any, a: Any, b: Any, step: int) -> tuple[Any, Any, Any]:
        wa, wb, wt, b1, wh, b2, ws, wr, wq, ls, lq = network
        angle = 2 * np.pi * step / LEAPFROGS
        time = ops.constant(np.array([[np.cos(angle), np.sin(angle)]], np.float32))
        h = ops.relu(ops.matmul(a, wa) + ops.matmul(b, wb) + ops.matmul(time, wt) + b1)
        h = ops.relu(ops.matmul(h, wh) + b2)
        s = ops.exp(ls) * ops.tanh(ops.matmul(h, ws))
        return s, ops.matmul(h, wr), ops.exp(lq) * ops.tanh(ops.matmul(h, wq))

    def kick(x: Any, v: Any, step: int) -> tuple[Any, Any]:
        slope = ops.matmul(x, precision)
        s, r, q = scales(networks[0], x, slope, step)
        s, q = 0.5 * epsilon * s, epsilon * q
        return v * ops.exp(s) - 0.5 * epsilon * (ops.exp(q) * slope + r), ops.sum(s)

    def drift(x: Any, v: Any, keep: Any, step: int) -> tuple[Any, Any]:
        s, r, q = scales(networks[1], v, keep * x, step)
        s, q = epsilon * s, epsilon * q
        moved = x * ops.exp(s) + epsilon * (ops.exp(q) * v + r)
        return keep * x + (1 - keep) * moved, ops.sum((1 - keep) * s)

    def energy(x: Any, v: Any) -> Any:
        return 0.5 * ops.sum(ops.matmul(x, precision) * x) + 0.5 * ops.sum(v * v)

    begin, before = x, energy(x, v)
    volume: Any = 0.0
    for step in range(LEAPFROGS):
        mask = np.array([step % 2, 1 - step % 2], np.float32)
        v, more = kick(x, v, step)
        volume = volume + more
        for keep in (mask, 1 - mask):
            x, more = drift(x, v, ops.constant(keep), step)
            volume = volume + more
        v, more = kick(x, v, step)
        volume = volume + more
    accepted = ops.exp(ops.minimum(before - energy(x, v) + volume, 0.0))
    distance = ops.sum(ops.square(x - begin)) * accepted + 1e-4
    return ops.mean(1.0 / distance) - ops.mean(distance), x, accepted


def pendulums() -> np.ndarray[Any, Any]:
    """Angles and velocities at the beginning, ``[2, 20]``."""
    return np.random.default_rng(0).normal(size=(2, 20)).astype(np.float32)


def swing(ops: Any, state: Any) -> Any:
    """Angles and velocities a hundredth of a second later."""
    velocity = state[1] - 0.01 * ops.sin(state[0])
    return ops.stack([state[0] + 0.01 * velocity, velocity])


def perceptron_weights() -> list[np.ndarray[Any, Any]]:
    """Matrices, then biases."""
    rng = np.random.default_rng(0)
    shapes = list(itertools.pairwise(LAYERS))
    matrices = [(rng.normal(size=s) * 0.05).astype(np.float32) for s in shapes]
    return matrices + [np.zeros(n, np.float32) for n in LAYERS[1:]]


def perceptron_loss(ops: Any, weights: Any, x: Any, labels: Any) -> Any:
    """The cross entropy of a network of dense layers."""
    depth = len(weights) // 2
    for i in range(depth):
        x = ops.matmul(x, weights[i]) + weights[depth + i]
        if i < depth - 1:
            x = ops.relu(x)
    return ops.loss(labels, x)


def perceptron_data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A batch and its labels."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(BATCH, LAYERS[0])).astype(np.float32)
    return x, rng.integers(0, LAYERS[-1], BATCH).astype(np.int32)
