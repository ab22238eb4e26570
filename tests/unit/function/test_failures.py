"""A failure inside ONNX Runtime: the user's line, the operator and the shapes that it met."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError

ANY = tf.TensorSpec(None, tf.float32)


def _product(x, y):
    scaled = x * 2.0
    return tf.matmul(scaled, y)  # the line


LINE = _product.__code__.co_firstlineno + 2
MESSAGE = (
    r"MatMul cannot be applied to \(float32\[2, 3\], float32\[4, 5\]\) in function '_product': "
    rf".*dimension mismatch.*\[test_failures\.py:{LINE} in _product\]"
)


def test_the_line_the_operator_and_the_shapes(capfd):
    f = tf.function(_product, input_signature=[ANY, ANY])
    with pytest.raises(InvalidArgumentError, match=MESSAGE) as caught:
        f(tf.ones([2, 3]), tf.ones([4, 5]))
    assert caught.value.op == "MatMul"
    assert caught.value.node == "MatMul"
    assert (caught.value.source.line, caught.value.source.function) == (LINE, "_product")
    assert isinstance(caught.value, ValueError)
    assert "onnxruntime" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_with_variables():
    v = tf.Variable([[1.0, 2.0]], shape=tf.TensorShape(None))
    f = tf.function(lambda x: tf.matmul(x, v), input_signature=[ANY])
    with pytest.raises(InvalidArgumentError, match=r"float32\[3, 4\], float32\[1, 2\]"):
        f(tf.ones([3, 4]))
    v.assign([[1.0]] * 4)
    assert f(tf.ones([3, 4])).shape == [3, 1]


def test_in_a_called_function():
    inner = tf.function(_product, input_signature=[ANY, ANY])
    outer = tf.function(lambda x, y: inner(x, y) + 1.0, input_signature=[ANY, ANY])
    with pytest.raises(InvalidArgumentError, match=rf"MatMul.*test_failures\.py:{LINE}"):
        outer(tf.ones([2, 3]), tf.ones([4, 5]))


def test_under_a_tape():
    f = tf.function(_product, input_signature=[ANY, ANY])
    x = tf.ones([2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(InvalidArgumentError, match=rf"MatMul.*test_failures\.py:{LINE}"):
            f(x, tf.ones([4, 5]))


def test_while_tracing():
    f = tf.function(_product)
    with pytest.raises(
        InvalidArgumentError,
        match=rf"MatMul cannot .*float32\[2, 3\], float32\[4, 5\].*test_failures\.py:{LINE} in _pro",
    ):
        f(tf.ones([2, 3]), tf.ones([4, 5]))


def test_nobody_is_shown_automatic_names():
    f = tf.function(lambda x, y: x + y)
    spec = tf.TensorSpec([None, 3])
    with pytest.raises(InvalidArgumentError, match=r"float32\[None, 3\], float32\[None, 4\]"):
        f.get_concrete_function(spec, tf.TensorSpec([None, 4]))
