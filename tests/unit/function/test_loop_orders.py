"""Derivatives of loops to the fourth order: against those of the same loop written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

STEPS = 3
_RNG = np.random.default_rng(0)
POINT = _RNG.standard_normal((STEPS, 2))
DIRECTIONS = _RNG.standard_normal((4, STEPS, 2))

BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda h, x: h * x,
    "square": lambda h, x: h * h * x,
    "tanh": lambda h, x: tf.tanh(h * x + x),
}
READS: dict[str, Callable[[Any, Any], Any]] = {
    "row": lambda xs, t: xs[t],
    "first row": lambda xs, _: xs[0],
    "backwards": lambda xs, t: xs[STEPS - 1 - t],
    "all": lambda xs, _: tf.reduce_sum(xs, 0),
}


def looped(body: Any, read: Any) -> Callable[[Any], Any]:
    def run(xs: Any) -> Any:
        def step(t: Any, h: Any) -> Any:
            return t + 1, body(h, read(xs, t))

        return tf.reduce_sum(tf.while_loop(lambda t, _: t < STEPS, step, (0, xs[1]))[1])

    return run


def written_out(body: Any, read: Any) -> Callable[[Any], Any]:
    def run(xs: Any) -> Any:
        h = xs[1]
        for t in range(STEPS):
            h = body(h, read(xs, t))
        return tf.reduce_sum(h)

    return run


def along(function: Callable[[Any], Any], direction: Any) -> Callable[[Any], Any]:
    """The derivative along a direction, as a function again."""

    def derivative(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tf.reduce_sum(tape.gradient(y, x, unconnected_gradients="zero") * direction)

    return derivative


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("body", BODIES)
def test_third_order(body: str, read: str) -> None:
    loop, reference = (make(BODIES[body], READS[read]) for make in (looped, written_out))
    for direction in DIRECTIONS[:3]:
        loop, reference = along(loop, direction), along(reference, direction)
    x = tf.constant(POINT)
    found = tf.function(loop, autograph=False)(x)
    np.testing.assert_allclose(found, reference(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("traced", range(4))
def test_fourth_order_through_a_function_at_any_depth(traced: int) -> None:
    loop: Any = looped(BODIES["tanh"], READS["row"])
    reference = written_out(BODIES["tanh"], READS["row"])
    for depth, direction in enumerate(DIRECTIONS):
        loop, reference = along(loop, direction), along(reference, direction)
        if depth == traced:
            loop = tf.function(loop, autograph=False)
    x = tf.constant(POINT)
    np.testing.assert_allclose(loop(x), reference(x), rtol=1e-9)


def test_a_power_in_closed_form() -> None:
    power = tf.function(
        lambda x: tf.while_loop(lambda t, _: t < 3, lambda t, h: (t + 1, h * h), (0, x))[1]
    )
    function: Any = power
    x, want = 0.7, 1.0
    for order in range(4):
        found = function(tf.constant(x, tf.float64))
        np.testing.assert_allclose(found, want * x ** (8 - order), rtol=1e-12)
        want *= 8 - order
        function = along(function, 1.0)
