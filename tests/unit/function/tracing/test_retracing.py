"""Why a function was traced: as an object, as a table, and as one warning."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import tfx as tf


class Params:
    pass


@pytest.fixture
def warnings(caplog):
    caplog.set_level(logging.WARNING, logger="tfx")
    return lambda: [r.getMessage() for r in caplog.records if "keeps being traced" in r.message]


def _reasons(f):
    return [(t.number, t.nearest, t.reason) for t in f.explain_retraces()]


def test_every_kind_of_difference():
    f = tf.function(lambda x, n=1: tf.constant(0))
    x = tf.ones([2])
    p, q = Params(), Params()
    steps = [
        ((x,), "the first call"),
        ((tf.ones([3]),), "x: shape float32[2] -> float32[3]"),
        ((tf.ones([3, 1]),), "x: rank float32[3] -> float32[3, 1]"),
        ((tf.ones([3], tf.int32),), "x: dtype float32 -> int32"),
        ((x, 2), "n: number 1 -> 2"),
        ((x, 2.0), "n: type 2 -> 2.0"),
        ((x, "a"), "n: type 2.0 -> 'a'"),
        ((x, "b"), "n: value 'a' -> 'b'"),
        ((x, p), f"n: type 'b' -> {p and '<Params at 0x'}"),
        ((x, q), "n: object <Params at 0x"),
        (([x], q), "x: type float32[2] -> list of 1"),
        (([x, x], q), "x: length list of 1 -> list of 2"),
        (([x, [x]], q), "x[1]: type float32[2] -> list of 1"),
        (({"k": x}, q), "x: structure list of 2 -> dict of 1 ['k']"),
        (({"k": [1]}, q), "x['k']: type float32[2] -> list of 1"),
        (({"k": [2]}, q), "x['k'][0]: number 1 -> 2"),
    ]
    for args, _ in steps:
        f(*args)
    explanation = f.explain_retraces()
    assert len(explanation) == len(steps)
    for number, (trace, (_, reason)) in enumerate(zip(explanation, steps, strict=True), 1):
        assert trace.number == number
        assert trace.reason.startswith(reason), trace
        assert "test_retracing.py" in trace.where
    assert explanation[0].nearest is None
    assert explanation[4].nearest == 1
    assert explanation[4].differences[0].argument == "n"
    assert "tf.constant" in explanation[4].differences[0].advice
    assert [t.number for t in explanation[-2:]] == [15, 16]


def test_the_table():
    f = tf.function(lambda x, training: x)
    assert str(f.explain_retraces()) == "lambda was not traced yet."
    f(tf.ones([2]), False)
    f(tf.ones([3]), True)
    lines = str(f.explain_retraces()).split("\n")
    assert lines[0] == "lambda: 2 traces"
    assert lines[1].split()[:4] == ["trace", "nearest", "argument", "difference"]
    assert "the first call" in lines[2]
    assert "shape: float32[2] -> float32[3]" in lines[3]
    assert "reduce_retracing=True" in lines[3]
    assert "training" in lines[4]
    assert "False -> True" in lines[4]
    assert lines[3].index("x  ") == lines[4].index("training")
    assert repr(f.explain_retraces()) == "<Explanation of 2 traces of lambda>"


def test_the_nearest_trace_is_the_one_with_the_fewest_differences():
    f = tf.function(lambda x, a, b: x)
    f(tf.ones([1]), 1, 1)
    f(tf.ones([2]), 2, 2)
    f(tf.ones([1]), 1, 2)
    assert [t.nearest for t in f.explain_retraces()] == [None, 1, 1]
    assert len(f.explain_retraces()[1].differences) == 3


def test_device_scopes_and_created_variables():
    state = []

    @tf.function
    def f(x):
        if not state:
            state.append(tf.Variable(1.0))
        return x * state[0]

    f(tf.constant(1.0))
    assert _reasons(f) == [
        (1, None, "the first call"),
        (2, 1, "the first call created variables: this is what later calls do"),
    ]
    f(tf.constant([1.0]))
    assert _reasons(f)[2] == (3, 1, "x: rank float32[] -> float32[1]")


def test_a_function_whose_trace_went_with_its_variable():
    class Holder:
        v = tf.Variable(1.0)

    f = tf.function(lambda: Holder.v + 1.0)
    f()
    Holder.v = tf.Variable(2.0)
    f()
    assert _reasons(f)[1] == (2, 1, "an earlier trace of this kind is gone")


# The warning


def test_it_names_the_argument_and_the_remedy_once(warnings):
    f = tf.function(lambda x, step: x * float(step))
    x = tf.constant(1.0)
    for step in range(4):
        f(x, step)
    assert warnings() == []
    for step in range(4, 12):
        f(x, step)
    (text,) = warnings()
    assert "tfx.function lambda keeps being traced" in text
    assert "The argument 'step' had another number each time: 0, 1, 2, 3, 4" in text
    assert "pass it as a tensor" in text
    assert "test_retracing.py" in text


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([tf.ones([n]) for n in range(6)], "'x' had another shape.*reduce_retracing=True"),
        ([[1] * n for n in range(6)], "'x' had another length.*stack the items"),
        ([{"k": n} for n in range(6)], r"x\['k'\].*had another number"),
    ],
    ids=["shapes", "lengths", "numbers"],
)
def test_remedies(calls, words, warnings):
    import re

    f = tf.function(lambda x: tf.constant(0))
    for x in calls:
        f(x)
    (text,) = warnings()
    assert re.search(words, text)


def test_objects_made_anew(warnings):
    f = tf.function(lambda p: tf.constant(0))
    for _ in range(6):
        f(Params())
    assert "'p' had another object each time" in warnings()[0]


def test_variables_passed_one_after_another(warnings):
    f = tf.function(lambda v: v.assign_add(1.0))
    variables = [tf.Variable(float(i)) for i in range(6)]
    for v in variables:
        f(v)
    (text,) = warnings()
    assert "'v' had another variable each time" in text
    assert "in one call" in text
    assert "__eq__" not in text
    assert [v.numpy() for v in variables] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert f.explain_retraces()[1].differences[0].kind == "variable"


def test_traces_that_are_used_are_no_reason(warnings):
    f = tf.function(lambda x: x + 1.0)
    for _ in range(3):
        for n in range(20):
            f(tf.ones([n]))
            f(tf.ones([n]))
    g = tf.function(lambda x: x + 1.0)
    for n in range(20):
        g.get_concrete_function(tf.TensorSpec([n]))
    assert warnings() == []


def test_it_goes_through_the_logger():
    code = (
        "import tfx as tf\n"
        "f = tf.function(lambda n: tf.constant(n))\n"
        "for n in range(9): f(n)\n"
        "tf.get_logger().setLevel('ERROR')\n"
        "g = tf.function(lambda n: tf.constant(n))\n"
        "for n in range(9): g(n)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("keeps being traced") == 1
    assert done.stdout == ""
