"""Ftrl: follow the regularized leader, for sparse linear models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

from tfx.optimizers.formulas import Array, clip, sqrt
from tfx.optimizers.optimizer import LearningRate, Optimizer, State
from tfx.optimizers.options import Options
from tfx.optimizers.rows import takes_rows


class Ftrl(Optimizer):
    """Follow the regularized leader: variables are computed again from sums in each step.

    Args:
        learning_rate: A number, schedule or callable.
        learning_rate_power: How the learning rate falls with the sum of squares; at most 0, where
            it stays the same.
        initial_accumulator_value: What the sum of squares starts from.
        l1_regularization_strength: Not negative; makes elements exactly 0.
        l2_regularization_strength: Not negative; shrinks elements.
        l2_shrinkage_regularization_strength: Not negative; as a penalty added to the loss.
        beta: Added to the root of the sum of squares.
        **options: See ``Optimizer``.

    Raises:
        ValueError: a value out of range.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = (
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    )

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta
        for name in self.hyperparameters[1:5]:
            if getattr(self, name) < 0:
                raise ValueError(
                    f"`{name}` needs to be positive or zero. Received: "
                    f"{name}={getattr(self, name)}."
                )
        if learning_rate_power > 0:
            raise ValueError(
                "`learning_rate_power` needs to be negative or zero. Received: "
                f"learning_rate_power={learning_rate_power}."
            )

    def slot_values(self) -> dict[str, float]:
        """The sum of squares, and the sum that variables are computed from."""
        return {"accumulator": self.initial_accumulator_value, "linear": 0.0}

    def shared(self, learning_rate: Array, step: Array, slots: State) -> Sequence[Array]:
        """The learning rate, and what is added to the quadratic term."""
        strength = self.l2_regularization_strength + self.beta / (2.0 * learning_rate)
        return learning_rate, 2.0 * strength

    @takes_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        learning_rate, regularization = scalars
        total = slots["accumulator"] + gradient * gradient
        root = self._root(total) / learning_rate
        growth = root - self._root(slots["accumulator"]) / learning_rate
        if self.l2_shrinkage_regularization_strength:
            gradient = gradient + value * (2.0 * self.l2_shrinkage_regularization_strength)
        linear = slots["linear"] + gradient - growth * value
        slots["accumulator"], slots["linear"] = total, linear
        bound = self.l1_regularization_strength
        clipped = clip(linear, -bound, bound) - linear if bound else -linear
        return clipped / (root + regularization)

    def _root(self, total: Array) -> Array:
        power = -self.learning_rate_power
        return sqrt(total) if power == 0.5 else total**power
