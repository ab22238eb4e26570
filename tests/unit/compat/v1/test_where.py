"""``compat.v1.where``, which selects rows and does not broadcast; as TensorFlow 2.21 answers."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
X = np.arange(12.0).reshape(3, 2, 2)
Y = -X - 1


def _ways(condition):
    c = np.array(condition)
    yield v1.where(c, X, Y)
    yield tf.function(lambda c, x, y: v1.where(c, x, y))(*map(tf.constant, (c, X, Y)))
    unknown = [tf.TensorSpec(None, a.dtype) for a in (c, X)]
    yield tf.function(v1.where, input_signature=[*unknown, unknown[1]])(c, X, Y)


@pytest.mark.parametrize("condition", [[True, False, True], [False, False, True]])
def test_rows(condition):
    expected = np.where(np.array(condition)[:, None, None], X, Y)
    for found in _ways(condition):
        np.testing.assert_array_equal(found, expected)


def test_a_square():
    found = v1.where([True, False], [[1, 1], [1, 1]], [[0, 0], [0, 0]])
    np.testing.assert_array_equal(found, [[1, 1], [0, 0]])


@pytest.mark.parametrize("condition", [True, False, X > 5])
def test_elements(condition):
    for found in _ways(condition):
        np.testing.assert_array_equal(found, np.where(condition, X, Y))


def test_nothing():
    assert v1.where(np.zeros(0, bool), np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("condition", "x", "y"),
    [
        ([True, False], X, Y),
        ([[True, False]], X[0], Y[:2, 0]),
        ([[True], [False]], X[0], Y[0]),
        ([True, False], X[0], np.float64(0)),
        ([True, False, True], X, Y[:2]),
        ([[True, False]] * 3, X, Y),
    ],
)
def test_shapes_that_do_not_fit(condition, x, y):
    for call in (v1.where, tf.function(v1.where)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="same size and shape"):
            call(tf.constant(condition), tf.constant(x), tf.constant(y))


def test_coordinates():
    np.testing.assert_array_equal(v1.where([0.0, 2.0, -1.0]), [[1], [2]])
    with pytest.raises(ValueError, match="both be non-None"):
        v1.where([True], [1])


def test_gradient():
    x, y = tf.constant(X), tf.constant(Y)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = v1.where([True, False, True], x, y)
    dx, dy = tape.gradient(z, [x, y])
    np.testing.assert_array_equal(dx[:, 0, 0], [1, 0, 1])
    np.testing.assert_array_equal(dy[:, 1, 1], [0, 1, 0])


def test_ragged_tensors():
    condition = tf.ragged.constant([[True, False], [True]])
    x, y = tf.ragged.constant([[1, 2], [3]]), tf.ragged.constant([[4, 5], [6]])
    assert v1.where(condition, x, y).to_list() == [[1, 5], [3]]
    assert tf.function(v1.where)(condition, x, y).to_list() == [[1, 5], [3]]
