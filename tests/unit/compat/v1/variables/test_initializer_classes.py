"""Initializers: distributions, seeds, configuration."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.compat.v1 as tf

SHAPE = [300, 200]


@pytest.mark.parametrize(
    ("initializer", "mean", "stddev", "limit"),
    [
        (tf.random_normal_initializer(1.0, 2.0), 1.0, 2.0, np.inf),
        (tf.truncated_normal_initializer(stddev=2.0), 0.0, 2.0 * 0.8796, 4.0),
        (tf.random_uniform_initializer(-1.0, 3.0), 1.0, 4.0 / np.sqrt(12), 3.0),
        (tf.glorot_uniform_initializer(), 0.0, np.sqrt(2 / 500), np.sqrt(6 / 500)),
        (tf.glorot_normal_initializer(), 0.0, np.sqrt(2 / 500), 2.28 * np.sqrt(2 / 500)),
        (tf.initializers.he_normal(), 0.0, np.sqrt(2 / 300), 2.28 * np.sqrt(2 / 300)),
        (tf.initializers.he_uniform(), 0.0, np.sqrt(2 / 300), np.sqrt(6 / 300)),
        (tf.initializers.lecun_normal(), 0.0, np.sqrt(1 / 300), 2.28 * np.sqrt(1 / 300)),
        (tf.initializers.lecun_uniform(), 0.0, np.sqrt(1 / 300), np.sqrt(3 / 300)),
        (
            tf.variance_scaling_initializer(3.0, "fan_out", "untruncated_normal"),
            *(0.0, np.sqrt(3 / 200), np.inf),
        ),
    ],
)
def test_distributions(initializer, mean: float, stddev: float, limit: float) -> None:
    x = initializer(SHAPE).numpy()
    assert x.mean() == pytest.approx(mean, abs=5 * stddev / np.sqrt(x.size))
    assert x.std() == pytest.approx(stddev, rel=0.02)
    assert abs(x).max() <= limit * 1.001


def test_fixed_values() -> None:
    assert tf.zeros_initializer()([2]).numpy().tolist() == [0.0, 0.0]
    assert tf.ones_initializer(tf.int32)([2]).dtype is tf.int32
    assert tf.constant_initializer(2)([2]).numpy().tolist() == [2.0, 2.0]
    with tf.Graph().as_default(), tf.Session() as session:
        filled = session.run(tf.constant_initializer([1, 2])([3], tf.int32))
        assert filled.tolist() == [1, 2, 2]
        with pytest.raises(ValueError, match="Too many elements"):
            tf.constant_initializer([1, 2, 3])([2])
    assert tf.initializers.identity(2.0)([2, 3]).numpy().tolist() == [[2, 0, 0], [0, 2, 0]]
    with pytest.raises(TypeError, match="got"):
        tf.constant_initializer([1, 2], verify_shape=True)([3])
    with pytest.raises(TypeError, match="Invalid type"):
        tf.constant_initializer({})
    with pytest.raises(TypeError, match="unsupported shape"):
        tf.constant_initializer([1, 2, 3])([2])
    with pytest.raises(ValueError, match="two-dimensional"):
        tf.initializers.identity()([2])


def test_the_initializer_of_a_variable_draws_anew_and_a_seed_fixes_it() -> None:
    with tf.Graph().as_default():
        free = tf.get_variable("free", [3], initializer=tf.random_normal_initializer())
        fixed = tf.get_variable("fixed", [3], initializer=tf.random_normal_initializer(seed=1))
        runs = []
        for _ in range(2):
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                first = session.run([free, fixed])
                session.run(tf.global_variables_initializer())
                runs.append((first, session.run([free, fixed])))
    assert not np.array_equal(runs[0][0][0], runs[0][1][0])
    assert not np.array_equal(runs[0][0][0], runs[1][0][0])
    np.testing.assert_array_equal(runs[0][0][1], runs[1][0][1])


def test_configuration() -> None:
    for initializer in (
        tf.random_normal_initializer(1.0, 2.0, 3),
        tf.variance_scaling_initializer(2.0),
        tf.glorot_uniform_initializer(4),
        tf.constant_initializer(3.0),
    ):
        again = type(initializer).from_config(initializer.get_config())
        assert again.get_config() == initializer.get_config()
    for options in ({"scale": 0}, {"mode": "x"}, {"distribution": "x"}):
        with pytest.raises(ValueError, match="Argument"):
            tf.variance_scaling_initializer(**options)
