"""``ExponentialMovingAverage`` in graphs that sessions run: TensorFlow 2.21's numbers and names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1


def test_means_of_variables_and_tensors() -> None:
    with tf.Graph().as_default():
        a = v1.get_variable("a", initializer=3.0)
        count = v1.get_variable("n", initializer=0, trainable=False)
        given = v1.placeholder(tf.float32, [])
        change = a.assign(given)
        loss = a * 2.0
        means = tf.train.ExponentialMovingAverage(0.9, num_updates=count)
        update = means.apply([a, loss])
        both = [means.average(a), means.average(loss)]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            found: list[Any] = [session.run(both)]
            for i in range(3):
                session.run(change, {given: float(i)})
                session.run(update)
                found.append(session.run(both))
        expected = [[3.0, 0.0], [0.3, 0.0], [0.93, 1.8], [1.893, 3.78]]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        names = ["a/ExponentialMovingAverage", "mul/ExponentialMovingAverage", "n"]
        assert sorted(means.variables_to_restore()) == names
        assert v1.get_collection(v1.GraphKeys.MOVING_AVERAGE_VARIABLES) == [a]


def test_all_trainable_variables_behind_a_training_step() -> None:
    with tf.Graph().as_default():
        w = v1.get_variable("w", initializer=[4.0, 2.0])
        step = v1.train.GradientDescentOptimizer(0.25).minimize(tf.reduce_sum(w**2))
        means = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([step]):
            train = means.apply()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(2):
                session.run(train)
            np.testing.assert_allclose(session.run(w), [1.0, 0.5])
            np.testing.assert_allclose(session.run(means.average(w)), [2.0, 1.0])


def test_eagerly_variables_must_be_given() -> None:
    with pytest.raises(ValueError, match="give the variables"):
        tf.train.ExponentialMovingAverage(0.5).apply()
