"""Adagrad and Adadelta: the gradient scaled by what it has been so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

from tfx.optimizers import update_rules
from tfx.optimizers.formulas import Array
from tfx.optimizers.optimizer import LearningRate, Optimizer, State
from tfx.optimizers.options import Options
from tfx.optimizers.rows import takes_rows


class Adagrad(Optimizer):
    """The gradient divided by the root of the sum of its squares.

    Args:
        learning_rate: A number, schedule or callable.
        initial_accumulator_value: What the sum starts from.
        epsilon: Added to the sum.
        **options: See ``Optimizer``.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("initial_accumulator_value", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def slot_values(self) -> dict[str, float]:
        """The sum of squares, ``accumulator``."""
        return {"accumulator": self.initial_accumulator_value}

    @takes_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        (learning_rate,) = scalars
        return update_rules.adagrad(gradient, value, slots, learning_rate, self.epsilon)


class Adadelta(Optimizer):
    """The gradient times the ratio of two moving averages: the size of steps over its own.

    Args:
        learning_rate: A number, schedule or callable; the original method has 1.
        rho: Part of the old averages that is kept.
        epsilon: Added to the mean squares.
        **options: See ``Optimizer``.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("rho", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.epsilon = epsilon

    def slot_values(self) -> dict[str, float]:
        """Mean squares of the gradient and of the steps."""
        return {"accumulated_grad": 0.0, "accumulated_delta_var": 0.0}

    @takes_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        (learning_rate,) = scalars
        squares, steps = slots["accumulated_grad"], slots["accumulated_delta_var"]
        step, slots["accumulated_grad"], slots["accumulated_delta_var"] = update_rules.adadelta(
            gradient, squares, steps, self.rho, self.epsilon
        )
        return value - learning_rate * step
