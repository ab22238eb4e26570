"""Graphs: the default graph, names, elements, collections, finalizing."""

from __future__ import annotations

import copy
import pickle

import pytest

import tfx
import tfx.compat.v1 as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_default_graphs_nest() -> None:
    process = tf.get_default_graph()
    assert tf.executing_eagerly()
    with tf.Graph().as_default() as outer:
        assert tf.get_default_graph() is outer
        assert not tf.executing_eagerly()
        assert not tf.executing_eagerly_outside_functions()
        with tf.Graph().as_default() as inner:
            assert tf.get_default_graph() is inner
            with outer.as_default():
                assert tf.constant(1).graph is outer
        assert tf.get_default_graph() is outer
        with pytest.raises(AssertionError, match="nested graphs"):
            tf.reset_default_graph()
        with pytest.raises(ValueError, match="program startup"):
            tf.enable_eager_execution()
    assert tf.get_default_graph() is process
    assert tf.executing_eagerly_outside_functions()


def test_disabling_eager_execution() -> None:
    try:
        tf.disable_eager_execution()
        first = tf.get_default_graph()
        x = tf.constant(2.0) * 3.0
        assert x.graph is first
        with tf.Session() as session:
            assert session.run(x) == 6.0
        tf.reset_default_graph()
        assert tf.get_default_graph() is not first
        assert tf.constant(1.0).graph is tf.get_default_graph()
    finally:
        tf.enable_eager_execution()
        tf.reset_default_graph()
    assert float(tf.constant(2.0)) == 2.0


def test_inside_a_function_the_default_graph_is_the_functions(graph) -> None:
    found = []

    @tfx.function
    def f(x):
        found.append(tf.get_default_graph())
        with pytest.raises(RuntimeError, match="make the tensor an argument"):
            tf.placeholder(tf.float32)
        return x

    f(tf.constant(1.0))
    assert found[0] is not graph


def test_names_of_operations_are_tensorflows(graph) -> None:
    x, w = tf.placeholder(tf.float32, [2, 3]), tf.ones([3, 2])
    made = [
        *(x + 1.0, x * 2.0, x - 1.0, x / 2.0, -x, x > 1.0, x[0]),
        *(tf.matmul(x, w), tf.reduce_mean(x), tf.nn.relu(x), tf.nn.softmax(x), tf.square(x)),
        *(tf.transpose(x), tf.reshape(x, [-1]), tf.cast(x, tf.int32), tf.concat([x, x], 0)),
        *(tf.split(x, 3, 1)[1], tf.random_normal([2]), tf.to_float(1), tf.add(x, x, name="sum")),
    ]
    assert [t.name for t in made] == [
        *("add:0", "mul:0", "sub:0", "truediv:0", "Neg:0", "Greater:0", "strided_slice:0"),
        *("MatMul:0", "Mean:0", "Relu:0", "Softmax:0", "Square:0"),
        *("transpose:0", "Reshape:0", "Cast:0", "concat:0"),
        *("split:1", "random_normal:0", "ToFloat:0", "sum:0"),
    ]


def test_name_scopes_are_unique(graph) -> None:
    with tf.name_scope("a") as first:
        assert tf.constant(1.0, name="c").name == "a/c:0"
        with tf.name_scope("b"):
            assert tf.Variable(1.0, name="v").name == "a/b/v:0"
    with tf.name_scope("a") as second, tf.name_scope(None):
        assert tf.no_op().name == "NoOp"
    assert (first, second) == ("a/", "a_1/")
    with tf.name_scope(first):
        assert tf.no_op().name == "a/NoOp"
    assert graph.unique_name("a") == "a_2"
    assert graph.unique_name("z", mark_as_used=False) == graph.unique_name("z") == "z"
    with tf.name_scope(None, default_name="d") as third:
        assert third == "d/"


def test_tensors_and_variables_are_equal_as_objects(graph) -> None:
    a, b, v = tf.constant(1.0), tf.constant(1.0), tf.Variable(1.0)
    assert a in [b, a] and b not in [a, v]
    assert {a: 1, v: 2}[a] == 1
    assert graph.get_tensor_by_name(a.name) == a
    assert (a == b) is False and (a != b) is True
    assert v == v and v != tf.Variable(1.0)


