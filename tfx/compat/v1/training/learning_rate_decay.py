"""Learning rates that decay with the number of the step, as TensorFlow 1 has them: as tensors.

In a graph each is a tensor, computed in every step; eagerly it is a function without arguments that
computes the rate of the moment, which TensorFlow 1's optimizers take for a learning rate, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.where import where
from tfx.ops.math.arithmetic import minimum
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import less_equal
from tfx.ops.math.elementwise import exp, floor
from tfx.ops.math.trigonometry import cos
from tfx.ops.random.random import normal
from tfx.optimizers import schedules
from tfx.optimizers.formulas import real

# A rate, or a function that computes it.
Rate = Tensor | Callable[[], Tensor]


def _rate(name: str, global_step: Any, compute: Callable[[], Tensor]) -> Rate:
    """The rate in a graph; eagerly what computes it.

    Raises:
        ValueError: there is no step.
    """
    if global_step is None:
        raise ValueError(
            f"global_step is required for {name}: expected the variable that counts the steps, "
            "such as tf.compat.v1.train.get_or_create_global_step()."
        )
    return compute if current().graph is None else compute()


def _scheduled(
    name: str,
    learning_rate: Any,
    global_step: Any,
    schedule: Callable[..., schedules.Formula],
    decay_steps: Any,
    *settings: Any,
) -> Rate:
    """The rate of a schedule, in the dtype of the rate at the beginning."""

    def compute() -> Tensor:
        rate = convert_to_tensor(learning_rate)
        # Schedules refuse numbers that are not positive, which TensorFlow 1 takes; so a tensor.
        made = schedule(rate, real(decay_steps), *settings)
        return cast(made.rate(real(global_step)), rate.dtype)

    return _rate(name, global_step, compute)


def _ratio(
    rate: Tensor,
    global_step: Any,
    decay_steps: Any,
    *,
    staircase: bool = False,
    limit: bool = False,
) -> Tensor:
    """Return the number of ``decay_steps`` that have passed."""
    step, steps = cast(global_step, rate.dtype), cast(decay_steps, rate.dtype)
    ratio: Tensor = (minimum(step, steps) if limit else step) / steps
    return floor(ratio) if staircase else ratio


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """``learning_rate * decay_rate ** (global_step / decay_steps)``.

    Args:
        learning_rate: The rate at the beginning.
        global_step: The number of the step.
        decay_steps: Steps in which it decays by ``decay_rate`` once.
        decay_rate: The factor.
        staircase: Decay at whole multiples of ``decay_steps`` only.
        name: Accepted for compatibility.

    Returns:
        A tensor; eagerly a function that returns one.

    Raises:
        ValueError: ``global_step`` is None.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> float(tf.train.exponential_decay(0.5, 10, 10, 0.5)())
        0.25
    """
    kind, settings = schedules.ExponentialDecay, (decay_steps, decay_rate, staircase)
    return _scheduled("exponential_decay", learning_rate, global_step, kind, *settings)


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """``learning_rate * exp(-decay_rate * global_step / decay_steps)``."""

    def compute() -> Tensor:
        rate = convert_to_tensor(learning_rate)
        ratio = _ratio(rate, global_step, decay_steps, staircase=staircase)
        return rate * exp(-cast(decay_rate, rate.dtype) * ratio)

    return _rate("natural_exp_decay", global_step, compute)


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """``learning_rate / (1 + decay_rate * global_step / decay_steps)``."""
    kind, settings = schedules.InverseTimeDecay, (decay_steps, decay_rate, staircase)
    return _scheduled("inverse_time_decay", learning_rate, global_step, kind, *settings)


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Rate:
    """From ``learning_rate`` to ``end_learning_rate`` in ``decay_steps``.

    Args:
        learning_rate: The rate at the beginning.
        global_step: The number of the step.
        decay_steps: Steps until the end.
        end_learning_rate: The rate from there on.
        power: Power of the remaining part of the way; 1 goes down in a line.
        cycle: Instead of staying at the end, stretch the way to the next multiple of
            ``decay_steps``.
        name: Accepted for compatibility.

    Returns:
        A tensor; eagerly a function that returns one.

    Raises:
        ValueError: ``global_step`` is None.
    """
    kind, settings = schedules.PolynomialDecay, (decay_steps, end_learning_rate, power, cycle)
    return _scheduled("polynomial_decay", learning_rate, global_step, kind, *settings)


def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: float = 0.0,
    name: str | None = None,
) -> Rate:
    """Half a wave of the cosine, from ``learning_rate`` to ``alpha * learning_rate``.

    Args:
        learning_rate: The rate at the beginning.
        global_step: The number of the step.
        decay_steps: Steps until the end.
        alpha: The part of the rate that is left then.
        name: Accepted for compatibility.

    Returns:
        A tensor; eagerly a function that returns one.

    Raises:
        ValueError: ``global_step`` is None.
    """
    kind = schedules.CosineDecay
    return _scheduled("cosine_decay", learning_rate, global_step, kind, decay_steps, alpha)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
    name: str | None = None,
) -> Rate:
    """``cosine_decay`` that begins again at its end.

    Args:
        learning_rate: The rate at the beginning.
        global_step: The number of the step.
        first_decay_steps: Steps of the first decay.
        t_mul: How many times longer each decay is than the one before.
        m_mul: The factor of the rate that each begins with.
        alpha: The part of the rate that is left at the end of each.
        name: Accepted for compatibility.

    Returns:
        A tensor; eagerly a function that returns one.

    Raises:
        ValueError: ``global_step`` is None.
    """
    kind, settings = schedules.CosineDecayRestarts, (first_decay_steps, t_mul, m_mul, alpha)
    return _scheduled("cosine_decay_restarts", learning_rate, global_step, kind, *settings)


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Rate:
    """A wave of the cosine below a line that falls: ``(alpha + line) * wave + beta``.

    Args:
        learning_rate: The rate at the beginning.
        global_step: The number of the step.
        decay_steps: Steps until the end.
        num_periods: How many waves there are until then.
        alpha: Added to the line.
        beta: Added to the product.
        name: Accepted for compatibility.

    Returns:
        A tensor; eagerly a function that returns one.

    Raises:
        ValueError: ``global_step`` is None.
    """

    def compute() -> Tensor:
        rate = convert_to_tensor(learning_rate)
        part = _ratio(rate, global_step, decay_steps, limit=True)
        return rate * ((alpha + (1.0 - part)) * _wave(part * (2.0 * num_periods)) + beta)

    return _rate("linear_cosine_decay", global_step, compute)


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: float = 1.0,
    variance_decay: float = 0.55,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Rate:
    """``linear_cosine_decay`` with noise on the line, of a variance that falls.

    Args:
        learning_rate: The rate at the beginning.
        global_step: The number of the step.
        decay_steps: Steps until the end.
        initial_variance: Variance of the noise at the beginning.
        variance_decay: Power of the number of the step that it is divided by.
        num_periods: As of ``linear_cosine_decay``.
        alpha: As of ``linear_cosine_decay``.
        beta: As of ``linear_cosine_decay``.
        name: Accepted for compatibility.

    Returns:
        A tensor; eagerly a function that returns one.

    Raises:
        ValueError: ``global_step`` is None.
    """

    def compute() -> Tensor:
        rate = convert_to_tensor(learning_rate)
        part = _ratio(rate, global_step, decay_steps, limit=True)
        step = minimum(cast(global_step, rate.dtype), cast(decay_steps, rate.dtype))
        variance = initial_variance / (1.0 + step) ** variance_decay
        line = 1.0 - part + normal([], dtype=rate.dtype) * variance**0.5
        return rate * ((alpha + line) * _wave(part * (2.0 * num_periods)) + beta)

    return _rate("noisy_linear_cosine_decay", global_step, compute)


def _wave(part: Tensor) -> Tensor:
    """From 1 to 0, when ``part`` goes from 0 to 1, as half a wave of the cosine."""
    wave: Tensor = 0.5 * (1.0 + cos(part * math.pi))
    return wave


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Rate:
    """The first value up to the first boundary, the second up to the second, and so on.

    Args:
        x: The number of the step.
        boundaries: In ascending order; each belongs to what is before it.
        values: One more than boundaries.
        name: Accepted for compatibility.

    Returns:
        A tensor; eagerly a function that returns one.

    Raises:
        ValueError: there are not as many values.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> float(tf.train.piecewise_constant(7, [5, 15], [1.0, 0.5, 0.25])())
        0.5
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            "The length of boundaries should be 1 less than the length of values; got "
            f"{len(boundaries)} boundaries and {len(values)} values."
        )

    def compute() -> Tensor:
        step = convert_to_tensor(x)
        found = convert_to_tensor(values[-1])
        for boundary, value in reversed(list(zip(boundaries, values, strict=False))):
            limit = cast(convert_to_tensor(boundary), step.dtype)
            found = where(less_equal(step, limit), convert_to_tensor(value, found.dtype), found)
        return found

    return _rate("piecewise_constant", x, compute)
