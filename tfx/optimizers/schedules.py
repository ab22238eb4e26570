"""Learning rates that change with the number of the step.

A schedule is a function of the step, made of ordinary operations: in a traced train step it is a
part of the graph. It is computed in float64, where step numbers and restarts are exact, and returns
float32.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.mixins import Configured, FromConfig
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.math.comparison import greater, less
from tfx.optimizers.formulas import Array, ceil, cos, floor, log, maximum, minimum, real, where


class LearningRateSchedule(FromConfig):
    """Base class: override ``__call__`` and ``get_config``.

    Example:
        >>> import tfx as tf
        >>> class Warmup(tf.optimizers.schedules.LearningRateSchedule):
        ...     def __call__(self, step):
        ...         return 0.1 * tf.minimum(tf.cast(step, tf.float32) / 100.0, 1.0)
        >>> optimizer = tf.optimizers.SGD(Warmup())
        >>> float(optimizer.learning_rate)
        0.0
    """

    def __call__(self, step: Any) -> Any:
        """The learning rate of the step with this number, counted from 0."""
        raise TypeError(
            f"Learning rate schedule {type(self).__name__!r} must override `__call__(self, step)`."
        )

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor that make an equal schedule."""
        raise TypeError(
            f"Learning rate schedule {type(self).__name__!r} must override `get_config()` in order "
            "to be serializable."
        )


def is_schedule(value: Any) -> bool:
    """True of what gives the learning rate of a step: a schedule of this module, or of Keras."""
    theirs = sys.modules.get("keras.src.optimizers.schedules.learning_rate_schedule")
    # A thread may be importing it: then the class is not there yet.
    kind = getattr(theirs, "LearningRateSchedule", LearningRateSchedule)
    return isinstance(value, (LearningRateSchedule, kind))


class Formula(Configured, LearningRateSchedule):
    """A schedule given by a formula in float64; its attributes are its arguments."""

    def __call__(self, step: Any) -> Tensor:
        """The learning rate of the step with this number, counted from 0."""
        return cast_to(self.rate(real(step)), dtypes.float32)

    def rate(self, step: Array) -> Array:
        """The same in float64, of a step in float64."""
        raise AssertionError


def _positive(name: str, value: Any) -> None:
    if isinstance(value, int | float) and value <= 0:
        raise ValueError(f"Argument `{name}` must be > 0. Received: {name}={value}")


class ExponentialDecay(Formula):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``.

    Args:
        initial_learning_rate: The learning rate at step 0.
        decay_steps: Steps in which it decays by ``decay_rate`` once.
        decay_rate: The factor.
        staircase: Decay at whole multiples of ``decay_steps`` only.
        name: Name.

    Example:
        >>> import tfx as tf
        >>> schedule = tf.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
        >>> float(schedule(20))
        0.02500000037252903
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str = "ExponentialDecay",
    ) -> None:
        _positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def rate(self, step: Array) -> Array:
        """See ``Formula.rate``."""
        periods = step / real(self.decay_steps)
        if self.staircase:
            periods = floor(periods)
        return real(self.initial_learning_rate) * real(self.decay_rate) ** periods


class InverseTimeDecay(Formula):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``.

    Args:
        initial_learning_rate: The learning rate at step 0.
        decay_steps: Steps that count as one period.
        decay_rate: What a period adds to the divisor.
        staircase: Decay at whole multiples of ``decay_steps`` only.
        name: Name.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str = "InverseTimeDecay",
    ) -> None:
        _positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def rate(self, step: Array) -> Array:
        """See ``Formula.rate``."""
        periods = step / real(self.decay_steps)
        if self.staircase:
            periods = floor(periods)
        return real(self.initial_learning_rate) / (1.0 + real(self.decay_rate) * periods)


class PiecewiseConstantDecay(Formula):
    """``values[0]`` up to and including step ``boundaries[0]``, then ``values[1]``, and so on.

    Args:
        boundaries: Steps in ascending order.
        values: Learning rates, one more than boundaries.
        name: Name.

    Raises:
        ValueError: the numbers of boundaries and values do not go together.

    Example:
        >>> import tfx as tf
        >>> schedule = tf.optimizers.schedules.PiecewiseConstantDecay([100, 200], [1.0, 0.5, 0.1])
        >>> [float(schedule(step)) for step in (100, 101, 200)]
        [1.0, 0.5, 0.5]
    """

    def __init__(
        self, boundaries: Sequence[Any], values: Sequence[Any], name: str = "PiecewiseConstant"
    ) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of "
                f"length {len(values)}."
            )
        self.boundaries = boundaries
        self.values = values
        self.name = name

    def rate(self, step: Array) -> Array:
        """See ``Formula.rate``."""
        values = convert_to_tensor(list(self.values), dtypes.float64)
        if not self.boundaries:
            return values[0]
        passed = greater(step, convert_to_tensor(list(self.boundaries), dtypes.float64))
        counts = (cast_to(passed, dtypes.int64), int64_constant([0]))
        return ox.Gather(values, ox.ReduceSum(*counts, keepdims=0))


