"""Filters: small matrices, and recursions over time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def kalman(tf: Any) -> Any:
    """Kalman filter of a state of 4 and observations of 2, likelihood with cholesky."""
    rng = np.random.default_rng(1)
    dt = 0.1
    move = tf.constant(np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]], "f4"))
    seen = tf.constant(np.array([[1, 0, 0, 0], [0, 1, 0, 0]], "f4"))
    moves = 0.01 * tf.eye(4)
    errors = 0.1 * tf.eye(2)

    @tf.function
    def loglik(ys: Any) -> Any:
        def body(t: Any, m: Any, p: Any, ll: Any) -> Any:
            m = tf.linalg.matvec(move, m)
            p = move @ p @ tf.transpose(move) + moves
            r = ys[t] - tf.linalg.matvec(seen, m)
            spread = seen @ p @ tf.transpose(seen) + errors
            factor = tf.linalg.cholesky(spread)
            gain = tf.transpose(tf.linalg.cholesky_solve(factor, seen @ p))
            z = tf.linalg.triangular_solve(factor, r[:, tf.newaxis])
            ll = (
                ll
                - 0.5 * tf.reduce_sum(z * z)
                - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))
                - math.log(2 * math.pi)
            )
            m = m + tf.linalg.matvec(gain, r)
            p = p - gain @ seen @ p
            return t + 1, m, p, ll

        return tf.while_loop(lambda t, *_: t < 200, body, (0, tf.zeros([4]), tf.eye(4), 0.0))[3]

    return loglik, (tf.constant(np.cumsum(rng.normal(size=(200, 2)) * 0.1, 0).astype("f4")),)


def kalman_grad(tf: Any) -> Any:
    """Gradient of the likelihood with respect to noise scales."""
    rng = np.random.default_rng(1)
    move = tf.constant(np.array([[1, 0.1], [0, 1]], "f4"))
    seen = tf.constant(np.array([[1.0, 0.0]], "f4"))

    def loglik(ys: Any, q: Any, r: Any) -> Any:
        moves = tf.exp(q) * tf.eye(2)
        errors = tf.exp(r) * tf.eye(1)

        def body(t: Any, m: Any, p: Any, ll: Any) -> Any:
            m = tf.linalg.matvec(move, m)
            p = move @ p @ tf.transpose(move) + moves
            e = ys[t] - tf.linalg.matvec(seen, m)
            spread = seen @ p @ tf.transpose(seen) + errors
            factor = tf.linalg.cholesky(spread)
            gain = tf.transpose(tf.linalg.cholesky_solve(factor, seen @ p))
            z = tf.linalg.triangular_solve(factor, e[:, None])
            ll = (
                ll
                - 0.5 * tf.reduce_sum(z * z)
                - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))
            )
            return t + 1, m + tf.linalg.matvec(gain, e), p - gain @ seen @ p, ll

        return tf.while_loop(lambda t, *_: t < 50, body, (0, tf.zeros([2]), tf.eye(2), 0.0))[3]

    @tf.function
    def step(ys: Any, q: Any, r: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([q, r])
            loss = -loglik(ys, q, r)
        return loss, tape.gradient(loss, [q, r])

    return step, (
        tf.constant(np.cumsum(rng.normal(size=(50, 1)) * 0.1, 0).astype("f4")),
        tf.constant(-3.0),
        tf.constant(-1.0),
    )


def particle(tf: Any) -> Any:
    """Bootstrap particle filter, systematic resampling by searchsorted and gather."""
    rng = np.random.default_rng(3)

    @tf.function
    def run(ys: Any, seed: Any) -> Any:
        n = 64

        def body(t: Any, x: Any, ll: Any) -> Any:
            s = tf.stack([seed, t])
            x = 0.9 * x + tf.random.stateless_normal([n], s)
            logw = -0.5 * (ys[t] - x) ** 2
            ll = ll + tf.reduce_logsumexp(logw) - math.log(n)
            w = tf.nn.softmax(logw)
            u = (tf.range(n, dtype=tf.float32) + tf.random.stateless_uniform([], s + 1)) / n
            idx = tf.searchsorted(tf.cumsum(w), u)
            return t + 1, tf.gather(x, tf.minimum(idx, n - 1)), ll

        out = tf.while_loop(lambda t, *_: t < 100, body, (0, tf.zeros([n]), 0.0))
        return out[2]

    return run, (tf.constant(rng.normal(size=100).astype("f4")), tf.constant(5))


def hmm(tf: Any) -> Any:
    """Forward algorithm in log space by tf.scan, and Viterbi backpointers."""
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(6, 6)).astype("f4")
    log_t = tf.nn.log_softmax(tf.constant(logits))
    log_e = tf.nn.log_softmax(tf.constant(rng.normal(size=(6, 10)).astype("f4")))

    @tf.function
    def run(obs: Any) -> Any:
        emit = tf.transpose(tf.gather(log_e, obs, axis=1))

        def forward(a: Any, e: Any) -> Any:
            return tf.reduce_logsumexp(a[:, None] + log_t, axis=0) + e

        alphas = tf.scan(forward, emit[1:], initializer=emit[0] - math.log(6.0))

        def viterbi(carry: Any, e: Any) -> Any:
            s, _ = carry
            scores = s[:, None] + log_t
            return tf.reduce_max(scores, axis=0) + e, tf.argmax(
                scores, axis=0, output_type=tf.int32
            )

        best, back = tf.scan(viterbi, emit[1:], initializer=(emit[0], tf.zeros([6], tf.int32)))
        last = tf.argmax(best[-1], output_type=tf.int32)
        path = tf.scan(lambda s, b: tf.gather(b, s), back, initializer=last, reverse=True)
        return tf.reduce_logsumexp(alphas[-1]), path

    return run, (tf.constant(rng.integers(0, 10, 200)),)
