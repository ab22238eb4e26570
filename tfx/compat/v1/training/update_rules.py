"""The rules of TensorFlow 1's optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.compat.v1.training.optimizers import Optimizer, Setting, Slots, number
from tfx.framework.tensor import Tensor
from tfx.optimizers import update_rules


class GradientDescentOptimizer(Optimizer):
    """``variable -= learning_rate * gradient``.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        use_locking: Accepted for compatibility.
        name: Name of its operations.
    """

    _moves_all = True

    def __init__(
        self, learning_rate: Setting, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        return value - number(self._learning_rate, value) * gradient


class MomentumOptimizer(Optimizer):
    """Steps go on in the direction of those before.

    ``accumulation = momentum * accumulation + gradient``,
    ``variable -= learning_rate * accumulation``.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        momentum: The same.
        use_locking: Accepted for compatibility.
        name: Name of its operations.
        use_nesterov: Look ahead: ``learning_rate * (gradient + momentum * accumulation)``.
    """

    def __init__(
        self,
        learning_rate: Setting,
        momentum: Setting,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._use_nesterov = use_nesterov

    def _slot_values(self) -> dict[str, float]:
        return {"momentum": 0.0}

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        rate, momentum = number(self._learning_rate, value), number(self._momentum, value)
        accumulation = slots["momentum"] = momentum * slots["momentum"] + gradient
        if self._use_nesterov:
            return value - rate * (gradient + momentum * accumulation)
        return value - rate * accumulation


class AdamOptimizer(Optimizer):
    """Adam: steps scaled by running means of the gradient and of its square.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        beta1: How much of the mean of gradients stays.
        beta2: How much of the mean of squares stays.
        epsilon: Added to the root of the mean of squares.
        use_locking: Accepted for compatibility.
        name: Name of its operations.
    """

    _moves_all = True

    def __init__(
        self,
        learning_rate: Setting = 0.001,
        beta1: Setting = 0.9,
        beta2: Setting = 0.999,
        epsilon: Setting = 1e-08,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._epsilon = learning_rate, epsilon
        self._beta1, self._beta2 = beta1, beta2

    def _slot_values(self) -> dict[str, float]:
        return {"m": 0.0, "v": 0.0}

    def _create_others(self, variables: Sequence[Any]) -> None:
        first = min(variables, key=lambda v: v.name)
        for name, beta in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            self._other(name, beta() if callable(beta) else beta, first)

    def _prepare(self) -> tuple[Tensor, Tensor]:
        return self._get_other("beta1_power")._peek(), self._get_other("beta2_power")._peek()

    def _finish(self, shared: Any) -> None:
        power1, power2 = shared
        self._get_other("beta1_power").assign(power1 * number(self._beta1, power1))
        self._get_other("beta2_power").assign(power2 * number(self._beta2, power2))

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        betas = number(self._beta1, value), number(self._beta2, value)
        powers = (number(power, value) for power in shared)
        rate = update_rules.corrected_rate(number(self._learning_rate, value), *powers)
        m, v = update_rules.moments(gradient, slots, *betas)
        return update_rules.adam(value, m, v, rate, number(self._epsilon, value))


class AdagradOptimizer(Optimizer):
    """Adagrad: steps scaled by the sum of all squares so far.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        initial_accumulator_value: What the sums begin with; positive.
        use_locking: Accepted for compatibility.
        name: Name of its operations.
    """

    _moves_all = True

    def __init__(
        self,
        learning_rate: Setting,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial = initial_accumulator_value

    def _slot_values(self) -> dict[str, float]:
        return {"accumulator": self._initial}

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        rate = number(self._learning_rate, value)
        return update_rules.adagrad(gradient, value, slots, rate, 0.0)


class AdadeltaOptimizer(Optimizer):
    """Adadelta: steps scaled by the running mean of squares of earlier steps.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        rho: How much of the means stays.
        epsilon: Added to the means.
        use_locking: Accepted for compatibility.
        name: Name of its operations.
    """

    def __init__(
        self,
        learning_rate: Setting = 0.001,
        rho: Setting = 0.95,
        epsilon: Setting = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _slot_values(self) -> dict[str, float]:
        return {"accum": 0.0, "accum_update": 0.0}

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        rho, epsilon = number(self._rho, value), number(self._epsilon, value)
        step, slots["accum"], slots["accum_update"] = update_rules.adadelta(
            gradient, slots["accum"], slots["accum_update"], rho, epsilon
        )
        return value - number(self._learning_rate, value) * step


class RMSPropOptimizer(Optimizer):
    """RMSProp: steps scaled by the running mean of squares.

    Args:
        learning_rate: A number, a tensor or a function that returns one.
        decay: How much of the mean stays.
        momentum: How much of the step before is added.
        epsilon: Added to the mean.
        use_locking: Accepted for compatibility.
        centered: Subtract the square of the running mean of gradients.
        name: Name of its operations.
    """

    def __init__(
        self,
        learning_rate: Setting,
        decay: Setting = 0.9,
        momentum: Setting = 0.0,
        epsilon: Setting = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon, self._centered = epsilon, centered

    def _slot_values(self) -> dict[str, float]:
        return {"rms": 1.0, **({"mg": 0.0} if self._centered else {}), "momentum": 0.0}

    def _update(self, gradient: Tensor, value: Tensor, slots: Slots, shared: Any) -> Any:
        settings = (self._learning_rate, self._decay, self._epsilon)
        descent, slots["rms"], mean = update_rules.rmsprop(
            *(gradient, slots["rms"], slots.get("mg")), *(number(x, value) for x in settings)
        )
        if self._centered:
            slots["mg"] = mean
        step = slots["momentum"] = slots["momentum"] * number(self._momentum, value) + descent
        return value - step
