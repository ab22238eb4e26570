"""``ExponentialMovingAverage``: running means of variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfx.framework.context import init_scope
from tfx.framework.control_dependencies import group
from tfx.framework.deferred_restores import AutoTrackable
from tfx.framework.variable import Variable
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.math.arithmetic import minimum


class ExponentialMovingAverage(AutoTrackable):
    """A mean of each variable in which the past fades: ``decay * mean + (1 - decay) * value``.

    Args:
        decay: How much of the mean stays at each ``apply``, a float.
        num_updates: How many updates there were, if early ones shall count more: the decay is at
            most ``(1 + num_updates) / (10 + num_updates)``.
        zero_debias: Accepted for compatibility: means of variables start with their values.
        name: The means are named ``variable/name``.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable(10.0)
        >>> ema = tf.train.ExponentialMovingAverage(decay=0.5)
        >>> _ = ema.apply([v])
        >>> _ = v.assign(20.0), ema.apply([v])
        >>> float(ema.average(v))
        15.0
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._name = name
        self._self_averages: dict[Any, Variable] = {}
        self._kept: list[tuple[Any, Variable]] = []

    @property
    def name(self) -> str:
        """The name of this object."""
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> Any:
        """Make the means of variables, or update them.

        Args:
            var_list: Variables of floating dtypes.

        Returns:
            What ``tf.group`` returns.

        Raises:
            ValueError: no variables are given.
            TypeError: something that is no variable of a floating dtype.
        """
        if var_list is None:
            raise ValueError("apply: give the variables whose means are kept.")
        updates = []
        for variable in var_list:
            if not isinstance(variable, Variable) or not variable.dtype.is_floating:
                raise TypeError(
                    f"The variables must be floating point variables; got {variable!r}."
                )
            mean = self._self_averages.get(variable.ref())
            if mean is None:
                self._make(variable)
                continue
            decay = cast_to(tensor(self._decay), mean.dtype)
            if self._num_updates is not None:
                done = cast_to(tensor(self._num_updates), mean.dtype)
                decay = minimum(decay, (done + 1) / (done + 10))
            updates.append(mean.assign_sub((mean - variable) * (scalar_like(1, decay) - decay)))
        return group(*updates)

    def _make(self, variable: Any) -> None:
        with init_scope():
            title = f"{variable.name.split(':')[0]}/{self._name}"
            mean = Variable(variable.read_value(), trainable=False, name=title)
        self._self_averages[variable.ref()] = mean
        self._kept.append((variable, mean))

    def average(self, var: Any) -> Variable | None:
        """The mean of a variable; None before ``apply`` was called with it."""
        return self._self_averages.get(var.ref())

    def average_name(self, var: Any) -> str:
        """The name of a variable's mean."""
        return f"{var.name.split(':')[0]}/{self._name}"

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> Any:
        """Variables by the names under which their means were saved.

        Args:
            moving_avg_variables: Those with means; None: those that ``apply`` got.
        """
        some = moving_avg_variables
        chosen = [v for v, _ in self._kept] if some is None else list(some)
        return {self.average_name(v): v for v in chosen}
