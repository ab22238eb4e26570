"""Optimizers of TensorFlow 1 that make variables small or zero while they train."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.training.optimizers import Optimizer, Setting, Slots, number
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.where import where
from tfx.ops.math.arithmetic import maximum, pow
from tfx.ops.math.comparison import greater
from tfx.ops.math.elementwise import abs, sign, sqrt


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader: makes elements exactly 0 that hardly help.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        learning_rate_power: How the learning rate falls with the sum of squares; at most 0.
        initial_accumulator_value: What the sum of squares starts from; not negative.
        l1_regularization_strength: Makes elements exactly 0; not negative.
        l2_regularization_strength: Makes elements small; not negative.
        use_locking: Accepted for compatibility.
        name: Name of its operations.
        accum_name: Accepted for compatibility.
        linear_name: Accepted for compatibility.
        l2_shrinkage_regularization_strength: Makes elements small by the gradient; not negative.
        beta: Added to the learning rate's root; None: 0.

    Raises:
        ValueError: a number of the wrong sign.
    """

    def __init__(
        self,
        learning_rate: Setting,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value} needs to be positive or zero")
        self._learning_rate, self._power = learning_rate, -learning_rate_power
        self._start = initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._shrinkage, self._beta = l2_shrinkage_regularization_strength, beta or 0.0

    def _slot_values(self) -> dict[str, float]:
        return {"accum": self._start, "linear": 0.0}

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        rate = number(self._learning_rate, value)
        l1, power = number(self._l1, value), number(self._power, value)
        old = slots["accum"]
        new = slots["accum"] = old + gradient * gradient
        root, before = pow(new, power), pow(old, power)
        shrunk = gradient + number(2.0 * self._shrinkage, value) * value
        linear = slots["linear"] = slots["linear"] + shrunk - (root - before) / rate * value
        curvature = (root + number(self._beta, value)) / rate + number(2.0 * self._l2, value)
        found = (sign(linear) * l1 - linear) / curvature
        return where(greater(abs(linear), l1), found, zeros_like(found))


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent that then draws elements towards 0.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        l1_regularization_strength: Makes elements exactly 0.
        l2_regularization_strength: Makes elements small.
        use_locking: Accepted for compatibility.
        name: Name of its operations.
    """

    def __init__(
        self,
        learning_rate: Setting,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        rate = number(self._learning_rate, value)
        return _drawn(value - rate * gradient, rate, self._l1, self._l2)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad that then draws elements towards 0.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        initial_accumulator_value: What the sum of squares starts from; above 0.
        l1_regularization_strength: Makes elements exactly 0.
        l2_regularization_strength: Makes elements small.
        use_locking: Accepted for compatibility.
        name: Name of its operations.

    Raises:
        ValueError: a start that is not above 0.
    """

    def __init__(
        self,
        learning_rate: Setting,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        super().__init__(use_locking, name)
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        self._learning_rate, self._start = learning_rate, initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _slot_values(self) -> dict[str, float]:
        return {"accumulator": self._start}

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        squares = slots["accumulator"] = slots["accumulator"] + gradient * gradient
        rate = number(self._learning_rate, value) / sqrt(squares)
        return _drawn(value - rate * gradient, rate, self._l1, self._l2)


def _drawn(value: Tensor, rate: Tensor, l1: float, l2: float) -> Tensor:
    """Elements drawn towards 0 by the rate times the strengths."""
    if l1:
        value = sign(value) * maximum(abs(value) - rate * number(l1, value), zeros_like(value))
    return value / (1.0 + rate * number(l2, value))
