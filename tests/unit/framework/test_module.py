"""Modules find variables and modules wherever attributes hold them."""

from __future__ import annotations

import collections
import copy
import inspect

import numpy as np
import pytest

import tfx as tf


class Dense(tf.Module):
    def __init__(self, units, name=None):
        super().__init__(name)
        self.w = tf.Variable(tf.ones([2, units]), name="w")
        self.b = tf.Variable(tf.zeros([units]), name="b", trainable=False)

    @tf.function
    def __call__(self, x):
        return x @ self.w + self.b


class DeepNet(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Dense(2, "one"), Dense(3, "two")]
        self.table = {"z": tf.Variable(1.0, name="z"), "a": (tf.Variable(2.0, name="a"),)}
        self.alias = self.layers[0]
        self.scale = tf.Variable(3.0, name="scale")
        self.plain = 3
        self.mixed = {1: tf.Variable(4.0, name="mixed"), "k": None}


def test_variables_own_first_sorted_by_attribute():
    net = DeepNet()
    names = [v.name for v in net.variables]
    assert names == ["mixed:0", "scale:0", "a:0", "z:0", "b:0", "w:0", "b:0", "w:0"]
    assert len({id(v) for v in net.variables}) == len(names)
    assert [v.name for v in net.non_trainable_variables] == ["b:0", "b:0"]
    assert len(net.trainable_variables) == 6


def test_submodules_once():
    net = DeepNet()
    assert [m.name for m in net.submodules] == ["one", "two"]
    net.layers[0].inner = net
    assert [m.name for m in net.submodules] == ["one", "two"]
    assert len(net.variables) == 8


def test_names():
    assert DeepNet().name == "deep_net"
    assert tf.Module().name == "module"
    assert Dense(1, "my_layer").name == "my_layer"
    for wrong in ("1x", "a b", "", "a/b"):
        with pytest.raises(ValueError, match="is not a valid module name"):
            tf.Module(wrong)


def test_name_scope():
    class Scoped(tf.Module):
        @tf.Module.with_name_scope
        def build(self, size):
            self.w = tf.Variable(tf.zeros([size]), name="w")
            return self.w

    module = Scoped("outer")
    assert module.build(3).name == "outer/w:0"
    with module.name_scope as scope:
        assert scope == "outer/"


def test_ordered_mappings_go_by_sorted_keys():
    module = tf.Module()
    pairs = [("b", tf.Variable(1.0, name="b")), ("a", tf.Variable(1.0, name="a"))]
    module.items = collections.OrderedDict(pairs)
    assert [v.name for v in module.variables] == ["a:0", "b:0"]


def test_attributes_changed_later():
    module = tf.Module()
    assert module.variables == ()
    module.v = tf.Variable(1.0)
    assert len(module.variables) == 1
    del module.v
    assert module.variables == ()


def test_deep_copies_are_independent():
    layer = Dense(2)
    layer(tf.ones([1, 2]))
    twin = copy.deepcopy(layer)
    twin.w.assign(tf.zeros([2, 2]))
    np.testing.assert_array_equal(twin(tf.ones([1, 2])), np.zeros((1, 2)))
    np.testing.assert_array_equal(layer(tf.ones([1, 2])), np.full((1, 2), 2.0))


def test_containers_that_hold_themselves_and_long_chains():
    module = last = tf.Module()
    module.items = [tf.Variable(1.0)]
    module.items.append({"items": module.items})
    for _ in range(3000):
        last.part = tf.Module()
        last = last.part
    last.v = tf.Variable(2.0)
    last.deep = inner = []
    for _ in range(3000):
        inner.append([])
        inner = inner[0]
    inner.append(last.v)
    assert [float(v) for v in module.variables] == [1.0, 2.0]
    assert len(module.submodules) == 3000


class _Part(tf.Module):
    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.add(x, 1.0, name="plus")


def _names(code):
    """Names of what is added when ``code`` is traced."""
    function = tf.function(code).get_concrete_function(tf.TensorSpec([2]))
    return [op.name for op in function.graph.get_operations() if op.type == "Add"]