class PolynomialDecay(Formula):
    """From ``initial_learning_rate`` to ``end_learning_rate`` in ``decay_steps`` steps.

    Args:
        initial_learning_rate: The learning rate at step 0.
        decay_steps: Steps until the end.
        end_learning_rate: The learning rate from there on.
        power: Power of the remaining part of the way; 1 goes down in a line.
        cycle: Instead of staying at the end, stretch the way to the next multiple of
            ``decay_steps``.
        name: Name.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str = "PolynomialDecay",
    ) -> None:
        _positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        self.name = name

    def rate(self, step: Array) -> Array:
        """See ``Formula.rate``."""
        length = real(self.decay_steps)
        if self.cycle:
            length = length * maximum(ceil(step / length), 1.0)
        else:
            step = minimum(step, length)
        start, end = real(self.initial_learning_rate), real(self.end_learning_rate)
        return (start - end) * (1.0 - step / length) ** real(self.power) + end


class CosineDecay(Formula):
    """Half a cosine wave down to a part of the learning rate, after an optional linear warm-up.

    Args:
        initial_learning_rate: The learning rate at step 0.
        decay_steps: Steps of the decay.
        alpha: The part of the learning rate that is left at the end.
        name: Name.
        warmup_target: The learning rate where the warm-up ends and the decay starts; None: no
            warm-up, the decay starts from ``initial_learning_rate``.
        warmup_steps: Steps of the warm-up.

    Example:
        >>> import tfx as tf
        >>> schedule = tf.optimizers.schedules.CosineDecay(
        ...     0.0, decay_steps=100, warmup_target=0.5, warmup_steps=10
        ... )
        >>> [float(schedule(step)) for step in (0, 5, 10, 60, 110)]
        [0.0, 0.25, 0.5, 0.25, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha: Any = 0.0,
        name: str = "CosineDecay",
        warmup_target: Any = None,
        warmup_steps: Any = 0,
    ) -> None:
        _positive("decay_steps", decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.alpha = alpha
        self.name = name
        self.warmup_target = warmup_target
        self.warmup_steps = warmup_steps

    def rate(self, step: Array) -> Array:
        """See ``Formula.rate``."""
        initial, length = real(self.initial_learning_rate), real(self.decay_steps)
        if self.warmup_target is None:
            return initial * _half_wave(minimum(step, length) / length, 1.0, self.alpha)
        target, warmup = real(self.warmup_target), real(self.warmup_steps)
        rising = (target - initial) * (step / warmup) + initial
        part = minimum(step - warmup, length) / length
        return where(less(step, warmup), rising, target * _half_wave(part, 1.0, self.alpha))


class CosineDecayRestarts(Formula):
    """Half cosine waves that start over, each ``t_mul`` times longer and ``m_mul`` times as high.

    Args:
        initial_learning_rate: The learning rate at step 0.
        first_decay_steps: Steps of the first wave.
        t_mul: Length of a wave over that of the one before.
        m_mul: Height of a wave over that of the one before.
        alpha: The part of the learning rate that is left at the end of a wave.
        name: Name.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: Any,
        t_mul: Any = 2.0,
        m_mul: Any = 1.0,
        alpha: Any = 0.0,
        name: str = "SGDRDecay",
    ) -> None:
        _positive("first_decay_steps", first_decay_steps)
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = first_decay_steps
        self.t_mul = t_mul
        self.m_mul = m_mul
        self.alpha = alpha
        self.name = name

    def rate(self, step: Array) -> Array:
        """See ``Formula.rate``."""
        waves = step / real(self.first_decay_steps)
        if isinstance(self.t_mul, int | float) and self.t_mul == 1:
            restarts = floor(waves)
            part = waves - restarts
        else:
            growth = real(self.t_mul)
            # The quotient of logarithms may be just below the whole number it stands for.
            restarts = floor(log(1.0 - waves * (1.0 - growth)) / log(growth) + 1e-9)
            length = growth**restarts
            part = (waves - (1.0 - length) / (1.0 - growth)) / length
        height = real(self.m_mul) ** restarts
        return real(self.initial_learning_rate) * _half_wave(part, height, self.alpha)


def _half_wave(part: Array, height: Any, alpha: Any) -> Array:
    """From ``height`` at 0 down to ``alpha`` at 1."""
    left = real(alpha)
    return (1.0 - left) * (0.5 * height * (1.0 + cos(part * math.pi))) + left


_SCHEDULES: dict[str, type[LearningRateSchedule]] = {
    cls.__name__: cls
    for cls in (
        ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay, CosineDecay,
        CosineDecayRestarts,
    )
}  # fmt: skip


def serialize(learning_rate_schedule: LearningRateSchedule) -> dict[str, Any]:
    """A schedule as a dict of plain values.

    Example:
        >>> import tfx as tf
        >>> schedules = tf.optimizers.schedules
        >>> config = schedules.serialize(schedules.ExponentialDecay(0.1, 10, 0.5))
        >>> config["class_name"]
        'ExponentialDecay'
    """
    return {
        "class_name": type(learning_rate_schedule).__name__,
        "config": learning_rate_schedule.get_config(),
    }


def deserialize(
    config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
) -> LearningRateSchedule:
    """The schedule that ``serialize`` described.

    Args:
        config: ``{"class_name": ..., "config": ...}``.
        custom_objects: Classes that are not part of this module, by name.

    Raises:
        ValueError: an unknown class.
    """
    known = {**_SCHEDULES, **(custom_objects or {})}
    cls = known.get(config["class_name"])
    if cls is None:
        raise ValueError(
            f"Unknown decay: {config['class_name']!r}; expected one of {', '.join(known)}. Pass "
            "classes of your own as custom_objects."
        )
    schedule: LearningRateSchedule = cls.from_config(config["config"])
    return schedule
