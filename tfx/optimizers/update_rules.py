"""Update rules that TensorFlow 1's optimizers have, too, as functions of tensors.

Settings may be numbers or scalar tensors. What is kept for a variable comes as ``slots``, values by
name of which a rule replaces some, or as values where the two generations have other names.
"""

from __future__ import annotations

from typing import Any

from tfx.optimizers.formulas import Array, mixed, over, sqrt, times, towards


def moments(
    gradient: Array, slots: dict[str, Array], beta_1: Any, beta_2: Any
) -> tuple[Array, Array]:
    """The moving averages ``m`` of the gradient and ``v`` of its square, after this step."""
    slots["m"] = towards(slots["m"], gradient, beta_1)
    slots["v"] = towards(slots["v"], gradient * gradient, beta_2)
    return slots["m"], slots["v"]


def corrected_rate(rate: Array, power_1: Array, power_2: Array) -> Array:
    """A learning rate with both bias corrections of Adam: powers of the betas, by the step."""
    return rate * sqrt(1.0 - power_2) / (1.0 - power_1)


def adam(value: Array, m: Array, v: Array, rate: Array, epsilon: Any) -> Array:
    """The new value by moving averages."""
    return value - m * rate / (sqrt(v) + epsilon)


def adagrad(
    gradient: Array, value: Array, slots: dict[str, Array], rate: Array, epsilon: float
) -> Array:
    """The new value; ``accumulator`` is the sum of squares so far."""
    total = slots["accumulator"] = slots["accumulator"] + gradient * gradient
    return value - over(rate * gradient, total, lambda x: sqrt(x + epsilon if epsilon else x))


def adadelta(
    gradient: Array, squares: Array, steps: Array, rho: Any, epsilon: Any
) -> tuple[Array, Array, Array]:
    """The step, and the new mean squares of gradients and of steps."""

    def root(size: Array) -> Array:
        return sqrt(size + epsilon)

    squares = mixed(squares, gradient * gradient, rho)
    step = over(times(gradient, steps, root), squares, root)
    return step, squares, mixed(steps, step * step, rho)


def rmsprop(
    gradient: Array, squares: Array, mean: Array | None, rate: Array, rho: Any, epsilon: Any
) -> tuple[Array, Array, Array | None]:
    """What to descend, and the new mean square and mean; a mean of None is not subtracted."""
    spread = squares = mixed(squares, gradient * gradient, rho)
    if mean is not None:
        mean = mixed(mean, gradient, rho)
        spread = squares - mean * mean
    return over(rate * gradient, spread, lambda x: sqrt(x + epsilon)), squares, mean
