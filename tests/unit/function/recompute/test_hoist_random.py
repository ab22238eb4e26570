"""Derivatives of functions that draw in branches, loops and calls use what was drawn.

Each program also returns what its derivatives are, computed from the same draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

ORDERS = 3


def _numpy(count: Any) -> Any:
    def draw(n: Any) -> Any:
        return np.random.default_rng().uniform(size=int(n)).astype(np.float32)

    found = tf.numpy_function(draw, [count], tf.float32)
    return tf.ensure_shape(found, [count if isinstance(count, int) else None])


def _operator(count: Any) -> Any:
    return tf.raw.RandomUniformLike(tf.zeros([count]))


def _dropout(count: Any) -> Any:
    kept = tf.raw.Dropout(tf.ones([count]), tf.constant(0.5), tf.constant(True))
    return kept[0] if isinstance(kept, tuple) else kept


DRAWS: dict[str, Callable[[Any], Any]] = {
    "dropout": _dropout,
    "operator": _operator,
    "python": _numpy,
}


def _moments(x: Any, u: Any) -> Any:
    """``sum(exp(u * x))`` and its derivatives, of which only the first depends on ``x``."""
    e = tf.exp(u * x)
    fixed = tf.stop_gradient(e)
    return tf.stack(
        [tf.reduce_sum(e)] + [tf.reduce_sum(fixed * u**k) for k in range(1, ORDERS + 1)]
    )


def _loop(part: Any, x: Any) -> Any:
    zeros = tf.zeros([ORDERS + 1])
    return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + part(x, 4)), [0, zeros])[1]


def _growing(part: Any, x: Any) -> Any:
    zeros = tf.zeros([ORDERS + 1])
    return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + part(x, i)), [0, zeros])[1]


def _branch(part: Any, x: Any) -> Any:
    return tf.cond(x > 0, lambda: part(x, 4), lambda: part(x, 2) * 0)


def _branch_in_loop(part: Any, x: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        return i + 1, s + tf.cond(i != 1, lambda: part(x, 4), lambda: 2 * part(2 * x, 1) * 0)

    return tf.while_loop(lambda i, s: i < 3, body, [0, tf.zeros([ORDERS + 1])])[1]


def _loop_in_loop(part: Any, x: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        inner = tf.while_loop(lambda j, t: j < 2, lambda j, t: (j + 1, t + part(x, 3)), [0, s])
        return i + 1, inner[1]

    return tf.while_loop(lambda i, s: i < 3, body, [0, tf.zeros([ORDERS + 1])])[1]


PLACES = {
    "branch": _branch,
    "branch in loop": _branch_in_loop,
    "growing": _growing,
    "loop": _loop,
    "loop in loop": _loop_in_loop,
    "top": lambda part, x: part(x, 4),
}


def _program(draw: str, place: str, *, called: bool) -> Any:
    def part(x: Any, count: Any) -> Any:
        return _moments(x, DRAWS[draw](count))

    inner: Any = tf.function(part) if called else part
    return tf.function(lambda x: PLACES[place](inner, x))


# What differs in shape from iteration to iteration is refused for third derivatives.
CHANGING = ("branch in loop", "growing")


def _eager(f: Any, x: Any, orders: int) -> list[Any]:
    if not orders:
        found = f(x)
        return [found, found[0]]
    with tf.GradientTape() as tape:
        tape.watch(x)
        results = _eager(f, x, orders - 1)
    return [*results, tape.gradient(results[-1], x)]


def _symbolic(f: Any, x: Any, orders: int) -> list[Any]:
    @tf.function
    def run(x: Any) -> Any:
        found = f(x)
        results = [found, found[0]]
        for _ in range(orders):
            results += tf.gradients(results[-1], x)
        return results

    return run(x)  # type: ignore[no-any-return]


def _traced(f: Any, x: Any, orders: int) -> list[Any]:
    return tf.function(lambda x: _eager(f, x, orders))(x)  # type: ignore[no-any-return]


WAYS = {"eager": _eager, "gradients": _symbolic, "traced": _traced}


@pytest.mark.parametrize("called", [False, True], ids=["plain", "called"])
@pytest.mark.parametrize("place", sorted(PLACES))
@pytest.mark.parametrize("draw", sorted(DRAWS))
def test_three_orders(draw: str, place: str, called: bool) -> None:
    f, x = _program(draw, place, called=called), tf.constant(0.7)
    for name, way in WAYS.items():
        orders = 2 if place in CHANGING else ORDERS
        found, *derivatives = way(f, x, orders)
        expected = found[: orders + 1]
        np.testing.assert_allclose(np.array(derivatives), expected, rtol=1e-4, err_msg=name)


def _cubed(x: Any) -> Any:
    return tf.ensure_shape(tf.py_function(lambda x: x**3.0, [x], tf.float32), [])


@pytest.mark.parametrize("place", ["branch", "loop", "loop in loop"])
def test_gradients_still_flow_through_python(place: str) -> None:
    def part(x: Any, count: Any) -> Any:
        return tf.exp(_cubed(x)) * tf.ones([ORDERS + 1])

    times = {"branch": 1, "loop": 3, "loop in loop": 6}[place]
    x, e = tf.constant(0.7), np.exp(0.7**3)
    expected = [3 * x**2 * e, (9 * x**4 + 6 * x) * e, (27 * x**6 + 54 * x**3 + 6) * e]
    for called in (part, tf.function(part)):
        f = tf.function(lambda x, part=called: PLACES[place](part, x))
        for way in (_eager, _traced):
            _, _, *derivatives = way(f, x, ORDERS)
            np.testing.assert_allclose(derivatives, times * np.array(expected), rtol=1e-4)
