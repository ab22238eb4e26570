"""Samplers: draws, branches and gradients inside of loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.loops.repeated import repeated


def hmc(tf: Any) -> Any:
    """Hamiltonian Monte Carlo on a correlated normal, gradient in the leapfrog loop."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 5)).astype("f4")
    precision = tf.constant(a @ a.T / 5 + np.eye(5, dtype="f4"))

    def log_prob(x: Any) -> Any:
        return -0.5 * tf.reduce_sum(x * tf.linalg.matvec(precision, x))

    def value_and_grad(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = log_prob(x)
        return y, tape.gradient(y, x)

    @tf.function
    def sample(x0: Any, seed: Any, step_size: Any) -> Any:
        def leapfrog(i: Any, q: Any, p: Any, lp: Any, g: Any) -> Any:
            p = p + 0.5 * step_size * g
            q = q + step_size * p
            lp, g = value_and_grad(q)
            p = p + 0.5 * step_size * g
            return i + 1, q, p, lp, g

        def transition(
            n: Any, q: Any, lp: Any, g: Any, accepted: Any, draws: Any, seed: Any
        ) -> Any:
            seeds = tf.random.experimental.stateless_split(seed, 3)
            p = tf.random.stateless_normal([5], seeds[0])
            k0 = 0.5 * tf.reduce_sum(p * p)
            _, q1, p1, lp1, g1 = tf.while_loop(lambda i, *_: i < 8, leapfrog, (0, q, p, lp, g))
            k1 = 0.5 * tf.reduce_sum(p1 * p1)
            u = tf.random.stateless_uniform([], seeds[1])
            ok = tf.math.log(u) < lp1 - k1 - lp + k0
            q = tf.where(ok, q1, q)
            g = tf.where(ok, g1, g)
            lp = tf.where(ok, lp1, lp)
            return n + 1, q, lp, g, accepted + tf.cast(ok, tf.int32), draws.write(n, q), seeds[2]

        lp, g = value_and_grad(x0)
        draws = tf.TensorArray(tf.float32, size=200, element_shape=[5])
        out = tf.while_loop(lambda n, *_: n < 200, transition, (0, x0, lp, g, 0, draws, seed))
        return out[5].stack(), out[4]

    return sample, (tf.zeros([5]), tf.constant([1, 2]), tf.constant(0.2))


def metropolis(tf: Any) -> Any:
    """Random walk Metropolis of a scalar, written with autograph."""

    @tf.function
    def sample(seed: Any) -> Any:
        x = tf.constant(0.0)
        lp = -0.5 * x * x
        draws = tf.TensorArray(tf.float32, size=500)
        for i in tf.range(500):
            s = tf.stack([seed, i])
            step = tf.random.stateless_normal([], s)
            u = tf.random.stateless_uniform([], s + 7)
            y = x + step
            lpy = tf.reduce_logsumexp(tf.stack([-0.5 * (y - 2.0) ** 2, -0.5 * (y + 2.0) ** 2]))
            if tf.math.log(u) < lpy - lp:
                x = y
                lp = lpy
            draws = draws.write(i, x)
        return draws.stack()

    return sample, (tf.constant(3),)


def slice_sampler(tf: Any) -> Any:
    """Slice sampling: nested loops that step out and shrink."""

    @tf.function
    def run(seed: Any) -> Any:
        def lp(x: Any) -> Any:
            return -0.5 * x * x - tf.math.log1p(tf.exp(-x))

        def draw(i: Any, x: Any, out: Any) -> Any:
            s = tf.random.experimental.stateless_split(tf.stack([seed, i]), 3)
            level = lp(x) + tf.math.log(tf.random.stateless_uniform([], s[0], minval=1e-6))
            left = x - tf.random.stateless_uniform([], s[1])
            left = tf.while_loop(lambda low: lp(low) > level, lambda low: low - 1.0, [left])[0]
            right = tf.while_loop(
                lambda high: lp(high) > level, lambda high: high + 1.0, [left + 1.0]
            )[0]

            def shrink(low: Any, high: Any, y: Any, k: Any) -> Any:
                low = tf.where(y < x, y, low)
                high = tf.where(y < x, high, y)
                y = low + (high - low) * tf.random.stateless_uniform([], s[2] + k)
                return low, high, y, k + 1

            y0 = left + (right - left) * tf.random.stateless_uniform([], s[2])
            _, _, y, _ = tf.while_loop(
                lambda low, high, y, k: lp(y) < level, shrink, (left, right, y0, 1)
            )
            return i + 1, y, out.write(i, y)

        return tf.while_loop(
            lambda i, *_: i < 100, draw, (0, 0.5, tf.TensorArray(tf.float32, 100, element_shape=[]))
        )[2].stack()

    return run, (tf.constant(4),)


def gamma_draws(tf: Any) -> Any:
    @tf.function
    def run(seed: Any) -> Any:
        def body(i: Any, acc: Any) -> Any:
            g = tf.random.stateless_gamma([4], tf.stack([seed, i]), alpha=2.5)
            n = tf.random.stateless_poisson([4], tf.stack([seed, i + 1]), lam=3.0, dtype=tf.float32)
            return (acc + g * n,)

        return repeated(tf, 50, body, tf.zeros([4]))

    return run, (tf.constant(3),)
