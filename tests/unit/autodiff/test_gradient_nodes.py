"""What a gradient adds to a graph: no more nodes and constants than it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from bench.peers import networks, tensorflow_networks
from tfx.framework.func_graph import FuncGraph
from tfx.graph.ir import Graph


def traced(function: Callable[..., Any], *specs: Any) -> Graph:
    graph: Graph = tf.function(function).get_concrete_function(*specs).graph.graph
    return graph


def test_a_scalars_own_gradient_is_taken_as_it_is() -> None:
    def gradient(x: Any, dy: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.exp(x)
        return tape.gradient(y, x, output_gradients=dy)

    scalar = tf.TensorSpec([], tf.float32)
    assert [n.op for n in traced(gradient, scalar, scalar).nodes] == ["Exp", "Mul"]


def test_numbers_of_rules_are_shared_and_the_users_are_not() -> None:
    def gradient(x: Any, y: Any) -> Any:
        two = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch([x, y, two])
            z = x * x + y * y + two
        return tape.gradient(z, [x, y, two])

    scalar = tf.TensorSpec([], tf.float32)
    graph = traced(gradient, scalar, scalar)
    twos = [v for v in graph.constants if v.const is not None and v.const.tolist() == 2]
    assert len(twos) == 2
    users = [[n.name for n in graph.nodes if v in n.inputs] for v in twos]
    assert sorted(map(len, users)) == [1, 2]  # of the sum, and of both squares' gradients


@pytest.mark.parametrize(("value", "other"), [(0.0, -0.0), (1.0, 1), (float("nan"), 0.0)])
def test_numbers_that_differ_are_two(value: float, other: float) -> None:
    graph = FuncGraph("f")
    made = [graph.scalar(v, 1, np.float32) for v in (value, other, value)]
    assert made[0] is made[2]
    assert (made[0] is made[1]) == (repr(value) == repr(other))
    assert graph.scalar(value, 11, np.float64) is not made[0]


@pytest.mark.parametrize(("name", "most"), [("mlp", 1.8), ("block", 1.9), ("attention", 2.2)])
def test_backward_nodes_over_forward_nodes(name: str, most: float) -> None:
    """What tracing a gradient takes beside tracing the loss grows with them."""
    arrays = networks.arrays(name)
    inputs = [tf.TensorSpec(a.shape) for a in arrays[0]]
    variables = [tf.Variable(a) for a in arrays[1]]
    loss = tensorflow_networks.LOSSES[name](tf)
    pure = (
        tf.function(lambda *given: loss(*given, *variables))
        .get_concrete_function(*inputs)
        ._observed.make_pure()
    )
    pair = pure.pair(tuple(i >= len(inputs) for i in range(len(pure.graph.inputs))))
    (backward,) = pair._backward.values()
    assert backward is not None
    assert len(backward.function.graph.nodes) <= most * len(pure.graph.nodes)


def test_numbers_of_rules_in_bodies_are_the_functions() -> None:
    def gradient(x: Any) -> Any:
        def body(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            return tape.gradient(y, x)

        return tf.while_loop(lambda x: x < 100.0, body, (x,))[0]

    graph = traced(gradient, tf.TensorSpec([], tf.float32))
    assert [v for part in graph.subgraphs() for v in part.constants] == []
    assert float(tf.function(gradient)(tf.constant(3.0))) == 192.0
