"""Misuse of tensors without contents: the user's line, what happened, and the ways out."""

from __future__ import annotations

import copy
import math
import operator
import pickle

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError, LeakedTensorError, OperatorNotAllowedInGraphError
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph

FLOAT, INT64 = 1, 7


@pytest.fixture
def graph():
    graph = FuncGraph("f")
    with using(graph=graph):
        yield graph


@pytest.mark.parametrize(
    ("misuse", "what", "ways_out"),
    [
        (bool, "Python bool", ["tfx.where", "out of the function"]),
        (int, "Python int", ["tfx.cast", "Python argument"]),
        (float, "Python float", ["tfx.cast", "Python argument"]),
        (complex, "Python complex", ["tfx.cast"]),
        (operator.index, "Python index", ["tfx.gather", "slicing"]),
        (len, "len", [r"tensor\.shape\[0\]", "tfx.shape"]),
        (list, "Iterating", ["the whole tensor", "tf.unstack"]),
        (np.asarray, "NumPy array", ["tfx operations", "out of the function"]),
        (np.sum, "NumPy array", ["tfx operations"]),
        (math.sqrt, "Python float", ["tfx.cast"]),
        (lambda x: x.numpy(), r"numpy\(\)", ["run_functions_eagerly", "Return"]),
        (lambda x: [1, 2][x], "Python index", ["tfx.gather"]),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_misuse(misuse, what, ways_out, graph):
    x = graph.add_argument("x", INT64, (None,))
    with pytest.raises(OperatorNotAllowedInGraphError, match=what) as caught:
        misuse(x)
    text = str(caught.value)
    assert "test_symbolic_tensor.py" in text
    assert "<tf.Tensor 'x:0' shape=(None,) dtype=int64>" in text
    for way in ways_out:
        assert caught.match(way)
    assert isinstance(caught.value, TypeError)


def test_the_line_is_the_users(graph):
    x = graph.add_argument("x", FLOAT, ())

    def model():
        if x:  # the line
            return 1

    with pytest.raises(OperatorNotAllowedInGraphError, match="in model") as caught:
        model()
    line = model.__code__.co_firstlineno + 1
    assert f"test_symbolic_tensor.py:{line} in model" in str(caught.value)


@pytest.mark.parametrize("shape", [(2, None), (), None], ids=str)
def test_not_even_known_lengths_are_iterated(shape, graph):
    x = graph.add_argument("x", FLOAT, shape)
    with pytest.raises(OperatorNotAllowedInGraphError, match="Iterating over a symbolic Tensor"):
        iter(x)


def test_facts(graph):
    x = graph.add_argument("x", FLOAT, ("batch", "x.d1", 3))
    assert x.shape.as_list() == [None, None, 3]
    assert x.shape.symbolic == ("batch", "x.d1", 3)
    assert (x.name, x.graph, x.device, x.ndim) == ("x:0", graph, "", 3)
    y = tf.split(x, 3, axis=2)[1]
    assert y.name.endswith(":1")
    assert repr(graph.add_argument("u", FLOAT, None)) == (
        "<tf.Tensor 'u:0' shape=<unknown> dtype=float32>"
    )


def test_set_shape_narrows(graph):
    x = graph.add_argument("x", FLOAT, None)
    x.set_shape([None, 3])
    x.set_shape([2, None])
    assert x.shape == [2, 3]
    assert tf.transpose(x).shape == [3, 2]
    with pytest.raises(ValueError, match="not compatible"):
        x.set_shape([5, 3])


def test_no_pickles_and_one_identity(graph):
    x = graph.add_argument("x", FLOAT, ())
    assert copy.deepcopy(x) is x
    with pytest.raises(InvalidArgumentError, match="cannot be pickled"):
        pickle.dumps(x)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_use_after_the_trace():
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", FLOAT, ())
        y = x + 1.0
    with pytest.raises(LeakedTensorError, match=r"<tf.Tensor 'add:0'.*'f'.*leaked.*Variable"):
        y + 1.0
    with pytest.raises(LeakedTensorError, match="leaked"):
        tf.sin(y)


def test_use_in_another_trace():
    first, second = FuncGraph("first"), FuncGraph("second")
    with using(graph=first):
        x = first.add_argument("x", FLOAT, ())
    with (
        using(graph=second),
        pytest.raises(LeakedTensorError, match=r"'first' and cannot be used in 'second'"),
    ):
        x + 1.0


def test_a_tensor_of_an_inner_trace_leaks_into_the_outer_one(graph):
    inner = FuncGraph("inner", parent=graph)
    with using(graph=inner):
        y = inner.add_argument("x", FLOAT, ()) + 1.0
    with pytest.raises(LeakedTensorError, match="'inner' and cannot be used in 'f'"):
        y + 1.0
