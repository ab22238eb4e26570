"""A graph under construction: what it captures, which constants it shares, variables as values."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import FailedPreconditionError
from tfx.framework.context import using
from tfx.framework.func_graph import Assigned, FuncGraph

FLOAT = 1


@pytest.fixture
def graph():
    graph = FuncGraph("f")
    with using(graph=graph):
        yield graph


def test_small_equal_constants_are_one(graph):
    a, b = tf.constant([1, 2]), tf.constant([1, 2])
    assert a is not b
    assert a._symbol is b._symbol
    assert tf.constant([1, 2], tf.int64)._symbol is not a._symbol
    assert tf.constant([[1, 2]])._symbol is not a._symbol
    assert tf.constant(0.0)._symbol is not tf.constant(-0.0)._symbol


def test_eager_tensors_become_constants_once():
    x, y = tf.constant([1.0]), tf.constant([1.0])
    graph = FuncGraph("f")
    with using(graph=graph):
        results = [x + x, x * 1.0, y + x]
    assert [t for t, _ in graph.captured_eager.values()] == [x, x, y][1:]
    assert all(r.graph is graph for r in results)


def test_tensors_of_an_enclosing_function_are_captured(graph):
    x = graph.add_argument("x", FLOAT, ("n", 3))
    inner = FuncGraph("inner", parent=graph)
    innermost = FuncGraph("innermost", parent=inner)
    with using(graph=inner):
        y = x + x
    with using(graph=innermost):
        z = x * y
    assert y.shape.symbolic == z.shape.symbolic == ("n", 3)
    assert [t for t, _ in inner.captured.values()] == [x]
    assert [t for t, _ in innermost.captured.values()] == [x, y]
    assert len(inner.graph.inputs) == 1


def test_a_variable_is_its_current_value(graph):
    v = outside(lambda: tf.Variable(1.0))
    first = v.value()
    assert v.value()._symbol is first._symbol
    v.assign(first + 1.0)
    second = v.value()
    assert second._symbol is not first._symbol
    state = graph.state_of(v)
    assert state.entry is first._symbol
    assert state.current is second._symbol
    assert graph.written_states() == graph.read_states() == [state]
    assert isinstance(second._symbol.node.tag, Assigned)


def outside(make):
    with tf.init_scope():
        return make()


def test_written_before_read(graph):
    v = outside(lambda: tf.Variable(1.0))
    v.assign(2.0)
    v.value()
    assert graph.state_of(v).entry is None
    assert graph.graph.inputs == []


def test_states_that_were_read_are_in_the_order_of_the_inputs(graph):
    with using(graph=None):
        known, other = tf.Variable(1.0), tf.Variable(2)
    graph.state_of(known)  # as of a branch that assigned it, whose gradient reads it later
    graph.read(other)
    graph.read(known)
    states = graph.read_states()
    assert [s.variable() is v for s, v in zip(states, (other, known), strict=True)] == [True, True]
    assert [s.entry for s in states] == list(graph.graph.inputs)


def test_states_are_weak(graph):
    v = outside(lambda: tf.Variable(1.0, name="w"))
    state = graph.state_of(v)
    del v
    gc.collect()
    with pytest.raises(FailedPreconditionError, match=r"'w:0'.*was deleted.*Module"):
        state.variable()


def test_a_new_variable_at_an_old_address_has_its_own_state(graph):
    v = outside(lambda: tf.Variable(1.0))
    state = graph.state_of(v)
    other = outside(lambda: tf.Variable(2.0))
    graph.states[id(other)] = state  # as if v had been freed and its address taken
    assert graph.state_of(other) is not state


def test_no_variables_on_later_traces(graph):
    with pytest.raises(ValueError, match=r"singleton tf\.Variables.*'f'.*'w:0'"):
        tf.Variable(1.0, name="w")


def test_created_variables_belong_to_the_innermost_function():
    outer = FuncGraph("outer")
    inner = FuncGraph("inner", parent=outer)
    inner.created_variables = []
    body = FuncGraph("branch", parent=inner)
    body.created_variables, body.is_body = [], True
    with using(graph=body):
        v = tf.Variable(1.0)
    assert body.created_variables[0] is inner.created_variables[0] is v
    assert outer.created_variables is None
    inner.created_variables = None
    with using(graph=body), pytest.raises(ValueError, match="'inner'"):
        tf.Variable(1.0)


def test_no_contents_while_tracing(graph):
    graph.created_variables = []
    x = graph.add_argument("x", FLOAT, ())
    with pytest.raises(FailedPreconditionError, match=r"initial value.*Pass a callable"):
        tf.Variable(x)


def test_large_constants_are_not_copied():
    x = tf.constant(np.zeros(100_000, np.float32))
    graph = FuncGraph("f")
    with using(graph=graph):
        value = graph.value_of(x)
    assert value.const.ctypes.data == x.view().ctypes.data
