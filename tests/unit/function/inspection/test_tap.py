"""``tap``: values from the middle of a function, by name."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.framework.host_call import host_call
from tfx.graph import ir
from tfx.graph.ir import HostCall


class Net(tf.Module):
    """Two calls of a block that counts, in a scope."""

    def __init__(self):
        self.calls = tf.Variable(0.0, name="calls")
        self.weight = tf.Variable(3.0, name="weight")

    @tf.function
    def block(self, x):
        hidden = tf.identity(x * self.weight, name="hidden")
        self.calls.assign_add(1.0)
        return hidden + 1.0

    @tf.function
    def __call__(self, x):
        with tf.name_scope("enc"):
            y = self.block(self.block(x))
        left, right = tf.split(tf.stack([x, y]), 2, name="halves")
        return {"y": y, "z": tf.squeeze(left + right, name="z")}


@pytest.fixture
def net():
    return Net()


def numbers(values):
    return {name: value.numpy().tolist() for name, value in values.items()}


def test_by_name(net):
    result, values = tf.tap(net.__call__, "stack")(tf.constant(2.0))
    assert numbers(result) == {"y": 22.0, "z": 24.0}
    assert numbers(values) == {"stack": [2.0, 22.0]}
    assert float(net.calls) == 2.0


def test_by_pattern_also_inside_of_called_functions(net):
    x = tf.constant(2.0)
    hidden = {"enc/block/hidden": 6.0, "enc/block_1/hidden": 21.0}
    assert numbers(tf.tap(net.__call__, "*/hidden")(x)[1]) == hidden
    assert numbers(tf.tap(net.__call__, "enc/block_?/hidden")(x)[1]) == {"enc/block_1/hidden": 21.0}
    assert numbers(tf.tap(net.__call__, "enc/block/hidden", "z")(x)[1]) == {
        "enc/block/hidden": 6.0,
        "z": 24.0,
    }
    assert numbers(tf.tap(net.block, "hidden")(x)[1]) == {"hidden": 6.0}
    assert float(net.calls) == 7.0  # two for each call but the last


def test_all_outputs_of_an_operation(net):
    values = tf.tap(net.__call__, "halves")(tf.constant(2.0))[1]
    assert numbers(values) == {"halves:0": [2.0], "halves:1": [22.0]}
    values = tf.tap(net.__call__, "halves:1")(tf.constant(2.0))[1]
    assert numbers(values) == {"halves:1": [22.0]}
    values = tf.tap(net.__call__, "z:0")(tf.constant(2.0))[1]
    assert numbers(values) == {"z": 24.0}


def test_everything(net):
    x = tf.constant(2.0)
    values = tf.tap(net.__call__, "*")(x)[1]
    names = {op.name for op in net.__call__.get_concrete_function(x).graph.get_operations()}
    tops = {name.partition(":")[0] for name in values if not name.startswith("enc/")}
    assert tops <= names
    assert {"stack", "halves", "z"} <= tops
    assert values["enc/block_1/hidden"].numpy() == 21.0


def test_state_is_changed_as_without_a_tap(net):
    x = tf.constant(2.0)
    plain = Net()
    plain(x)
    tf.tap(net.__call__, "enc/block/hidden")(x)
    assert float(net.calls) == float(plain.calls) == 2.0
    net.weight.assign(1.0)
    assert numbers(tf.tap(net.__call__, "*hidden")(x)[1])["enc/block/hidden"] == 2.0


def test_other_arguments(net):
    tapped = tf.tap(net.__call__, "*hidden")
    for x in (np.float32([1.0, 2.0]), np.float32(1.0)):
        result, values = tapped(x)
        np.testing.assert_array_equal(values["enc/block/hidden"].numpy(), x * 3.0)
        np.testing.assert_array_equal(result["y"].numpy(), (x * 3.0 + 1.0) * 3.0 + 1.0)
    assert tapped.function.experimental_get_tracing_count() == 2

    @tf.function
    def f(x, *, power=2):
        return tf.identity(x**power, name="p") * 2.0

    assert float(tf.tap(f, "p")(2.0, power=3)[1]["p"]) == 8.0


def test_under_a_tape(net):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        result, values = tf.tap(net.__call__, "enc/block_1/hidden")(x)
        loss = result["y"] + 10.0 * values["enc/block_1/hidden"]
    dx, dw = tape.gradient(loss, [x, net.weight])
    # hidden = (x w + 1) w, y = hidden + 1
    np.testing.assert_allclose(dx, 11.0 * 9.0)
    np.testing.assert_allclose(dw, 11.0 * (2 * 2.0 * 3.0 + 1.0))
    assert float(net.calls) == 2.0


def test_inside_another_function(net):
    @tf.function
    def outer(x):
        result, values = tf.tap(net.__call__, "*hidden")(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            inner = tf.tap(net.block, "hidden")(x)[1]["hidden"]
        return result["y"], values, tape.gradient(inner, x)

    y, values, slope = outer(tf.constant(2.0))
    assert float(y) == 22.0
    assert numbers(values) == {"enc/block/hidden": 6.0, "enc/block_1/hidden": 21.0}
    assert float(slope) == 3.0
    assert float(net.calls) == 3.0


def test_concrete_functions_and_saving(net, tmp_path):
    concrete = net.__call__.get_concrete_function(tf.TensorSpec([None], tf.float32))
    tapped = tf.tap(concrete, "*hidden")
    values = tapped([1.0, 2.0])[1]
    assert values["enc/block/hidden"].numpy().tolist() == [3.0, 6.0]
    whole = tapped.get_concrete_function()
    assert whole.name == "__call___tapped"
    tf.saved_model.save(net, tmp_path / "m", signatures=whole)
    loaded = tf.saved_model.load(tmp_path / "m").signatures["serving_default"]
    result = loaded(tf.constant([1.0, 2.0]))
    assert any(v.numpy().tolist() == [3.0, 6.0] for v in result.values())
    from_function = tf.tap(net.block, "hidden").get_concrete_function(tf.constant(1.0))
    assert from_function.structured_outputs[1]["hidden"].shape == []


def test_a_loaded_function(net, tmp_path):
    net(tf.constant(2.0))
    tf.saved_model.save(net, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    values = tf.tap(loaded.block, "hidden")(tf.constant(4.0))[1]
    assert numbers(values) == {"hidden": 12.0}


def test_host_calls_still_happen():
    said = []

    @tf.function
    def f(x):
        y = tf.identity(x + 1.0, name="y")
        host_call(HostCall("print", lambda xs: said.append(float(xs[0]))), [y])
        return x

    assert float(tf.tap(f, "y")(tf.constant(1.0))[1]["y"]) == 2.0
    assert said == [2.0]


def test_random_operations_stay_whole():
    @tf.function
    def f():
        return tf.random.uniform([3], name="noise") + 0.0

    result, values = tf.tap(f, "noise*")()
    np.testing.assert_array_equal(values["noise:0"].numpy(), result.numpy())
    with pytest.raises(ValueError, match="nothing in 'f'"):
        tf.tap(f, "*BitwiseXor*")()


def test_custom_gradients_survive():
    @tf.custom_gradient
    def clipped(x):
        return tf.identity(x * x, name="inside"), lambda dy: dy * 100.0

    f = tf.function(lambda x: clipped(x) * 2.0)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, values = tf.tap(f, "inside")(x)
    assert float(values["inside"]) == 9.0
    assert float(tape.gradient(y, x)) == 200.0


def test_nothing_fits(net):
    x = tf.constant(2.0)
    with pytest.raises(ValueError, match=r"fits 'stak'; there is 'stack'"):
        tf.tap(net.__call__, "stak")(x)
    with pytest.raises(ValueError, match=r"there is .*'enc/block.*hidden'"):
        tf.tap(net.__call__, "hiden")(x)
    with pytest.raises(ValueError, match="there is no operation"):
        tf.tap(tf.function(lambda x: x), "a")(x)


def test_inside_of_branches():
    graph = tf.Graph("g")
    with graph.as_default():
        x = graph.add_argument("x", 1, ())
        flag = graph.add_argument("flag", 9, ())
    body = ir.Graph("branch", graph.graph)
    body.outputs = list(body.add_node("Neg", [x._symbol], {}, [(1, ())], name="inner").outputs)
    attrs = {"then_branch": body, "else_branch": body}
    graph.graph.add_node("If", [flag._symbol], attrs, [(1, ())], name="choice")
    concrete = tf.function_from_graph(graph, {"x": x, "flag": flag}, "choice:0")
    assert float(tf.tap(concrete, "choice")(x=1.0, flag=True)[1]["choice"]) == -1.0
    with pytest.raises(ValueError, match="'inner' of 'pruned' is inside of 'choice', a branch"):
        tf.tap(concrete, "inner")(x=1.0, flag=True)


def test_what_is_refused(net):
    with pytest.raises(TypeError, match=r"takes a tfx\.function or a concrete function"):
        tf.tap(lambda x: x, "a")
    with pytest.raises(TypeError, match="takes patterns of names"):
        tf.tap(net.block)
    with pytest.raises(TypeError, match="takes patterns of names"):
        tf.tap(net.block, 3)


def test_facts(net):
    tapped = tf.tap(net.block, "a", "b*")
    assert tapped.patterns == ("a", "b*")
    assert tapped.function is net.block
    assert "a, b*" in repr(tapped)
