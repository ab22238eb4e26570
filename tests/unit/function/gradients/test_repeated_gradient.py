"""Custom gradients that call the function whose gradient they are."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

X = tf.constant([0.5, 1.0])
calls: list[str] = []


@tf.custom_gradient
def growth(x: Any) -> Any:
    calls.append("growth")
    return tf.exp(2.0 * x), lambda dy: dy * 2.0 * growth(x)


@tf.custom_gradient
def even(x: Any) -> Any:
    return tf.cos(x), lambda dy: -dy * odd(x)


@tf.custom_gradient
def odd(x: Any) -> Any:
    return tf.sin(x), lambda dy: dy * even(x)


def derivative(f: Any, order: int) -> Any:
    if not order:
        return f

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivative(f, order - 1)(x)
        return tape.gradient(y, x)

    return slope


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("way", ["eager", "of a function", "in a function", "both"])
def test_derivatives_of_every_order(order: int, way: str) -> None:
    f = growth if way in ("eager", "in a function") else tf.function(lambda x: growth(x))
    found = derivative(f, order)
    found = tf.function(found) if way in ("in a function", "both") else found
    np.testing.assert_allclose(found(X), 2.0**order * np.exp(2 * X.numpy()), rtol=1e-5)


def test_functions_that_call_each_other() -> None:
    f = tf.function(lambda x: even(x))
    for order, wanted in enumerate((np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin)):
        np.testing.assert_allclose(derivative(f, order)(X), wanted(X.numpy()), rtol=1e-5)


def test_a_trace_calls_the_function_for_itself_and_its_gradient() -> None:
    calls.clear()
    tf.function(lambda x: growth(x))(X)
    assert len(calls) == 2


def test_python_values_stay_what_they_were() -> None:
    @tf.custom_gradient
    def power(x: Any, n: int) -> Any:
        assert isinstance(n, int)
        return x**n, lambda dy: (dy * n * power(x, n - 1), None)

    f = tf.function(lambda x: power(x, 5))
    np.testing.assert_allclose(derivative(f, 3)(X), 60 * X.numpy() ** 2, rtol=1e-5)


def test_functions_made_where_they_are_used_may_close_over_tensors() -> None:
    def scaled(x: Any, by: Any) -> Any:
        @tf.custom_gradient
        def f(x: Any) -> Any:
            return by * x**3, lambda dy: dy * scaled(x, 3.0 * by / x) if depth else dy

        depth.pop()
        return f(x)

    depth = [1, 2]
    f = tf.function(lambda x: scaled(x, x * 0.0 + 2.0))
    np.testing.assert_allclose(derivative(f, 1)(X), 6 * X.numpy() ** 2, rtol=1e-5)


def test_a_gradient_that_calls_itself_with_tensors_of_its_own() -> None:
    def scaled(x: Any, by: Any) -> Any:
        @tf.custom_gradient
        def f(x: Any) -> Any:
            return by * tf.exp(2.0 * x), lambda dy: dy * scaled(x, 2.0 * by)

        return f(x)

    def whole(x: Any) -> Any:
        return scaled(x, tf.identity(3.0))

    traced = tf.function(whole)
    for order in range(4):
        wanted = 3 * 2.0**order * np.exp(2 * X.numpy())
        np.testing.assert_allclose(tf.function(derivative(whole, order))(X), wanted, rtol=1e-5)
        np.testing.assert_allclose(derivative(traced, order)(X), wanted, rtol=1e-5)
    with pytest.raises(tf.errors.NotFoundError, match="as many derivatives"):
        derivative(traced, 4)(X)


@pytest.mark.parametrize("with_variable", [False, True])
def test_functions_of_one_code_inside_each_other(with_variable: bool) -> None:
    v = tf.Variable(3.0)

    def recomputed(f: Any) -> Any:
        return tf.recompute_grad(lambda x: f(x) * (v if with_variable else 3.0))

    deep = tf.sin
    for _ in range(5):
        deep = recomputed(deep)
    for f in (deep, tf.function(deep)):
        for order, wanted in enumerate((np.cos(X), -np.sin(X), -np.cos(X)), start=1):
            for way in (derivative(f, order), tf.function(derivative(f, order))):
                np.testing.assert_allclose(way(X), 3.0**5 * wanted, rtol=1e-5)


def test_jacobians_and_derivatives_for_many_elements() -> None:
    f = tf.function(lambda x: growth(x))
    with tf.GradientTape() as outer:
        outer.watch(X)
        with tf.GradientTape() as inner:
            inner.watch(X)
            y = f(X)
        first = inner.jacobian(y, X)
    second = outer.jacobian(first, X)
    wanted = 4 * np.exp(2 * X.numpy())
    np.testing.assert_allclose(first, np.diag(wanted / 2), rtol=1e-5)
    np.testing.assert_allclose([second[0, 0, 0], second[1, 1, 1]], wanted, rtol=1e-5)
    each = derivative(lambda x: tf.vectorized_map(lambda v: derivative(f, 1)(v), x), 2)
    np.testing.assert_allclose(tf.function(each)(X), 8 * np.exp(2 * X.numpy()), rtol=1e-5)


def test_a_variable_that_it_reads() -> None:
    v = tf.Variable(3.0)
    depth = [1]

    @tf.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = ()) -> Any:
            again = f(x) if depth and depth.pop() else v * x
            return dy * again, [tf.reduce_sum(dy * x) for _ in variables]

        return v * x * x, grad

    with tf.GradientTape() as tape:
        y = tf.function(lambda x: f(x))(X)
    assert float(tape.gradient(y, v)) == pytest.approx(1.5)


def test_pickled_functions_have_the_first_derivative() -> None:
    concrete = tf.function(lambda x: even(x)).get_concrete_function(X)
    again = pickle.loads(pickle.dumps(concrete))
    np.testing.assert_allclose(derivative(again, 1)(X), -np.sin(X.numpy()), rtol=1e-5)


def test_saved_functions_compute_the_first_derivative(tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: even(x), input_signature=[tf.TensorSpec([None])])
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(module, tmp_path / "m", options=options)
    again = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_allclose(derivative(again.f, 1)(X), -np.sin(X.numpy()), rtol=1e-5)
