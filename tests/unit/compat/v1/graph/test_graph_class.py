"""``tf.Graph``: graphs of one's own and the graphs of functions."""

from __future__ import annotations

import pytest

import tfx as tf

v1 = tf.compat.v1


def test_every_graph_is_one() -> None:
    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0))
    wrapped = v1.wrap_function(lambda: tf.constant(1.0), [])
    for graph in (tf.Graph(), v1.Graph(), concrete.graph, wrapped.graph, v1.get_default_graph()):
        assert isinstance(graph, tf.Graph) and issubclass(type(graph), tf.Graph)
    assert not isinstance(3, tf.Graph)
    assert tf.Graph("mine").name == "mine"


def test_a_session_runs_a_graph_of_ones_own() -> None:
    with tf.Graph().as_default() as graph:
        x = graph.add_argument("x", 1, ())
        y = tf.square(x + 1.0, name="y")
    with v1.Session(graph=graph) as session:
        assert session.run("y:0", {x: 2.0}) == 9.0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must feed a value .* 'x'"):
            session.run(y)


def test_functions_are_made_of_parts_without_variables() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        y = tf.square(x, name="y")
        tf.multiply(y, tf.Variable(2.0, name="v"), name="z")
    assert float(tf.function_from_graph(graph, x, y)(3.0)) == 9.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="uses the variable 'v:0'"):
        tf.function_from_graph(graph, x, "z:0")
