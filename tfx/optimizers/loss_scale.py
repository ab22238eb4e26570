"""Loss scales: the factor that keeps small gradients of half precision from becoming zero.

Names, arguments and the rule are those of ``tf.mixed_precision.experimental``. A scale that adapts
is state: two scalar variables, which functions, checkpoints and bundles carry like all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfx.core import dtypes, nest
from tfx.core.mixins import FromConfig
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import init_scope, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.module import Module
from tfx.framework.tensor import Tensor, from_array
from tfx.framework.variable import Variable
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.math.reduction import reduce_sum

INITIAL, PERIOD, MULTIPLIER = 2.0**15, 2000, 2.0


class LossScale(FromConfig, Module):
    """Base class of loss scales: called, it gives the current one; ``update`` adapts it."""

    def __call__(self) -> Tensor:
        """The current scale, a float32 scalar."""
        raise TypeError(f"{type(self).__name__} does not say what its scale is: override __call__.")

    def update(self, grads: Any) -> tuple[None, Tensor]:
        """Adapt the scale to gradients of a scaled loss.

        Args:
            grads: Tensors, ``IndexedSlices`` and None, nested.

        Returns:
            None (TensorFlow has an operation there, here state changes in the order of the
            program), and a bool scalar: whether these gradients should be applied.
        """
        raise TypeError(f"{type(self).__name__} does not say how it adapts: override update.")

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor that make an equal scale, without its state."""
        raise TypeError(f"{type(self).__name__} has no configuration: override get_config.")


class FixedLossScale(LossScale):
    """A scale that stays as it is; all gradients are applied.

    Args:
        loss_scale_value: A number of at least 1.

    Raises:
        ValueError: the number is below 1, or not finite.

    Example:
        >>> import tfx as tf
        >>> float(tf.mixed_precision.FixedLossScale(128)())
        128.0
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self._loss_scale_value = checked_number("loss_scale_value", loss_scale_value)

    def __call__(self) -> Tensor:
        """The scale, a float32 scalar."""
        return convert_to_tensor(self._loss_scale_value, dtypes.float32)

    def update(self, grads: Any) -> tuple[None, Tensor]:
        """Nothing changes, and the gradients are to be applied."""
        return None, convert_to_tensor(True)

    def get_config(self) -> dict[str, Any]:
        """The constructor's argument."""
        return {"loss_scale_value": self._loss_scale_value}

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"


class DynamicLossScale(LossScale):
    """A scale that grows until gradients overflow, and falls when they do.

    After ``increment_period`` steps in a row with finite gradients the scale is multiplied, unless
    it would not be finite; gradients that are not finite divide it, down to 1 at most, and are not
    to be applied.

    Args:
        initial_loss_scale: What it begins with; high, as it falls quickly.
        increment_period: How many steps in a row make it grow.
        multiplier: The factor by which it grows and falls.

    Raises:
        ValueError: a number below 1, or not finite.

    Example:
        >>> import tfx as tf
        >>> scale = tf.mixed_precision.DynamicLossScale(1024, increment_period=2)
        >>> for gradient in (1.0, float("inf"), 2.0, 3.0):
        ...     _, finite = scale.update([tf.constant(gradient)])
        ...     print(bool(finite), float(scale()))
        True 1024.0
        False 512.0
        True 512.0
        True 1024.0
    """

    def __init__(
        self,
        initial_loss_scale: float = INITIAL,
        increment_period: int = PERIOD,
        multiplier: float = MULTIPLIER,
    ) -> None:
        super().__init__()
        self._initial_loss_scale = checked_number("initial_loss_scale", initial_loss_scale)
        self._increment_period = checked_period("increment_period", increment_period)
        self._multiplier = checked_number("multiplier", multiplier)
        self.current_loss_scale = _scalar(np.float32(initial_loss_scale), "current_loss_scale")
        self.good_steps = _scalar(np.int64(0), "good_steps")

    @property
    def initial_loss_scale(self) -> float:
        """What it begins with."""
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        """How many finite steps in a row make it grow."""
        return self._increment_period

    @property
    def multiplier(self) -> float:
        """The factor by which it grows and falls."""
        return self._multiplier

    def __call__(self) -> Tensor:
        """The current scale, a float32 scalar."""
        return self.current_loss_scale.value()

    def update(self, grads: Any) -> tuple[None, Tensor]:
        """See ``LossScale.update``; all gradients are looked at, in one scalar."""
        with using(tapes=()):
            finite = all_finite(nest.flatten(grads))
            self.adapt(finite)
        return None, finite

    def adapt(self, finite: Tensor) -> None:
        """Adapt the scale, given whether all gradients of the step are finite."""
        scale: Any = self.current_loss_scale.value()
        steps: Any = self.good_steps.value()
        steps = steps + 1
        due = ox.GreaterOrEqual(steps, convert_to_tensor(self._increment_period, dtypes.int64))
        zero = convert_to_tensor(0, dtypes.int64)
        grown = scale * self._multiplier
        grown = ox.Where(all_finite([grown]), grown, scale)
        fallen = ox.Max(scale / self._multiplier, convert_to_tensor(1.0, dtypes.float32))
        kept = ox.Where(due, grown, scale)
        self.current_loss_scale.assign(ox.Where(finite, kept, fallen))
        going_on = ox.And(finite, ox.Not(due))
        self.good_steps.assign(ox.Where(going_on, steps, zero))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self._initial_loss_scale}, "
            f"increment_period={self._increment_period}, multiplier={self._multiplier})"
        )


