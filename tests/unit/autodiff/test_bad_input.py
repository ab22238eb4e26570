"""What bad input gets from tapes and gradients: TensorFlow's answer, with the operator and line."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.framework import rules

HERE = "test_bad_input.py"


@pytest.fixture
def x() -> tf.Tensor:
    return tf.constant(2.0)


@pytest.fixture
def no_sine(monkeypatch: pytest.MonkeyPatch) -> None:
    tf.GradientTape()
    monkeypatch.setattr(rules, "_rules", {k: v for k, v in rules._rules.items() if k != "Sin"})


def _checked(error: Any) -> None:
    assert "No gradient defined for operator 'Sin'" in str(error)
    assert "in a_sine" in str(error)
    assert HERE in str(error)
    assert error.op == "Sin"
    assert error.source.function == "a_sine"
    assert isinstance(error, LookupError)  # which is what TensorFlow raises


def a_sine(x: tf.Tensor) -> tf.Tensor:
    return tf.sin(x) * 2.0


@pytest.mark.usefixtures("no_sine")
def test_a_missing_rule(x: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = a_sine(x)
    with pytest.raises(tf.errors.NotFoundError) as caught:
        tape.gradient(y, x)
    _checked(caught.value)


@pytest.mark.usefixtures("no_sine")
def test_a_missing_rule_in_a_function(x: tf.Tensor) -> None:
    function = tf.function(a_sine, autograph=False)
    with pytest.raises(tf.errors.NotFoundError) as caught, tf.GradientTape() as tape:
        tape.watch(x)
        tape.gradient(function(x), x)
    _checked(caught.value)
    graph = tf.function(lambda x: tf.gradients(a_sine(x), x), autograph=False)
    with pytest.raises(tf.errors.NotFoundError) as caught:
        graph(x)
    _checked(caught.value)


@pytest.mark.usefixtures("no_sine")
def test_a_missing_rule_that_is_not_needed(x: tf.Tensor) -> None:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.stop_gradient(a_sine(x)) * x
        tf.sin(x)
    np.testing.assert_allclose(tape.gradient(y, x), 2.0 * np.sin(2.0), rtol=1e-6)


def test_an_integer_source(x: tf.Tensor, caplog: pytest.LogCaptureFixture) -> None:
    n = tf.constant(3)
    with caplog.at_level(logging.WARNING, "tfx"), tf.GradientTape(persistent=True) as tape:
        tape.watch(n)
        tape.watch(x)
        y = tf.cast(n, tf.float32) * x
    assert "dtype of the watched tensor must be floating" in caplog.text
    assert "int32" in caplog.text
    assert tape.gradient(y, n) is None
    zero = tape.gradient(y, n, unconnected_gradients="zero")
    assert (zero.dtype, int(zero)) == (tf.int32, 0)
    assert float(tape.gradient(y, [x, n])[0]) == 3.0


def test_strings_and_bools(x: tf.Tensor) -> None:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, tf.constant("a"), tf.constant(True)])
        y = tf.where(tf.constant(True), x, 2.0)
    assert tape.gradient(y, tf.constant("a")) is None
    assert tape.gradient(tf.constant("a"), x) is None
    assert tape.gradient(tf.cast(y, tf.int32), x) is None


def test_the_reason_for_none_is_told(x: tf.Tensor, caplog: pytest.LogCaptureFixture) -> None:
    other, n, fixed = tf.constant(1.0), tf.constant(3), tf.Variable(1.0, False, name="fixed")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, other])
        place = tf.cast(tf.argmax([x, x]), tf.float32)
        whole = tf.cast(x, tf.int32)
        floor = tf.floor(x) * 2.0

    def told(target: Any, source: Any) -> str:
        caplog.clear()
        with caplog.at_level(logging.INFO, "tfx"):
            assert tape.gradient(target, source) is None
        return caplog.text

    assert "ArgMax" in told(place, x)
    assert f"[{HERE}" in told(place, x)
    assert "target's dtype is int32" in told(whole, x)
    assert "Floor (the result is piecewise constant)" in told(floor, x)
    assert "no recorded operation leads from it" in told(floor, other)
    assert "its dtype is int32" in told(floor, n)
    assert "fixed:0 is None: the tape did not watch it" in told(floor, fixed)


def test_nothing_is_told_by_default(x: tf.Tensor, caplog: pytest.LogCaptureFixture) -> None:
    with tf.GradientTape() as tape:
        tape.watch(x)
    assert tape.gradient(tf.constant(1.0), x) is None
    assert not caplog.records


def test_python_functions(x: tf.Tensor) -> None:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        a = tf.py_function(lambda a: a * a, [x], tf.float32)
        b = tf.numpy_function(lambda a: a * a, [x], tf.float32)
        c = tf.function(lambda x: tf.numpy_function(lambda a: a * a, [x], tf.float32))(x)
        d = tf.py_function(lambda a: tf.constant(a.numpy() * 2), [x], tf.float32)
    assert [tape.gradient(y, x) is None for y in (a, b, c, d)] == [False, True, True, False]
    # What leaves the tape's sight inside of a py_function counts as a constant.
    assert [float(tape.gradient(y, x)) for y in (a, d)] == [4.0, 0.0]


def test_gathering_in_a_python_function() -> None:
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = tf.py_function(lambda w: tf.reduce_sum(tf.gather(w, [1, 1]) ** 2), [w], tf.float32)
    np.testing.assert_array_equal(tape.gradient(y, w), [[0.0, 0.0], [12.0, 16.0]])


@pytest.mark.parametrize(
    ("target", "sources", "message"),
    [
        ([tf.constant(1.0), None], tf.constant(1.0), "differentiate None"),
        (None, tf.constant(1.0), "should be a list or nested structure"),
        (tf.constant(1.0), [tf.constant(1.0), None], "with respect to None"),
        (tf.constant(1.0), {"a": None}, "with respect to None"),
        (tf.constant(1.0), np.float32(3.0), "of type 'float32'"),
        (np.ones(2), tf.constant(1.0), "of type 'ndarray'"),
    ],
    ids=["target", "no target", "source", "dict", "NumPy source", "NumPy target"],
)
def test_what_is_no_tensor(target: Any, sources: Any, message: str) -> None:
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(TypeError, match=message):
        tape.gradient(target, sources)


@pytest.mark.parametrize("wrong", [3.0, "s", None, [1, None]], ids=["float", "str", "None", "list"])
def test_watching_what_is_no_tensor(wrong: Any) -> None:
    with (
        tf.GradientTape() as tape,
        pytest.raises(ValueError, match=r"Passed in object .* of type '\w+', not tf\.Tensor"),
    ):
        tape.watch(wrong)


# gradients()


def _graph(function: Any) -> Any:
    return tf.function(function, autograph=False)(tf.constant(3.0))


def test_gradients_of_integers() -> None:
    assert _graph(lambda x: tf.gradients(tf.cast(x, tf.int32), x)) == [None]
    found = _graph(lambda x: tf.gradients([tf.cast(x, tf.int32), x * 2.0], x))
    assert float(found[0]) == 2.0


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: tf.gradients(x, None), TypeError, "with respect to None"),
        (lambda x: tf.gradients([x, x], x, grad_ys=[x]), ValueError, "Length mismatch. Passed 1"),
        (lambda x: tf.gradients(x, x, unconnected_gradients="no"), ValueError, "Unknown value"),
        (lambda x: tf.gradients(x, x, grad_ys=[tf.constant(1)]), TypeError, "int32"),
    ],
    ids=["None", "length", "unconnected", "dtype"],
)
def test_wrong_arguments_of_gradients(function: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        _graph(function)


def test_gradients_and_constants() -> None:
    def chain(x: tf.Tensor) -> Any:
        a = 2.0 * x
        b = a * 3.0
        c = a + b
        return tf.gradients(c, [a, b], stop_gradients=[a, b]), tf.gradients(c, [a, b])

    assert [[float(g) for g in part] for part in _graph(chain)] == [[1.0, 1.0], [4.0, 1.0]]
    v = tf.Variable(2.0)
    found = _graph(lambda x: tf.gradients(v * v * x, [v, x], stop_gradients=[x]))
    assert [float(g) for g in found] == [12.0, 4.0]
    assert float(_graph(lambda x: tf.gradients(x, x, stop_gradients=[x]))[0]) == 1.0
