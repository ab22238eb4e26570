"""Functions made from a part of another one's graph."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.framework.host_call import host_call
from tfx.graph.ir import HostCall
from tfx.testing import check_grads

SCALAR = tf.TensorSpec([], tf.float32)


@pytest.fixture
def chain():
    @tf.function
    def f(x):
        return tf.square(tf.square(x))

    return f.get_concrete_function(SCALAR)


class Counter(tf.Module):
    """Adds to ``total`` and keeps the last sum in ``last``."""

    def __init__(self):
        self.total = tf.Variable(10.0, name="total")
        self.last = tf.Variable(0.0, name="last")

    @tf.function(input_signature=[SCALAR, SCALAR])
    def step(self, x, y):
        a = tf.square(x, name="a")
        self.total.assign_add(a)
        b = tf.identity(self.total + y, name="b")
        self.last.assign(b)
        return {"out": b * 2.0, "a": a}


@pytest.fixture
def counter():
    return Counter()


@pytest.fixture
def step(counter):
    return counter.step.get_concrete_function()


# The samples of the design


def test_carving_out_a_subgraph(chain):
    assert float(chain(2.0)) == 16.0
    by_name = chain.prune("Square:0", "Square_1:0")
    assert float(by_name(2.0)) == 4.0
    graph = chain.graph
    by_tensor = tf.function_from_graph(graph, graph.get_tensor_by_name("Square:0"), chain.outputs)
    assert float(by_tensor(2.0)[0]) == 4.0
    assert float(tf.function_from_graph(chain, "x:0", "Square:0", name="half")(3.0)) == 9.0


def test_extending_a_graph(chain):
    @tf.function
    def f(x):
        return tf.square(x)

    @tf.function
    def g(x):
        return tf.square(f(x))

    assert float(g(2.0)) == 16.0
    half = chain.prune("x:0", "Square:0")
    wider = tf.function(lambda x: half(half(x)) + 1.0)
    assert float(wider(tf.constant(2.0))) == 17.0


# Feeds and fetches


def test_everything_can_be_fed_back(step, counter):
    whole = step.prune(step.inputs, step.graph.structured_outputs)
    assert {k: float(v) for k, v in whole(2.0, 1.0).items()} == {"a": 4.0, "out": 30.0}
    assert float(counter.total) == 14.0  # what is read after an assignment follows it
    assert float(counter.last) == 0.0  # no fetch comes after this one


def test_structures_of_fetches(step):
    part = step.prune(["b:0"], {"pair": (step.outputs[1], None), "op": step.outputs[1].op})
    result = part(3.0)
    assert result["pair"][1] is None
    assert result["op"] is None
    assert float(result["pair"][0]) == 6.0
    assert part.structured_outputs["pair"][0].dtype is tf.float32


def test_the_arguments_of_the_new_function(step):
    part = step.prune({"left": "a:0", "right": "y:0"}, "b:0")
    assert [s.name for s in part.structured_input_signature[0]] == ["left", "right"]
    assert float(part(right=1.0, left=2.0)) == 13.0
    assert float(part(tf.constant(2.0), 1.0)) == 15.0  # the first call assigned
    by_operation = step.prune(["b:0"], step.outputs[1])
    assert by_operation.signature.names == ["b"]
    assert float(by_operation(b=2.0)) == 4.0
    with pytest.raises(TypeError, match="missing"):
        part(1.0)
    with pytest.raises(TypeError, match="did you mean 'left'"):
        part(lefft=1.0, right=2.0)


def test_an_input_signature(step):
    spec = tf.TensorSpec([], tf.float32)
    part = step.prune(["a:0", "y:0"], "b:0", input_signature=((), {"n": spec, "m": spec}))
    assert list(part.structured_input_signature[1]) == ["m", "n"]
    assert float(part(m=2.0, n=1.0)) == 13.0  # m is a, n is y: keywords are sorted
    with pytest.raises(TypeError):
        part(1.0, 2.0)
    part = step.prune(
        ["a:0", "y:0"],
        "b:0",
        input_signature=((spec,), {"m": spec}),
        are_keyword_args_also_positional=True,
    )
    part(1.0, 2.0)
    with pytest.raises(ValueError, match="1 specs, and 2 tensors are fed"):
        step.prune(["a:0", "y:0"], "b:0", input_signature=((spec,), {}))
    with pytest.raises(ValueError, match="does not fit the tensor 'a'"):
        step.prune("a:0", "a:0", input_signature=((tf.TensorSpec([2], tf.float32),), {}))


def test_an_input_signature_narrows_the_shape():
    f = tf.function(lambda x: x + 1.0)
    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    narrow = concrete.prune(
        "x:0", concrete.outputs[0], input_signature=(([tf.TensorSpec([2])],), {})
    )
    assert narrow([tf.constant([1.0, 2.0])]).numpy().tolist() == [2.0, 3.0]
    with pytest.raises(ValueError, match="shape"):
        narrow([tf.constant([1.0])])


def test_constants_can_be_fed():
    kernel = tf.constant([1.0, 2.0])
    f = tf.function(lambda x: x * kernel).get_concrete_function(tf.constant([1.0, 1.0]))
    other = f.prune(["x:0", kernel], f.outputs[0])
    assert other([1.0, 2.0], [5.0, 6.0]).numpy().tolist() == [5.0, 12.0]
    with pytest.raises(ValueError, match="an eager tensor that the function does not use"):
        f.prune(["x:0", tf.constant(1.0)], f.outputs[0])


def test_what_shapes_were_derived_from_can_be_fed():
    @tf.function
    def f(x):
        shape = tf.identity(tf.shape(x), name="shape")
        return tf.reshape(x, [shape[1], shape[0]])

    concrete = f.get_concrete_function(tf.TensorSpec([None, None], tf.float32))
    assert concrete.outputs[0].shape.symbolic == ("x.d1", "x.d0")
    part = concrete.prune(["x:0", "shape:0"], concrete.outputs[0])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert part(x, np.array([1, 6], np.int32)).shape == (6, 1)
    assert part(x, np.array([2, 3], np.int32)).numpy().tolist() == x.reshape(3, 2).tolist()


# State


def test_assignments_that_no_fetch_follows_are_dropped(step, counter):
    part = step.prune("x:0", "a:0")
    assert part.variables == ()
    assert float(part(3.0)) == 9.0
    assert float(counter.total) == 10.0


def test_or_kept(step, counter):
    part = step.prune(["x:0", "y:0"], "a:0", drop_stateful=False)
    assert float(part(3.0, 1.0)) == 9.0
    assert (float(counter.total), float(counter.last)) == (19.0, 20.0)
    assert [v.name for v in part.written_variables] == ["total:0", "last:0"]
    same = tf.function_from_graph(step.graph, ["x:0", "y:0"], "a:0", prune=False)
    same(0.0, 0.0)
    assert float(counter.last) == 19.0


def test_operations_are_carried_out(step, counter):
    assignment = next(op for op in step.graph.get_operations() if op.assigns == ("last:0",))
    part = step.prune("b:0", assignment)
    assert part(7.0) is None
    assert (float(counter.total), float(counter.last)) == (10.0, 7.0)
    by_name = step.prune("b:0", [assignment.name])
    assert by_name(8.0) == [None]
    assert float(counter.last) == 8.0


def test_variables_as_feeds_and_fetches(step, counter):
    part = step.prune([counter.total, "x:0", "y:0"], [counter.total, counter.last, "a:0"])
    assert [float(x) for x in part(100.0, 2.0, 1.0)] == [104.0, 105.0, 4.0]
    assert (float(counter.total), float(counter.last)) == (104.0, 105.0)
    assert part.signature.names == ["total", "x", "y"]


def test_variables_stay_variables():
    v = tf.Variable(2.0)
    f = tf.function(lambda x: tf.square(x * v)).get_concrete_function(SCALAR)
    part = f.prune("x:0", "mul:0")
    assert float(part(3.0)) == 6.0
    v.assign(5.0)
    assert float(part(3.0)) == 15.0
    assert part.trainable_variables[0] is v


def test_a_deleted_variable_is_missed():
    def make():
        v = tf.Variable(2.0, name="gone")
        f = tf.function(lambda x: x * v).get_concrete_function(SCALAR)
        return f

    with pytest.raises(tf.errors.FailedPreconditionError, match="gone"):
        make().prune("x:0", "mul:0")


def test_random_numbers_stay_fresh():
    generator = tf.random.Generator.from_seed(1)

    @tf.function
    def draw(x):
        first = tf.identity(generator.normal([3]), name="first")
        second = tf.identity(generator.normal([3]), name="second")
        return first + second + x

    @tf.function
    def under_a_tape(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = draw(x)
        return tape.gradient(y, x), tf.identity(y, name="y")

    concrete = draw.get_concrete_function(SCALAR)
    first = concrete.prune([], "first:0")
    a, b = first().numpy(), first().numpy()
    assert not np.array_equal(a, b)
    assert int(generator.state[0]) == 2  # the second draw of the function was left out
    both = concrete.prune("x:0", "add_1:0")
    both(0.0)
    assert int(generator.state[0]) == 4
    again = tf.random.Generator.from_seed(1)
    np.testing.assert_array_equal(again.normal([3]).numpy(), a)
    np.testing.assert_array_equal(again.normal([3]).numpy(), b)
    inlined = under_a_tape.get_concrete_function(SCALAR).prune("x:0", "y:0")
    assert not np.array_equal(inlined(0.0).numpy(), inlined(0.0).numpy())
    assert int(generator.state[0]) == 8


def test_host_calls():
    said = []
    say = HostCall("print", lambda xs: said.append(float(xs[0])))

    @tf.function
    def f(x):
        y = x + 1.0
        host_call(say, [y])
        return y * 2.0

    concrete = f.get_concrete_function(SCALAR)
    assert float(concrete.prune("x:0", concrete.outputs[0])(1.0)) == 4.0
    assert said == []
    assert float(concrete.prune("x:0", "add:0", drop_stateful=False)(1.0)) == 2.0
    assert said == [2.0]
    act = next(op for op in concrete.graph.get_operations() if op.type == "print")
    assert concrete.prune("add:0", act)(5.0) is None
    assert said == [2.0, 5.0]


def test_calls_of_functions_that_assign():
    v = tf.Variable(0.0)

    @tf.function
    def bump(x):
        v.assign_add(x)
        return x * 2.0

    @tf.function
    def f(x):
        y = bump(x)
        return tf.identity(y, name="y"), v + 1.0

    concrete = f.get_concrete_function(SCALAR)
    assert float(concrete.prune("x:0", "y:0")(3.0)) == 6.0
    assert float(v) == 3.0  # the call as a whole
    assert float(concrete.prune("bump:0", "y:0")(3.0)) == 3.0
    assert float(v) == 3.0


# What the result is


def test_it_can_be_differentiated(step, counter):
    part = step.prune(["a:0", "y:0"], "mul:0", drop_stateful=True)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = part(x, 1.0)
    dx, dv = tape.gradient(z, [x, counter.total])
    assert dx is None  # a gradient does not flow through an assignment
    assert float(dv) == 2.0
    double = tf.TensorSpec([], tf.float64)
    chain = tf.function(lambda x: tf.sin(tf.square(x))).get_concrete_function(double)
    check_grads(chain.prune("Square:0", "Sin:0"), [0.7], order=2)
    x = tf.constant(3.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = chain.prune("Square:0", "Sin:0")(x)
    np.testing.assert_allclose(tape.gradient(z, x), np.cos(3.0), rtol=1e-6)


def test_gradients_of_custom_functions_survive():
    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda dy: dy * 100.0

    f = tf.function(lambda x: clipped(x + 1.0) * 2.0).get_concrete_function(SCALAR)
    part = f.prune("add:0", f.outputs[0])
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = part(x)
    assert (float(y), float(tape.gradient(y, x))) == (18.0, 200.0)


def test_it_can_be_pruned_again(step):
    once = step.prune(["a:0", "y:0"], step.graph.structured_outputs)
    twice = once.prune("b:0", "mul:0")
    assert float(twice(4.0)) == 8.0
    assert twice.name == "pruned"


def test_it_can_be_saved(counter, step, tmp_path):
    part = step.prune({"amount": "a:0", "y": "y:0"}, {"sum": "b:0"}, name="part")
    tf.saved_model.save(counter, tmp_path / "m", signatures={"part": part, "step": step})
    loaded = tf.saved_model.load(tmp_path / "m")
    result = loaded.signatures["part"](amount=tf.constant(5.0), y=tf.constant(1.0))
    assert float(result["sum"]) == 16.0
    assert float(loaded.total) == 15.0
    assert float(counter.total) == 10.0
    again = loaded.signatures["part"].concrete_function
    assert float(again.prune(again.inputs, again.outputs[0])(1.0, 1.0)) == 17.0
    signature = loaded.signatures["part"]
    assert float(signature.prune("amount:0", "AssignAddVariableOp/Add:0")(2.0)) == 17.0


def test_captures_of_an_enclosing_function():
    @tf.function
    def outer(x):
        y = x * 2.0
        inner = tf.function(lambda z: (z + 1.0) * y)
        part = inner.get_concrete_function(x).prune("add:0", "mul:0")
        return part(x)

    assert float(outer(tf.constant(3.0))) == 18.0


def test_branches_and_bodies_keep_their_place():
    from tfx.graph import ir

    graph = tf.Graph("g")
    with graph.as_default():
        x = graph.add_argument("x", 1, ())
        flag = graph.add_argument("flag", 9, ())
        y = tf.identity(x + 1.0, name="y")
    branches = []
    for op in ("Neg", "Abs"):
        body = ir.Graph(op, graph.graph)
        body.outputs = list(body.add_node(op, [y._symbol], {}, [(1, ())]).outputs)
        branches.append(body)
    attrs = {"then_branch": branches[0], "else_branch": branches[1]}
    graph.graph.add_node("If", [flag._symbol], attrs, [(1, ())], name="choice")
    whole = tf.function_from_graph(graph, ["x:0", "flag:0"], "choice:0")
    assert [float(whole(1.0, b)) for b in (True, False)] == [-2.0, 2.0]
    part = tf.function_from_graph(graph, {"y": "y:0", "flag": "flag:0"}, "choice:0")
    assert [float(part(y=5.0, flag=b)) for b in (True, False)] == [-5.0, 5.0]


def test_devices_survive():
    with tf.device("/CPU:0"):
        f = tf.function(lambda x: x + 1.0).get_concrete_function(SCALAR)
    assert f.prune("x:0", "add:0").device == f.device


# What is refused


def test_what_cannot_be_computed(step):
    with pytest.raises(ValueError, match=r"fetch 'mul:0' of 'step'.*'y:0', an argument") as caught:
        step.prune("x:0", "mul:0")
    assert "(mul <- b <- add <- y)" in str(caught.value)
    with pytest.raises(ValueError, match=r"operation 'AssignVariableOp' .*needs 'x:0'"):
        step.prune("y:0", "y:0", drop_stateful=False)


def test_feeds_and_fetches_that_are_none(step, chain):
    with pytest.raises(ValueError, match=r"must be tensors.*its first output is 'a:0'"):
        step.prune("a", "b:0")
    with pytest.raises(ValueError, match="feeds and fetches are from its graph"):
        step.prune(chain.inputs, "b:0")
    with pytest.raises(ValueError, match="feeds and fetches are from its graph"):
        step.prune("x:0", chain.outputs)
    with pytest.raises(KeyError, match="'nope', does not exist"):
        step.prune("x:0", "nope:0")
    with pytest.raises(ValueError, match="is fed twice"):
        step.prune(["x:0", step.inputs[0]], "a:0")
    with pytest.raises(ValueError, match="'other:0' is not used by 'step'"):
        step.prune([tf.Variable(1.0, name="other")], "a:0")
    with pytest.raises(TypeError, match="Can not convert a float"):
        step.prune("x:0", 3.0)
    with pytest.raises(TypeError, match="takes the graph of a traced function"):
        tf.function_from_graph(lambda x: x, "x:0", "x:0")


def test_the_original_stays_as_it_was(step, counter):
    before = str(step.graph)
    part = step.prune(["a:0", "y:0"], "b:0")
    part(1.0, 1.0)
    part.outputs[0].set_shape([])
    assert str(step.graph) == before
    assert float(step(1.0, 1.0)["out"]) == 2 * (11.0 + 1.0 + 1.0)