def test_scopes_of_modules_made_in_a_graph_are_their_own():
    def code(x):
        first, second = _Part("part"), _Part("part")
        with first.name_scope as a, second.name_scope as b:
            assert (a, b) == ("part/", "part_1/")
        return first(second(first(x)))

    assert _names(code) == ["part/plus", "part_1/plus", "part/plus_1"]


def test_a_scope_in_a_graph_is_never_opened_twice():
    outside = _Part("part")

    def code(x):
        for _ in range(2):
            with tf.name_scope("s") as scope:
                x = tf.add(x, 1.0, name="a")
        with tf.name_scope(scope), tf.name_scope("t"):
            x = tf.add(x, 1.0, name="a")
        return outside(outside(x))

    # As TensorFlow 2.21: a module made outside goes on with its scope.
    assert _names(code) == ["s/a", "s_1/a", "s_1/t/a", "part/plus", "part/plus_1"]
    with tf.name_scope("s") as first, tf.name_scope("/s/") as second:
        assert (first, second) == ("s/", "/s/")


@pytest.mark.parametrize("name", ["a b", "-x", "\u00e9"])
def test_scopes_in_a_graph_have_names_that_operations_can_have(name):
    def code(x):
        with tf.name_scope(name):
            return x + 1.0

    with pytest.raises(ValueError, match="not a valid name of a scope"):
        _names(code)
    with tf.name_scope(name) as scope:
        assert scope == f"{name}/"


def test_overridden_properties_are_not_asked_for_others():
    class Narrow(tf.Module):
        def __init__(self):
            super().__init__()
            self.a = tf.Variable(1.0, name="a")
            self.b = tf.Variable(2.0, trainable=False, name="b")

        @property
        def variables(self):
            return (self.a,)

        @property
        def submodules(self):
            raise AssertionError

    outer = tf.Module()
    outer.inner = Narrow()
    assert [v.name for v in outer.inner.non_trainable_variables] == ["b:0"]
    assert [v.name for v in outer.inner.trainable_variables] == ["a:0"]
    assert [v.name for v in outer.variables] == ["a:0", "b:0"]
    assert outer.submodules == (outer.inner,)


def test_flatten_serves_subclasses():
    class Holder(tf.Module):
        _TF_MODULE_IGNORED_PROPERTIES = frozenset(("hidden",))

        def __init__(self):
            super().__init__("holder")
            self.hidden = tf.Variable(0.0, name="hidden")
            self.z = [tf.Variable(1.0, name="z0"), {"k": tf.Variable(2.0, name="k")}]
            self.a = ("text", tf.Module())
            self.a[1].w = tf.Variable(3.0, name="w")

    holder = Holder()
    assert [v.name for v in holder.variables] == ["z0:0", "k:0", "w:0"]
    found = dict(holder._flatten(predicate=lambda x: isinstance(x, tf.Variable), with_path=True))
    assert {k: v.name for k, v in found.items()} == {
        ("z", 0): "z0:0",
        ("z", 1, "k"): "k:0",
        ("a", 1, "w"): "w:0",
    }
    assert list(holder._flatten(predicate=lambda x: isinstance(x, str))) == ["text"]
    assert list(holder._flatten(recursive=False, predicate=lambda x: isinstance(x, tf.Module))) == [
        holder.a[1]
    ]


def test_libraries_enter_the_scope_by_its_other_name():
    m = tf.Module(name="m")
    with m._name_scope:
        assert tf.Variable(1.0, name="v").name == "m/v:0"
    m._name_scope = tf.name_scope("other")
    with m._name_scope:
        assert tf.Variable(1.0, name="v").name == "other/v:0"
    assert m.variables == ()


def test_methods_with_a_name_scope_show_their_signature():
    class Layer(tf.Module):
        @tf.Module.with_name_scope
        def call(self, x, k=3):
            return x * k

    assert inspect.getfullargspec(Layer().call).args == ["self", "x", "k"]
    assert list(inspect.signature(Layer().call).parameters) == ["x", "k"]
