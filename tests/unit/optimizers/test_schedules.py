"""Schedules against Keras's recorded numbers, eagerly, traced, and as a part of a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.optimizers import keras_runs

schedules = tf.optimizers.schedules


@pytest.mark.parametrize(("name", "arguments", "expected"), keras_runs.SCHEDULES)
def test_keras(name: str, arguments: tuple[Any, ...], expected: list[float]) -> None:
    schedule = getattr(schedules, name)(*arguments)
    traced = tf.function(schedule.__call__)
    found = [schedule(step) for step in keras_runs.SCHEDULE_STEPS]
    assert all(rate.dtype is tf.float32 and rate.shape == [] for rate in found)
    # Keras computes in float32.
    np.testing.assert_allclose([float(r) for r in found], expected, rtol=2e-5)
    for step, rate in zip(keras_runs.SCHEDULE_STEPS, found, strict=True):
        assert float(traced(tf.constant(step, tf.int64))) == float(rate)
        assert float(schedule(np.int32(step))) == float(rate)


@pytest.mark.parametrize(("name", "arguments", "_"), keras_runs.SCHEDULES)
def test_configuration(name: str, arguments: tuple[Any, ...], _: Any) -> None:
    schedule = getattr(schedules, name)(*arguments)
    copied = schedules.deserialize(schedules.serialize(schedule))
    assert type(copied) is type(schedule)
    assert copied.get_config() == schedule.get_config()
    assert float(copied(7)) == float(schedule(7))


@pytest.mark.parametrize("growth", [2.0, 3.0, 10.0])
def test_restarts_are_at_whole_steps(growth: float) -> None:
    schedule = schedules.CosineDecayRestarts(1.0, 1, t_mul=growth)
    start, length = 0, 1
    for _ in range(6):
        assert float(schedule(start)) == pytest.approx(1.0, abs=1e-6)
        start, length = start + length, int(length * growth)


def test_steps_beyond_float32() -> None:
    # 2**24 + 1 is not a float32.
    schedule = schedules.PiecewiseConstantDecay([2**24], [1.0, 2.0])
    assert [float(schedule(2**24 + i)) for i in (0, 1)] == [1.0, 2.0]
    assert float(schedules.PiecewiseConstantDecay([], [3.0])(0)) == 3.0


def test_arguments_may_be_tensors() -> None:
    rate = tf.Variable(0.5)
    schedule = schedules.ExponentialDecay(rate, tf.constant(10), 0.5)
    assert float(schedule(10)) == 0.25
    rate.assign(1.0)
    assert float(schedule(10)) == 0.5


def test_in_a_traced_step() -> None:
    v = tf.Variable(0.0)
    optimizer = tf.optimizers.SGD(schedules.PiecewiseConstantDecay([0, 1], [1.0, 10.0, 100.0]))

    @tf.function
    def step() -> None:
        optimizer.apply_gradients([(tf.constant(-1.0), v)])

    seen = []
    for _ in range(4):
        assert isinstance(float(optimizer.learning_rate), float)
        step()
        seen.append(float(v))
    assert seen == [1.0, 11.0, 111.0, 211.0]
    assert len(optimizer.variables) == 1


def test_a_schedule_of_ones_own() -> None:
    class Halving(schedules.LearningRateSchedule):
        def __call__(self, step: Any) -> Any:
            return 1.0 / (2.0 ** float(step))

        def get_config(self) -> dict[str, Any]:
            return {}

    optimizer = tf.optimizers.SGD(Halving())
    v = tf.Variable(0.0)
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant(-1.0), v)])
    assert float(v) == 1.75
    config = optimizer.get_config()
    assert config["learning_rate"] == {"class_name": "Halving", "config": {}}
    again = tf.optimizers.SGD.from_config(config, {"Halving": Halving})
    assert float(again.learning_rate) == 1.0
    with pytest.raises(ValueError, match="Unknown decay: 'Halving'"):
        tf.optimizers.SGD.from_config(config)


def test_errors() -> None:
    with pytest.raises(ValueError, match="1 less than the length of values"):
        schedules.PiecewiseConstantDecay([1, 2], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"`decay_steps` must be > 0\. Received: decay_steps=0"):
        schedules.CosineDecay(1.0, 0)
    with pytest.raises(ValueError, match="`first_decay_steps` must be > 0"):
        schedules.CosineDecayRestarts(1.0, -1)
    with pytest.raises(TypeError, match="must override `__call__"):
        schedules.LearningRateSchedule()(0)
    with pytest.raises(TypeError, match="must override `get_config"):
        schedules.LearningRateSchedule().get_config()
