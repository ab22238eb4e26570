"""What Keras makes of ``tfx.optimizers``, which in TensorFlow are its own optimizers.

A program may give ``model.compile`` a ``tf.optimizers.Adam()`` and a ``keras.optimizers.Adam`` a
``tf.optimizers.schedules.ExponentialDecay``: Keras gets its own class of the same name with the
same settings.
"""

from __future__ import annotations

from typing import Any

import keras

from tfx.optimizers.loss_scale_optimizer import LossScaleOptimizer
from tfx.optimizers.optimizer import Optimizer
from tfx.optimizers.schedules import LearningRateSchedule


class _Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule that a program derived from ``tfx.optimizers.schedules``."""

    def __init__(self, schedule: LearningRateSchedule) -> None:
        self.schedule = schedule

    def __call__(self, step: Any) -> Any:
        """The learning rate of the step with this number."""
        return self.schedule(step)

    def get_config(self) -> dict[str, Any]:
        """What the program's own class says of itself."""
        return self.schedule.get_config()


def keras_schedule(given: Any) -> Any:
    """A learning rate for Keras.

    Args:
        given: A schedule of tfx, or anything else, which is returned as it is.
    """
    if not isinstance(given, LearningRateSchedule):
        return given
    if type(given).__module__ == LearningRateSchedule.__module__:
        own = getattr(keras.optimizers.schedules, type(given).__name__)
        return own(**given.get_config())
    return _Schedule(given)


def keras_optimizer(given: Any) -> Any:
    """An optimizer for Keras.

    Args:
        given: An optimizer of tfx, or anything else, which is returned as it is.

    Raises:
        ValueError: The optimizer is of a class that Keras does not have, or has made steps.
    """
    if not isinstance(given, Optimizer):
        return given
    if isinstance(given, LossScaleOptimizer):
        return _loss_scale_optimizer(given)
    name = type(given).__name__
    own = getattr(keras.optimizers, name, None)
    if own is None or not type(given).__module__.startswith("tfx."):
        raise ValueError(
            f"Keras has no optimizer of the class of {given!r}: derive {name} from "
            "tf.keras.optimizers.Optimizer, or train with a loop of your own."
        )
    if int(given.iterations) > 0:
        raise ValueError(
            f"{given!r} has made {int(given.iterations)} steps, and Keras, which takes its "
            "settings, would begin again at step 0: give it a new one, or a "
            f"tf.keras.optimizers.{name}."
        )
    rate = keras_schedule(given._learning_rate)
    if isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
        settings = given._config_with(rate)  # which need not be one that can be written down
    else:
        settings = given.get_config()
    if settings["name"] == name.lower():
        del settings["name"]  # none was given, and Keras numbers its names
    return own(**settings)


def _loss_scale_optimizer(given: LossScaleOptimizer) -> Any:
    settings = given.get_config()
    if "loss_scale" in settings or not settings["dynamic"]:
        raise ValueError(
            "Keras scales losses by a number that adapts, up and down by 2; got "
            f"{settings}. Make tf.optimizers.LossScaleOptimizer(inner, dynamic=True), or train "
            "with a loop of your own."
        )
    return keras.optimizers.LossScaleOptimizer(
        keras_optimizer(given.inner_optimizer),
        initial_scale=settings["initial_scale"],
        dynamic_growth_steps=settings["dynamic_growth_steps"],
    )
