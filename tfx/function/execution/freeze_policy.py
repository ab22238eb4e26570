"""The policy when a function that only reads its variables runs on a frozen plan.

The frozen plan is made once a function was called a number of times without any of its variables
changing, or, if its calls take long, once they have taken as long as it takes to make a plan; for a
function of a loaded bundle that writes none of them, before the first call. It is dropped when a
variable changes.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import OpError
from tfx.framework.variable import Variable
from tfx.framework.variable_locks import installs
from tfx.function.execution.plan import Plan
from tfx.function.execution.stepped_plan import SteppedPlan, make_plan
from tfx.graph.ir import Graph, Value
from tfx.runtime.fork_safe_locks import fork_safe

# Unchanged calls before variables are frozen in; doubled each time a change undid it.
FIRST_FREEZE = 8
_LAST_FREEZE = 1 << 14
_NEVER = 1 << 62


class FreezePolicy:
    """Decides when a function that only reads its variables runs on a frozen plan.

    Attributes:
        plan: The frozen plan, None while the live one must run.
        is_due: Whether to make it before the next call; set for what was loaded, whose variables
            change seldom.
    """

    __slots__ = (
        "__weakref__",
        "_calls",
        "_graph",
        "_guards",
        "_lock",
        "_shortest",
        "_threshold",
        "device",
        "is_due",
        "plan",
    )

    def __init__(self, graph: Graph, device: str) -> None:
        self._graph = graph
        self._calls = 0
        self._shortest = math.inf  # seconds of a call
        self._threshold = FIRST_FREEZE
        self._lock = fork_safe(threading.Lock())
        self._guards: list[weakref.ref[Variable]] = []
        self.device = device
        self.is_due = False
        self.plan: Plan | SteppedPlan | None = None

    @staticmethod
    def serves(entries: Sequence[tuple[Value, Any]]) -> bool:
        """True if these inputs can be initializers: ONNX Runtime takes no strings from outside."""
        return bool(entries) and all(v.dtype != dtypes.string.onnx for v, _ in entries)

    def count(
        self, entries: Sequence[tuple[Value, Variable]], seconds: float, preparation: float
    ) -> None:
        """A live call was made; freeze after enough of them.

        Args:
            entries: The variables, as inputs of the graph.
            seconds: How long the call took. The shortest counts, so that no accident does.
            preparation: How long it took to make the live plan.
        """
        self._calls += 1
        self._shortest = min(self._shortest, seconds)
        costs = preparation * self._threshold / FIRST_FREEZE
        is_long = self._calls > 1 and self._calls * self._shortest >= costs
        if is_long or self._calls >= self._threshold:
            self._calls = 0
            self.freeze(entries)

    def freeze(self, entries: Sequence[tuple[Value, Variable]]) -> None:
        """Make the frozen plan, unless it cannot be made.

        Args:
            entries: The variables, as inputs of the graph.
        """
        self.is_due = False
        values = {value: variable._raw for value, variable in entries}
        try:
            plan = make_plan(self._graph, self.device, values)
        except (OpError, RecursionError):
            # Folding met what only a call may raise, such as an index out of range.
            self._threshold = _NEVER
            return
        for _, variable in entries:
            variable.add_plan(self)
        with installs.paused(), self._lock:
            # An assignment after this comparison waits in variable_changed for the plan to drop.
            if all(values[value] is variable._raw for value, variable in entries):
                self._guards = [weakref.ref(v, self._variable_gone) for _, v in entries]
                self.plan = plan

    def variable_changed(self) -> None:
        """Back to the live plan."""
        with self._lock:
            self.plan = None
            self._calls = 0
            self._threshold = min(self._threshold * 2, max(self._threshold, _LAST_FREEZE))

    def _variable_gone(self, _: object) -> None:
        """Back to the live plan, which says that the variable was deleted."""
        self.plan = None
