"""Which traces live: those whose objects and variables do, and no more than the limit."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import FailedPreconditionError


class Params:
    def __init__(self, scale=2.0):
        self.scale = scale


class Key:
    """Equal by value."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Key) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


@pytest.fixture
def limit():
    before = tf.config.experimental.get_function_trace_limit()
    yield tf.config.experimental.set_function_trace_limit
    tf.config.experimental.set_function_trace_limit(before)


# Objects that go by identity


WRAPS = {"bare": lambda p: p, "list": lambda p: [p], "dict": lambda p: {"k": (p, None)}}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_a_trace_ends_with_the_object_it_was_made_for(wrap):
    f = tf.function(lambda x, p: x * next(i for i in tf.nest.flatten(p) if i).scale)
    p, q = Params(2.0), Params(3.0)
    x = tf.constant(1.0)
    for _ in range(3):  # so that every short cut has seen them
        assert [float(f(x, wrap(p))), float(f(x, wrap(q)))] == [2.0, 3.0]
    assert f.experimental_get_tracing_count() == 2
    first = weakref.ref(f.concrete_functions[0])
    alive = weakref.ref(p)
    del p
    assert alive() is None
    assert first() is None
    assert len(f.concrete_functions) == 1
    assert float(f(x, wrap(q))) == 3.0
    assert f.experimental_get_tracing_count() == 2


def test_nothing_else_keeps_an_object_alive():
    """Not the signature, its texts, the explanation, nor an error about it."""
    f = tf.function(lambda x, p, q=None: x * p.scale)
    p, q = Params(), Params()
    concrete = f.get_concrete_function(tf.constant(1.0), p, q)
    assert concrete.structured_input_signature[0][1] is p
    f(tf.constant(1.0), p, q)
    f(tf.constant(1.0), p, q)
    assert "Params" in str(f.explain_retraces()) + concrete.pretty_printed_signature()
    with pytest.raises(TypeError, match=r"fixed to .*Params"):
        concrete(tf.constant(1.0), q)
    alive = weakref.ref(p)
    del p
    gc.collect()
    assert alive() is None
    assert float(concrete(tf.constant(3.0))) == 6.0  # the program has this trace itself
    assert "Params object that is gone" in repr(concrete)
    assert "Params object that is gone" in concrete.pretty_printed_signature()
    with pytest.raises(TypeError, match="fixed to <Params object that is gone>"):
        concrete(tf.constant(1.0), Params())


def test_methods_of_objects_do_not_keep_them_alive():
    class Scale(Params):
        def times(self, x):
            return x * self.scale

        @tf.function
        def traced(self, x):
            return x * self.scale

    f = tf.function(lambda x, g: g(x))
    x = tf.constant(3.0)
    a, b = Scale(2.0), Scale(5.0)
    for g in (a.times, b.times, a.times, a.traced, a.traced, b.traced):
        assert float(f(x, g)) == 3.0 * g.__self__.scale
    assert f.experimental_get_tracing_count() == 4
    alive = weakref.ref(a)
    del a, g
    gc.collect()
    assert alive() is None
    assert len(f.concrete_functions) == 2
    assert float(f(x, b.times)) == 15.0
    assert f.experimental_get_tracing_count() == 4


def test_values_are_kept_by_equality():
    """Equal objects share a trace, also when the first of them is gone."""
    f = tf.function(lambda x, k: x * k.value)
    for _ in range(3):
        assert float(f(tf.constant(2.0), Key(3.0))) == 6.0
    assert f.experimental_get_tracing_count() == 1


def test_variables_as_arguments():
    f = tf.function(lambda v: v.assign_add(1.0))
    v = tf.Variable(1.0)
    assert [float(f(v)), float(f(v))] == [2.0, 3.0]
    alive = weakref.ref(v)
    del v
    gc.collect()
    assert alive() is None
    assert f.concrete_functions == []
    assert f.variables == ()


# Variables