def test_elements(graph) -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.identity(x, name="y")
    v = tf.Variable(1.0, name="v")
    assert graph.get_tensor_by_name("y:0") == y
    assert graph.get_operation_by_name("x") == x.op
    assert graph.as_graph_element("v/Assign") == v.initializer
    assert graph.as_graph_element(v).name == "v/Read/ReadVariableOp:0"
    assert [op.name for op in graph.get_operations() if op.type == "Placeholder"] == ["x"]
    assert (v.op.name, v.op.type, v.op.graph) == ("v", "VarHandleOp", graph)
    with tf.control_dependencies([y.op]):
        assert tf.no_op().control_inputs == [y.op]
    for name, error, message in [
        ("x", ValueError, "not a Tensor"),
        ("zzz:0", KeyError, "does not exist in the graph"),
        ("y:5", KeyError, "only has 1 outputs"),
        (3, TypeError, "strings"),
    ]:
        with pytest.raises(error, match=message):
            graph.get_tensor_by_name(name)
    with pytest.raises(KeyError, match="not in the graph"):
        graph.get_operation_by_name("zzz")


def test_collections(graph) -> None:
    tf.add_to_collection("c", 1)
    tf.add_to_collections(["c", "d", "d"], 2)
    assert tf.get_collection("c") == [1, 2]
    assert tf.get_collection("d") == [2]
    tf.get_collection("c").append(9)
    assert tf.get_collection("c") == [1, 2]
    tf.get_collection_ref("c").append(3)
    assert tf.get_collection("c") == [1, 2, 3]
    assert graph.get_all_collection_keys() == ["c", "d"]
    a = tf.identity(tf.constant(1.0), name="in/a")
    tf.add_to_collection("e", a)
    assert tf.get_collection("e", "in/") == [a]
    assert tf.get_collection("e", "out/") == []
    graph.clear_collection("c")
    assert tf.get_collection("c") == [] and "c" not in graph.collections


def test_a_finalized_graph_takes_nothing_more(graph) -> None:
    v = tf.Variable(1.0)
    x = v + 1.0
    graph.finalize()
    assert graph.finalized
    for make in (lambda: tf.constant(1.0), lambda: x + x, lambda: tf.Variable(1.0), tf.no_op):
        with pytest.raises(RuntimeError, match="finalized and cannot be modified"):
            make()
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([v, x]) == [1.0, 2.0]


def test_a_variable_of_a_graph_has_no_value_outside(graph) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    assert repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32>"
    with tfx.init_scope():
        for use in (
            lambda: v + 1.0,
            lambda: v.assign([3.0, 4.0]),
            lambda: v.assign_add([1.0, 1.0]),
        ):
            with pytest.raises(tf.errors.FailedPreconditionError, match="'v:0' belongs to"):
                use()


def test_variables_of_both_spellings(graph) -> None:
    v = tfx.Variable([1.0], name="v", trainable=False)
    w = tf.Variable([1, 2], trainable=True, collections=["mine"], dtype=tf.float32)
    open_shape = tf.Variable(tf.placeholder(tf.float32, [None]))
    assert isinstance(v, tf.Variable) and isinstance(w, tfx.Variable)
    assert tf.global_variables() == [v, open_shape]
    assert tf.trainable_variables() == [w, open_shape]
    assert tf.get_collection("mine") == [w]
    assert open_shape.shape.as_list() == [None]
    assert tf.Variable([1.0], shape=tf.TensorShape(None)).shape.rank is None
    with pytest.raises(ValueError, match="not compatible with the explicitly supplied `shape`"):
        tf.Variable([1.0], shape=[2])
    with pytest.raises(TypeError, match="dtype"):
        tf.Variable(tf.constant(1), dtype=tf.float32)
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    assert w.assign([3.0, 4.0], read_value=False).type == "AssignVariableOp"


