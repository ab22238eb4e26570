"""A function that takes as long as one asks for, to be ended meanwhile."""

from __future__ import annotations

import tfx as tf

ENDLESS = tf.constant(2**30)


def made():
    """A function of small steps, as many as one asks for, and a variable that counts its calls."""
    count = tf.Variable(0)

    @tf.function
    def work(steps):
        def step(i, a):
            return i + 1, tf.matmul(a, a) * 1e-2

        _, y = tf.while_loop(lambda i, a: i < steps, step, [tf.constant(0), tf.ones([64, 64])])
        count.assign_add(1)
        return tf.reduce_sum(y)

    work(tf.constant(1))  # traced and compiled here, not inside of a test's limit
    return work, ENDLESS, count
