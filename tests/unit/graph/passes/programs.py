"""Random programs with much that repeats and much that is constant, as graphs of legal kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

import tfx as tf
from tfx.graph.ir import Graph
from tfx.graph.kernels.legalize import legalize
from tfx.graph.serialization.serialize import to_model
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

_UNARY = (tf.exp, tf.sin, tf.tanh, tf.nn.relu, tf.square, tf.negative, tf.nn.sigmoid, tf.abs)
_BINARY = (tf.add, tf.multiply, tf.subtract, tf.maximum, tf.minimum)


def random_graph(seed: int) -> Graph:
    """A graph from ``x`` (of a first dimension that varies) and ``y`` of shape ``[3]``."""
    rng = np.random.default_rng(seed)

    @tf.function(autograph=False)
    def called(a: Any) -> Any:
        return tf.sin(a) * tf.constant([1.0, 2.0, 3.0]) + tf.sin(a)

    def expression(values: list[Any]) -> Any:
        kind = rng.integers(9)
        a, b = (values[i] for i in rng.integers(len(values), size=2))
        if kind < 3:
            return _UNARY[rng.integers(len(_UNARY))](a)
        if kind < 5:
            return _BINARY[rng.integers(len(_BINARY))](a, b)
        if kind == 5:  # shapes, which are known in part
            size = tf.shape(a)[-1] * 2 - tf.shape(b)[-1]
            return tf.reshape(a, tf.shape(a)) * tf.cast(size, tf.float32) * tf.ones([size])
        if kind == 6:  # constants
            return a + tf.exp(tf.constant(0.5 * rng.integers(3), tf.float32) * tf.ones([3]))
        if kind == 7:
            return tf.where(a > 0.5, called(a), b + 0.0 * a)
        return b * tf.reduce_sum(a, -1, keepdims=True) / (1.0 + tf.abs(tf.reduce_sum(b)))

    def block(values: list[Any], count: int) -> list[Any]:
        values = list(values)
        for _ in range(count):
            values.append(expression(values))
        return values

    def program(x: Any, y: Any) -> list[Any]:
        values = block([x, y], 8)
        chosen = tf.cond(
            tf.reduce_sum(x) > 0.0,
            lambda: tf.reduce_sum(block(values, 5)[-1]) + tf.reduce_sum(tf.exp(values[3])),
            lambda: tf.reduce_mean(block(values, 5)[-1]),
        )
        _, looped = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, z: (i + 1, z * 0.5 + tf.reduce_mean(block([*values, z], 4)[-1]) * y),
            (tf.constant(0), y),
        )
        values = block([*values, looped, chosen * y], 6)
        return [values[i] for i in rng.integers(len(values), size=4)] + [chosen, looped]

    concrete = tf.function(program, autograph=False).get_concrete_function(
        tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([3], tf.float32)
    )
    return legalize(concrete.graph.graph)


def run(graph: Graph) -> list[np.ndarray[Any, Any]]:
    """What a graph gives, without any optimization by ONNX Runtime."""
    rng = np.random.default_rng(0)
    given = [rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)]
    names = [f"out{i}" for i in range(len(graph.outputs))]
    model = to_model(graph, input_names=["x", "y"], output_names=names)
    session = Session(model.SerializeToString(), optimize=False)
    found = session.run(dict(zip(("x", "y"), map(from_numpy, given), strict=True)))
    return [np.array(to_numpy(found[i])) for i in range(len(names))]
