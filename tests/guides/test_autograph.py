"""AutoGraph as its guide tells it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf


def test_a_loop_until_a_condition_holds() -> None:
    @tf.function
    def f(x: Any) -> Any:
        while tf.reduce_sum(x) > 1.0:
            x = tf.tanh(x)
        return x

    x = np.linspace(0.1, 0.9, 5).astype(np.float32)
    expected = x
    while expected.sum() > 1.0:
        expected = np.tanh(expected)
    np.testing.assert_allclose(f(tf.constant(x)), expected, rtol=1e-5)


def test_fizzbuzz(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def fizzbuzz(n: Any) -> None:
        for i in tf.range(1, n + 1):
            if i % 15 == 0:
                tf.print("FizzBuzz")
            elif i % 5 == 0:
                tf.print("Buzz")
            elif i % 3 == 0:
                tf.print("Fizz")
            else:
                tf.print(i)

    fizzbuzz(tf.constant(15))
    words = "1 2 Fizz 4 Buzz Fizz 7 8 Fizz Buzz 11 Fizz 13 14 FizzBuzz"
    assert capfd.readouterr().err.split() == words.split()


def test_python_and_tensor_conditions() -> None:
    @tf.function
    def f(x: Any, training: bool) -> Any:
        if training:
            x = x * 2.0
        if x > 5.0:
            return x
        return -x

    assert [float(f(tf.constant(3.0), t)) for t in (True, False)] == [6.0, -3.0]
    assert f.experimental_get_tracing_count() == 2


def test_effects_of_python_happen_while_tracing(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def f(x: Any) -> Any:
        if x > 0.0:
            tf.autograph.trace("then")
            return x
        tf.autograph.trace("else")
        return -x

    f(tf.constant(1.0))
    f(tf.constant(-1.0))
    assert capsys.readouterr().out.split() == ["then", "else"]


def test_dynamic_rnn() -> None:
    weights = tf.constant(np.eye(3, dtype=np.float32) * 0.5)

    @tf.function
    def rnn(inputs: Any, lengths: Any) -> Any:
        state = tf.zeros_like(inputs[0])
        outputs = tf.TensorArray(tf.float32, size=tf.shape(inputs)[0])
        for t in tf.range(tf.shape(inputs)[0]):
            new = tf.tanh(inputs[t] + state @ weights)
            state = tf.where((t < lengths)[:, tf.newaxis], new, state)
            outputs = outputs.write(t, state)
        return outputs.stack(), state

    x = np.random.default_rng(0).normal(size=(4, 2, 3)).astype(np.float32)
    lengths = np.array([2, 4])
    state, rows = np.zeros((2, 3), np.float32), []
    for t in range(4):
        new = np.tanh(x[t] + state * 0.5)
        state = np.where((t < lengths)[:, None], new, state)
        rows.append(state)
    found, last = rnn(tf.constant(x), tf.constant(lengths, tf.int32))
    np.testing.assert_allclose(found, np.stack(rows), rtol=1e-5)
    np.testing.assert_allclose(last, state, rtol=1e-5)


def test_a_loop_that_trains_until_it_converged() -> None:
    w = tf.Variable(5.0)

    @tf.function
    def train(rate: Any) -> Any:
        steps = 0
        while True:
            with tf.GradientTape() as tape:
                loss = (w - 2.0) ** 2
            gradient = tape.gradient(loss, w)
            w.assign_sub(rate * gradient)
            steps += 1
            if tf.abs(gradient) < 1e-3:
                break
        return steps

    value, count = np.float32(5.0), 0
    while True:
        gradient = 2 * (value - np.float32(2.0))
        value, count = value - np.float32(0.1) * gradient, count + 1
        if abs(gradient) < 1e-3:
            break
    assert int(train(tf.constant(0.1))) == count
    np.testing.assert_allclose(w.numpy(), value, rtol=1e-6)


# The reference on limitations


def test_a_variable_of_one_branch_only() -> None:
    @tf.function
    def used(x: Any) -> Any:
        if x > 0.5:
            y = tf.constant(1)
        else:
            pass
        return y

    with pytest.raises(ValueError, match="'y' must also be initialized in the else branch"):
        used(tf.constant(1.0))

    @tf.function
    def local(x: Any) -> Any:
        if x > 0.5:
            y = tf.constant(1)  # noqa: F841
        return x

    assert float(local(tf.constant(1.0))) == 1.0


def test_none_in_one_branch() -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = tf.constant(1) if x > 0.5 else None
        return y

    with pytest.raises((ValueError, TypeError), match="None"):
        f(tf.constant(1.0))


def test_variables_carry_hidden_changes() -> None:
    y = tf.Variable(1)

    def change() -> None:
        y.assign_add(1)

    @tf.function
    def f(x: Any) -> Any:
        while x > 0:
            change()
            x -= 1
        return y.value()

    assert int(f(tf.constant(3))) == 4


def test_attributes_and_fixed_collections() -> None:
    class Box:
        pass

    @tf.function
    def f(x: Any) -> Any:
        box = Box()
        box.field = x  # type: ignore[attr-defined]
        items, table = [x], {"field": x}
        while box.field > 0:  # type: ignore[attr-defined]
            box.field -= 1  # type: ignore[attr-defined]
            items[0] += 1
            table["field"] *= 2
        return box.field, items, table  # type: ignore[attr-defined]

    field, items, table = f(tf.constant(3))
    assert (int(field), int(items[0]), int(table["field"])) == (0, 6, 24)


def test_functions_over_loop_variables() -> None:
    @tf.function
    def f() -> Any:
        a = 0

        def read() -> Any:
            return a

        for i in tf.range(3):
            a = i
        return read()

    assert int(f()) == 2


def test_a_list_in_a_loop() -> None:
    @tf.function
    def f(n: Any) -> Any:
        items = []
        for i in tf.range(n):
            items.append(i * i)
        return tf.stack(items)

    np.testing.assert_array_equal(f(tf.constant(4)), [0, 1, 4, 9])


def test_dtypes_must_agree() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if x > 0.5:  # noqa: SIM108
            y = tf.constant(1, dtype=tf.int32)
        else:
            y = tf.constant(1, dtype=tf.float32)
        return y

    with pytest.raises(TypeError, match=r"(?s)'y'.*int32.*float32"):
        f(tf.constant(1.0))

    @tf.function
    def g(n: Any) -> Any:
        x = tf.constant(0, dtype=tf.int32)
        while n > 0:
            n -= 1
            x = tf.constant(0.0, dtype=tf.float32)
        return x

    with pytest.raises(TypeError, match=r"(?s)'x'.*int32.*float32"):
        g(tf.constant(1))


def test_shapes_must_agree_in_loops() -> None:
    @tf.function
    def f(n: Any) -> Any:
        x = tf.constant(1)
        while n > 0:
            n -= 1
            x = tf.constant((1, 2, 3))
        return x

    with pytest.raises(ValueError, match=r"(?s)'x'.*\(\).*\(3,\).*set_loop_options"):
        f(tf.constant(1))


def test_static_shapes_decide_while_tracing() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if x.shape[0] > 4:
            return x[4]
        return tf.constant(-1)

    assert int(f(tf.constant([1, 2, 3]))) == -1
    assert int(f(tf.range(6))) == 4

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def g(x: Any) -> Any:
        return x[4] if tf.shape(x)[0] > 4 else tf.constant(-1)

    assert int(g(tf.constant([1, 2, 3]))) == -1
    assert int(g(tf.range(6))) == 4


def test_lambdas_amid_other_code() -> None:
    found = (
        "text",
        lambda x: x if x > 0 else -x,
    )
    assert int(tf.function(found[1])(tf.constant(-3))) == 3  # type: ignore[arg-type]
