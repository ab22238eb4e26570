"""How functions are called: the short way for one variable does what the general one does."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tfx as tf
from tfx.function.execution.strategies import OneVariableCall, PlainCall, ReadingCall, WritingCall


def _update(function, *args):
    function(*args)
    return function.get_concrete_function(*args)._strategy


def test_which_functions_have_it():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    x = tf.constant(1.0)
    assert isinstance(_update(tf.function(lambda a: v.assign_add(a)), x), OneVariableCall)
    assert isinstance(
        _update(tf.function(lambda a: v.assign(a)), x), OneVariableCall
    )  # only written
    assert type(_update(tf.function(lambda a: v.assign_add(a * w)), x)) is WritingCall
    assert type(_update(tf.function(lambda a: a * w), x)) is ReadingCall
    assert type(_update(tf.function(lambda a: a + 1.0), x)) is PlainCall
    stepped = _update(tf.function(lambda a: tf.print(v.assign_add(a))), x)
    assert stepped.plan is None  # it takes the way of all that write


def test_values_in_and_out_of_any_order():
    v = tf.Variable(2.0)
    f = tf.function(lambda a, b: (a - b, v.assign(v * b + a), {"b": b, "v": v.value()}))
    expected = 2.0
    for n in range(4):
        difference, new, rest = f(tf.constant(10.0 + n), tf.constant(3.0))
        expected = expected * 3.0 + 10.0 + n
        assert float(difference) == 7.0 + n
        assert float(new) == float(rest["v"]) == float(v) == expected
        assert float(rest["b"]) == 3.0


def test_what_was_returned_is_never_written_again():
    v = tf.Variable([0.0])
    f = tf.function(lambda a: v.assign_add(a))
    results = [f(tf.constant([1.0])) for _ in range(5)]
    np.testing.assert_array_equal([r.numpy()[0] for r in results], [1, 2, 3, 4, 5])


def test_a_failed_run_changes_nothing():
    v = tf.Variable(1.0)
    f = tf.function(lambda a, i: v.assign_add(tf.gather(a, i)))
    table = tf.constant([1.0, 2.0])
    for n in range(3):
        assert float(f(table, tf.constant(1))) == 3.0 + 2.0 * n
        with pytest.raises(tf.errors.InvalidArgumentError, match="test_strategies"):
            f(table, tf.constant(5))
        assert float(v) == 3.0 + 2.0 * n


def test_a_deleted_variable_is_named():
    holder = [tf.Variable(1.0, name="counter")]
    f = tf.function(lambda a: holder[0].assign_add(a))
    f(tf.constant(1.0))
    concrete = f.get_concrete_function(tf.constant(1.0))
    concrete.call_flat([tf.constant(1.0)])
    holder.clear()
    with pytest.raises(tf.errors.FailedPreconditionError, match="counter"):
        concrete.call_flat([tf.constant(1.0)])


def test_more_inputs_than_a_display_takes():
    v = tf.Variable(0.0)
    f = tf.function(lambda given: v.assign(v + sum((i + 1.0) * x for i, x in enumerate(given))))
    given = [tf.constant(float(i)) for i in range(40)]
    wanted = sum((i + 1.0) * i for i in range(40))
    assert [float(f(given)) for _ in range(3)] == [wanted, 2 * wanted, 3 * wanted]


def test_no_update_is_lost_between_threads():
    v = tf.Variable(0.0)
    f = tf.function(lambda a: v.assign_add(a))
    one = tf.constant(1.0)
    threads = [
        threading.Thread(target=lambda: [f(one) for _ in range(300)] and None) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert float(v) == 1200.0
