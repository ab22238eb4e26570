"""How a concrete function is called eagerly: one strategy, chosen when it is made.

``PlainCall`` where there is no state, ``ReadingCall`` where variables are only read (on a frozen
plan once they stay the same), ``OneVariableCall`` where one variable is all the state, and
``WritingCall`` for all others that assign. ``ClosedCall`` refuses. Calls that a tape sees, or that
another trace contains, take none of these ways: see ``observed_calls``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NoReturn, Protocol

from tfx.core.shapes import TensorShape
from tfx.framework.variable import Variable, install
from tfx.framework.variable_locks import installs, writing
from tfx.function.execution.feeds import by_state
from tfx.function.execution.freeze_policy import FreezePolicy
from tfx.function.execution.plan import Plan
from tfx.function.execution.program import Program
from tfx.function.execution.stepped_plan import SteppedPlan
from tfx.graph.ir import Value
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.values import RawValue


class CallStrategy(Protocol):
    """A way of calling a program."""

    def run(self, tensors: Sequence[Any]) -> Any:
        """The results of a call with eager tensors as arguments, in order.

        Raises:
            OpError: the run failed; all variables are what they were.
        """


def choose(program: Program) -> CallStrategy:
    """The strategy for a program."""
    if program.written:
        one = len(program.written) == 1 and not program.unchecked and not program.captures
        if one and all(s is program.written[0] for _, s in program.entries):
            return OneVariableCall(program)
        return WritingCall(program)
    if not program.captures and not program.entries:
        return PlainCall(program)
    freezable = FreezePolicy.serves(program.entries)
    return ReadingCall(program, FreezePolicy(program.graph, program.device) if freezable else None)


class PlainCall:
    """Runs what depends on its arguments alone."""

    __slots__ = ("_pack", "_plan", "_program")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._pack = program.pack
        self._plan: Plan | SteppedPlan | None = None

    def run(self, tensors: Sequence[Any]) -> Any:
        """See ``CallStrategy``."""
        plan = self._plan
        if plan is None:
            plan = self._plan = self._program.plan
        try:
            raw = plan.run_raw(plan.feed_tensors(*tensors), plan.output_names, RUN_OPTIONS)
        except Exception as e:
            raw = plan.rescued(e, [t._raw for t in tensors])
        return self._pack(raw, plan.dtypes)


class ReadingCall:
    """Runs what reads variables; those that stay the same become part of a frozen plan.

    Args:
        program: What is run.
        freezer: Makes the frozen plan; None: variables are fed in every call.
    """

    __slots__ = ("_program", "freezer")

    def __init__(self, program: Program, freezer: FreezePolicy | None) -> None:
        self._program = program
        self.freezer = freezer

    def run(self, tensors: Sequence[Any]) -> Any:
        """See ``CallStrategy``."""
        program, freezer = self._program, self.freezer
        if freezer is not None:
            frozen = freezer.plan
            if frozen is not None:
                try:
                    raw = frozen.run_raw_values([t._raw for t in tensors])
                except Exception:
                    if isinstance(frozen, SteppedPlan):  # its effects must not happen twice
                        raise
                    freezer = None  # the live plan fails as well, and can say what it met
                else:
                    return program.pack(raw, frozen.dtypes)
            elif freezer.is_due:
                self.freeze()
                return self.run(tensors)
        plan = program.plan
        began = perf_counter()
        raw = plan.run(program.live_values(tensors))
        if freezer is not None:
            freezer.count(self._entries(), perf_counter() - began, plan.preparation_seconds)
        return program.pack(raw, plan.dtypes)

    def freeze(self) -> None:
        """Make the frozen plan now, if there can be one."""
        if self.freezer is not None:
            self.freezer.freeze(self._entries())

    def _entries(self) -> list[tuple[Value, Variable]]:
        return [(v, s.variable()) for v, s in self._program.entries]


class WritingCall:
    """Runs and installs new values: all or none, and no other writer comes between."""

    __slots__ = ("_program", "_references")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._references: list[Any] = [s.ref for s in program.written]

    def run(self, tensors: Sequence[Any]) -> Any:
        """See ``CallStrategy``."""
        program = self._program
        plan = program.plan
        with writing(program.locks):
            # Taken before the run: all are there when the first of them changes.
            written = [ref() for ref in self._references]
            for variable in written:
                if variable is None:
                    program.refuse_deleted()
            raw = plan.run(self._inputs(tensors, written))
            for place, state in program.unchecked:
                state.variable().check_shape(TensorShape(raw[place].shape()))
            # By number: an iterator over ONNX Runtime's vector costs half as much again.
            new = list(map(raw.__getitem__, program.new_places))
            installs.during(install, written, new)
        return program.pack(raw, plan.dtypes)

    def _inputs(self, tensors: Sequence[Any], written: Sequence[Any]) -> list[RawValue]:
        sources = self._program.locked_sources
        if sources is None:
            return self._program.live_values(tensors)
        # What is read and written is locked: nobody else changes it meanwhile.
        return [tensors[i]._raw if i is not None else written[k]._raw for i, k in sources]


class OneVariableCall(WritingCall):
    """Runs what has one variable for its state, such as a counter or a step of an average.

    Whoever holds the variable's lock knows all that the call depends on, so nothing need be
    collected and compared. A plan of several steps is called like any other: there is Python code
    between them, which could look at the variable.
    """

    __slots__ = ("_arguments", "_feed", "_lock", "_place", "_state", "plan")

    _feed: Callable[..., dict[str, RawValue]]  # there is one where there is a plan

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        (self._state,), (self._place,) = program.written, program.new_places
        self._arguments = [i for i, _ in program.sources]
        self._lock = (self._state.variable()._lock_number,)
        # None before the first call, and where it has several steps.
        self.plan: Plan | None = None

    def run(self, tensors: Sequence[Any]) -> Any:
        """See ``CallStrategy``."""
        plan = self.plan
        if plan is None:
            return self._first_run(tensors)
        # Waiting for the lock is no run: ``runtime.fork`` tells them apart by their frames, so
        # the function that waits must not name a runner.
        with writing(self._lock):
            variable = self._state.variable()
            raw = self._outputs(plan, variable._raw, tensors)
            variable._swap(raw[self._place])
        return self._program.pack(raw, plan.dtypes)

    def _outputs(self, plan: Plan, now: RawValue, tensors: Sequence[Any]) -> Sequence[RawValue]:
        try:
            return plan.run_raw(self._feed(now, *tensors), plan.output_names, RUN_OPTIONS)
        except Exception as e:
            given = [now if i is None else tensors[i]._raw for i in self._arguments]
            return plan.rescued(e, given)

    def _first_run(self, tensors: Sequence[Any]) -> Any:
        plan = self._program.plan
        if type(plan) is Plan:
            self._feed = by_state(plan.input_names, self._arguments)
            self.plan = plan
        return super().run(tensors)


class ClosedCall:
    """Refuses: the bundle that a function is of was closed.

    Args:
        refuse: Raises the error.
    """

    __slots__ = ("_refuse",)

    def __init__(self, refuse: Callable[[], NoReturn]) -> None:
        self._refuse = refuse

    def run(self, tensors: Sequence[Any]) -> Any:
        """See ``CallStrategy``."""
        self._refuse()
