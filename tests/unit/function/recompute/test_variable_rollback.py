"""``recompute_grad`` computes with the same random numbers again, and assigns nothing twice."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

X = np.linspace(0.5, 1.5, 100, dtype=np.float32)
GENERATOR = tf.random.Generator.from_seed(3)
INNER = tf.function(lambda x: tf.nn.dropout(x**3.0, 0.5))


def _loop(x: Any) -> Any:
    y = tf.zeros([100])
    for _ in tf.range(3):
        y = y + tf.random.uniform([100]) * x**3.0
    return y


def _branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.random.normal([100]) * x**3.0, lambda: x)


# Each is cubic in x.
BODIES: dict[str, Callable[[Any], Any]] = {
    "dropout": lambda x: tf.nn.dropout(x**3.0, 0.5),
    "several draws": lambda x: tf.random.uniform([100]) * x * tf.random.normal([100]) * x * x,
    "seed of its own": lambda x: tf.random.uniform([100], seed=98765) * x**3.0,
    "own generator": lambda x: GENERATOR.uniform([100]) * x**3.0,
    "called function": lambda x: INNER(x),
    "loop": _loop,
    "branch": _branch,
    "recomputed inside": lambda x: tf.recompute_grad(BODIES["dropout"])(x),
}


def _check(f: Any) -> None:
    x = tf.constant(X)
    values = []
    for _ in range(2):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(f(x))
            slope = tape.gradient(y, x)
        values.append(float(y))
        np.testing.assert_allclose((slope.numpy() * X).sum() / 3, y, rtol=1e-3)
        np.testing.assert_allclose(outer.gradient(slope, x), 2 * slope.numpy() / X, rtol=1e-3)
    assert values[0] != values[1]


@pytest.mark.parametrize("name", sorted(BODIES))
def test_eagerly(name: str) -> None:
    _check(tf.recompute_grad(BODIES[name]))


@pytest.mark.parametrize("name", sorted(BODIES))
def test_in_a_function(name: str) -> None:
    _check(tf.function(tf.recompute_grad(BODIES[name])))


def test_in_a_loop_of_a_function() -> None:
    part = tf.recompute_grad(BODIES["dropout"])

    @tf.function
    def twice(x: Any) -> Any:
        y = tf.zeros([100])
        for _ in tf.range(2):
            y = y + part(x)
        return y

    _check(twice)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_the_generator_goes_on_as_without_a_gradient(wrap: Any) -> None:
    body, x = BODIES["dropout"], tf.constant(X)
    part = wrap(tf.recompute_grad(body))
    tf.random.set_seed(1)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = part(x)
    tape.gradient(y, x)
    after = part(x).numpy(), float(tf.random.uniform([]))
    plain = wrap(body)
    tf.random.set_seed(1)
    plain(x)
    assert (after[0] == plain(x).numpy()).all()
    assert after[1] == float(tf.random.uniform([]))


def test_a_variable_is_assigned_once_in_a_function() -> None:
    count = tf.Variable(0.0, trainable=False)

    def body(x: Any) -> Any:
        count.assign_add(1.0)
        return x * x * count

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.recompute_grad(body)(x)
        return tape.gradient(y, x)

    assert float(step(tf.constant(3.0))) == 6.0
    assert float(count) == 1.0
    assert float(step(tf.constant(3.0))) == 12.0  # with the value of the same run
    assert float(count) == 2.0


def test_saved_and_loaded(tmp_path: Path) -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = GENERATOR

        @tf.function(input_signature=[tf.TensorSpec([100])])
        def part(self, x: Any) -> Any:
            return tf.recompute_grad(BODIES["own generator"])(x)

    tf.saved_model.save(Model(), tmp_path / "model")
    _check_first(tf.saved_model.load(tmp_path / "model").part)


def _check_first(f: Any) -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(x))
    np.testing.assert_allclose((tape.gradient(y, x).numpy() * X).sum() / 3, y, rtol=1e-3)


def _assigning(v: Any) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        v.assign(tf.tanh(v + 0.1 * x))
        return tf.sin(v * x)

    return body


def test_second_derivatives_of_what_assigns_are_the_same_in_a_function() -> None:
    x, v = tf.constant(0.7), tf.Variable(0.5)

    def run(f: Any) -> list[Any]:
        v.assign(0.5)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            slope, by_variable = tape.gradient(y, [x, v])
            total = slope + 2.0 * by_variable
        return outer.gradient(total, [x, v])

    part = _assigning(v)
    wanted = [float(g) for g in run(part)]
    for f in (tf.recompute_grad(part), tf.function(tf.recompute_grad(part))):
        np.testing.assert_allclose([float(g) for g in run(f)], wanted, rtol=1e-5)
        found = tf.function(lambda f=f: run(f))()
        np.testing.assert_allclose([float(g) for g in found], wanted, rtol=1e-5)


@pytest.mark.parametrize("trainable", [True, False], ids=["trainable", "fixed"])
@pytest.mark.parametrize("inner", [lambda f: f, tf.function], ids=["operation", "call"])
@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_variables_have_the_values_that_they_had(wrap: Any, inner: Any, trainable: bool) -> None:
    x, v = tf.constant(3.0), tf.Variable(2.0, trainable=trainable)
    part = inner(lambda x: x * x * v)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrap(tf.recompute_grad(lambda x: part(x)))(x)
    v.assign(100.0)
    found = tape.gradient(y, [x, v], unconnected_gradients="zero")
    assert [float(g) for g in found] == [12.0, 9.0 if trainable else 0.0]
    assert float(v) == 100.0


def test_what_is_done_again_is_assigned_by_nothing_made_of_the_graph() -> None:
    v = tf.Variable(2.0)

    def body(x: Any) -> Any:
        v.assign(tf.tanh(v + x))
        return v * x * x

    part = tf.recompute_grad(body)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = part(part(x))
        return y, tape.gradient(y, x)

    x = tf.constant(0.3)
    wanted = [float(t) for t in step(x)]
    value = float(v)
    concrete = step.get_concrete_function(x)
    pruned = concrete.prune(concrete.inputs[0], list(concrete.outputs[:2]))
    ways: dict[str, Any] = {
        "pruned": lambda: pruned(x),
        "mapped": lambda: [t[0] for t in tf.vectorized_map(lambda _: step(x), tf.zeros([3]))],
        "called": lambda: tf.function(lambda: step(x))(),
    }
    for name, way in ways.items():
        v.assign(2.0)
        assert [float(t) for t in way()] == pytest.approx(wanted), name
        assert float(v) == pytest.approx(value), name
    copy = pickle.loads(pickle.dumps(concrete))
    copy.variables[0].assign(2.0)
    mapped = tf.vectorized_map(lambda _: copy(x)[1], tf.zeros([3]))
    assert float(mapped[0]) == pytest.approx(wanted[1])
    assert float(copy.variables[0]) == pytest.approx(value)
