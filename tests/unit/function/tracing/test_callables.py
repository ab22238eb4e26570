"""Methods: traces and variables for each instance, which they do not keep alive."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import weakref
from typing import NamedTuple

import pytest

import tfx as tf


class Model:
    def __init__(self):
        self.v = tf.Variable(0)
        self.python_calls = 0

    @tf.function
    def increment(self, amount):
        self.python_calls += 1
        self.v.assign_add(amount)
        return self.v


class AnyShape:
    v = None

    @tf.function
    def increment(self, amount):
        if self.v is None:
            self.v = tf.Variable(tf.zeros_like(amount))
        self.v.assign_add(amount)


def test_each_instance_has_its_own_trace_and_state():
    a, b = Model(), Model()
    a.increment(3)
    a.increment(4)
    b.increment(5)
    assert (int(a.v), int(b.v)) == (7, 5)
    assert (a.python_calls, b.python_calls) == (2, 1)  # 3 and 4 are Python values
    b.increment(tf.constant(1))
    b.increment(tf.constant(2))
    assert b.python_calls == 2


def test_each_instance_creates_its_own_variables():
    a, b = AnyShape(), AnyShape()
    a.increment(tf.constant(3))
    a.increment(tf.constant(4))
    b.increment(tf.constant([4, 5]))
    assert int(a.v) == 7
    assert b.v.numpy().tolist() == [4, 5]


def test_the_method_is_one_object_for_an_instance():
    model = Model()
    assert model.increment is model.increment
    assert model.increment is not Model().increment
    assert Model.increment is Model.__dict__["increment"]
    assert model.increment.__name__ == "increment"
    assert model.increment.function_spec.names == ["amount"]


def test_instances_are_not_kept_alive():
    model = Model()
    model.increment(1)
    for _ in range(20):
        model.increment(tf.constant(1))
    model.increment.get_concrete_function(tf.TensorSpec([], tf.int32))
    reference, variable = weakref.ref(model), weakref.ref(model.v)
    del model
    gc.collect()
    assert reference() is None
    assert variable() is None
    assert not Model.__dict__["increment"]._bound


def test_methods_of_temporary_instances():
    assert int(Model().increment(3)) == 3
    method = Model().increment  # a bound method keeps its instance, as any does in Python
    gc.collect()
    assert [int(method(1)), int(method(2))] == [1, 3]
    instance = weakref.ref(method.__self__)
    del method
    gc.collect()
    assert instance() is None


def test_a_call_without_its_instance():
    model = Model()
    traced = model.increment.python_function
    del model
    gc.collect()
    with pytest.raises(ReferenceError, match="object whose method 'increment' was called is gone"):
        traced(1)


def test_calls_through_the_class():
    model = Model()
    Model.increment(model, 3)
    assert int(model.v) == 3


def test_call_and_inheritance():
    class Base(tf.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = tf.Variable(scale)

        @tf.function
        def __call__(self, x):
            return self.apply(x)

        def apply(self, x):
            return x * self.scale

    class Derived(Base):
        def apply(self, x):
            return super().apply(x) + 1.0

        @tf.function
        def both(self, x):
            return self(x) + Base.__call__(self, x)

    base, derived = Base(2.0), Derived(3.0)
    x = tf.constant(5.0)
    assert float(base(x)) == 10.0
    assert float(derived(x)) == 16.0
    assert float(derived.both(x)) == 32.0


def test_static_and_class_methods():
    class Tools:
        offset = 5

        @staticmethod
        @tf.function
        def plus_one(x):
            return x + 1

        @classmethod
        @tf.function
        def plus_offset(cls, x):
            return x + cls.offset

    x = tf.constant(1)
    assert [int(f(x)) for f in (Tools.plus_one, Tools().plus_one)] == [2, 2]
    assert [int(f(x)) for f in (Tools.plus_offset, Tools().plus_offset)] == [6, 6]


class Pair(NamedTuple):
    a: tf.Tensor
    b: tf.Tensor

    @tf.function
    def total(self, scale):
        return (self.a + self.b) * scale


class Slotted:
    __slots__ = ("v",)

    @tf.function
    def read(self):
        return self.v + 1


def test_instances_that_take_no_weak_reference():
    """They are arguments like any other: structures of tensors, or objects by identity."""
    assert int(Pair(tf.constant(1), tf.constant(2)).total(2)) == 6
    assert int(Pair(tf.constant(3), tf.constant(4)).total(2)) == 14
    slotted = Slotted()
    slotted.v = tf.Variable(1)
    assert [int(slotted.read()), int(slotted.read())] == [2, 2]
    assert Slotted.__dict__["read"].experimental_get_tracing_count() == 1


def test_an_attribute_of_an_instance():
    class Wrapper:
        def __init__(self):
            self.v = tf.Variable(2.0)
            self.call = tf.function(self.multiply)

        def multiply(self, x):
            return x * self.v

    assert float(Wrapper().call(tf.constant(3.0))) == 6.0


# Copies


def test_deep_copies_of_instances():
    model = Model()
    model.increment(1)
    twin = copy.deepcopy(model)
    twin.increment(10)
    assert (int(model.v), int(twin.v)) == (1, 11)


def test_deep_copies_of_functions_kept_by_instances():
    class Wrapper:
        def __init__(self):
            self.v = tf.Variable(2.0)
            self.call = tf.function(self.multiply)

        def multiply(self, x):
            return self.v.assign(x * self.v)

    wrapper = Wrapper()
    wrapper.call(tf.constant(3.0))
    twin = copy.deepcopy(wrapper)
    twin.call(tf.constant(10.0))
    assert (float(wrapper.v), float(twin.v)) == (6.0, 60.0)


@tf.function
def at_the_top(x):
    return x + 1


def test_pickles():
    assert pickle.loads(pickle.dumps(at_the_top)) is at_the_top
    model = Model()
    twin = pickle.loads(pickle.dumps(model))
    twin.increment(5)
    assert (int(model.v), int(twin.v)) == (0, 5)
    method = pickle.loads(pickle.dumps((model, model.increment)))
    method[1](7)
    assert int(method[0].v) == 7
    f = pickle.loads(pickle.dumps(tf.function(operator.mul)))
    assert int(f(tf.constant(3), 2)) == 6
