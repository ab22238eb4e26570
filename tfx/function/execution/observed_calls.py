"""Calls of a concrete function that a tape sees, or that another trace contains.

Under a tape the trace is a pure function of its arguments, its variables and the constants that
may be watched; in another trace it is one call node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, cast

from tfx.core import nest
from tfx.core.source import user_frame
from tfx.framework.context import current, recorders_inside_traces
from tfx.framework.device import DEFAULT_DEVICE
from tfx.framework.func_graph import Assigned, FuncGraph
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, label, raw_of
from tfx.framework.variable import Variable, install, seeds_of
from tfx.framework.variable_locks import installs, writing
from tfx.function.execution.program import Program
from tfx.function.gradients.pure_function import PureFunction
from tfx.function.recompute.hoist_random import draws_inside
from tfx.function.recompute.random_replay import RandomLog
from tfx.graph import ir
from tfx.graph.call_sizes import shape_in_call, sizes_of_call
from tfx.ops.random.generator import state_of_another


class ObservedCalls:
    """Makes such calls of one program, and keeps what they need.

    Args:
        program: What is called.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._pure: PureFunction | None = None
        self._called: tuple[ir.Graph, list[EagerTensor]] | None = None
        states = program.func_graph.states.values()
        self._draws = any(seeds_of(s.variable()) is not None for s in states)

    def _variables(self) -> list[Variable]:
        return [s.variable() for s in self._program.func_graph.states.values()]

    def is_watched(self, context: Any, tensors: Sequence[Tensor]) -> bool:
        """True if some tape would record the call."""
        func_graph = self._program.func_graph
        eager = [t for t, _ in func_graph.captured_eager.values()]
        variables = self._variables()
        for tape in context.tapes:
            for variable in variables:
                if variable.trainable:
                    tape.watch_variable(variable)
            if any(tape.depends(x) for x in (*tensors, *eager, *variables)):
                return True
            if type(tape) is RandomLog and any(map(draws_inside, func_graph.graph.nodes)):
                return True
        return False

    def call(self, context: Any, tensors: Sequence[Tensor], name: str) -> Any:
        """Under a tape or while another function is traced."""
        if context.graph is not None and context.tapes == recorders_inside_traces(context.tapes):
            outputs = self._call_node(context.graph, tensors, name)
        else:
            outputs = self._call_recorded(tensors)
        results = outputs[: self._program.result_count]
        flat = iter(results)
        leaves = [next(flat) if p else None for p in self._program.present]
        return nest.pack_sequence_as(self._program.template, leaves, expand_composites=True)

    def _inputs_in_order(
        self, tensors: Sequence[Tensor], read: Callable[[Variable], Tensor]
    ) -> list[Tensor]:
        """Arguments, captured tensors and variables' values in the order of the graph's inputs."""
        result = []
        for kind, i, state in self._program.input_order:
            if kind == 0:
                result.append(tensors[i])
            elif kind == 1:
                result.append(self._program.captures[i][0])
            else:
                assert state is not None
                result.append(read(state.variable()))
        return result

    def _call_recorded(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """As a pure function of arguments, variables and watched constants, seen by the tapes."""
        pure, program = self._pure, self._program
        if pure is None:
            pure = self._pure = self.make_pure()
        tracing = current().graph is not None
        stand_in = self._stand_ins() if tracing else _itself
        with writing(() if tracing else program.locks):
            with nullcontext() if tracing else installs.paused():
                given = self._inputs_in_order(tensors, lambda v: stand_in(v).stored_value())
                given += [tensor for tensor, _ in program.func_graph.captured_eager.values()]
                given += [
                    stand_in(s.variable()).stored_value()
                    for s in program.written
                    if s.entry is None
                ]
            outputs = pure(given)
            if not tracing and program.device != DEFAULT_DEVICE:
                for output in outputs:
                    label(cast(EagerTensor, output), program.device)
            written = [state.variable() for state in program.written]
            new = outputs[program.result_count :]
            for variable, value in zip(written, new, strict=True):
                variable.check_shape(value.shape)
            if tracing:
                for variable, value in zip(written, new, strict=True):
                    stand_in(variable).assign(value)
            else:
                installs.during(install, written, [raw_of(value) for value in new])
        return outputs

    def _stand_ins(self) -> Callable[[Variable], Variable]:
        """What a call in a trace has for variables: its random operations draw for it alone."""
        if not self._draws:
            return _itself
        known: dict[int, Variable] = {}

        def stand_in(variable: Variable) -> Variable:
            if seeds_of(variable) is None:
                return variable
            if id(variable) not in known:
                known[id(variable)] = state_of_another(variable)
            return known[id(variable)]

        return stand_in

    def make_pure(self) -> PureFunction:
        """The graph with watched constants, and variables that it only writes, as inputs too.

        The latter for gradients: what is read after an assignment depends on the variable.
        """
        graph = self._program.func_graph.graph.copy()
        captured = [value for _, value in self._program.func_graph.captured_eager.values()]
        constants = {id(value) for value in captured}
        graph.constants = [v for v in graph.constants if id(v) not in constants]
        graph.inputs = [*graph.inputs, *captured]
        places = {id(value): i for i, value in enumerate(graph.inputs)}
        leaves = [(s, places[id(v)]) for v, s in self._program.entries]
        for state in self._program.written:
            if state.entry is None:
                variable = state.variable()
                leaves.append((state, len(graph.inputs)))
                graph.add_input(state.name, variable.dtype.onnx, variable.shape.symbolic)
        return PureFunction(graph, leaves=leaves, device=self._program.device)

    def _callee(self) -> tuple[ir.Graph, list[EagerTensor]]:
        """The graph that another one calls, and the constants that are inputs of it.

        A tape may watch an eager tensor: the graph around must know of it.
        """
        if self._called is None:
            captured = self._program.func_graph.captured_eager.values()
            watchable = [(t, v) for t, v in captured if t.dtype.has_gradients]
            graph = self._program.func_graph.graph
            if watchable:
                graph = graph.copy()
                constants = {id(v) for _, v in watchable}
                graph.constants = [v for v in graph.constants if id(v) not in constants]
                graph.inputs += [v for _, v in watchable]
            self._called = graph, [t for t, _ in watchable]
        return self._called

    def _call_node(self, graph: FuncGraph, tensors: Sequence[Tensor], name: str) -> list[Tensor]:
        """One call node in the trace around."""
        callee, constants = self._callee()
        stand_in = self._stand_ins()
        given = self._inputs_in_order(tensors, lambda v: graph.read(stand_in(v)))
        values = [graph.value_of(t) for t in (*given, *constants)]
        sizes = sizes_of_call(callee, values)
        types = [(v.dtype, shape_in_call(v.shape, sizes)) for v in callee.outputs]
        node = graph.graph.add_node(
            ir.CALL,
            values,
            {"graph": callee},
            types,
            name=current().scope + name,
            source=user_frame(current().layer),
        )
        graph.place(node)
        assigned = {}
        for i, state in enumerate(self._program.written):
            outer = graph.state_of(stand_in(state.variable()))
            outer.current = node.outputs[self._program.result_count + i]
            outer.written = True
            assigned[self._program.result_count + i] = outer
        if assigned:
            node.tag = Assigned(assigned)
        return [SymbolicTensor(v, graph) for v in node.outputs]


def _itself(variable: Variable) -> Variable:
    return variable
