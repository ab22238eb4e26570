"""``wrap_function`` and ``prune``."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
SCALAR = tf.TensorSpec((), tf.float32)


def test_every_change_happens_in_the_order_of_the_program() -> None:
    def f(x):
        v = tf.Variable(1.0, name="v")
        w = tf.Variable(0.0, name="w")
        changes = [v.assign(v * 2.0), w.assign_add(v), v.assign_add(x)]
        with tf.control_dependencies(changes):
            return x * 10.0

    wrapped = v1.wrap_function(f, [SCALAR])
    v, w = wrapped.variables
    assert float(wrapped(3.0)) == 30.0
    assert (float(v), float(w)) == (5.0, 2.0)
    wrapped(tf.constant(0.0))
    assert (float(v), float(w)) == (10.0, 12.0)


def test_collections_belong_to_one_trace() -> None:
    def f(x):
        tf.Variable(1.0)
        v1.get_variable("w", [2], trainable=False)
        v1.add_to_collection("mine", x)
        sizes = [len(v1.global_variables()), len(v1.trainable_variables())]
        assert v1.get_default_graph().get_collection("mine") == [x]
        return x, sizes[0], sizes[1]

    for _ in range(2):
        wrapped = v1.wrap_function(f, [SCALAR])
        assert [int(n) for n in wrapped(0.0)[1:]] == [2, 1]
        assert [v.name for v in wrapped.graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)] == [
            "Variable:0",
            "w:0",
        ]
        assert wrapped.trainable_variables == (wrapped.variables[0],)


def test_reuse_inside_one_trace_and_no_sharing_between_two() -> None:
    def f(x):
        with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
            a = v1.get_variable("a", initializer=2.0)
            b = v1.get_variable("a", initializer=7.0)
        assert a is b
        return a.assign_add(x)

    one, two = v1.wrap_function(f, [SCALAR]), v1.wrap_function(f, [SCALAR])
    assert [float(one(1.0)), float(one(1.0)), float(two(1.0))] == [3.0, 4.0, 3.0]


def test_own_variables_are_kept_and_others_are_not() -> None:
    others = [tf.Variable(1.0)]

    def f(x):
        mine = tf.Variable(5.0)
        return mine.assign_add(x) + others[0]

    wrapped = v1.wrap_function(f, [SCALAR])
    gc.collect()
    assert float(wrapped(1.0)) == 7.0
    assert wrapped.variables[1] is others[0]
    gone = weakref.ref(others[0])
    others.clear()
    gc.collect()
    assert gone() is None
    with pytest.raises(tf.errors.FailedPreconditionError, match="was deleted"):
        wrapped(1.0)


def test_initial_values_may_be_functions_constants_and_tensors_of_no_argument() -> None:
    def f(x):
        a = tf.Variable(lambda: tf.ones([2]) * 3.0)
        b = tf.Variable([1.0, 2.0])
        c = tf.Variable(tf.zeros([2]) + 4.0)
        return a + b + c + x

    wrapped = v1.wrap_function(f, SCALAR)
    assert wrapped(0.0).numpy().tolist() == [8.0, 9.0]
    with pytest.raises(ValueError, match="depends on the function's arguments"):
        v1.wrap_function(lambda x: tf.Variable(x * 2.0), SCALAR)


def test_returned_operations_run_and_are_none() -> None:
    def f(x):
        v = tf.Variable(1.0)
        return {"op": v.assign(x).op, "none": None, "value": v}

    found = v1.wrap_function(f, [SCALAR])(4.0)
    assert found["op"] is None and found["none"] is None
    assert float(found["value"]) == 4.0


def test_initializers_run_only_when_asked_for() -> None:
    def f(x):
        v = v1.get_variable("v", initializer=1.0)
        init = v1.global_variables_initializer()
        return v.assign_add(x), init if returned else None

    returned = False
    counts = v1.wrap_function(f, [SCALAR])
    assert [float(counts(1.0)[0]), float(counts(1.0)[0])] == [2.0, 3.0]
    returned = True
    starts_again = v1.wrap_function(f, [SCALAR])
    assert [float(starts_again(1.0)[0]), float(starts_again(1.0)[0])] == [2.0, 2.0]


def test_arguments() -> None:
    def f(x, scale, rest, flag=True):
        return x * scale + rest["a"] if flag else x

    signature = [SCALAR, 2.0, {"a": tf.TensorSpec([None], tf.float32)}]
    wrapped = v1.wrap_function(f, signature)
    assert wrapped(1.0, 2.0, {"a": [1.0, 2.0]}).numpy().tolist() == [3.0, 4.0]
    assert wrapped(x=1.0, rest={"a": [0.0]}).numpy().tolist() == [2.0]
    with pytest.raises(TypeError, match="'scale' is fixed to"):
        wrapped(1.0, 3.0, {"a": [1.0]})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected float32 .* got int32"):
        wrapped(tf.constant(1), 2.0, {"a": [1.0]})
    with pytest.raises(TypeError, match="missing"):
        v1.wrap_function(f, [SCALAR])
    assert v1.wrap_function(f, signature, "named").name == "named"
    assert v1.wrap_function(f, signature, name="other").name == "other"


def test_placeholders_stand_in_a_signature() -> None:
    with v1.Graph().as_default():
        inside = v1.placeholder(tf.float32, [3], name="p")
    outside = tf.TensorSpec([None], tf.float32, name="q")
    wrapped = v1.wrap_function(lambda a, b: (a, b), [inside, outside])
    assert [t.name for t in wrapped.inputs] == ["p:0", "q:0"]
    with pytest.raises(RuntimeError, match="not compatible with eager execution"):
        v1.placeholder(tf.float32, [None], name="q")


def _assigns(x, v):
    v.assign_add(1.0)
    return x


def _assigns_and_reads(x, v):
    v.assign(x)
    return v.read_value()


def _prints(x, v):
    tf.print("never", x)
    tf.debugging.assert_less(x, -1.0)
    return x


def _calls_what_assigns(x, v):
    tf.function(lambda: v.assign_add(1.0))()
    return x


def _returns_nothing(x, v):
    v.assign_add(1.0)


def _waits(x, v):
    with tf.control_dependencies([v.assign_add(1.0)]):
        return tf.identity(x)


def _returns_the_change(x, v):
    return v.assign_add(1.0)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        (_assigns, 0.0),
        (_assigns_and_reads, 0.0),
        (_prints, 0.0),
        (_calls_what_assigns, 0.0),
        (_returns_nothing, 0.0),
        (_waits, 1.0),
        (_returns_the_change, 1.0),
    ],
)
def test_what_no_result_needs_does_not_happen(code, count, capfd) -> None:
    # As TensorFlow 2.21: a call fetches the results, as a session would.
    v = tf.Variable(0.0)
    wrapped = v1.wrap_function(lambda x: code(x, v), [SCALAR])
    wrapped(5.0)
    assert float(v) == count
    assert "never" not in capfd.readouterr().err


def test_a_wrapped_function_is_differentiable() -> None:
    def f(x):
        w = v1.get_variable("w", initializer=[2.0, 3.0])
        return tf.reduce_sum(w * x * x)

    wrapped = v1.wrap_function(f, [tf.TensorSpec([2], tf.float32)])
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrapped(x)
    dx, dw = tape.gradient(y, [x, wrapped.variables[0]])
    np.testing.assert_allclose(dx, [4.0, 12.0])
    np.testing.assert_allclose(dw, [1.0, 4.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            y = wrapped(x)
        return tape.gradient(y, wrapped.variables[0])

    np.testing.assert_allclose(step(x), [1.0, 4.0])


def test_a_wrapped_function_inside_a_function() -> None:
    def f(x):
        v = tf.Variable(0.0)
        return v.assign_add(x)

    wrapped = v1.wrap_function(f, [SCALAR])

    @tf.function
    def twice(x):
        wrapped(x)
        return wrapped(x)

    assert float(twice(tf.constant(2.0))) == 4.0
    assert float(twice(tf.constant(2.0))) == 8.0
    assert float(wrapped.variables[0]) == 8.0


def test_training_code_can_be_wrapped() -> None:
    def train(x, y):
        w = v1.get_variable("w", [1, 1], initializer=v1.zeros_initializer())
        loss = v1.losses.mean_squared_error(y, tf.matmul(x, w))
        with tf.control_dependencies([v1.train.MomentumOptimizer(0.1, 0.5).minimize(loss)]):
            return tf.identity(loss)

    spec = tf.TensorSpec([None, 1], tf.float32)
    wrapped = v1.wrap_function(train, [spec, spec])
    x = np.linspace(-1, 1, 20, dtype=np.float32)[:, None]
    losses = [float(wrapped(x, 3 * x)) for _ in range(100)]
    assert losses[-1] < 1e-6 < losses[0]
    assert [v.name for v in wrapped.variables] == ["w:0", "w/Momentum:0"]
    np.testing.assert_allclose(wrapped.variables[0], [[3.0]], atol=1e-2)


def test_a_wrapped_function_is_saved_with_its_variables(tmp_path: Path) -> None:
    def f(x):
        v = v1.get_variable("v", initializer=[1.0, 2.0])
        return {"sum": v + x, "count": v1.get_variable("n", initializer=0).assign_add(1)}

    holder = tf.Module()
    holder.serve = v1.wrap_function(f, [SCALAR])
    holder.serve(1.0)
    tf.saved_model.save(holder, tmp_path / "m", signatures=holder.serve)
    loaded = tf.saved_model.load(tmp_path / "m")
    found = loaded.signatures["serving_default"](x=tf.constant(3.0))
    assert found["sum"].numpy().tolist() == [4.0, 5.0]
    assert int(found["count"]) == 2
    assert int(loaded.serve(tf.constant(3.0))["count"]) == 3


def test_random_numbers_are_fresh_and_follow_the_seed() -> None:
    wrapped = v1.wrap_function(lambda: v1.random_normal([2]), [])
    assert not np.array_equal(wrapped(), wrapped())
    pruned = wrapped.prune([], wrapped.outputs[0])
    assert not np.array_equal(pruned(), pruned())
    assert wrapped.variables == ()
    tf.random.set_seed(3)
    seeded = v1.wrap_function(lambda: v1.random_normal([2]), [])
    first = seeded().numpy()
    tf.random.set_seed(3)
    np.testing.assert_array_equal(seeded(), first)
    # As in every function.
    np.testing.assert_array_equal(tf.function(lambda: tf.random.normal([2]))(), first)


class TestPrune:
    @pytest.fixture
    def wrapped(self) -> Any:
        def f(x):
            v = v1.get_variable("v", initializer=3.0)
            count = v1.get_variable("count", initializer=0)
            y = tf.square(x, name="y")
            with tf.control_dependencies([count.assign_add(1, name="counted")]):
                z = tf.add(y, v, name="z")
            tf.negative(y, name="unused")
            v1.add_to_collection("points", y)
            v1.add_to_collection("init", v1.global_variables_initializer())
            return z

        return v1.wrap_function(f, [SCALAR])

    def test_between_tensors_and_names(self, wrapped: Any) -> None:
        assert float(wrapped(2.0)) == 7.0
        (y,) = wrapped.graph.get_collection("points")
        assert float(wrapped.prune(y, "z:0")(10.0)) == 13.0
        assert float(wrapped.prune("x:0", "unused:0")(2.0)) == -4.0
        found = wrapped.prune(wrapped.inputs, {"a": y, "b": [wrapped.outputs[0]]})(tf.constant(2.0))
        assert [float(found["a"]), float(found["b"][0])] == [4.0, 7.0]
        assert int(wrapped.variables[1]) == 3  # z waits for the count, y and unused do not

    def test_shares_variables_and_runs_only_what_is_needed(self, wrapped: Any) -> None:
        only = wrapped.prune("x:0", "y:0")
        assert only.variables[0] is wrapped.variables[0]
        only(1.0)
        assert int(wrapped.variables[1]) == 0
        everything = wrapped.prune("x:0", "y:0", drop_stateful=False)
        everything(1.0)
        assert int(wrapped.variables[1]) == 1

    def test_operations_are_fetched_as_none(self, wrapped: Any) -> None:
        wrapped(1.0)
        (init,) = wrapped.graph.get_collection("init")
        wrapped.variables[0].assign(9.0)
        assert wrapped.prune([], init)() is None
        assert [float(v) for v in wrapped.variables] == [3.0, 0.0]

    def test_by_name_of_the_argument(self, wrapped: Any) -> None:
        pruned = wrapped.prune("x:0", "y:0", name="part")
        assert pruned.name == "part"
        assert float(pruned(x=3.0)) == 9.0
        assert float(pruned.prune("y:0", "z:0")(1.0)) == 4.0

    def test_what_cannot_be(self, wrapped: Any) -> None:
        with pytest.raises(ValueError, match="must be tensors"):
            wrapped.prune("y", "z:0")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must feed a value .* 'x'"):
            wrapped.prune([], "z:0")
        with pytest.raises(KeyError, match="does not exist"):
            wrapped.prune([], "nope:0")
        with v1.Graph().as_default():
            other = v1.constant(1.0)
        with pytest.raises(ValueError, match="not an element of this graph"):
            wrapped.prune("x:0", other)


def test_something_that_is_no_tensor_cannot_be_returned() -> None:
    with pytest.raises(TypeError, match="none of these"):
        v1.wrap_function(lambda: object(), [])


def test_no_session_runs_a_wrapped_function() -> None:
    seen = []
    wrapped = v1.wrap_function(lambda x: seen.append(x) or x + 1.0, [SCALAR])
    with pytest.raises(ValueError, match="No default session"):
        seen[0].eval()
    assert float(wrapped(1.0)) == 2.0


def test_the_graph_shows_everything_that_was_traced() -> None:
    def f(x):
        tf.negative(x, name="unused")
        v1.get_variable("v", initializer=1.0)
        return tf.square(x, name="y")

    wrapped = v1.wrap_function(f, [SCALAR])
    graph = wrapped.graph
    assert {"x", "unused", "y"} <= {op.name for op in graph.get_operations()}
    assert (
        float(
            wrapped.prune(graph.get_tensor_by_name("x:0"), graph.as_graph_element("unused:0"))(2.0)
        )
        == -2.0
    )
    assert [v.name for v in graph.get_collection_ref("variables")] == ["v:0"]
    assert (
        graph.get_all_collection_keys() == graph.collections == ["variables", "trainable_variables"]
    )
    assert [node.op_type for node in wrapped.as_onnx().graph.node] == ["Mul"]


def test_printing_happens_at_each_call(capfd: pytest.CaptureFixture[str]) -> None:
    def f(x):
        with tf.control_dependencies([v1.print("got", x)]):
            return tf.identity(x)

    wrapped = v1.wrap_function(f, [SCALAR])
    assert "got" not in capfd.readouterr().err
    wrapped(1.0)
    wrapped(2.0)
    assert capfd.readouterr().err == "got 1\ngot 2\n"


def test_placeholders_inside_are_for_pruning() -> None:
    def f():
        x = v1.placeholder(tf.float32, [], name="x")
        total = v1.get_variable("total", initializer=0.0)
        total.assign_add(x, name="added")
        tf.identity(total, name="y")

    wrapped = v1.wrap_function(f, [])
    assert wrapped() is None
    add = wrapped.prune("x:0", "added:0")
    assert [float(add(2.0)), float(add(3.0))] == [2.0, 5.0]
    assert float(wrapped.prune([], "y:0")()) == 5.0
