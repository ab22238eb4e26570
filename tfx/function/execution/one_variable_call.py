"""Calls of functions whose state is one variable, such as a counter or a step of an average.

Owns the short way for them: the holder of the variable's lock knows all that the call depends on,
so nothing need be collected and compared. What it does is what ``ConcreteFunction`` does for any
number of variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.framework.func_graph import TracedVariable
from tfx.framework.variable_locks import writing
from tfx.function.execution.feeds import by_state
from tfx.function.execution.plan import Plan
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.values import RawValue


class OneVariableCall:
    """Runs a plan and gives a variable its new value.

    Args:
        plan: What is run; no part of it may be Python code, which could look at the variable.
        state: The variable.
        arguments: Which tensor argument each input of the plan is; None: the variable's value.
        place: Which output is the new value; it fits the variable.
    """

    __slots__ = ("_arguments", "_feed", "_locks", "_place", "_state", "plan")

    def __init__(
        self, plan: Plan, state: TracedVariable, arguments: Sequence[int | None], place: int
    ) -> None:
        self.plan = plan
        self._state = state
        self._arguments = arguments
        self._feed = by_state(plan.input_names, arguments)
        self._locks = (state.variable()._lock_number,)
        self._place = place

    def run(self, tensors: Sequence[Any]) -> Sequence[RawValue]:
        """Run once.

        Args:
            tensors: The tensor arguments.

        Returns:
            The plan's outputs.

        Raises:
            OpError: the run failed; the variable is what it was.
        """
        # Waiting for the lock is no run: ``runtime.fork`` tells them apart by their frames.
        with writing(self._locks):
            variable = self._state.variable()
            raw = self._outputs(variable._raw, tensors)
            variable._swap(raw[self._place])
        return raw

    def _outputs(self, now: RawValue, tensors: Sequence[Any]) -> Sequence[RawValue]:
        plan = self.plan
        try:
            return plan.run_raw(self._feed(now, *tensors), plan.output_names, RUN_OPTIONS)
        except Exception as e:
            given = [now if i is None else tensors[i]._raw for i in self._arguments]
            return plan.rescued(e, given)
