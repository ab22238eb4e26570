"""The tape: what it records, what it gives, and what it refuses, as TensorFlow's does."""

from __future__ import annotations

import gc
import logging
import weakref

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError


def _numbers(structure):
    if isinstance(structure, dict):
        return {k: _numbers(v) for k, v in structure.items()}
    if isinstance(structure, list | tuple):
        return type(structure)(map(_numbers, structure))
    return None if structure is None else np.asarray(structure).tolist()


@pytest.fixture
def x():
    return tf.constant(3.0)


def test_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
    assert tape.gradient(y, x).numpy() == 27.0


def test_equal_constants_are_different_sources():
    a, b = tf.constant(3.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = a * a * b
    assert _numbers(tape.gradient(y, [a, b])) == [18.0, 9.0]


def test_only_what_was_watched(x):
    y = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = y * y
        w = z * x
        u = y * x  # recorded for the sake of x
    assert tape.gradient(z, y) is None
    assert _numbers(tape.gradient(w, [x, y])) == [4.0, None]
    assert _numbers(tape.gradient(u, [x, y])) == [2.0, None]


def test_watching_starts_with_watch(x):
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(x)
        z = y * x
    assert tape.gradient(z, x).numpy() == 9.0


def test_variables_are_watched_when_read():
    v, u = tf.Variable(2.0), tf.Variable(5.0, trainable=False)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v * u
    assert _numbers(tape.gradient(y, [v, u])) == [20.0, None]
    assert [w.ref() for w in tape.watched_variables()] == [v.ref()]


def test_untrainable_variables_can_be_watched():
    u = tf.Variable(5.0, trainable=False)
    with tf.GradientTape() as tape:
        tape.watch(u)
        y = u * u
    assert tape.gradient(y, u).numpy() == 10.0
    assert len(tape.watched_variables()) == 1


def test_without_watching_variables():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    assert _numbers(tape.gradient(y, [v, w])) == [3.0, None]
    assert len(tape.watched_variables()) == 1


def test_a_variable_as_target():
    v = tf.Variable(5.0)
    with tf.GradientTape() as tape:
        v.value()
    assert tape.gradient(v, v).numpy() == 1.0


def test_reads_after_an_assignment_depend_on_the_variable(x):
    v = tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first = v * v
        v.assign(x * 2.0)
        y = first + v * 3.0
    assert y.numpy() == 19.0
    assert _numbers(tape.gradient(y, [v, x])) == [5.0, None]


def test_structures(x):
    y, unused = tf.constant(2.0), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch({"x": x, "y": [y]})
        z = {"a": x * y, "b": (x,)}
    assert _numbers(tape.gradient(z, {"a": x, "b": [y, unused]})) == {"a": 3.0, "b": [3.0, None]}


def test_a_source_that_is_a_result(x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * x
    assert _numbers(tape.gradient(z, [x, y])) == [27.0, 3.0]
    assert _numbers(tape.gradient([y, z], [x, y])) == [33.0, 4.0]
    assert tape.gradient(x, x).numpy() == 1.0


def test_persistence(x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert [tape.gradient(y, x).numpy() for _ in range(3)] == [6.0, 6.0, 6.0]
    with tf.GradientTape() as once:
        once.watch(x)
        y = x * x
    once.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent GradientTape can only be used"):
        once.gradient(y, x)


def test_memory_is_given_back():
    big = tf.ones([1000])
    kept = weakref.ref(big)
    with tf.GradientTape() as tape:
        tape.watch(big)
        y = tf.reduce_sum(big * big)
    tape.gradient(y, big)
    del big, y
    gc.collect()
    assert kept() is None


def test_inside_its_own_block(x, caplog):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        assert tape.gradient(y, x).numpy() == 6.0
    with tf.GradientTape(persistent=True) as tape, caplog.at_level(logging.WARNING, "tfx"):
        tape.watch(x)
        y = x * x
        dy = tape.gradient(y, x)
    assert "significantly less efficient" in caplog.text
    assert tape.gradient(dy, x).numpy() == 2.0


def test_entering_again(x):
    tape = tf.GradientTape()
    for _ in range(2):
        with tape:
            tape.watch(x)
            y = x * x
        assert tape.gradient(y, x).numpy() == 6.0
    persistent = tf.GradientTape(persistent=True)
    with persistent:
        persistent.watch(x)
        y = x * x
    with persistent:
        z = y * x
    assert persistent.gradient(z, x).numpy() == 27.0
    with tape, pytest.raises(ValueError, match="still recording"), tape:
        pass


def test_a_new_recording_forgets_what_was_watched(x):
    tape = tf.GradientTape()
    with tape:
        tape.watch(x)
    tape.gradient(x, x)
    with tape:
        y = x * x
    assert tape.gradient(y, x) is None


def test_nothing_is_recorded_after_an_exception(x):
    tape = tf.GradientTape(persistent=True)
    with pytest.raises(KeyError), tape:
        tape.watch(x)
        raise KeyError
    y = x * x
    assert tape.gradient(y, x) is None


def test_stop_recording(x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * x
            dy = tape.gradient(y, x)
        w = y * x
    assert tape.gradient(z, x) is None
    assert tape.gradient(dy, x) is None
    assert tape.gradient(w, x).numpy() == 27.0
    with pytest.raises(ValueError, match="not recording"), tape.stop_recording():
        pass
    with pytest.raises(RuntimeError, match="not recording"), tf.GradientTape().stop_recording():
        pass


def test_reset(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        z = y * x
    assert tape.gradient(z, x).numpy() == 9.0


def test_nested_tapes(x):
    with tf.GradientTape() as t0:
        t0.watch(x)
        with tf.GradientTape() as t1:
            t1.watch(x)
            with tf.GradientTape() as t2:
                t2.watch(x)
                y = x * x * x * x
            first = t2.gradient(y, x)
        second = t1.gradient(first, x)
    assert _numbers([first, second, t0.gradient(second, x)]) == [108.0, 108.0, 72.0]


def test_a_tape_around_another_that_watches_something_else(x):
    w = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * w
        dx = inner.gradient(y, x)
    assert dx.numpy() == 12.0
    assert outer.gradient(dx, w).numpy() == 6.0


@pytest.mark.parametrize("zero", ["zero", tf.UnconnectedGradients.ZERO])
def test_unconnected(zero):
    x, y = tf.constant([3.0, 1.0]), tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = y * 2.0
    assert tape.gradient(z, x) is None
    assert _numbers(tape.gradient(z, [x, y], unconnected_gradients=zero)) == [[0.0, 0.0], 2.0]
    assert tape.gradient(z, x, unconnected_gradients="none") is None
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'nope'"):
        tape.gradient(z, x, unconnected_gradients="nope")


def test_output_gradients():
    x = tf.constant([3.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * 2.0
    assert _numbers(tape.gradient(z, x, output_gradients=np.array([1.0, 10.0]))) == [2.0, 20.0]
    seeds = [None, tf.constant([1.0, 10.0])]
    assert _numbers(tape.gradient([z, z], x, output_gradients=seeds)) == [4.0, 22.0]
    assert _numbers(tape.gradient(z, x, output_gradients=tf.constant(3.0))) == [6.0, 6.0]
    for wrong, message in [
        ([tf.ones([2])] * 2, "2 gradients for 1 targets"),
        (tf.ones([3]), r"shape \(3,\) for a target of shape \(2,\)"),
        (tf.ones([2], tf.float64), "float64"),
    ]:
        with pytest.raises(InvalidArgumentError, match=message):
            tape.gradient(z, x, output_gradients=wrong)


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        (None, tf.constant(1.0), "`target` should be a list or nested structure"),
        (tf.constant(1.0), None, "with respect to None"),
        (tf.constant(1.0), [tf.constant(1.0), 3.0], "with respect to 3.0 of type 'float'"),
        ([tf.constant(1.0), 3.0], tf.constant(1.0), "differentiate 3.0 of type 'float'"),
    ],
)
def test_no_tensors(target, source, message):
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(TypeError, match=message):
        tape.gradient(target, source)


def test_integers_have_no_gradient(caplog):
    n = tf.constant(3)
    with tf.GradientTape(persistent=True) as tape, caplog.at_level(logging.WARNING, "tfx"):
        tape.watch(n)
        m = n * 2
        y = tf.cast(n, tf.float32)
        assert tape.gradient(m, n) is None
        assert tape.gradient(y, n) is None
    assert "watched tensor must be floating" in caplog.text


def test_watch_takes_tensors_only():
    with (
        tf.GradientTape() as tape,
        pytest.raises(ValueError, match=r"Passed in object 3\.0 of type 'float'"),
    ):
        tape.watch(3.0)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
def test_gradients_keep_the_dtype(dtype):
    x = tf.constant([1.0, 2.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    gradient = tape.gradient(y, x)
    assert gradient.dtype == dtype
    assert gradient.numpy().astype(float).tolist() == [2.0, 4.0]


def test_several_uses_add_up(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(4):
            y = y + x
    assert tape.gradient(y, x).numpy() == 5.0


def test_an_operator_without_rule_is_named(x, monkeypatch):
    from tfx.framework import rules

    monkeypatch.setattr(rules, "_rules", {k: v for k, v in rules._rules.items() if k != "Sin"})
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x)
    with pytest.raises(tf.errors.NotFoundError, match="No gradient defined for operator 'Sin'"):
        tape.gradient(y, x)
