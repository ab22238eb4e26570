"""Loaded functions under tapes and inside new functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model.models import Dense, Trainer, batch, numbers, saved, saved_function

X = tf.constant(numbers(2, 3))


def gradients(layer: Any, function: Any, x: Any) -> list[Any]:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(function(x) ** 2)
    return [tape.gradient(y, s) for s in (x, layer.w, layer.b)]


def test_gradients_are_those_of_the_original(tmp_path: Any) -> None:
    layer = Dense(3, 2)
    expected = gradients(layer, layer, X)
    back = saved(layer, tmp_path / "m")
    signature = tf.function(lambda x: back(x))
    for found in (gradients(back, back, X), gradients(back, signature, X)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_gradients_through_a_signature(tmp_path: Any) -> None:
    model = Trainer()
    back = saved(model, tmp_path / "m", signatures=model.predict)
    x, _ = batch()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(back.signatures["serving_default"](x=x)["logits"])
    expected = np.full((4, 3), 0.5, np.float32) * x.numpy().sum(0)[:, None]
    np.testing.assert_allclose(tape.gradient(y, back.w), expected, rtol=1e-5)


def test_stopped_gradients_stay_stopped(tmp_path: Any) -> None:
    inner = tf.function(lambda x: tf.stop_gradient(x * x))
    f = tf.function(lambda x: x * tf.stop_gradient(x) + inner(x))
    f.get_concrete_function(tf.TensorSpec([], tf.float32))
    once = saved_function(f, tmp_path / "a")
    twice = saved_function(once, tmp_path / "b")
    for function in (f, once, twice):
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert float(y) == 18.0
        assert float(tape.gradient(y, x)) == 3.0


def test_second_derivatives(tmp_path: Any) -> None:
    f = tf.function(lambda x: tf.sin(x) * x)
    f.get_concrete_function(tf.TensorSpec([], tf.float32))
    back = saved_function(f, tmp_path / "m")
    x = tf.constant(0.7)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = back(x)
        first = tape.gradient(y, x)
    second = outer.gradient(first, x)
    np.testing.assert_allclose(second, 2 * np.cos(0.7) - 0.7 * np.sin(0.7), rtol=1e-5)


def test_a_gradient_inside_a_saved_function(tmp_path: Any) -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    f(tf.constant(2.0))
    assert float(saved_function(f, tmp_path / "m")(tf.constant(2.0))) == 12.0


def test_calls_inside_new_functions_write_state(tmp_path: Any) -> None:
    model = Trainer()
    back = saved(model, tmp_path / "m", signatures=model.signatures)
    other = tf.saved_model.load(tmp_path / "m")

    @tf.function
    def two_steps(x: Any, y: Any) -> Any:
        back.train_step(x, y)
        loss = back.signatures["train_step"](x=x, y=y)["loss"]
        return loss, back.predict(x)["logits"]

    x, y = batch()
    loss, logits = two_steps(x, y)
    other.train_step(x, y)
    expected = other.train_step(x, y)["loss"]
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    np.testing.assert_allclose(logits, other.predict(x)["logits"], rtol=1e-6)
    assert int(back.optimizer.iterations) == 2


def test_unknown_sizes_inside_new_functions(tmp_path: Any) -> None:
    layer = Dense(3, 2)
    layer.__call__.get_concrete_function(tf.TensorSpec([None, 3], tf.float32))
    back = saved(layer, tmp_path / "m")
    f = tf.function(lambda x: back(x), input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    for rows in (1, 4):
        x = tf.constant(numbers(rows, 3))
        np.testing.assert_allclose(f(x), layer(x), rtol=1e-6)


def test_a_symbolic_argument_that_does_not_fit_is_refused(tmp_path: Any) -> None:
    layer = Dense(3, 2)
    layer(X)
    back = saved(layer, tmp_path / "m")
    f = tf.function(lambda x: back(x), input_signature=[tf.TensorSpec([None, 5], tf.float32)])
    with pytest.raises(ValueError, match="argument 'x' is float32"):
        f(tf.constant(numbers(2, 5)))
