"""``variable_creator_scope``."""

from __future__ import annotations

import abc

import pytest

import tfx as tf


def test_the_innermost_creator_is_called_first_and_sees_all_arguments() -> None:
    seen = []

    def outer(next_creator, **kwargs):
        seen.append(("outer", kwargs["name"]))
        return next_creator(**kwargs)

    def inner(next_creator, **kwargs):
        assert {"initial_value", "trainable", "dtype", "shape", "constraint"} <= kwargs.keys()
        seen.append(("inner", kwargs["name"]))
        kwargs["name"] = "renamed"
        return next_creator(**kwargs)

    with tf.variable_creator_scope(outer), tf.variable_creator_scope(inner):
        v = tf.Variable(1.0, False, name="v")
    assert seen == [("inner", "v"), ("outer", "renamed")]
    assert (v.name, v.trainable, float(v)) == ("renamed:0", False, 1.0)
    assert tf.Variable(1.0, name="w").name == "w:0"
    assert len(seen) == 2


def test_a_creator_may_return_something_else_and_may_fail() -> None:
    shared = tf.Variable(3.0)
    with tf.variable_creator_scope(lambda next_creator, **kwargs: shared):
        assert tf.Variable(1.0) is shared

    def refuse(next_creator, **kwargs):
        raise ValueError("no more variables")

    with pytest.raises(ValueError, match="no more"), tf.variable_creator_scope(refuse):
        tf.Variable(1.0)
    tf.Variable(1.0)


def test_in_functions_and_graphs() -> None:
    def double(next_creator, **kwargs):
        kwargs["initial_value"] = 2.0
        return next_creator(**kwargs)

    made = []

    @tf.function
    def f():
        if not made:
            made.append(tf.Variable(1.0))
        return made[0].value()

    v1 = tf.compat.v1
    with tf.variable_creator_scope(double):
        assert float(f()) == 2.0
        with v1.Graph().as_default(), v1.Session() as session:
            variables = [
                tf.Variable(1.0),
                v1.Variable(1.0),
                v1.get_variable("s/v", initializer=1.0),
            ]
            assert [v.name for v in variables] == ["Variable:0", "Variable_1:0", "s/v:0"]
            session.run(v1.global_variables_initializer())
            assert session.run(variables) == [2.0, 2.0, 2.0]


def test_creators_are_not_asked_for_states_that_are_no_variables_in_tensorflow() -> None:
    """A library's creator that returns a class of its own saw the states of random operations."""

    def refuse(next_creator, **kwargs):
        raise AssertionError(f"asked for {kwargs['name']}")

    with tf.variable_creator_scope(refuse):
        assert tf.random.truncated_normal([2]).shape == [2]
        assert tf.random.normal([2], seed=11003).shape == [2]
        assert tf.function(lambda: tf.random.uniform([2], seed=11004))().shape == [2]
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        table.insert(["a"], [1])
        assert table.lookup(["a", "b"]).numpy().tolist() == [1, -1]
    with pytest.raises(AssertionError, match="asked for"), tf.variable_creator_scope(refuse):
        tf.random.Generator.from_seed(1)


def test_a_class_of_variables_may_be_abstract_too() -> None:
    """Variables and abstract classes of a program have metaclasses that fit together."""

    class Bounded(abc.ABC):
        @abc.abstractmethod
        def bounds(self) -> tuple[float, float]: ...

    class Open(tf.Variable, Bounded):
        pass

    class Parameter(Open):
        def bounds(self) -> tuple[float, float]:
            return 0.0, 1.0

    with pytest.raises(TypeError, match="abstract"):
        Open(0.5)
    made = Parameter(0.5)
    assert isinstance(made, Bounded) and isinstance(made, tf.Variable)
    with tf.GradientTape() as tape:
        y = made * made
    assert float(tape.gradient(y, made)) == 1.0
    assert not isinstance(y, tf.Variable)