class Holder:
    def __init__(self):
        self.v = tf.Variable(2.0, name="mine")


def test_a_trace_ends_with_its_variable():
    holder, other = Holder(), Holder()
    f = tf.function(lambda x, which: x * (holder if which else other).v)
    x = tf.constant(3.0)
    for _ in range(12):  # long enough to be frozen
        assert float(f(x, True)) == float(f(x, False)) == 6.0
    concrete = f.get_concrete_function(x, True)
    traces = [weakref.ref(c) for c in f.concrete_functions]
    holder.v = None
    assert len(f.concrete_functions) == 1
    with pytest.raises(FailedPreconditionError, match=r"'mine:0'.*was deleted"):
        concrete(x)
    del concrete
    assert [r() is None for r in traces] == [True, False]
    with pytest.raises(
        FailedPreconditionError, match=r"'mine:0'.*deleted.*ConversionError.*None.*Keep a ref"
    ):
        f(x, True)
    assert float(f(x, False)) == 6.0


def test_a_variable_in_the_place_of_a_deleted_one_is_found():
    holder = Holder()
    f = tf.function(lambda x: x * holder.v)
    x = tf.constant(3.0)
    assert [float(f(x)), float(f(x))] == [6.0, 6.0]
    holder.v = tf.Variable(5.0)
    assert float(f(x)) == 15.0
    assert f.experimental_get_tracing_count() == 2


# How many


def test_the_least_recently_used_trace_goes(limit):
    limit(3)
    f = tf.function(lambda x: x + 1.0)
    sizes = [tf.zeros([n]) for n in range(6)]
    f(sizes[0])
    f(sizes[1])
    f(sizes[2])
    gone = weakref.ref(f.concrete_functions[1])
    for _ in range(3):
        f(sizes[0])
        f(sizes[2])
    f(sizes[3])  # in the place of size 1
    assert gone() is None
    assert f.experimental_get_tracing_count() == 4
    for _ in range(3):
        f(sizes[2])
        f(sizes[0])
    f(sizes[4])  # in the place of size 3
    f(sizes[0])
    f(sizes[2])
    assert f.experimental_get_tracing_count() == 5
    f(sizes[1])
    assert f.experimental_get_tracing_count() == 6
    assert len(f.concrete_functions) == 3


def test_sessions_go_with_their_traces(limit):
    limit(2)
    f = tf.function(lambda x: x @ x)
    sessions = []
    for n in range(1, 6):
        f(tf.zeros([n, n]))
        sessions.append(weakref.ref(f.concrete_functions[-1]._program.plan))
    assert [s() is None for s in sessions] == [True, True, True, False, False]


def test_concrete_functions_of_the_program_live_on(limit):
    limit(1)
    f = tf.function(lambda x: x + 1.0)
    first = f.get_concrete_function(tf.TensorSpec([1]))
    f(tf.zeros([2]))
    assert first(tf.zeros([1])).numpy() == 1.0
    assert f.concrete_functions != [first]


def test_no_limit(limit):
    limit(None)
    f = tf.function(lambda x: x + 1.0)
    for n in range(20):
        f.get_concrete_function(tf.TensorSpec([n]))
    assert len(f.concrete_functions) == 20


def test_wrong_limits(limit):
    with pytest.raises(ValueError, match="at least one trace; got the limit 0"):
        limit(0)
    for wrong in (1.5, True, "many"):
        with pytest.raises(TypeError, match="takes an int or None"):
            limit(wrong)
    assert tf.config.experimental.get_function_trace_limit() == 256


def test_general_traces_are_found_under_many_keys(limit):
    limit(4)
    f = tf.function(lambda x: x * 2.0)
    f.get_concrete_function(tf.TensorSpec([None]))
    for n in range(10):
        np.testing.assert_array_equal(f(tf.ones([n])), np.full(n, 2.0))
    assert f.experimental_get_tracing_count() == 1
    assert len(f.concrete_functions) == 1
