"""Adam and its relatives: moving averages of the gradient and of its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

from tfx.optimizers import update_rules
from tfx.optimizers.formulas import Array, absolute, largest, maximum, sqrt, towards
from tfx.optimizers.optimizer import LearningRate, Optimizer, State
from tfx.optimizers.options import Options, OtherOptions
from tfx.optimizers.rows import fades_all_rows, takes_rows


class _Averages(Optimizer):
    """What the family shares: factors of two averages, and a number that avoids division by 0."""

    hyperparameters: ClassVar[tuple[str, ...]] = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon


class Adam(_Averages):
    """Adam: the mean of the gradient over the root of its mean square.

    Args:
        learning_rate: A number, schedule or callable.
        beta_1: Part of the old mean that is kept.
        beta_2: Part of the old mean square that is kept.
        epsilon: Added to the root.
        amsgrad: Divide by the largest mean square so far.
        **options: See ``Optimizer``.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable([1.0, -1.0])
        >>> optimizer = tf.optimizers.Adam(learning_rate=0.1)
        >>> _ = optimizer.apply_gradients([(tf.constant([10.0, -0.1]), v)])
        >>> v.numpy().round(4)
        array([ 0.9, -0.9], dtype=float32)
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("beta_1", "beta_2", "epsilon", "amsgrad")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.amsgrad = amsgrad

    def slot_values(self) -> dict[str, float]:
        """``m`` and ``v``, and with ``amsgrad`` the largest ``v``."""
        return {"m": 0.0, "v": 0.0} | ({"vhat": 0.0} if self.amsgrad else {})

    def shared(self, learning_rate: Array, step: Array, slots: State) -> Sequence[Array]:
        """The learning rate with both bias corrections."""
        powers = self.beta_1**step, self.beta_2**step
        return (update_rules.corrected_rate(learning_rate, *powers),)

    @takes_rows
    @fades_all_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        (rate,) = scalars
        m, v = update_rules.moments(gradient, slots, self.beta_1, self.beta_2)
        if self.amsgrad:
            v = slots["vhat"] = maximum(slots["vhat"], v)
        return update_rules.adam(value, m, v, rate, self.epsilon)


class AdamW(Adam):
    """Adam with weight decay that is not part of the gradient.

    Args:
        learning_rate: A number, schedule or callable.
        weight_decay: See ``Optimizer``.
        beta_1: See ``Adam``.
        beta_2: See ``Adam``.
        epsilon: See ``Adam``.
        amsgrad: See ``Adam``.
        **options: See ``Optimizer``.

    Raises:
        ValueError: ``weight_decay`` is None.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float | None = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[OtherOptions],
    ) -> None:
        if weight_decay is None:
            raise ValueError("Argument `weight_decay` must be a float. Received: weight_decay=None")
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **options
        )


class Adamax(_Averages):
    """Adam with the largest recent size of the gradient in place of its mean square.

    Args:
        learning_rate: A number, schedule or callable.
        beta_1: Part of the old mean that is kept.
        beta_2: Factor by which the largest size fades.
        epsilon: Added to the largest size.
        **options: See ``Optimizer``.
    """

    def slot_values(self) -> dict[str, float]:
        """The mean ``m`` and the largest size ``u``."""
        return {"m": 0.0, "u": 0.0}

    def shared(self, learning_rate: Array, step: Array, slots: State) -> Sequence[Array]:
        """The learning rate with the bias correction of the mean."""
        return (learning_rate / (1.0 - self.beta_1**step),)

    @takes_rows
    @fades_all_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        (rate,) = scalars
        m = slots["m"] = towards(slots["m"], gradient, self.beta_1)
        u = slots["u"] = largest(slots["u"] * self.beta_2, absolute(gradient))
        return value - m * rate / (u + self.epsilon)


class Nadam(_Averages):
    """Adam with Nesterov momentum, which rises in the first steps.

    Args:
        learning_rate: A number, schedule or callable.
        beta_1: Part of the old mean that is kept.
        beta_2: Part of the old mean square that is kept.
        epsilon: Added to the root.
        **options: See ``Optimizer``.
    """

    def slot_values(self) -> dict[str, float]:
        """``m`` and ``v``."""
        return {"m": 0.0, "v": 0.0}

    def shared_values(self) -> dict[str, float]:
        """The product of the momenta so far."""
        return {"u_product": 1.0}

    def shared(self, learning_rate: Array, step: Array, slots: State) -> Sequence[Array]:
        """Factors of the mean and of the gradient, and the bias correction of the mean square."""
        now, following = self._momentum(step), self._momentum(step + 1.0)
        product = slots["u_product"] = slots["u_product"] * now
        of_mean = learning_rate * following / (1.0 - product * following)
        of_gradient = learning_rate * (1.0 - now) / (1.0 - product)
        return of_mean, of_gradient, 1.0 - self.beta_2**step

    def _momentum(self, step: Array) -> Array:
        return self.beta_1 * (1.0 - 0.5 * 0.96**step)

    @takes_rows
    @fades_all_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        of_mean, of_gradient, correction = scalars
        m, v = update_rules.moments(gradient, slots, self.beta_1, self.beta_2)
        return value - (m * of_mean + gradient * of_gradient) / (
            sqrt(v / correction) + self.epsilon
        )