def all_finite(gradients: Iterable[Any]) -> Tensor:
    """Whether all elements of tensors and ``IndexedSlices`` are finite, a bool scalar.

    One pass over each: 0 times what is not finite is NaN, which no sum loses.
    """
    total: Any = None
    for gradient in gradients:
        if gradient is None:
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else tensor(gradient)
        if not values.dtype.is_floating:
            continue
        if values.dtype.size < 4:
            values = cast_to(values, dtypes.float32)
        zeros: Any = cast_to(reduce_sum(ox.Mul(values, ox.like(0.0, values))), dtypes.float32)
        total = zeros if total is None else total + zeros
    if total is None:
        return convert_to_tensor(True)
    return ox.Equal(total, convert_to_tensor(0.0, dtypes.float32))


def as_loss_scale(identifier: Any) -> LossScale | None:
    """A loss scale from itself, a number, ``"dynamic"`` or None.

    Raises:
        ValueError: something else.
    """
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    if isinstance(identifier, int | float) and not isinstance(identifier, bool):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    raise ValueError(
        f"Could not interpret loss scale identifier: {identifier!r}; expected a number, 'dynamic', "
        "or a tfx.mixed_precision.LossScale."
    )


def scale_from_config(
    config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
) -> LossScale:
    """The loss scale of a class and a configuration.

    Args:
        config: ``{"class_name": ..., "config": ...}``.
        custom_objects: Classes that are not tfx's own, by name.

    Raises:
        ValueError: an unknown class.
    """
    own = {cls.__name__: cls for cls in (FixedLossScale, DynamicLossScale)}
    known = {**own, **(custom_objects or {})}
    name = config["class_name"]
    if name not in known:
        raise ValueError(
            f"Unknown loss scale: {name!r}. Expected one of {', '.join(known)}; give others in "
            "custom_objects."
        )
    made: LossScale = known[name].from_config(config["config"])
    return made


def checked_number(name: str, value: Any) -> float:
    """A number of at least 1.

    Raises:
        ValueError: it is less, not finite, or no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ValueError(f"{name} must be a number of at least 1; got {value!r}.")
    if not 1 <= value < np.inf:
        raise ValueError(f"{name} must be a finite number of at least 1; got {value}.")
    return float(value)


def checked_period(name: str, value: Any) -> int:
    """A number of steps.

    Raises:
        ValueError: it is no integer, or below 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")
    return int(value)


def _scalar(value: Any, name: str) -> Variable:
    with init_scope():
        return Variable(from_array(np.asarray(value), owned=True), trainable=False, name=name)
