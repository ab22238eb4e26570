"""Derivatives of functions: the same as of the Python code, whoever records and how often."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tfx as tf


def _number(x):
    return None if x is None else np.asarray(x).tolist()


def _both(program):
    """A program of a function-maker, run with Python functions and with traced ones."""
    plain, traced = program(lambda f: f), program(tf.function)
    for a, b in zip(plain, traced, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-5)
    return traced


def test_of_a_call():
    def program(function):
        f = function(lambda x, y: tf.sin(x) * y + x)
        x, y = tf.constant(0.5), tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = f(x, y)
        return [z, *tape.gradient(z, [x, y])]

    _both(program)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_of_higher_order(order):
    def derivative(f, x, order):
        if order == 0:
            return f(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivative(f, x, order - 1)
        return tape.gradient(y, x)

    def program(function):
        f = function(lambda x: tf.exp(x * x) * tf.sin(x))
        return [derivative(f, tf.constant(0.7), order)]

    _both(program)


def test_of_second_order_with_the_tapes_inside_a_function():
    @tf.function
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x * x * x
            first = inner.gradient(y, x)
        return outer.gradient(first, x)

    assert float(second(tf.constant(3.0))) == 18.0
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = second(x)
    assert float(tape.gradient(y, x)) == 6.0


def test_only_some_of_several_results():
    def program(function):
        f = function(lambda x, y: (x * y, x + y, tf.cast(x, tf.int32), tf.exp(x)))
        x, y = tf.constant(2.0), tf.constant(5.0)
        found = []
        for pick in ([1], [0], [0, 3], [3]):
            with tf.GradientTape() as tape:
                tape.watch([x, y])
                results = f(x, y)
                z = tf.add_n([results[i] * results[i] for i in pick])
            found += tape.gradient(z, [x, y])
        return found

    _both(program)


def test_through_results_that_are_arguments():
    def program(function):
        f = function(lambda x, y: (x, x, y))
        x, y = tf.constant(2.0), tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            a, b, c = f(x, y)
            z = a * b * c
        return tape.gradient(z, [x, y])

    assert _number(_both(program)[0]) == 12.0


def test_of_captured_tensors_and_variables():
    def program(function):
        c, v, u = tf.constant(3.0), tf.Variable(2.0), tf.Variable(4.0, trainable=False)
        f = function(lambda x: c * x * v * v * u)
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch([c, x])
            y = f(x)
        assert [w.ref() for w in tape.watched_variables()] == [v.ref()]
        return tape.gradient(y, [c, x, v, u])

    assert _number(_both(program)[3]) is None


def test_equal_captured_constants_are_different_sources():
    a, b = tf.constant(3.0), tf.constant(3.0)
    f = tf.function(lambda: a * a * b)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = f()
    assert [_number(g) for g in tape.gradient(y, [a, b])] == [18.0, 9.0]


def test_of_tensors_that_a_called_function_captured():
    def program(function):
        c, x = tf.constant(3.0), tf.constant(2.0)
        inner = function(lambda x: x * c)
        outer = function(lambda x: inner(x) + inner(x * c))

        def differentiate(x):
            with tf.GradientTape() as tape:
                tape.watch(c)
                y = inner(x) * c
            return tape.gradient(y, c)

        inside = function(differentiate)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([c, x])
            y, z = outer(x), inside(x)
        return [y, z, *tape.gradient(y, [x, c]), *tape.gradient(z, [x, c])]

    assert [_number(r) for r in _both(program)] == [24.0, 12.0, 12.0, 14.0, 6.0, 4.0]


def test_of_tensors_that_a_function_around_captured():
    def program(function):
        def outer(x):
            inner = function(lambda z: z * x * x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = inner(x)
            return tape.gradient(y, x)

        x = tf.constant(2.0)
        call = function(outer)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        return [y, tape.gradient(y, x)]

    assert [_number(r) for r in _both(program)] == [12.0, 12.0]


def test_nested_calls():
    def program(function):
        v = tf.Variable(1.5)
        inner = function(lambda x: tf.sin(x) * v)
        outer = function(lambda x: inner(x) * inner(x * v) + inner(v.value()))
        x = tf.constant(0.3)
        with tf.GradientTape(persistent=True) as t2:
            t2.watch(x)
            with tf.GradientTape() as t1:
                t1.watch(x)
                y = outer(x)
            first = t1.gradient(y, [x, v])
        return [*first, *t2.gradient(first[0], [x, v]), *t2.gradient(first[1], [x, v])]

    _both(program)


def test_a_tape_inside_a_function_around_a_nested_call():
    def program(function):
        v = tf.Variable(2.0)
        inner = function(lambda x: x * x * v)

        def outer(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = inner(x) + x
            return tape.gradient(y, [x, v])

        return function(outer)(tf.constant(3.0))

    assert [_number(g) for g in _both(program)] == [13.0, 9.0]


def test_a_training_step():
    def program(function):
        w, b = tf.Variable([[1.0], [2.0]]), tf.Variable([0.5])
        x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        y = tf.constant([[1.0], [2.0], [3.0]])
        predict = function(lambda x: tf.matmul(x, w) + b)

        def step(x, y):
            with tf.GradientTape() as tape:
                error = predict(x) - y
                loss = tf.reduce_mean(error * error)
            for v, g in zip((w, b), tape.gradient(loss, (w, b)), strict=True):
                v.assign_sub(g * 0.01)
            return loss

        run = function(step)
        losses = [run(x, y) for _ in range(5)]
        assert float(losses[-1]) < float(losses[0])
        return [*losses, w.value(), b.value()]

    _both(program)


# Assignments


def test_reads_after_an_assignment_depend_on_the_variable():
    """As in TensorFlow: an assignment cuts, what is read later belongs to the variable."""

    def program(function):
        v, x = tf.Variable(5.0), tf.constant(3.0)

        def f(x):
            first = v * v
            v.assign(x * 2.0)
            return first + v * 3.0

        call = function(f)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = call(x)
            z = y + v * v
        return [
            y,
            tape.gradient(y, v),
            tape.gradient(y, x),
            tape.gradient(z, v),
            tape.gradient(z, x),
            v.value(),
        ]

    assert [_number(r) for r in _both(program)] == [43.0, 13.0, None, 25.0, None, 6.0]


def test_a_variable_that_is_written_before_it_is_read():
    def program(function):
        v, x = tf.Variable(1.0), tf.constant(3.0)
        call = function(lambda x: (v.assign(x * 2.0), v * 3.0)[1])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = call(x)
        return [y, tape.gradient(y, v), tape.gradient(y, x), v.value()]

    assert [_number(r) for r in _both(program)] == [18.0, 3.0, None, 6.0]


def test_assignments_in_nested_calls_under_every_kind_of_tape():
    def program(function):
        v = tf.Variable(5.0)

        def inner(x):
            first = v * v
            v.assign(x * 2.0)
            return first + v * 3.0

        g = function(inner)

        def outer(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = g(x)
                z = y + v * v
            zero = tape.gradient(z, x, unconnected_gradients="zero")
            return z, tape.gradient(z, v), zero

        results = list(function(outer)(tf.constant(3.0)))
        v.assign(5.0)
        twice = function(lambda x: g(x) * g(x + 1.0))
        x = tf.constant(3.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = twice(x)
        return [*results, y, tape.gradient(y, v), tape.gradient(y, x), v.value()]

    assert [_number(r) for r in _both(program)[:3]] == [79.0, 25.0, 0.0]


def test_second_order_through_assignments():
    def program(function):
        v, x = tf.Variable(2.0), tf.constant(3.0)

        def f(x):
            y = v * v * x
            v.assign(x)
            return y + v * v * v

        call = function(f)
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = call(x)
            dv, dx = inner.gradient(y, [v, x])
        return [dv, dx, outer.gradient(dv, v), outer.gradient(dv, x), outer.gradient(dx, v)]

    _both(program)


def test_variables_that_a_function_touches_are_watched():
    v, w = tf.Variable(5.0, name="v"), tf.Variable(1.0, name="w")
    u, z = tf.Variable(1.0, trainable=False, name="u"), tf.Variable(1.0, name="z")

    @tf.function
    def f(x):
        w.assign(x)
        z.assign(x)
        return v * x + u + z

    with tf.GradientTape() as tape:
        f(tf.constant(1.0))
    assert sorted(t.name for t in tape.watched_variables()) == ["v:0", "w:0", "z:0"]


# Other


def test_unconnected_and_untouched():
    f = tf.function(lambda x, y: x * 2.0)
    x, y = tf.constant(1.0), tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = f(x, y)
    assert [_number(g) for g in tape.gradient(z, [x, y])] == [2.0, None]
    assert _number(tape.gradient(z, y, unconnected_gradients="zero")) == [0.0, 0.0]


def test_an_unwatched_call_is_not_recorded():
    f = tf.function(lambda x: x * 2.0)
    x, y = tf.constant(1.0), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = f(x) * y
    assert _number(tape.gradient(z, [y])[0]) == 2.0


def test_persistent_tapes_and_stopped_recording():
    f = tf.function(lambda x: x * x)
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        with tape.stop_recording():
            z = f(y)
        w = f(y)
    assert [_number(tape.gradient(t, x)) for t in (y, z, w, y)] == [6.0, None, 108.0, 6.0]


def test_output_gradients():
    f = tf.function(lambda x: (x * 2.0, x * x))
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = f(x)
    seeds = [tf.constant([1.0, 10.0]), None]
    assert _number(tape.gradient([a, b], x, output_gradients=seeds)) == [4.0, 24.0]


def test_unknown_shapes():
    f = tf.function(
        lambda x, w: tf.reduce_sum(tf.matmul(x, w) ** 2.0),
        input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([3, 2])],
    )
    w = tf.constant(np.arange(6.0).reshape(3, 2), tf.float32)
    for rows in (1, 4):
        x = tf.ones([rows, 3])
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = f(x, w)
        dx, dw = tape.gradient(y, [x, w])
        assert (dx.shape, dw.shape) == ([rows, 3], [3, 2])
        np.testing.assert_allclose(dw, rows * 2 * np.tile([6.0, 9.0], (3, 1)), rtol=1e-5)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
def test_dtypes(dtype):
    f = tf.function(lambda x: x * x * x)
    x = tf.constant([1.0, 2.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    gradient = tape.gradient(y, x)
    assert gradient.dtype == dtype
    assert gradient.numpy().astype(float).tolist() == [3.0, 12.0]


def test_concrete_functions_are_differentiable():
    v = tf.Variable(2.0)
    concrete = tf.function(lambda x: x * v).get_concrete_function(tf.TensorSpec([None]))
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = concrete(x)
    assert [_number(g) for g in tape.gradient(y, [x, v])] == [[2.0, 2.0], 3.0]


def test_many_threads_differentiate_one_function():
    v = tf.Variable(2.0)
    f = tf.function(lambda x: (tf.sin(x) * v, x * v, x + 1.0))
    errors = []

    def work(number):
        try:
            for i in range(10):
                x = tf.constant(float(number))
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    results = f(x)
                    y = results[(number + i) % 3]
                expected = [2.0 * np.cos(number), 2.0, 1.0][(number + i) % 3]
                np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-5)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=[n]) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
