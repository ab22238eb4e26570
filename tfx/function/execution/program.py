"""What a concrete function runs: a graph, where its inputs come from, what becomes of its outputs.

Owns the facts that all ways of calling share, and the live plan, which is made when it is first
needed. A ``strategy`` makes a call of them; see ``strategies``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import nest
from tfx.core.shapes import TensorShape
from tfx.framework.func_graph import FuncGraph, TracedVariable
from tfx.framework.variable_locks import all_locks, in_order, installs
from tfx.function.execution.host_state import calls_python
from tfx.function.execution.result_packing import result_packer, unique_outputs
from tfx.function.execution.stepped_plan import PlannedGraph
from tfx.function.inspection.placement import labelled
from tfx.function.tracing.graph_inputs import order_of_inputs, sources_in_written
from tfx.graph import ir
from tfx.runtime.values import RawValue


class Program(PlannedGraph):
    """A finished trace as something to run.

    Args:
        func_graph: The trace; its ``graph.outputs`` are results, then new values of variables.
        results: The structure that the Python function returned, tensors in place (None stays).
        device: Canonical name of the device it was traced for.

    Attributes:
        func_graph: The trace.
        device: The device.
        template: The structure of the results.
        present: For each leaf of the results whether it is a tensor (False: None).
        result_count: How many outputs of the trace are results.
        graph: What is run: it gives each value once.
        entries: The values that variables enter the graph by, and these.
        captures: Tensors of an enclosing function, and the values they enter by.
        input_order: For each input of the graph its kind (0: argument, 1: capture, 2: variable),
            its number, and the variable.
        written: The variables that a call assigns.
        new_places: Which outputs are their new values.
        unchecked: New values whose shape only a call tells, which is checked before any is
            installed: their places and variables.
        locks: What a call that assigns holds.
        pack: Makes the results of the outputs.
    """

    def __init__(self, func_graph: FuncGraph, results: Any, device: str) -> None:
        self.func_graph = func_graph
        self.device = device
        self.template = results
        graph = func_graph.graph
        flat = nest.flatten(results, expand_composites=True)
        self.present = [x is not None for x in flat]
        self.result_count = sum(self.present)
        self.graph, places = unique_outputs(graph)
        self.entries: list[tuple[ir.Value, TracedVariable]] = [
            (s.entry, s) for s in func_graph.read_states() if s.entry is not None
        ]
        self.captures = list(func_graph.captured.values())
        self.input_order = order_of_inputs(graph, func_graph, self.entries)
        # The same in short: (number of the argument, None) or (None, reference to the variable).
        self.sources: list[tuple[Any, Any]] = [
            (i, None) if state is None else (None, state.ref) for _, i, state in self.input_order
        ]
        self.written = func_graph.written_states()
        self.locked_sources = sources_in_written(self.input_order, self.written)
        self.new_places = places[self.result_count :]
        self.unchecked = [
            (places[i], s)
            for i, s in enumerate(self.written, self.result_count)
            if _may_not_fit(graph.outputs[i].shape, s.variable().shape)
        ]
        self.locks = in_order(s.variable()._lock_number for s in self.written)
        if self.written and calls_python(graph):
            self.locks = all_locks()  # that code may assign other variables meanwhile
        self.pack = labelled(result_packer(results, places), device)

    def close(self, plan: Any) -> None:
        """Let go of the plan; ``plan`` takes its place and refuses what it is asked for."""
        self._plan = plan

    def live_values(self, tensors: Sequence[Any]) -> list[RawValue]:
        """What the graph's inputs are at one moment: all values of an installation, or none.

        Raises:
            FailedPreconditionError: a variable was deleted.
        """
        done = installs.done
        try:
            values = [tensors[i]._raw if ref is None else ref()._raw for i, ref in self.sources]
        except AttributeError:
            self.refuse_deleted()
            raise
        if installs.begun == done:
            return values
        with installs.paused():
            return [tensors[i]._raw if ref is None else ref()._raw for i, ref in self.sources]

    def refuse_deleted(self) -> None:
        """Say which variable was deleted, if one was."""
        for state in self.func_graph.states.values():
            state.variable()


def _may_not_fit(value: ir.RawShape, shape: TensorShape) -> bool:
    """True if a value of a static shape could have, when it exists, a shape that does not fit."""
    if shape.rank is None:
        return False
    if value is None:
        return True
    return any(
        isinstance(want, int) and not isinstance(have, int)
        for have, want in zip(value, shape.symbolic or (), strict=True)
    )