def test_assignments_follow_each_other(graph) -> None:
    v = tf.Variable(1.0)
    last = v.assign(5.0).assign_add(2.0).assign_sub(3.0)
    rows = tf.Variable([[1.0], [2.0]])
    scattered = tf.scatter_add(rows, [1], [[10.0]])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(last) == 4.0
        assert session.run(tf.assign_add(v, 1.0)) == 5.0
        assert session.run(tf.assign_sub(v, 2.0)) == 3.0
        assert session.run(scattered).tolist() == [[1.0], [12.0]]
        assert session.run(tf.scatter_update(rows, [0], [[0.0]])).tolist() == [[0.0], [12.0]]
    with pytest.raises(TypeError, match="Expected a variable"):
        tf.assign(tf.constant(1.0), 2.0)


def test_graph_defs(graph) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 2])
    hidden = tf.matmul(x, w, name="hidden")
    tf.nn.relu(hidden, name="y")
    w.assign(tf.zeros([2, 2]))
    proto = graph.as_graph_def()
    assert [i.name for i in proto.input] == ["x", "w"]
    assert [o.name for o in proto.output] == ["y", "w_new"]
    with tf.Graph().as_default() as other:
        hidden, y = tf.import_graph_def(proto, return_elements=["hidden:0", "y"], name="")
        assert (hidden.name, y.name) == ("hidden:0", "y")
        with tf.Session() as session:
            feeds = {"x:0": [[1.0, -1.0]], "w:0": [[1.0, 2.0], [3.0, 4.0]]}
            assert session.run(hidden, feeds).tolist() == [[-2.0, -2.0]]
            assert session.run(y.outputs[0], feeds).tolist() == [[0.0, 0.0]]
        for arguments, message in [
            ({"return_elements": ["nope:0"]}, "not found in graph_def"),
            ({"input_map": {"nope:0": y}}, "not found in graph_def"),
        ]:
            with pytest.raises(ValueError, match=message):
                tf.import_graph_def(proto, **arguments)
        assert other.get_tensor_by_name("x:0").shape.as_list() == [None, 2]
    with tfx.init_scope(), pytest.raises(RuntimeError, match="adds to a graph"):
        tf.import_graph_def(proto)


def test_a_graph_as_text(graph) -> None:
    v = tf.Variable(1.0, name="v")
    read, assigned = v.value(), v.assign(2.0)
    assert read.op.assigns == () and assigned.op.assigns == ("v:0",)
    assert (read.op.type, assigned.op.type) == ("ReadVariableOp", "AssignVariableOp")
    lines = [line for line in str(graph).splitlines() if "assigns v" in line]
    assert len(lines) == 2  # the initializer and the assignment


def test_names_of_assignments(graph) -> None:
    v = tf.Variable(1.0)
    made = [
        v.assign(1.0),
        v.assign_add(1.0),
        v.assign_sub(1.0, name="less"),
        tf.assign(v, 1.0, name="set"),
    ]
    assert [x.op.name for x in made] == ["AssignVariableOp", "AssignAddVariableOp", "less", "set"]


def test_variables_of_a_graph_are_not_copied(graph) -> None:
    v = tf.Variable(1.0)
    for use in (copy.deepcopy, pickle.dumps):
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be copied or pickled"):
            use(v)


def test_a_variables_name_means_its_value(graph) -> None:
    v = tf.Variable(4.0, name="v")
    assert graph.get_operation_by_name("v") == graph.get_tensor_by_name("v:0").op
    with tf.Session() as session:
        session.run("v/Assign")
        assert session.run("v:0") == 4.0
    assert v.op.name == "v"


def test_only_constants_of_the_program_are_called_so(graph) -> None:
    tf.reshape(tf.ones([2, 3]), [3, 2]) + 1.0
    assert tf.constant(1.0).name == "Const:0"


def test_constants_of_tensorflow_2_have_their_names():
    import tfx

    with tf.Graph().as_default() as graph:
        first = tfx.constant(1.0, name="first")
        with tf.name_scope("inside"):
            second = tfx.constant([1, 2], name="second")
            third = tfx.constant(2.0)
        assert [x.name for x in (first, second, third)] == [
            "first:0",
            "inside/second:0",
            "inside/Const:0",
        ]
        assert graph.get_tensor_by_name("inside/second:0").shape == [2]
        total = first + third
        with tf.Session() as session:
            assert session.run("first:0") == 1.0
            assert session.run(total, {first: 5.0}) == 7.0
