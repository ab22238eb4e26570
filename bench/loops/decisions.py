"""Decoders and environments: choices, tables and lists of results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.loops.repeated import repeated


def decoder(tf: Any) -> Any:
    """Beam search of a GRU-like cell, width 4, 30 steps, vocabulary 20."""
    rng = np.random.default_rng(5)
    h, v, k = 16, 20, 4
    words = tf.Variable(rng.normal(size=(v, h)).astype("f4"))
    gates = tf.Variable(rng.normal(size=(2 * h, 3 * h)).astype("f4") * 0.3)
    head = tf.Variable(rng.normal(size=(h, v)).astype("f4"))

    @tf.function
    def decode(start: Any) -> Any:
        tokens = tf.TensorArray(tf.int32, size=30, element_shape=[k])
        parents = tf.TensorArray(tf.int32, size=30, element_shape=[k])

        def body(
            t: Any, state: Any, last: Any, scores: Any, tokens: Any, parents: Any, done: Any
        ) -> Any:
            x = tf.gather(words, last)
            xh = tf.concat([x, state], 1)
            z = tf.matmul(xh, gates)
            zz, r, c = tf.split(z, 3, axis=1)
            state = (1 - tf.sigmoid(zz)) * state + tf.sigmoid(zz) * tf.tanh(c * tf.sigmoid(r))
            logp = tf.nn.log_softmax(tf.matmul(state, head))
            only_end = tf.one_hot(tf.zeros([k], tf.int32), v, 0.0, -1e9)
            logp = tf.where(done[:, None], only_end, logp)
            total = tf.reshape(scores[:, None] + logp, [-1])
            scores, flat = tf.math.top_k(total, k)
            parent, last = flat // v, flat % v
            state = tf.gather(state, parent)
            done = tf.logical_or(tf.gather(done, parent), tf.equal(last, 0))
            return t + 1, state, last, scores, tokens.write(t, last), parents.write(t, parent), done

        out = tf.while_loop(
            lambda t, s, last, sc, a, b, d: tf.logical_and(
                t < 30, tf.logical_not(tf.reduce_all(d))
            ),
            body,
            (
                0,
                start,
                tf.ones([k], tf.int32),
                tf.constant([0.0, -1e9, -1e9, -1e9]),
                tokens,
                parents,
                tf.zeros([k], tf.bool),
            ),
        )
        return out[3], out[4].stack(), out[5].stack()

    return decode, (tf.constant(rng.normal(size=(k, h)).astype("f4")),)


def rl(tf: Any) -> Any:
    """Pendulum-like environment, policy gradient over an episode of 100 steps."""
    rng = np.random.default_rng(6)
    first = tf.Variable(rng.normal(size=(3, 16)).astype("f4") * 0.5)
    second = tf.Variable(rng.normal(size=(16, 3)).astype("f4") * 0.5)

    @tf.function
    def episode(seed: Any) -> Any:
        def body(t: Any, th: Any, om: Any, logps: Any, rewards: Any) -> Any:
            s = tf.stack([tf.cos(th), tf.sin(th), om])[None]
            logits = tf.matmul(tf.tanh(tf.matmul(s, first)), second)
            a = tf.random.stateless_categorical(logits, 1, tf.stack([seed, t]), dtype=tf.int32)[
                0, 0
            ]
            logp = tf.nn.log_softmax(logits)[0, a]
            u = tf.cast(a - 1, tf.float32)
            om = tf.clip_by_value(om + 0.05 * (15.0 * tf.sin(th) + 3.0 * u), -8.0, 8.0)
            th = th + 0.05 * om
            reward = -((tf.math.floormod(th + math.pi, 2 * math.pi) - math.pi) ** 2) - 0.1 * om**2
            return t + 1, th, om, logps.write(t, logp), rewards.write(t, reward)

        with tf.GradientTape() as tape:
            a = tf.TensorArray(tf.float32, 100, element_shape=[])
            b = tf.TensorArray(tf.float32, 100, element_shape=[])
            out = tf.while_loop(lambda t, *_: t < 100, body, (0, 3.0, 0.0, a, b))
            logps, rewards = out[3].stack(), out[4].stack()
            returns = tf.reverse(
                tf.scan(lambda g, r: r + 0.99 * g, tf.reverse(rewards, [0]), initializer=0.0), [0]
            )
            returns = (returns - tf.reduce_mean(returns)) / (tf.math.reduce_std(returns) + 1e-6)
            loss = -tf.reduce_mean(logps * tf.stop_gradient(returns))
        g = tape.gradient(loss, [first, second])
        return loss, g[0], g[1]

    return episode, (tf.constant(11),)


def tabular_q(tf: Any) -> Any:
    """Q-learning on a grid, epsilon greedy."""

    @tf.function
    def run(seed: Any) -> Any:
        def body(i: Any, q: Any, s: Any, total: Any) -> Any:
            sd = tf.stack([seed, i])
            u = tf.random.stateless_uniform([2], sd)
            a = tf.cond(
                u[0] < 0.2,
                lambda: tf.cast(u[1] * 4, tf.int32),
                lambda: tf.argmax(q[s], output_type=tf.int32),
            )
            r, c = s // 5, s % 5
            r = tf.clip_by_value(r + tf.gather([1, -1, 0, 0], a), 0, 4)
            c = tf.clip_by_value(c + tf.gather([0, 0, 1, -1], a), 0, 4)
            n = r * 5 + c
            goal = tf.equal(n, 24)
            reward = tf.where(goal, 1.0, -0.01)
            target = reward + tf.where(goal, 0.0, 0.9 * tf.reduce_max(q[n]))
            q = tf.tensor_scatter_nd_add(q, [[s, a]], [0.1 * (target - q[s, a])])
            return q, tf.where(goal, 0, n), total + reward

        return repeated(tf, 500, body, tf.zeros([25, 4]), tf.constant(0), tf.constant(0.0))

    return run, (tf.constant(4),)
