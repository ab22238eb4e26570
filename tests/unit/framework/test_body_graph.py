"""Bodies under construction: outer values, constants, variables."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.framework.body_graph import BodyGraph, LoopGraph
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import SymbolicTensor


@pytest.fixture
def outer():
    return FuncGraph("outer")


def test_outer_tensors_are_their_own_values(outer):
    x = outer.add_argument("x", tf.float32.onnx, (2,))
    inner = BodyGraph("inner", BodyGraph("body", outer))
    assert inner.value_of(x) is x._symbol
    assert inner.outer[id(x._symbol)][1] is x
    assert inner.graph.inputs == []


def test_constants_belong_to_the_function(outer):
    body = BodyGraph("body", outer)
    one = body.constant(np.array(1, np.int32), tf.int32.onnx)
    assert outer.graph.constants == [one]
    assert outer.constant(np.array(1, np.int32), tf.int32.onnx) is one
    half = body.constant(np.array(0.5, np.float32), tf.float32.onnx)
    assert outer.graph.constants == [one, half]
    # A derivative may be taken by one of them, and not by the other.
    assert outer.constant(np.array(0.5, np.float32), tf.float32.onnx) is not half
    eager = tf.constant(2.0)
    assert body.value_of(eager) is outer.value_of(eager)


def test_a_branch_reads_the_current_value_outside(outer):
    v = tf.Variable(1.0)
    body = BodyGraph("body", outer)
    before = outer.read(v)
    assert body.read(v)._symbol is before._symbol
    body.assign(v, body.read(v))
    assert body.read(v)._symbol is not before._symbol
    assert outer.read(v)._symbol is before._symbol
    assert [s.variable() for s in body.written_states()] == [v]


def test_a_loop_has_an_input_for_each_variable(outer):
    v = tf.Variable(1.0)
    loop = LoopGraph("loop", outer)
    inside = loop.read(v)._symbol
    assert inside is not outer.read(v)._symbol
    assert BodyGraph("branch", loop).read(v)._symbol is inside
    assert loop.entries[id(v)] == (inside, v)


def test_tensors_of_a_body_stay_there(outer):
    body = BodyGraph("then", outer)
    made = body.add_argument("y", tf.float32.onnx, ())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"made in 'then'.*Return it"):
        outer.value_of(made)
    with pytest.raises(tf.errors.InvalidArgumentError, match="made in 'then'"):
        BodyGraph("else", outer).value_of(SymbolicTensor(made._symbol, body))
