"""Names of operations: after the public function that was called, or as the user says."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph

FLOAT = 1


@pytest.fixture
def graph():
    graph = FuncGraph("f")
    with using(graph=graph):
        yield graph


@pytest.fixture
def x(graph):
    return graph.add_argument("x", FLOAT, (2,))


# What TensorFlow 2.21 calls the result of each in a function.
TENSORFLOW_NAMES = {
    "Square": lambda x: tf.square(x),
    "add": lambda x: x + 1.0,
    "sub": lambda x: x - 1.0,
    "mul": lambda x: 2.0 * x,
    "truediv": lambda x: x / 3.0,
    "pow": lambda x: x**2.0,
    "Neg": lambda x: -x,
    "strided_slice": lambda x: x[0],
    "Greater": lambda x: x > 1.0,
    "Add": lambda x: tf.add(x, x),
    "Mul": lambda x: tf.multiply(x, x),
    "Sum": lambda x: tf.reduce_sum(x),
    "Mean": lambda x: tf.reduce_mean(x),
    "MatMul": lambda x: tf.matmul([[1.0, 2.0]], tf.reshape(x, [2, 1])),
    "Relu": lambda x: tf.nn.relu(x),
    "Softmax": lambda x: tf.nn.softmax(x),
    "concat": lambda x: tf.concat([x, x], 0),
    "transpose": lambda x: tf.transpose([x, x]),
    "Reshape": lambda x: tf.reshape(x, [2, 1]),
    "Cast": lambda x: tf.cast(x, tf.int32),
    "ExpandDims": lambda x: tf.expand_dims(x, 0),
    "SelectV2": lambda x: tf.where(x > 0.0, x, x + 1.0),
    "GatherV2": lambda x: tf.gather(x, [0]),
    "clip_by_value": lambda x: tf.clip_by_value(x, 0.0, 1.0),
    "stack": lambda x: tf.stack([x, x]),
    "Log": lambda x: tf.math.log(x),
    "Identity": lambda x: tf.identity(x),
    "Maximum": lambda x: tf.maximum(x, 1.0),
}


@pytest.mark.parametrize("name", TENSORFLOW_NAMES)
def test_names_are_those_of_tensorflow(name, x):
    assert TENSORFLOW_NAMES[name](x).name == f"{name}:0"


def test_names_are_unique(x):
    names = [tf.square(x).name for _ in range(3)]
    assert names == ["Square:0", "Square_1:0", "Square_2:0"]


def test_the_user_names(x):
    assert tf.identity(x, name="hidden").name == "hidden:0"
    assert tf.identity(x, name="hidden").name == "hidden_1:0"
    with tf.name_scope("a"), tf.name_scope("b"):
        assert tf.nn.relu(x, name="h").name == "a/b/h:0"
        assert tf.nn.relu(x).name == "a/b/Relu:0"
        assert tf.nn.relu(x, name="top/h/").name == "top/h:0"


def test_constants(x):
    with tf.name_scope("a"):
        c = tf.constant(3.0, name="three")
    assert c.name == "a/three:0"
    assert (c.op.type, float(c.op.get_attr("value"))) == ("Const", 3.0)
    assert tf.constant(3.0, name="three").name == "three:0"
    assert tf.constant(3.0).name.startswith("Const")


def test_of_several_nodes_the_result_has_the_name(graph):
    images = graph.add_argument("images", FLOAT, (1, 4, 4, 1))
    kernel = graph.add_argument("kernel", FLOAT, (2, 2, 1, 1))
    y = tf.nn.conv2d(images, kernel, 1, "SAME", name="c")
    assert y.name == "c:0"
    others = [n.name for n in graph.graph.nodes[:-1]]
    assert others
    assert all(name.startswith("c/") for name in others)
    z = tf.nn.conv2d(images, kernel, 1, "SAME", name="c")
    assert z.name == "c_1:0"
    names = [n.name for n in graph.graph.nodes]
    assert len(set(names)) == len(names)


def test_calls_in_a_loop_are_separate(graph):
    images = graph.add_argument("images", FLOAT, (1, 4, 4, 1))
    kernel = graph.add_argument("kernel", FLOAT, (2, 2, 1, 1))
    names = []
    for _ in range(3):
        images = tf.nn.conv2d(images, kernel, 1, "SAME")
        names.append(images.name)
    assert names == ["Conv2D:0", "Conv2D_1:0", "Conv2D_2:0"]


def test_raw_operators_have_their_own_names(x):
    assert tf.raw.Sin(x).name == "Sin:0"
    assert tf.raw.Mul(x, x).name == "Mul:0"


def test_what_is_not_an_operation_is_a_scope(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x) * x
    before = len(x.graph.graph.nodes)
    tape.gradient(y, x)
    made = [n.name for n in x.graph.graph.nodes[before:]]
    assert made
    assert all(name.startswith("gradient/") for name in made)


def test_assignments(graph):
    with using(graph=None):
        v = tf.Variable([1.0])
    v.assign([2.0])
    v.assign_add([2.0])
    v.assign([3.0], name="reset")
    names = [n.name for n in graph.graph.nodes if n.tag is not None]
    assert names == ["AssignVariableOp", "AssignAddVariableOp", "reset"]
    assert graph.graph.nodes[0].source.text().startswith("test_node_names.py")


def test_random_operations_are_named_and_leave_no_trace_elsewhere():
    @tf.function
    def f():
        return tf.random.normal([2], name="mine")

    graph = f.get_concrete_function().graph
    assert graph.outputs[0].op.name == "mine"
    call = next(n for n in graph.graph.nodes if n.op == "Call")
    assert not any("mine" in n.name for n in call.attrs["graph"].nodes)


@pytest.mark.parametrize("name", ["two words", "x:0", "-x", "é"])
def test_impossible_names(name, x):
    with pytest.raises(ValueError, match="not a valid name"):
        tf.identity(x, name=name)


def test_names_are_those_of_a_call_also_under_a_tape():
    @tf.function
    def block(x):
        return tf.identity(x * 2.0, name="hidden")

    @tf.function
    def outer(x):
        with tf.GradientTape() as tape, tf.name_scope("net"):
            tape.watch(x)
            y = block(block(x))
        return tape.gradient(y, x)

    names = [op.name for op in outer.get_concrete_function(tf.constant(1.0)).graph.get_operations()]
    assert "net/block/hidden" in names
    assert "net/block_1/hidden" in names


@pytest.mark.parametrize("scope", [tf.name_scope, tf.compat.v1.name_scope], ids=["v2", "v1"])
def test_the_result_of_a_scope_may_have_its_name(scope):
    def both(x):
        with scope("total") as name:
            part = tf.multiply(x, 2.0, name="part")
            whole = tf.reduce_sum(tf.add(part, x), name=name)
        again = tf.add(whole, 1.0, name="total")
        with scope("total") as other:
            pass
        return part.op.name, whole.op.name, again.op.name, other

    names = ("total/part", "total", "total_1", "total_2/")
    with tf.Graph().as_default():
        assert both(tf.compat.v1.placeholder(tf.float32, [2])) == names
    found = []
    tf.function(lambda x: found.append(both(x))).get_concrete_function(tf.TensorSpec([2]))
    assert found == [names]
