"""A pole on a cart that is pushed to the left or to the right: many of them at once, as tensors."""

from __future__ import annotations

import numpy as np

import tfx as tf

GRAVITY, CART, POLE, HALF, PUSH, TIME_STEP = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
WIDEST, STEEPEST = 2.4, float(np.deg2rad(12))


def step(state: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Push for one step of time (Barto, Sutton, Anderson 1983).

    Args:
        state: Place, speed, angle and its speed: ``[carts, 4]``.
        right: The direction of the push, ``[carts]`` booleans.
    """
    _, speed, angle, turning = tf.unstack(state, num=4, axis=1)
    push = tf.where(right, PUSH, -PUSH)
    sine, cosine = tf.sin(angle), tf.cos(angle)
    common = (push + POLE * HALF * turning * turning * sine) / (CART + POLE)
    turn = (GRAVITY * sine - cosine * common) / (
        HALF * (4.0 / 3.0 - POLE * cosine * cosine / (CART + POLE))
    )
    pull = common - POLE * HALF * turn * cosine / (CART + POLE)
    change = tf.stack([speed, pull, turning, turn], axis=1)
    return state + TIME_STEP * change


def stands(state: tf.Tensor) -> tf.Tensor:
    """True where the cart is on its track and the pole upright."""
    return (tf.abs(state[:, 0]) < WIDEST) & (tf.abs(state[:, 2]) < STEEPEST)
