"""Sizes and axes that a program computed with NumPy, in floating numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

X = tf.reshape(tf.range(6.0), [2, 3])
CASES = {
    "tile": (lambda x: tf.tile(x, np.array([2.0, 1.0])), [4, 3]),
    "tile a fraction": (lambda x: tf.tile(x, np.array([2.9, 1.0], np.float32)), [4, 3]),
    "reshape": (lambda x: tf.reshape(x, np.array([3.0, 2.0])), [3, 2]),
    "ones": (lambda x: tf.ones(np.array([3.0, 2.0])), [3, 2]),
    "fill": (lambda x: tf.fill(np.array([3.0]), 1), [3]),
    "broadcast_to": (lambda x: tf.broadcast_to(x, np.array([4.0, 2.0, 3.0])), [4, 2, 3]),
    "pad": (lambda x: tf.pad(x, np.array([[1.0, 0.0], [0.0, 2.0]])), [3, 5]),
    "transpose": (lambda x: tf.transpose(x, np.array([1.0, 0.0])), [3, 2]),
    "reverse": (lambda x: tf.reverse(x, np.array([1.0])), [2, 3]),
    "reduce_sum": (lambda x: tf.reduce_sum(x, np.array([1.0])), [2]),
    "expand_dims": (lambda x: tf.expand_dims(x, np.float64(1)), [2, 1, 3]),
    "concat": (lambda x: tf.concat([x, x], np.float64(1)), [2, 6]),
    "cumsum": (lambda x: tf.cumsum(x, np.float64(1)), [2, 3]),
    "one_hot": (lambda x: tf.one_hot([1], np.float64(3)), [1, 3]),
    "repeat": (lambda x: tf.repeat(x, np.array([2.0, 1.0]), 0), [3, 3]),
    "top_k": (lambda x: tf.math.top_k(x, np.float64(2))[0], [2, 2]),
    "linspace": (lambda x: tf.linspace(0.0, 1.0, np.float64(4)), [4]),
    "resize": (lambda x: tf.image.resize(x[..., None], np.array([4.0, 5.0])), [4, 5, 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_taken_without_their_fractions(name):
    call, shape = CASES[name]
    assert call(X).shape == shape
    assert tf.function(call)(X).shape == shape


REFUSED = {
    "tile": lambda x: tf.tile(x, [2.0, 1.0]),
    "tile by one number of NumPy": lambda x: tf.tile(x, [np.float32(2), 1]),
    "tile by a tensor": lambda x: tf.tile(x, tf.constant([2.0, 1.0])),
    "slice": lambda x: tf.slice(x, np.array([0.0, 1.0]), np.array([1.0, 1.0])),
    "split": lambda x: tf.split(x, np.array([1.0, 2.0]), 1),
    "roll": lambda x: tf.roll(x, np.array([1.0]), [0]),
    "gather": lambda x: tf.gather(x, np.array([1.0])),
    "argmax": lambda x: tf.argmax(x, np.float64(1)),
    "uniform": lambda x: tf.random.uniform(np.array([2.0])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_lists_of_floats_and_what_has_no_dtype_of_its_own_are_refused(name):
    for run in (REFUSED[name], tf.function(REFUSED[name])):
        with pytest.raises(TypeError):
            run(X)
