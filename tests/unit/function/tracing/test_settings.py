"""Running the Python code instead of graphs."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.framework.context import using
from tfx.function.tracing.settings import functions_run_eagerly, run_functions_eagerly


@pytest.fixture
def eagerly():
    run_functions_eagerly(True)
    yield
    run_functions_eagerly(False)


def _counting():
    calls = []

    @tf.function
    def f(x):
        calls.append(tf.executing_eagerly())
        return x + 1

    return f, calls


def test_off_by_default():
    assert not functions_run_eagerly()
    f, calls = _counting()
    for _ in range(3):
        f(tf.constant(1))
    assert calls == [False]


def test_every_call_runs_the_python_code(eagerly):
    assert functions_run_eagerly()
    f, calls = _counting()
    assert [int(f(tf.constant(1))) for _ in range(3)] == [2, 2, 2]
    assert calls == [True, True, True]
    assert f.experimental_get_tracing_count() == 0


def test_functions_that_were_traced_already():
    f, calls = _counting()
    f(tf.constant(1))
    f(tf.constant(1))
    run_functions_eagerly(True)
    try:
        f(tf.constant(1))
        f(tf.constant(1))
    finally:
        run_functions_eagerly(False)
    f(tf.constant(1))
    assert calls == [False, True, True]


def test_in_a_context():
    f, calls = _counting()
    with using(eager_functions=True):
        f(tf.constant(1))
    f(tf.constant(1))
    assert calls == [True, False]


def test_python_values_stay_python_values(eagerly):
    f = tf.function(lambda x: type(x).__name__ and tf.constant(isinstance(x, int)))
    assert bool(f(3))
