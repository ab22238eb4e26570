"""Operations about order: they check their arguments and keep program order."""

from __future__ import annotations

from typing import Any

import pytest

import tfx as tf


def test_nothing() -> None:
    assert tf.no_op() is None
    assert tf.group() is None
    assert tf.group(tf.constant(1), [tf.Variable(2.0), None]) is None
    assert tf.group("anything") is None  # as in TensorFlow: nothing is looked at eagerly


def test_groups_in_a_function() -> None:
    with pytest.raises(TypeError, match="Received 'x'"):
        tf.function(lambda: tf.group("x"))()


def test_tuple() -> None:
    v = tf.Variable(2)
    given = (v, None)
    assert tf.tuple(given) is given
    assert tf.tuple([]) == []


def test_tuple_in_a_function() -> None:
    v = tf.Variable(2.0)
    seen: list[Any] = []

    @tf.function
    def f(x: tf.Tensor) -> Any:
        result = tf.tuple((x, None, v), control_inputs=[v.assign_add(x)], name="gate")
        seen.extend([result[0] is x, result[1], [t.name for t in result if t is not None]])
        return result

    results = f(tf.constant(3.0))
    assert [None if r is None else float(r) for r in results] == [3.0, None, 5.0]
    assert seen[:2] == [False, None]
    assert len(set(seen[2])) == 2
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.function(lambda: tf.tuple([None]))()
    with pytest.raises(TypeError, match="must be operations or tensors; got 1"):
        tf.function(lambda x: tf.tuple([x], control_inputs=[1]))(tf.constant(1.0))


def test_identity_n() -> None:
    assert [x.numpy().tolist() for x in tf.identity_n((1, [2.0]))] == [1, [2.0]]
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.identity_n([])


def test_control_dependencies_in_a_function() -> None:
    v = tf.Variable(1)

    @tf.function
    def f() -> Any:
        with tf.control_dependencies([v.assign_add(1), tf.constant(0)]):
            return v + 10, tf.no_op(), tf.group(v.assign_add(100))

    value, nothing, also_nothing = f()
    assert (int(value), nothing, also_nothing, int(v)) == (12, None, None, 102)


def test_control_dependencies_on_operations_and_results_of_calls() -> None:
    v = tf.Variable(1)

    @tf.function
    def f(x: tf.Tensor) -> Any:
        y = x + 1
        with tf.control_dependencies([y.op, lambda: v.assign_add(5)]):
            return v + y

    assert int(f(tf.constant(1))) == 8


def test_what_is_waited_for_is_not_captured() -> None:
    @tf.function
    def outer(x: tf.Tensor) -> Any:
        y = x * 2.0

        @tf.function
        def inner(z: tf.Tensor) -> Any:
            with tf.control_dependencies([y]):
                return z + 1.0

        assert inner.get_concrete_function(x).graph.captures == []
        return inner(x)

    assert float(outer(tf.constant(1.0))) == 2.0


def test_control_dependencies_eagerly() -> None:
    called: list[int] = []
    with tf.control_dependencies([lambda: called.append(1), tf.constant(1), "anything"]):
        assert called == [1]
    with tf.control_dependencies(None):
        pass


def test_leaked_dependencies() -> None:
    leaked: list[tf.Tensor] = []
    tf.function(lambda x: leaked.append(x))(tf.constant(1))
    with pytest.raises(tf.errors.InaccessibleTensorError), tf.control_dependencies(leaked):
        pass

    @tf.function
    def other() -> None:
        with tf.control_dependencies(leaked):
            pass

    with pytest.raises(tf.errors.InaccessibleTensorError):
        other()
