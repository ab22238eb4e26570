"""Introduction to variables: making, assigning, naming, placing them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tfx as tf


def test_a_variable_looks_like_a_tensor() -> None:
    start = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    v = tf.Variable(start)
    assert repr(v) == (
        "<tf.Variable 'Variable:0' shape=(2, 2) dtype=float32, numpy=\n"
        "array([[1., 2.],\n       [3., 4.]], dtype=float32)>"
    )
    assert (v.shape, v.dtype) == ((2, 2), tf.float32)
    np.testing.assert_array_equal(v.numpy(), [[1.0, 2.0], [3.0, 4.0]])
    assert isinstance(tf.convert_to_tensor(v), tf.Tensor)
    np.testing.assert_array_equal(tf.math.argmax(v), [1, 1])
    np.testing.assert_array_equal(tf.reshape(v, [1, 4]), [[1.0, 2.0, 3.0, 4.0]])
    assert repr(tf.Variable([False, True])) == (
        "<tf.Variable 'Variable:0' shape=(2,) dtype=bool, numpy=array([False,  True])>"
    )


def test_assignment_keeps_dtype_and_shape() -> None:
    a = tf.Variable([2.0, 3.0])
    a.assign([1, 2])
    assert a.dtype == tf.float32
    with pytest.raises(ValueError, match="Cannot assign value to variable"):
        a.assign([1.0, 2.0, 3.0])
    with pytest.raises(TypeError):
        a.assign("text")
    np.testing.assert_array_equal(a, [1.0, 2.0])


def test_a_variable_from_a_variable_is_a_copy() -> None:
    a = tf.Variable([2.0, 3.0])
    b = tf.Variable(a)
    a.assign([5, 6])
    np.testing.assert_array_equal(b, [2.0, 3.0])
    np.testing.assert_array_equal(a.assign_add([2, 3]), [7.0, 9.0])
    np.testing.assert_array_equal(a.assign_sub([7, 9]), [0.0, 0.0])


def test_names_need_not_be_unique() -> None:
    a = tf.Variable([1.0, 2.0], name="Mark")
    b = tf.Variable([2.0, 2.0], name="Mark")
    assert a.name == b.name == "Mark:0"
    np.testing.assert_array_equal(a == b, [False, True])
    with tf.name_scope("scope"):
        assert tf.Variable(1.0, name="v").name == "scope/v:0"


def test_a_step_counter() -> None:
    step = tf.Variable(1, trainable=False)
    step.assign_add(1)
    assert (int(step), step.trainable, step.dtype) == (2, False, tf.int32)
    with tf.GradientTape() as tape:
        step + 1
    assert tape.watched_variables() == ()


def test_on_a_device() -> None:
    with tf.device("CPU:0"):
        a = tf.Variable([[1.0, 2.0, 3.0]])
        b = tf.constant([[4.0, 5.0, 6.0]])
        product = a * b
    np.testing.assert_array_equal(product, [[4.0, 10.0, 18.0]])
    assert a.device.endswith("device:CPU:0")


def test_a_free_shape() -> None:
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    v.assign([[1.0]])
    assert v.numpy().shape == (1, 1)
    w = tf.Variable([1.0, 2.0], shape=[None])
    w.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="Shape mismatch"):
        w.assign([[1.0]])
    assert w.shape.as_list() == [None]


def test_parts_can_be_assigned() -> None:
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    v[0].assign([9.0, 8.0, 7.0])
    v[1, 0].assign(0)
    v[:, 2].assign([1.0, 1.0])
    np.testing.assert_array_equal(v, [[9.0, 8.0, 1.0], [0.0, 5.0, 1.0]])
    v.scatter_nd_update([[1, 1]], [2.0])
    v.scatter_add(tf.IndexedSlices(tf.constant([[1.0, 1.0, 1.0]]), tf.constant([0])))
    np.testing.assert_array_equal(v, [[10.0, 9.0, 2.0], [0.0, 2.0, 1.0]])


def test_arithmetic_makes_tensors_and_in_place_arithmetic_is_refused() -> None:
    v = tf.Variable([1.0, 2.0])
    assert isinstance(v + 1, tf.Tensor)
    with pytest.raises(RuntimeError, match="assign_add"):
        v += 1
    assert isinstance(v, tf.Variable)


def test_identity_and_copies() -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(TypeError, match="unhashable"):
        hash(v)
    assert {v.ref(): 1}[v.ref()] == 1
    twin = copy.deepcopy(v)
    v.assign([0.0, 0.0])
    np.testing.assert_array_equal(twin, [1.0, 2.0])


def test_initial_values() -> None:
    assert tf.Variable(lambda: tf.ones([2])).shape == (2,)
    assert tf.Variable(3.0, dtype=tf.float64).dtype == tf.float64
    assert tf.Variable("text").dtype == tf.string
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()
