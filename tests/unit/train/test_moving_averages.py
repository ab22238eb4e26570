"""``ExponentialMovingAverage``: its recurrence, in functions too, and its checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx as tf


def test_recurrence() -> None:
    x, y = tf.Variable(2.0, name="x"), tf.Variable([0.0, 4.0])
    averages = tf.train.ExponentialMovingAverage(decay=0.9)
    assert averages.average(x) is None
    averages.apply([x, y])
    expected = 2.0
    for step in range(5):
        x.assign_add(step)
        averages.apply([x, y])
        expected = 0.9 * expected + 0.1 * float(x)
    np.testing.assert_allclose(averages.average(x), expected, rtol=1e-6)
    np.testing.assert_allclose(averages.average(y), [0.0, 4.0])
    assert averages.average_name(x) == "x/ExponentialMovingAverage"
    assert averages.variables_to_restore()["x/ExponentialMovingAverage"] is x


def test_early_updates_count_more() -> None:
    x, steps = tf.Variable(0.0), tf.Variable(0)
    averages = tf.train.ExponentialMovingAverage(0.9, num_updates=steps)
    averages.apply([x])
    x.assign(1.0)
    averages.apply([x])  # decay 1 / 10
    np.testing.assert_allclose(averages.average(x), 0.9, rtol=1e-6)


def test_in_a_function() -> None:
    x = tf.Variable(0.0)
    averages = tf.train.ExponentialMovingAverage(0.5)

    @tf.function
    def step() -> None:
        x.assign_add(1.0)
        averages.apply([x])

    averages.apply([x])
    for _ in range(3):
        step()
    np.testing.assert_allclose(averages.average(x), 0.5 * (0.5 * 0.5 + 1.0) + 1.5)


def test_checkpoint(tmp_path: Path) -> None:
    def make() -> tuple[tf.Variable, tf.train.ExponentialMovingAverage, tf.train.Checkpoint]:
        x = tf.Variable(1.0)
        averages = tf.train.ExponentialMovingAverage(0.5)
        averages.apply([x])
        return x, averages, tf.train.Checkpoint(x=x, averages=averages)

    x, averages, checkpoint = make()
    x.assign(3.0)
    averages.apply([x])
    path = checkpoint.write(str(tmp_path / "c"))
    other, again, target = make()
    target.read(path).assert_consumed()
    assert float(again.average(other)) == 2.0


def test_bad_arguments() -> None:
    averages = tf.train.ExponentialMovingAverage(0.5)
    with pytest.raises(ValueError, match="variables"):
        averages.apply()
    with pytest.raises(TypeError, match="floating"):
        averages.apply([tf.Variable(1)])
