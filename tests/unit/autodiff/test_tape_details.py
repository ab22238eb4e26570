"""The tape in unusual hands: sources, targets, order, threads, memory; as TensorFlow 2.21."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf


class Pair(NamedTuple):
    """Two sources."""

    a: Any
    b: Any


def _number(x: Any) -> Any:
    return None if x is None else np.asarray(x).tolist()


@pytest.fixture
def x() -> tf.Tensor:
    return tf.constant(2.0)


def test_one_source_many_times() -> None:
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * v
    found = tape.gradient(y, [v, [v, {"a": v}]])
    assert [_number(g) for g in tf.nest.flatten(found)] == [4.0, 4.0, 4.0]


def test_one_target_many_times() -> None:
    x = tf.constant([2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert _number(tape.gradient([y, y, x], x)) == [9.0, 13.0]
    assert [_number(g) for g in tape.gradient([z, y], [x, y])] == [[36.0, 114.0], [9.0, 19.0]]


def test_a_source_that_nothing_watched_is_its_own_gradient(x: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        x * x
    assert _number(tape.gradient(x, x)) == 1.0
    unread = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        pass
    assert _number(tape.gradient(unread, unread)) == 1.0


def test_named_tuples() -> None:
    pair = Pair(tf.Variable(1.0), tf.Variable(2.0))
    with tf.GradientTape() as tape:
        y = pair.a * pair.b * pair.b
    found = tape.gradient(y, pair)
    assert isinstance(found, Pair)
    assert (_number(found.a), _number(found.b)) == (4.0, 4.0)


def test_nothing_to_do(x: tf.Tensor) -> None:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, []) == []
    assert tape.gradient([], x) is None


def test_variables_in_the_order_of_creation() -> None:
    variables = [tf.Variable(float(i)) for i in range(4)]

    @tf.function
    def f() -> tf.Tensor:
        return variables[3] * variables[1]

    with tf.GradientTape() as tape:
        y = variables[2] * variables[0] + f()
    tape.gradient(y, variables)
    assert [float(v) for v in tape.watched_variables()] == [0.0, 1.0, 2.0, 3.0]


def test_reset_forgets_variables() -> None:
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        v * v
        assert len(tape.watched_variables()) == 1
        tape.reset()
        assert tape.watched_variables() == ()
    with pytest.raises(ValueError, match="Tape is not recording"):
        tape.reset()


def test_integers_are_variables_too() -> None:
    n, s = tf.Variable(3), tf.Variable("a")
    with tf.GradientTape() as tape:
        y = tf.cast(n, tf.float32) * 2.0
        tf.identity(s)
    assert tape.gradient(y, [n, s]) == [None, None]
    assert len(tape.watched_variables()) == 2


def test_before_the_first_block_and_after_the_last(x: tf.Tensor) -> None:
    tape = tf.GradientTape()
    with pytest.raises(RuntimeError, match="non-persistent GradientTape can only be used"):
        tape.gradient(x, x)
    with pytest.raises(RuntimeError, match="inside the block"):
        tape.watch(x)
    with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
        pass
    with tape:
        tape.watch(x)
        y = x * x
    tape.watch(y)  # nothing is recorded any more, but that is no mistake
    assert _number(tape.gradient(y, x)) == 4.0


def test_pauses_do_not_nest(x: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        tape.watch(x)
        with (
            tape.stop_recording(),
            pytest.raises(ValueError, match="not recording"),
            tape.stop_recording(),
        ):
            pass
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError
        y = x * x
    assert _number(tape.gradient(y, x)) == 4.0


def test_a_gradient_in_a_pause(x: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            found = tape.gradient(y, x)
        x * x * x
    assert _number(found) == 4.0


def test_what_was_recorded_before_an_exception_counts(x: tf.Tensor) -> None:
    tape = tf.GradientTape()
    with pytest.raises(KeyError), tape:
        tape.watch(x)
        y = x * x
        raise KeyError
    assert _number(tape.gradient(y, x)) == 4.0


def test_the_advice_on_recorded_gradients_comes_once_a_line(
    x: tf.Tensor, caplog: pytest.LogCaptureFixture
) -> None:
    with tf.GradientTape(persistent=True) as tape, caplog.at_level(logging.WARNING, "tfx"):
        tape.watch(x)
        y = x * x
        for _ in range(3):
            tape.gradient(y, x)
    assert caplog.text.count("significantly less efficient") == 1
    assert "test_tape_details.py" in caplog.text


def test_persistent_tapes_in_persistent_tapes(x: tf.Tensor) -> None:
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(x)
            y, z = x**4.0, x**3.0
        a, b = inner.gradient(y, x), inner.gradient(z, x)
    found = [outer.gradient(target, x) for target in (a, b, [a, b], y)]
    assert [_number(g) for g in found] == [48.0, 12.0, 60.0, 32.0]


def test_inside_and_around_a_function(x: tf.Tensor) -> None:
    @tf.function
    def slope(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
        return tape.gradient(y, x)

    with tf.GradientTape() as tape:
        tape.watch(x)
        first = slope(x)
    assert (_number(first), _number(tape.gradient(first, x))) == (12.0, 12.0)


def test_a_gradient_of_eager_operations_taken_in_a_function() -> None:
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * v
    assert _number(tf.function(lambda: tape.gradient(y, v))()) == 4.0


def test_functions_with_integers_among_arguments_and_results(x: tf.Tensor) -> None:
    @tf.function
    def f(n: tf.Tensor, x: tf.Tensor) -> Any:
        return tf.cast(x, tf.int32), tf.cast(n, tf.float32) * x

    n = tf.constant(3)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        whole, y = f(n, x)
    assert [_number(g) for g in tape.gradient(y, [n, x])] == [None, 3.0]
    assert _number(tape.gradient([whole, y], x)) == 3.0


# Threads


def test_one_tape_asked_from_many_threads() -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(v**3.0)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(_number(tape.gradient(y, v))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[3.0, 12.0]] * 8


def test_other_threads_are_not_recorded() -> None:
    v = tf.Variable(2.0)
    made: list[tf.Tensor] = []
    with tf.GradientTape() as tape:
        thread = threading.Thread(target=lambda: made.append(v * v))
        thread.start()
        thread.join()
    assert tape.gradient(made[0], v) is None
    assert tape.watched_variables() == ()


def test_a_tape_in_each_thread() -> None:
    v = tf.Variable(2.0)
    found: list[bool] = []

    def work(factor: float) -> None:
        for _ in range(20):
            with tf.GradientTape() as tape:
                y = v * v * factor
            found.append(float(tape.gradient(y, v)) == 4.0 * factor)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


# Memory


@pytest.mark.parametrize("persistent", [False, True], ids=["once", "persistent"])
def test_a_tape_that_is_deleted_keeps_nothing(persistent: bool) -> None:
    gc.disable()
    try:
        with tf.GradientTape(persistent=persistent) as tape:
            x = tf.ones([10])
            tape.watch(x)
            y = x * 3.0
            kept = weakref.ref(y)
            total = tf.reduce_sum(y * y)
        del y
        if persistent:
            tape.gradient(total, x)
            assert kept() is not None
        gone = weakref.ref(tape)
        del tape
        assert kept() is None
        assert gone() is None
    finally:
        gc.enable()


def test_a_tape_that_is_used_up_keeps_nothing(x: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    kept = weakref.ref(y)
    del y
    assert kept() is not None
    tape.gradient(z, x)
    del z
    assert kept() is None
