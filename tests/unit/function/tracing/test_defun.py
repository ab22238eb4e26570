"""``defun``: variables are static locals of each trace."""

from __future__ import annotations

import gc

import pytest

import tfx as tf


def _counter(x):
    v = tf.Variable(tf.zeros_like(x), name="count")
    v.assign_add(x)
    return v.read_value()


def test_variables_are_static_locals():
    compiled = tf.defun(_counter)
    one = tf.constant(1.0)
    assert [float(compiled(one)) for _ in range(3)] == [1.0, 2.0, 3.0]
    gc.collect()
    assert float(compiled(tf.constant(10.0))) == 13.0
    assert compiled.experimental_get_tracing_count() == 1
    assert [float(_counter(one)) for _ in range(2)] == [1.0, 1.0]


def test_each_kind_of_arguments_has_variables_of_its_own():
    compiled = tf.defun(_counter)
    for n in range(1, 4):
        assert float(compiled(tf.constant(1.0))) == n
        assert compiled(tf.ones([2])).numpy().tolist() == [n, n]
    assert len(compiled.variables) == 2
    assert [v.name for v in compiled.trainable_variables] == ["count:0"] * 2


def test_another_function_refuses_the_same_code():
    with pytest.raises(ValueError, match="only supports singleton"):
        tf.function(_counter)(tf.constant(1.0))


def test_a_variable_that_is_returned_is_its_value():
    compiled = tf.defun(lambda: tf.Variable(5.0))
    result = compiled()
    assert isinstance(result, tf.Tensor)
    assert not isinstance(result, tf.Variable)
    assert float(result) == 5.0


def test_as_decorator_with_options():
    @tf.defun(input_signature=[tf.TensorSpec([None])])
    def total(x):
        return tf.reduce_sum(x)

    assert [float(total([1.0])), float(total([1.0, 2.0]))] == [1.0, 3.0]
    assert total.experimental_get_tracing_count() == 1

    @tf.defun(experimental_relax_shapes=True)
    def double(x):
        return x * 2.0

    for n in range(1, 5):
        double(tf.ones([n]))
    assert double.experimental_get_tracing_count() == 2


def test_methods_have_variables_for_each_instance():
    class Layer:
        @tf.defun
        def __call__(self, x):
            w = tf.Variable(1.0)
            w.assign_add(x)
            return w

    a, b = Layer(), Layer()
    x = tf.constant(1.0)
    assert [float(a(x)), float(a(x)), float(b(x)), float(a(x))] == [2.0, 3.0, 2.0, 4.0]


def test_mistakes():
    with pytest.raises(ValueError, match=r"keyword arguments \*\*options"):
        tf.defun(lambda x, **options: x, input_signature=[tf.TensorSpec([])])
    with pytest.raises(TypeError, match="sequence of TensorSpec"):
        tf.defun(lambda x: x, input_signature=3)
    assert float(tf.defun(lambda x, **options: x)(tf.constant(1.0), a=1)) == 1.0


def test_gradients_reach_static_locals():
    def layer(x):
        w = tf.Variable(3.0)
        return w * x

    compiled = tf.defun(layer)
    x = tf.constant(2.0)
    compiled(x)
    (w,) = compiled.variables
    with tf.GradientTape() as tape:
        y = compiled(x)
    assert float(tape.gradient(y, w)) == 2.0
