"""Eager calls alike share a session; calls that differ in anything do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.runtime import run_hooks
from tfx.vectorize import compiled_cache

XS = np.array([[-1.0, 2.0], [3.0, -0.5], [-2.0, -3.0]], np.float32)


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_cache, "_functions", {})


def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sessions and kernels that are made from now on."""
    found: list[Any] = []
    register = run_hooks.register
    monkeypatch.setattr(run_hooks, "register", lambda x: (found.append(x), register(x))[1])
    return found


def branching(factor: Any, stop: bool = False) -> Any:
    def element(x: Any) -> Any:
        y = tf.stop_gradient(x) if stop else x
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(y) * factor, lambda: x * 2.0)

    return element


def expected(factor: float) -> Any:
    return np.where(XS.sum(1, keepdims=True) > 0, np.sin(XS) * factor, XS * 2)


def test_the_second_call_makes_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = made(monkeypatch)
    counts = []
    for _ in range(3):
        found = tf.vectorized_map(branching(3.0), tf.constant(XS))
        np.testing.assert_allclose(found, expected(3.0), rtol=1e-6)
        counts.append(len(sessions))
    assert counts[0] > 0
    assert counts == [counts[0]] * 3


def test_what_a_closure_holds_counts() -> None:
    for factor in (2.0, 3.0, -1.0):
        np.testing.assert_allclose(
            tf.vectorized_map(branching(factor), tf.constant(XS)), expected(factor), rtol=1e-6
        )
    assert len(compiled_cache._functions) == 3


def test_tensors_and_variables_from_outside_have_their_present_values() -> None:
    variable = tf.Variable(2.0)
    function = branching(variable)
    for number in (2.0, 5.0):
        variable.assign(number)
        found = tf.vectorized_map(function, tf.constant(XS))
        np.testing.assert_allclose(found, expected(number), rtol=1e-6)
        found = tf.vectorized_map(branching(tf.constant(number)), tf.constant(XS))
        np.testing.assert_allclose(found, expected(number), rtol=1e-6)


def test_graphs_that_differ_in_gradients_alone_are_two() -> None:
    for stop in (False, True, False):
        with tf.GradientTape() as tape:
            xs = tf.constant(XS)
            tape.watch(xs)
            y = tf.vectorized_map(branching(3.0, stop), xs)
        slopes = np.where(XS.sum(1, keepdims=True) > 0, 0 * XS if stop else 3 * np.cos(XS), 2)
        np.testing.assert_allclose(tape.gradient(y, xs), slopes, rtol=1e-6)


def test_assignments_happen_each_time() -> None:
    count = tf.Variable(0)

    def element(x: Any) -> Any:
        tf.cond(count < 10, lambda: count.assign_add(1), lambda: count.assign(0))
        return x + tf.cast(count, tf.float32)

    for i in (1, 2, 3):
        np.testing.assert_array_equal(tf.vectorized_map(element, tf.constant(XS)), XS + i)
        assert int(count) == i
    assert not compiled_cache._functions


def test_custom_gradients_stay_their_own() -> None:
    def scaled(factor: float) -> Any:
        @tf.custom_gradient
        def double(x: Any) -> Any:
            return 2.0 * x, lambda dy: dy * factor

        return lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: double(x), lambda: double(x))

    for factor in (5.0, 7.0):
        with tf.GradientTape() as tape:
            xs = tf.constant(XS)
            tape.watch(xs)
            y = tf.vectorized_map(scaled(factor), xs)
        np.testing.assert_array_equal(tape.gradient(y, xs), np.full_like(XS, factor))


def test_random_numbers_are_drawn_anew() -> None:
    def element(x: Any) -> Any:
        noise = tf.random.uniform([2])
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + noise, lambda: noise)

    tf.random.set_seed(None)
    first, second = (tf.vectorized_map(element, tf.constant(XS)).numpy() for _ in range(2))
    assert (first != second).all()


def test_what_python_does_is_done_each_time() -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(len(seen))
        return x

    def element(x: Any) -> Any:
        y = tf.py_function(note, [x], tf.float32)
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: y * 2.0, lambda: y)

    for i in (1, 2):
        tf.vectorized_map(element, tf.constant(XS))
        assert len(seen) == 3 * i


def test_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_cache, "_LIMIT", 2)
    for factor in (1.0, 2.0, 3.0):
        tf.vectorized_map(branching(factor), tf.constant(XS))
        assert len(compiled_cache._functions) <= 2
