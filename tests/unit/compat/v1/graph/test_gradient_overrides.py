"""``Graph.gradient_override_map``, as TensorFlow 2.21 has it."""

from __future__ import annotations

from typing import Any

import pytest

import tfx.compat.v1 as tf


@tf.RegisterGradient("TestTenfold")
def _tenfold(op: Any, dy: Any) -> Any:
    return 10.0 * dy


@tf.RegisterGradient("TestGuided")
def _guided(op: Any, dy: Any) -> Any:
    return tf.where(tf.logical_and(op.inputs[0] > 0.0, dy > 0.0), dy, tf.zeros_like(dy))


@tf.RegisterGradient("TestLeft")
def _left(op: Any, dy: Any) -> Any:
    return dy * op.inputs[1], None


def gradient(y: Any, x: Any) -> Any:
    with tf.Session() as session:
        return session.run(tf.gradients(y, x)[0]).tolist()


@pytest.mark.parametrize(
    ("kind", "compute"),
    [
        ("Square", tf.square),
        ("Relu", tf.nn.relu),
        ("Identity", tf.identity),
        ("Sign", tf.sign),
        ("Rint", tf.rint),
    ],
    ids=["Square", "Relu", "Identity", "Sign", "Rint"],
)
def test_operations_of_the_block_have_the_gradient(kind: str, compute: Any) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.5, -2.0])
        with graph.gradient_override_map({kind: "TestTenfold"}):
            y, other = compute(x), tf.exp(x)
        after = tf.square(x)
        assert gradient(y, x) == [10.0, 10.0]
        assert gradient(after, x) == [3.0, -4.0]
        with tf.Session() as session:
            value, plain = session.run([y, compute(x)])
            assert value.tolist() == plain.tolist()
            slope, exponential = session.run([tf.gradients(other, x)[0], other])
            assert slope.tolist() == exponential.tolist()


def test_guided_backpropagation() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0, 2.0, -3.0])
        with graph.gradient_override_map({"Relu": "TestGuided"}):
            y = tf.nn.relu(x) * [1.0, -1.0, 1.0]
        assert gradient(y, x) == [1.0, 0.0, 0.0]


def test_blocks_inside_of_others() -> None:
    with tf.Graph().as_default() as graph:
        x, two = tf.constant([1.0]), tf.constant([2.0])
        with graph.gradient_override_map({"Relu": "TestTenfold"}):
            with graph.gradient_override_map({"Mul": "TestLeft", "Relu": "Identity"}):
                product, inner = x * two, tf.nn.relu(x)
            outer = tf.nn.relu(x)
        assert [gradient(y, x) for y in (product, inner, outer)] == [[2.0], [1.0], [10.0]]
        assert tf.gradients(product, two) == [None]


def test_what_is_refused() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0])
        with (
            graph.gradient_override_map({"Relu": "TestNobodyRegistered"}),
            pytest.raises(LookupError, match="TestNobodyRegistered"),
        ):
            tf.gradients(tf.nn.relu(x), x)
        wrong: Any
        for wrong in (3, {1: "a"}, {"a": 2}):
            override = graph.gradient_override_map(wrong)
            with pytest.raises(TypeError, match="dictionary mapping strings to strings"), override:
                pass
        override = graph.gradient_override_map({"Conv2D": "Identity"})
        with pytest.raises(ValueError, match=r"'Conv2D'.*tf\.custom_gradient"), override:
            pass
