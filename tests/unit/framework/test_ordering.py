"""Operations about order: they check their arguments and keep program order."""

from __future__ import annotations

from typing import Any

import pytest

import tfx as tf


def test_nothing() -> None:
    assert tf.no_op() is None
    assert tf.group() is None
    assert tf.group(tf.constant(1), [tf.Variable(2.0), None]) is None
    with pytest.raises(TypeError, match="Received 'x'"):
        tf.group("x")


def test_tuple() -> None:
    v = tf.Variable(2)
    assert tf.tuple([]) == []
    assert tf.tuple((v, None))[0] is v


def test_control_dependencies_in_a_function() -> None:
    v = tf.Variable(1)

    @tf.function
    def f() -> Any:
        with tf.control_dependencies([v.assign_add(1), tf.constant(0)]):
            return v + 10, tf.no_op(), tf.group(v.assign_add(100))

    value, nothing, also_nothing = f()
    assert (int(value), nothing, also_nothing, int(v)) == (12, None, None, 102)


def test_control_dependencies_eagerly() -> None:
    called: list[int] = []
    with tf.control_dependencies([lambda: called.append(1), tf.constant(1)]):
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
