"""``placement("/GPU:0")`` without a GPU: what would run there, what not, what would be copied."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.graph.ir import Graph, Node
from tfx.graph.kernels.cuda_kernels import has_cuda_kernel, host_inputs

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def predicted(function: Callable[..., Any], *specs: Any) -> Any:
    return tf.function(function).get_concrete_function(*specs).placement("/GPU:0")


def providers(table: Any) -> dict[str, str]:
    return {row.op: row.provider for row in table}


def test_a_network_runs_on_the_gpu() -> None:
    w = tf.Variable(tf.ones([3, 3, 3, 8]))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME")) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    table = predicted(step, tf.TensorSpec([2, 8, 8, 3]))
    assert table.predicted
    assert (table.device, table.devices) == ("GPU:0", ("GPU:0",))
    found = providers(table)
    assert found["Conv"] == found["Relu"] == found["Transpose"] == CUDA
    assert str(table).splitlines()[0].endswith("on GPU:0 (predicted)")


def test_what_has_no_kernel_is_copied_there_and_back() -> None:
    def f(x: Any) -> Any:
        y = tf.exp(x)
        return tf.cos(tf.raw.Asinh(y))  # has no kernel

    table = predicted(f, tf.TensorSpec([100]))
    assert providers(table) == {
        "Exp": CUDA,
        "Asinh": CPU,
        "Cos": CUDA,
        "MemcpyToHost": CUDA,
        "MemcpyFromHost": CUDA,
    }
    (lacking,) = table.on_host
    assert lacking.op == "Asinh"
    assert lacking.why == "no CUDA kernel is known for Asinh-9 of float32"
    assert [(row.op, row.why) for row in table.copies] == [
        ("MemcpyToHost", "400 bytes"),
        ("MemcpyFromHost", "400 bytes"),
    ]


def test_types_count() -> None:
    table = predicted(lambda x: tf.nn.relu(x) + 1.0, tf.TensorSpec([4]))
    assert not table.on_host
    table = predicted(lambda x: tf.cast(x, tf.bool) | tf.constant([True]), tf.TensorSpec([4]))
    assert not table.on_host
    table = predicted(lambda x: tf.clip_by_value(x, 1, 3), tf.TensorSpec([4], tf.int32))
    assert table.on_host


def test_shapes_stay_on_the_host_without_copies() -> None:
    def f(x: Any) -> Any:
        return tf.reshape(tf.exp(x), [tf.shape(x)[0] * 2, -1])

    table = predicted(f, tf.TensorSpec([None, 4]))
    found = providers(table)
    assert found["Exp"] == found["Reshape"] == CUDA
    assert {row.why for row in table.on_host} == {"computes with shapes, which are on the host"}
    assert not table.copies


def test_copies_of_unknown_size_and_of_results() -> None:
    table = predicted(lambda x: tf.raw.Asinh(x), tf.TensorSpec([None]))
    assert [row.op for row in table.copies] == ["MemcpyToHost", "MemcpyFromHost"]
    assert {row.why for row in table.copies} == {"bytes that only a run tells"}


def test_bodies_of_loops() -> None:
    def f(x: Any) -> Any:
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: [tf.exp(y)], [x])

    table = predicted(f, tf.TensorSpec([3]))
    found = providers(table)
    assert found["Loop"] == found["Exp"] == CUDA
    assert "MemcpyToHost" in found  # whether it goes on is decided on the host


def test_called_functions_and_all_traces() -> None:
    inner = tf.function(lambda x: tf.raw.Asinh(x))
    outer = tf.function(lambda x: inner(x) + 1.0)
    outer(tf.ones([2]))
    outer(tf.ones([3]))
    tables = outer.placement("/GPU:0")
    assert len(tables) == 2
    assert all([row.op for row in table.on_host] == ["Asinh"] for table in tables)


def test_what_python_does_is_between() -> None:
    def f(x: Any) -> Any:
        tf.print(x)
        y = tf.py_function(lambda a: a, [tf.exp(x)], tf.float32)
        return tf.sin(y)

    table = predicted(f, tf.TensorSpec([3]))
    assert sorted((row.op, row.device, row.provider) for row in table) == [
        ("Exp", "GPU:0", CUDA),
        ("Host", "CPU:0", "Python"),
        ("Host", "CPU:0", "Python"),
        ("Sin", "GPU:0", CUDA),
    ]


def test_other_devices() -> None:
    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([2]))
    assert not concrete.placement("/CPU:0").predicted
    assert concrete.placement().on_host == ()
    with pytest.raises(InvalidArgumentError, match="only placements on GPUs are predicted"):
        concrete.placement("/CPU:1")
    with pytest.raises(InvalidArgumentError):
        concrete.placement("/TPX:0")


def test_a_kernel_serves_its_versions() -> None:
    graph = Graph("g")

    def node(op: str, kind: int, count: int = 1) -> Node:
        given = [graph.add_input("x", kind, (2,)) for _ in range(count)]
        return graph.add_node(op, given, {}, [(kind, (2,))])

    float32, int64 = 1, 7
    assert has_cuda_kernel(node("Elu", float32), 21)
    assert not has_cuda_kernel(node("Elu", float32), 22)  # a version without a kernel of its own
    assert has_cuda_kernel(node("Softmax", float32), 24)
    assert not has_cuda_kernel(node("Softmax", int64), 21)
    assert not has_cuda_kernel(node("Tan", float32), 21)
    assert has_cuda_kernel(node("Max", int64, 5), 21)
    assert host_inputs(node("ReduceSum", float32, 2)) == (1,)
    assert host_inputs(node("Add", float32, 2)) == ()


def test_large_graphs_take_no_longer_than_their_nodes() -> None:
    def deep(x: Any) -> Any:
        for _ in range(2000):
            x = tf.sin(x) * 0.5
        return x

    concrete = tf.function(deep, autograph=False).get_concrete_function(tf.TensorSpec([2]))
    began = time.monotonic()
    assert len(concrete.placement("/GPU:0")) == 4000
    assert time.monotonic() - began < 3.0
