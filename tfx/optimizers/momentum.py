"""SGD, RMSprop and Lion: the gradient itself, its size or its sign, with momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

from tfx.optimizers import update_rules
from tfx.optimizers.formulas import Array, mixed, sign
from tfx.optimizers.optimizer import LearningRate, Optimizer, State
from tfx.optimizers.options import Options
from tfx.optimizers.rows import takes_rows


class SGD(Optimizer):
    """Gradient descent, optionally with momentum.

    ``velocity = momentum * velocity - learning_rate * g`` and ``w = w + velocity``; with
    ``nesterov``, ``w = w + momentum * velocity - learning_rate * g``.

    Args:
        learning_rate: A number, schedule or callable.
        momentum: From 0 (none) to 1.
        nesterov: Look one step of momentum ahead.
        **options: See ``Optimizer``.

    Raises:
        ValueError: ``momentum`` out of range.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable(1.0)
        >>> optimizer = tf.optimizers.SGD(learning_rate=0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     _ = optimizer.apply_gradients([(tf.constant(1.0), v)])
        >>> v.numpy()
        np.float32(0.71)
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("momentum", "nesterov")

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        if not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must be a float between [0, 1]. Received: {momentum}")
        self.momentum = momentum
        self.nesterov = nesterov

    def slot_values(self) -> dict[str, float]:
        """``momentum``, if there is any."""
        return {"momentum": 0.0} if self.momentum else {}

    @takes_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        (learning_rate,) = scalars
        descent = gradient * learning_rate
        if not self.momentum:
            return value - descent
        m = slots["momentum"] = slots["momentum"] * self.momentum - descent
        return value + (m * self.momentum - descent if self.nesterov else m)


class RMSprop(Optimizer):
    """The gradient divided by a moving average of its size.

    Args:
        learning_rate: A number, schedule or callable.
        rho: Part of the old average that is kept.
        momentum: 0: none.
        epsilon: Added to the mean square.
        centered: Divide by the standard deviation instead of the root of the mean square.
        **options: See ``Optimizer``.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("rho", "momentum", "epsilon", "centered")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered

    def slot_values(self) -> dict[str, float]:
        """``velocity``, and ``momentum`` and ``average_gradient`` where they are used."""
        wanted = {"velocity": True, "momentum": self.momentum, "average_gradient": self.centered}
        return {name: 0.0 for name, used in wanted.items() if used}

    @takes_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        (learning_rate,) = scalars
        descent, slots["velocity"], mean = update_rules.rmsprop(
            *(gradient, slots["velocity"], slots.get("average_gradient")),
            *(learning_rate, self.rho, self.epsilon),
        )
        if self.centered:
            slots["average_gradient"] = mean
        if self.momentum:
            descent = slots["momentum"] = slots["momentum"] * self.momentum + descent
        return value - descent


class Lion(Optimizer):
    """The sign of a mix of momentum and gradient: one slot, and every element moves equally far.

    Args:
        learning_rate: A number, schedule or callable.
        beta_1: Part of the momentum in the mix.
        beta_2: Part of the old momentum that is kept.
        **options: See ``Optimizer``.

    Raises:
        ValueError: ``beta_1`` out of range.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ("beta_1", "beta_2")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        if not 0 < beta_1 <= 1:
            raise ValueError(
                "Argument `beta_1` must be in the (0, 1] range. Otherwise, the optimizer "
                f"degenerates to SignSGD. Received: beta_1={beta_1}."
            )
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def slot_values(self) -> dict[str, float]:
        """The momentum ``m``."""
        return {"m": 0.0}

    @takes_rows
    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """See ``Optimizer.update_step``."""
        (learning_rate,) = scalars
        m = slots["m"]
        slots["m"] = mixed(m, gradient, self.beta_2)
        return value - learning_rate * sign(mixed(m, gradient, self.beta_1))
