"""``ExponentialMovingAverage``: running means of variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfx.framework.context import current, init_scope
from tfx.framework.control_dependencies import control_dependencies, group
from tfx.framework.deferred_restores import AutoTrackable
from tfx.framework.variable import Variable, variable_of
from tfx.ops.array.creation import zeros
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
            var_list: Variables of floating dtypes; in a graph that sessions run also tensors, whose
                means begin with 0. None: the trainable variables of such a graph.

        Returns:
            What ``tf.group`` returns.

        Raises:
            ValueError: no variables are given, and there is no such graph.
            TypeError: something that is no variable of a floating dtype.
        """
        if var_list is None:
            var_list = _collected("trainable_variables")
        updates = []
        for variable in map(variable_of, var_list):
            fits = isinstance(variable, Variable) or _is_of_session(variable)
            if not fits or not variable.dtype.is_floating:
                raise TypeError(
                    f"The variables must be floating point variables; got {variable!r}."
                )
            mean = self._self_averages.get(variable.ref())
            if mean is None:
                mean = self._make(variable)
            decay = cast_to(tensor(self._decay), mean.dtype)
            if self._num_updates is not None:
                done = cast_to(tensor(self._num_updates), mean.dtype)
                decay = minimum(decay, (done + 1) / (done + 10))
            updates.append(mean.assign_sub((mean - variable) * (scalar_like(1, decay) - decay)))
        return group(*updates)

    def _make(self, variable: Any) -> Variable:
        graph: Any = getattr(variable, "graph", None)
        title = f"{variable.name.split(':')[0]}/{self._name}"
        if not hasattr(graph, "add_to_collection"):
            with init_scope():
                mean = Variable(variable.read_value(), trainable=False, name=title)
        else:
            with control_dependencies(None):  # what ``apply`` waits for is not waited for here
                if isinstance(variable, Variable):
                    start = variable.initialized_value()
                    graph.add_to_collection("moving_average_variables", variable)
                else:  # a tensor has no value before it is computed
                    start = zeros(variable.shape, variable.dtype)
                mean = Variable(start, trainable=False, name=title)
        self._self_averages[variable.ref()] = mean
        self._kept.append((variable, mean))
        return mean

    def average(self, var: Any) -> Variable | None:
        """The mean of a variable; None before ``apply`` was called with it."""
        return self._self_averages.get(variable_of(var).ref())

    def average_name(self, var: Any) -> str:
        """The name of a variable's mean."""
        return f"{variable_of(var).name.split(':')[0]}/{self._name}"

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> Any:
        """Variables by the names under which their means were saved.

        In a graph that sessions run, all other variables are there by their own names.

        Args:
            moving_avg_variables: Those with means; None: those that ``apply`` got.
        """
        others: list[Any] = []
        if moving_avg_variables is not None:
            chosen = list(moving_avg_variables)
        else:
            chosen = [v for v, _ in self._kept if isinstance(v, Variable)]
        if any(map(_is_of_session, chosen)):
            names = {v.name for v in chosen}
            others = [v for v in _collected("variables") if v.name not in names]
        found = {self.average_name(v): v for v in chosen}
        for other in others:
            found.setdefault(other.op.name, other)
        return found


def _is_of_session(value: Any) -> bool:
    """True for a tensor or a variable of a graph whose sessions hold the values."""
    return hasattr(value, "graph") and hasattr(getattr(value, "graph", None), "add_to_collection")


def _collected(name: str) -> list[Any]:
    """The variables of a collection of the graph that sessions run.

    Raises:
        ValueError: there is no such graph.
    """
    collection = getattr(current().graph, "get_collection", None)
    if collection is None:
        raise ValueError("apply: give the variables whose means are kept.")
    return list(collection(name))
