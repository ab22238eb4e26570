"""Jacobians of what ``recompute_grad`` computes again: at once, assigned once, differentiable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

W, COUNT = tf.Variable([[0.3, -0.2], [0.1, 0.5]]), tf.Variable(0.0, trainable=False)
GENERATOR = tf.random.Generator.from_seed(3)
X = np.array([0.5, 0.8], np.float32)


def _counting(x: Any) -> Any:
    COUNT.assign_add(1.0)
    return x * x * COUNT


def _growing(x: Any) -> Any:
    W.assign(tf.tanh(W + 0.1))
    return tf.linalg.matvec(W, x) * x


COUNTING, GROWING = tf.function(_counting), tf.function(_growing)
PARTS: dict[str, Callable[[Any], Any]] = {
    "reads": lambda x: tf.tanh(tf.linalg.matvec(W, x)) * x,
    "draws": lambda x: GENERATOR.normal([2]) * x * x,
    "counts": _counting,
    "assigns": _growing,
    "calls": lambda x: COUNTING(x) * 1.5 + GROWING(x),
    "assigns in a branch": lambda x: tf.cond(
        tf.reduce_sum(x) > 0, lambda: _growing(x), lambda: x
    ),
}  # fmt: skip
AROUND: dict[str, Callable[[Any, Any], Any]] = {
    "alone": lambda p, x: p(x),
    "branch": lambda p, x: tf.cond(tf.reduce_sum(x) > 0, lambda: p(x), lambda: x),
    "loop": lambda p, x: tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, p(v)), [0, x])[1],
    "early": lambda p, x: tf.while_loop(
        lambda v: tf.reduce_sum(v) < 3.0, lambda v: (p(v) + 0.7,), [x]
    )[0],
    "map": lambda p, x: tf.map_fn(p, tf.stack([x, x * x])),
}


def _reset() -> None:
    W.assign([[0.3, -0.2], [0.1, 0.5]])
    COUNT.assign(0.0)
    GENERATOR.reset_from_seed(3)


def _jacobian(x: Any, f: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, [x, W], unconnected_gradients="zero")


def _by_rows(x: Any, f: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        elements = tf.unstack(tf.reshape(y, [-1]))
    rows = [tape.gradient(e, [x, W], unconnected_gradients="zero") for e in elements]
    return [
        tf.reshape(tf.stack(column), [*y.shape, *source.shape])
        for column, source in zip(zip(*rows, strict=True), (x, W), strict=True)
    ]


def _derivatives(way: Any, f: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = way(x, f)
        total = tf.reduce_sum(tf.sin(found[0]))
    return [*found, *tape.gradient(total, [x, W], unconnected_gradients="zero")]


def _cases() -> list[Any]:
    quick = {
        "reads": "early",
        "draws": "loop",
        "counts": "map",
        "assigns": "branch",
        "calls": "alone",
        "assigns in a branch": "loop",
    }
    return [
        pytest.param(part, around, marks=() if quick[part] == around else pytest.mark.proof)
        for part in quick
        for around in AROUND
    ]


@pytest.mark.parametrize(("part", "around"), _cases())
def test_a_jacobian_is_that_of_rows_with_its_derivatives(
    part: str, around: str, caplog: pytest.LogCaptureFixture
) -> None:
    again = tf.recompute_grad(PARTS[part])
    x = tf.constant(X)

    def f(x: Any) -> Any:
        return AROUND[around](again, x)

    _reset()
    wanted = [g.numpy() for g in _derivatives(_by_rows, tf.function(f), x)]
    state = [W.numpy(), COUNT.numpy(), GENERATOR.state.numpy()]
    ways = {
        "eager": lambda: _derivatives(_jacobian, f, x),
        "function": lambda: _derivatives(_jacobian, tf.function(f), x),
        "inside": lambda: tf.function(lambda x: _derivatives(_jacobian, f, x))(x),
    }
    for name, way in ways.items():
        _reset()
        for a, b in zip(way(), wanted, strict=True):
            np.testing.assert_allclose(a, b, 1e-4, 1e-5, err_msg=name)
        for v, value in zip((W, COUNT, GENERATOR.state), state, strict=True):
            # What is computed together with other operators may be rounded otherwise.
            tolerance = 1e-6 if v is W else 0
            np.testing.assert_allclose(v.numpy(), value, tolerance, tolerance, err_msg=name)
    # Nothing ran for one element after another but what has another length for each.
    assert part == "draws" or "Using a while_loop" not in caplog.text


@pytest.mark.parametrize("around", ["alone", "loop"])
def test_gradients_of_all_elements_assign_once(around: str) -> None:
    again = tf.recompute_grad(_counting)

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = AROUND[around](again, x)
        return tape.gradient(y, x)

    _reset()
    wanted, count = slope(tf.constant(X)).numpy(), float(COUNT)
    for way in (lambda f: f, tf.function):
        _reset()
        found = way(lambda xs: tf.vectorized_map(slope, xs))(tf.constant([X, X]))
        np.testing.assert_allclose(found, [wanted, wanted], rtol=1e-6)
        assert float(COUNT) == count


def test_a_message_names_what_only_some_elements_assign() -> None:
    again = tf.recompute_grad(_counting)

    def lengths(x: Any) -> Any:
        return AROUND["early"](again, x)

    with pytest.raises(ValueError, match=r"The variables \['Variable:0'\] are assigned"):
        tf.vectorized_map(lengths, tf.constant([X, 2 * X]))


@pytest.mark.parametrize("around", ["loop", "early", "map"])
def test_tangents_of_a_jacobian_of_a_loop_in_a_function(around: str) -> None:
    def slopes(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = AROUND[around](lambda v: tf.sin(v) * v, x)
        return tape.jacobian(y, x)

    @tf.function
    def pushed(x: Any, direction: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
            found = slopes(x)
        return accumulator.jvp(found)

    step = np.float64(1e-5)
    x, direction = X.astype(np.float64), np.array([0.4, -0.7])
    ends = [slopes(tf.constant(x + s * direction)).numpy() for s in (step, -step)]
    wanted = (ends[0] - ends[1]) / (2 * step)
    found = pushed(tf.constant(x), tf.constant(direction))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
