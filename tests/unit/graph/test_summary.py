"""Numbers about graphs."""

from __future__ import annotations

import numpy as np

import tfx as tf
from tfx.graph.summary import summarize


def traced(function, *specs):
    return tf.function(function).get_concrete_function(*specs).graph


def test_counts_dimensions_and_sizes():
    table = tf.Variable(np.zeros((4, 8), np.float32))
    big = np.ones((16, 8), np.float32)

    def f(x):
        return tf.nn.relu(tf.matmul(x, table)) + tf.matmul(tf.ones([2, 16]), big)[:1] * 2.0

    summary = traced(f, tf.TensorSpec(["batch", 4], tf.float32)).summary()
    assert summary.dimensions == ("batch",)
    assert (summary.inputs, summary.outputs) == (2, 1)
    assert summary.operators["MatMul"] == 2
    assert summary.operators["Relu"] == 1
    assert summary.variable_bytes == 4 * 4 * 8
    assert summary.constant_bytes >= 16 * 8 * 4
    assert summary.nodes == sum(summary.operators.values())
    assert list(summary.operators.values()) == sorted(summary.operators.values(), reverse=True)
    assert summary.unknown_values == 3  # what depends on the batch
    sizes = [size for _, size in summary.largest]
    assert sizes == sorted(sizes, reverse=True)


def test_called_graphs_count_for_each_call():
    @tf.function
    def inner(x):
        return tf.sin(x) * x

    def outer(x):
        return inner(inner(inner(x)))

    summary = traced(outer, tf.TensorSpec([], tf.float32)).summary()
    assert summary.operators == {"Mul": 3, "Sin": 3}
    assert summary.calls == {"inner": 3}


def test_the_table_and_the_difference():
    graph = traced(lambda x: tf.nn.relu(x * x), tf.TensorSpec([2], tf.float32))
    before = graph.summary()
    text = str(before)
    for part in ("2 nodes", "Relu", "Mul", "operators", "16 bytes"):
        assert part in text
    after = summarize(tf.function_from_graph(graph, "x:0", "mul:0").graph.graph)
    assert "Relu" in before.changes(after)
    assert before.changes(before) == "no difference"
