"""Derivatives of programs of a vector and a variable, and points to take them at."""

from __future__ import annotations

import numpy as np

import tfx as tf

F64 = tf.float64
POINTS = [[0.9, 0.8, 1.1], [0.3, 0.6, -0.4]]


def c(value):
    return tf.constant(value, F64)


def first(f, x, v):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, v)
    dx, dv = tape.gradient(y, [x, v], unconnected_gradients="zero")
    return y, dx, dv


def second(f, x, v):
    """A directional second derivative: the gradient of a sum of gradients."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        _, dx, dv = first(f, x, v)
        total = tf.reduce_sum(dx * c([1.0, -2.0, 0.5])) + 3.0 * dv
    return outer.gradient(total, [x, v], unconnected_gradients="zero")


def close(found, expected):
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-9)
