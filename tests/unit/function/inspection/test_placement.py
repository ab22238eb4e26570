"""``placement()``: a row for each node, with what really runs it."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.function.execution.cuda_graph_check import can_capture
from tfx.function.execution.plan import Plan
from tfx.function.inspection import placement as placements

CPU = "CPUExecutionProvider"


@tf.function
def simple(x):
    return tf.matmul(x, x) + 1.0


def test_a_function_of_one_device():
    x = tf.ones([2, 2])
    f = tf.function(lambda x: tf.matmul(x, x) + 1.0)
    assert f.placement() == []
    f(x)
    (table,) = f.placement()
    assert [(r.op, r.device, r.provider, r.why) for r in table] == [
        ("MatMul", "CPU:0", CPU, ""),
        ("Add", "CPU:0", CPU, ""),
    ]
    assert (len(table), table.device, table.devices) == (2, "CPU:0", ("CPU:0",))
    assert table[0] == table.rows[0]


def test_one_table_for_each_trace():
    f = tf.function(lambda x: x * 2)
    f(tf.constant(1))
    f(tf.constant([1.0, 2.0]))
    tables = f.placement()
    assert len(tables) == 2
    text = str(tables)
    assert "(x: int32[]) on CPU:0" in text
    assert "(x: float32[2]) on CPU:0" in text


def test_the_table_as_text():
    concrete = simple.get_concrete_function(tf.TensorSpec([2, 2], tf.float32))
    lines = str(concrete.placement()).splitlines()
    assert lines[0] == "simple(x: float32[2, 2]) on CPU:0"
    assert lines[1].split() == ["node", "operator", "device", "provider", "why"]
    assert [line.split()[1:] for line in lines[2:]] == [
        ["MatMul", "CPU:0", CPU],
        ["Add", "CPU:0", CPU],
    ]
    assert repr(concrete.placement()) == "<Placement of simple(x: float32[2, 2]): 2 nodes on CPU:0>"


def test_several_devices(three_cpus, capsys):
    @tf.function
    def f(x):
        with tf.device("/CPU:1"):
            y = x * 2.0
        tf.print("between")
        with tf.device("/CPU:2"):
            return tf.nn.relu(y) + x

    f(tf.constant([1.0]))
    table = f.placement()[0]
    found = {r.op: (r.device, r.provider) for r in table}
    assert found["Mul"] == ("CPU:1", CPU)
    assert found["Relu"] == found["Add"] == ("CPU:2", CPU)
    assert found["Host"] == ("CPU:0", "Python")
    whys = {r.op: r.why for r in table}
    assert whys["Mul"] == "a device scope inside the function"
    assert whys["Host"] == "a host call (print)"
    assert set(table.devices) == {"CPU:0", "CPU:1", "CPU:2"}
    capsys.readouterr()


def test_called_functions_are_told_with_their_names(three_cpus):
    inner = tf.function(lambda x: tf.nn.relu(x))

    @tf.function
    def outer(x):
        return inner(x) + 1.0

    outer(tf.constant([1.0]))
    names = [(r.node, r.op) for r in outer.placement()[0]]
    assert [op for _, op in names] == ["Relu", "Add"]
    assert "/" in names[0][0]


class GpuSession:
    """What a session on a GPU tells."""

    device = "GPU:0"

    def assignments(self):
        return [
            ("Mul", "Mul", "CUDAExecutionProvider"),
            ("_inlfunc_inner_Relu", "Relu", "CUDAExecutionProvider"),
            ("Shape", "Shape", CPU),
            ("Mul_Memcpy", "MemcpyToHost", "CUDAExecutionProvider"),
        ]


def test_nodes_that_a_gpu_does_not_run():
    inner = tf.function(lambda x: tf.nn.relu(x))

    @tf.function
    def f(x):
        return tf.cast(tf.shape(inner(x) * 2.0), tf.float32) + 0.0

    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    plan = Plan(concrete.graph.graph)
    plan.session = GpuSession()
    table = placements.placement("f", "GPU:0", plan)
    by_op = {r.op: r for r in table}
    assert by_op["Mul"].provider == by_op["Relu"].provider == "CUDAExecutionProvider"
    assert by_op["Shape"].provider == CPU
    assert "keeps it on the host" in by_op["Shape"].why
    assert by_op["Add"].provider == ""
    assert "folded" in by_op["Add"].why
    assert by_op["MemcpyToHost"].node == "Mul_Memcpy"
    assert {r.device for r in table} == {"GPU:0"}


# What may be captured as a CUDA graph


def capturable(function, *shape):
    spec = tf.TensorSpec(shape, tf.float32)
    graph = tf.function(function).get_concrete_function(spec).graph.graph
    assert not can_capture(graph, "CPU:0")
    return can_capture(graph, "GPU:0")


def test_fixed_shapes_may_be_captured():
    assert capturable(lambda x: tf.nn.relu(tf.matmul(x, x) + 1.0), 2, 2)
    inner = tf.function(lambda x: tf.nn.relu(tf.exp(x + 1.0)))
    assert capturable(lambda x: inner(x), 2)


def many(x):
    """More nodes than inputs and outputs."""
    for _ in range(5):
        x = x + x
    return x


def test_little_work_is_not_worth_the_copies():
    assert not capturable(lambda x: x + 1.0, 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: many(tf.where(x > 0)),
        lambda x: tf.print(x) or many(x),
        lambda x: many(tf.function(lambda y: tf.where(y > 0))(x)),
        lambda x: many(tf.cond(x[0] > 0, lambda: x, lambda: -x)),
    ],
    ids=["size from contents", "host call", "in a called function", "control flow"],
)
def test_what_may_not(function):
    assert not capturable(function, 2)


def test_open_shapes_may_not():
    assert not capturable(many, None)
