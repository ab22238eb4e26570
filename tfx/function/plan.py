"""A graph compiled to a session, and how its inputs and outputs are bound.

A *live* plan takes variables as inputs. A *frozen* one holds them as initializers, which ONNX
Runtime can fold and prepack (1.15 to 1.6 times faster); it is made once a function was called a
number of times without any of its variables changing, and dropped when one changes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import OpError
from tfx.framework.tensor import EagerTensor
from tfx.framework.variable import Variable
from tfx.function.failure import explained
from tfx.graph.ir import Graph, Value
from tfx.graph.passes import prepare
from tfx.graph.passes.hoist import hoist_constants
from tfx.graph.serialize import ExternalData, to_model
from tfx.runtime.session import RUN_OPTIONS, Runner, Session
from tfx.runtime.values import RawValue, from_numpy

# Constants above this size are shared with the session instead of copied into the model.
_INLINE_LIMIT = 1 << 16
# Unchanged calls before variables are frozen in; doubled each time a change undid it.
FIRST_FREEZE = 8
_LAST_FREEZE = 1 << 14
_NEVER = 1 << 62


class Plan:
    """One session for a graph.

    Args:
        graph: What to run; inputs are fed in order, or frozen.
        device: Canonical device name.
        frozen: Values of inputs that never change while the plan is used.
    """

    __slots__ = ("dtypes", "graph", "input_names", "output_names", "run_raw", "session")

    def __init__(
        self, graph: Graph, device: str = "CPU:0", frozen: dict[Value, RawValue] | None = None
    ) -> None:
        frozen = frozen or {}
        self.graph = graph
        ready = hoist_constants(prepare(graph, device=device), _INLINE_LIMIT + 1)
        # Names that no value of a graph has: constants keep theirs.
        names = [f"%in{i}" for i in range(len(graph.inputs))]
        shared = {
            v: from_numpy(v.const, owned=True)
            for v in ready.constants
            if v.const is not None
            and v.const.nbytes > _INLINE_LIMIT
            and not v.const.dtype.hasobject
        }
        values = {**frozen, **shared}
        stand_ins = {v: _external(raw, i) for i, (v, raw) in enumerate(values.items())}
        model = to_model(
            ready,
            input_names=names,
            output_names=[f"%out{i}" for i in range(len(graph.outputs))],
            initializers=stand_ins,
        )
        self.input_names = [n for n, v in zip(names, graph.inputs, strict=True) if v not in frozen]
        # Constants of called graphs can have equal names, which the model made unique.
        raw_values = list(values.values())
        given = {
            t.name: raw_values[int(t.external_data[0].value)]
            for t in model.graph.initializer
            if t.external_data
        }
        self.run_raw: Runner = _run_nothing
        if graph.outputs:  # ONNX Runtime takes no model without outputs
            try:
                self.session = Session(model.SerializeToString(), device=device, initializers=given)
            except OpError as e:
                raise explained(e, graph, None, _run_again) from e
            self.run_raw = self.session.run_raw
        self.output_names = [f"%out{i}" for i in range(len(graph.outputs))]
        self.dtypes = [dtypes.from_onnx(v.dtype) for v in graph.outputs]

    def run(self, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """Run with one value for each input that is not frozen."""
        try:
            return self.run_raw(
                dict(zip(self.input_names, inputs, strict=True)), self.output_names, RUN_OPTIONS
            )
        except Exception as e:
            raise self.failure(e, inputs) from None

    def failure(self, error: Exception, inputs: Sequence[RawValue]) -> OpError:
        """The exception for a failed run: operator, reason, the shapes it met, the user's line."""
        complete = len(inputs) == len(self.graph.inputs)  # not with frozen variables
        return explained(error, self.graph, inputs if complete else None, _run_again)

    def run_raw_values(self, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
        """``run`` without translation of errors."""
        feeds = dict(zip(self.input_names, inputs, strict=True))
        return self.run_raw(feeds, self.output_names, RUN_OPTIONS)

    def run_tensors(self, inputs: Sequence[EagerTensor]) -> list[EagerTensor]:
        """``run`` on tensors."""
        raw = self.run([t._value for t in inputs])
        # By number: an iterator over ONNX Runtime's vector costs 35 us.
        return [EagerTensor(raw[i], d) for i, d in enumerate(self.dtypes)]


def _run_nothing(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> list[RawValue]:
    """Run a graph that returns nothing."""
    return []


def _run_again(graph: Graph, inputs: Sequence[RawValue]) -> Sequence[RawValue]:
    """Compile a part of a graph that failed, and run it."""
    values = Plan(graph).run_raw_values(inputs)
    return [values[i] for i in range(len(graph.outputs))]


def _external(raw: RawValue, number: int) -> ExternalData:
    """A stand-in, told by its number, for contents that are given to the session directly."""
    return ExternalData(str(number), 0, 0, tuple(raw.shape()))


class Freezer:
    """Decides when a function that only reads its variables runs on a frozen plan.

    Attributes:
        plan: The frozen plan, None while the live one must run.
    """

    __slots__ = (
        "__weakref__",
        "_calls",
        "_graph",
        "_guards",
        "_lock",
        "_threshold",
        "device",
        "plan",
    )

    def __init__(self, graph: Graph, device: str) -> None:
        self._graph = graph
        self._calls = 0
        self._threshold = FIRST_FREEZE
        self._lock = threading.Lock()
        self._guards: list[weakref.ref[Variable]] = []
        self.device = device
        self.plan: Plan | None = None

    @staticmethod
    def serves(entries: Sequence[tuple[Value, Any]]) -> bool:
        """Whether these inputs can be initializers: ONNX Runtime takes no strings from outside."""
        return bool(entries) and all(v.dtype != dtypes.string.onnx for v, _ in entries)

    def count(self, entries: Sequence[tuple[Value, Variable]]) -> None:
        """A live call was made; freeze after enough of them."""
        self._calls += 1
        if self._calls >= self._threshold:
            self._calls = 0
            self._freeze(entries)

    def _freeze(self, entries: Sequence[tuple[Value, Variable]]) -> None:
        values = {value: variable._value for value, variable in entries}
        try:
            plan = Plan(self._graph, self.device, values)
        except OpError:
            # Folding met what only a call may raise, such as an index out of range.
            self._threshold = _NEVER
            return
        for _, variable in entries:
            variable.add_plan(self)
        with self._lock:
            # Whoever assigns after this comparison waits in variable_changed for the plan to drop.
            if all(values[value] is variable._value for value, variable in entries):
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
