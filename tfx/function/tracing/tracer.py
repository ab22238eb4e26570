"""``Tracer``: finds the trace that serves a call, and makes it where there is none.

Owns the traces of one function and the order in which they are looked for: the trace for exactly
this key, then one for more general shapes, then a new one. Variables may be created by the first
trace only; it is then traced again for what later calls do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tfx.core.dim_names import names_in
from tfx.core.errors import FailedPreconditionError
from tfx.core.source import user_frame
from tfx.framework import deferred_restores
from tfx.framework.context import current
from tfx.framework.device import trace_device
from tfx.framework.func_graph import FuncGraph
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.autograph_conversion import traceable
from tfx.function.tracing.parameters import Parameters
from tfx.function.tracing.recursion import RecursionRoom, too_deep
from tfx.function.tracing.relax_shapes import Relaxed
from tfx.function.tracing.retracing import History
from tfx.function.tracing.trace import Trace
from tfx.function.tracing.trace_cache import Entry, TraceCache
from tfx.function.tracing.trace_key import TraceKey, key_accepts, with_shapes
from tfx.graph.ir import RawDim
from tfx.runtime.fork_safe_locks import fork_safe

# One for all functions: two that call each other, traced from two threads, would wait forever.
trace_lock = fork_safe(threading.RLock())


class Tracer:
    """The traces of one function.

    Args:
        python_function: What is traced.
        name: Name of the graphs.
        parameters: The function's parameters.
        relax: Whether to generalise what varied.
        autograph: Whether to convert Python control flow on tensors.
        fuses: Whether plans use the fused kernels; None: where that is quicker.

    Attributes:
        cache: The traces.
        count: How many were made.
        history: What each was made for.
        first_call_done: Whether the time to create variables is over.
        keeps_variables: Whether every trace may create variables, which it then keeps alive.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        parameters: Parameters,
        relax: bool = False,
        autograph: bool = True,
        fuses: bool | None = None,
    ) -> None:
        self.cache = TraceCache()
        self.count = 0
        self.history = History(name, parameters.names)
        self.first_call_done = False
        self.keeps_variables = False
        self._python_function = python_function
        self._name = name
        self._parameters = parameters
        self._autograph = autograph
        self._fuses = fuses
        self._relaxed = Relaxed() if relax else None
        # The last trace, until a call finds it again.
        self._fresh: int | None = None

    def is_fresh(self, concrete: ConcreteFunction) -> bool:
        """Return whether a trace was made for the present call: True only the first time."""
        fresh = self._fresh == id(concrete)
        if fresh:
            self._fresh = None
        return fresh

    def trace_for(
        self, specs: TraceKey, arguments: TraceKey, exact: bool = False
    ) -> ConcreteFunction:
        """The trace for a call.

        Args:
            specs: What the trace takes: the arguments, or specs in their place.
            arguments: The call's arguments.
            exact: Only a trace for just these specs will do.
        """
        context = current()
        pattern = (context.key, *specs.key)
        names = specs.spec_names
        key = (*pattern, ("names", names)) if any(names) else pattern
        entry = self._lookup(key, context.graph)
        if entry is None:
            with trace_lock:
                entry = self._lookup(key, context.graph)
                if entry is None and not exact:
                    entry = self._general(key, pattern, context.graph)
                if entry is None and context.graph is None:
                    with RecursionRoom():
                        return self._trace(key, pattern, specs, arguments, exact)
                if entry is None:
                    return self._trace(key, pattern, specs, arguments, exact)
        if not entry.reused and not exact:
            entry.reused = True
            self.history.reused(entry.number)
        return entry.concrete

    def _lookup(self, key: Any, graph: FuncGraph | None) -> Entry | None:
        entry = self.cache.find(key)
        return entry if entry is not None and _is_good_in(entry.concrete, graph) else None

    def _general(self, key: Any, pattern: Any, graph: FuncGraph | None) -> Entry | None:
        """An existing trace for more general shapes; remembered under this key."""
        for entry in reversed(self.cache.entries()):
            sizes = _sizes_captured(entry.concrete)
            if key_accepts(pattern, entry.pattern, sizes) and _is_good_in(entry.concrete, graph):
                self.cache.alias(key, entry)
                return entry
        return None

    def _trace(
        self, key: Any, pattern: Any, arguments: TraceKey, given: TraceKey, exact: bool
    ) -> ConcreteFunction:
        """Trace for the arguments of a call; the lock is held."""
        lost = self.cache.lost_variable(key)
        shapes = None if self._relaxed is None else self._relaxed.relax(pattern)
        made: list[Any] = []

        def run(widened: list[Any] | None) -> ConcreteFunction:
            made[:] = [widened]
            return self._trace_once(pattern, arguments, given, widened, exact)

        try:
            if self._relaxed is None or shapes is None:
                concrete = run(None)
            else:
                concrete = self._relaxed.traced(pattern, shapes, run)
        except RecursionError as e:
            if current().graph is not None:
                raise  # the outermost trace says it
            raise too_deep(self._name) from e
        except Exception as e:
            if lost is None:
                raise
            raise FailedPreconditionError(
                f"Variable {lost!r} that function {self._name!r} uses was deleted, and tracing it "
                f"again without it failed ({type(e).__name__}: {e}). A function keeps only weak "
                "references to variables. Keep a reference to it, for example as an attribute of "
                "a Module."
            ) from e
        number, owners = self.count, arguments.owners
        pinned = self.keeps_variables
        if made[0] is None:
            self.cache.insert(key, pattern, concrete, number, owners, pinned=pinned)
        else:
            wide = with_shapes(pattern, iter(made[0]))
            entry = self.cache.insert(wide, wide, concrete, number, owners, pinned=pinned)
            if key != wide:
                self.cache.alias(key, entry)
        self._fresh = id(concrete)
        return concrete

    def _trace_once(
        self,
        pattern: Any,
        arguments: TraceKey,
        given: TraceKey,
        shapes: Sequence[Any] | None,
        exact: bool,
    ) -> ConcreteFunction:
        """A trace, made twice if it is the first one and creates variables."""
        device = trace_device(current().device)
        first = not self.first_call_done
        keeps = self.keeps_variables
        trace = self._new_trace(pattern, arguments, given, shapes, exact=exact)
        concrete = trace.run(device, allow_variables=first or keeps)
        created = trace.func_graph.created_variables or ()
        if first:
            self.first_call_done = True
        if keeps:
            concrete.owned = tuple(created)
        elif first and created:
            # The behaviour from now on is that of a call that finds its variables there.
            trace = self._new_trace(pattern, arguments, given, shapes, again=True)
            concrete = trace.run(device, allow_variables=False)
        # A checkpoint that was restored before these variables existed may hold their values.
        deferred_restores.traced(concrete.variables, created)
        return concrete

    def _new_trace(
        self,
        pattern: Any,
        arguments: TraceKey,
        given: TraceKey,
        shapes: Sequence[Any] | None,
        *,
        again: bool = False,
        exact: bool = False,
    ) -> Trace:
        self.count += 1
        # What another trace calls is part of that: it costs nothing when that one is called again.
        asked = exact or current().graph is not None
        self.history.add(self.count, pattern, user_frame(), again=again, asked=asked)
        function = traceable(self._python_function, self._autograph)
        trace = Trace(function, self._name, self._parameters, arguments, given, shapes)
        trace.func_graph.graph.fuses = self._fuses
        return trace


def _sizes_captured(concrete: ConcreteFunction) -> dict[str, RawDim]:
    """The names in the shapes of captured tensors, which stand for what they stood for."""
    captured = concrete.graph.captured.values()
    return {n: n for _, v in captured for dims in (v.shape, v.dims) for n in names_in(dims or ())}


def _is_good_in(concrete: ConcreteFunction, graph: FuncGraph | None) -> bool:
    """True if a trace may be used: not outside of the function whose tensors it uses."""
    if not concrete.graph.captured:
        return True
    outer = concrete.graph.parent
    while graph is not None and graph is not outer:
        graph = graph.parent
    return graph is not None
