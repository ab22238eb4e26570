"""``ConcreteFunction``: one trace, callable. Binds arguments and variables to a plan.

The graph's inputs are, in order: tensor arguments, captured tensors of an enclosing function,
variables (interleaved as the trace met them). Its outputs are the results, then the new value of
every variable that was assigned, which is installed only after the whole call succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast

from tfx.core import nest
from tfx.core.dtypes import from_onnx
from tfx.core.shapes import TensorShape
from tfx.core.source import user_frame
from tfx.core.specs import TensorSpec
from tfx.core.tracebacks import cover
from tfx.framework.context import current, recorders_inside_traces
from tfx.framework.device import DEFAULT_DEVICE
from tfx.framework.func_graph import Assigned, FuncGraph, TracedVariable
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, label, raw_of
from tfx.framework.variable import Variable, install, seeds_of
from tfx.framework.variable_locks import all_locks, in_order, installs, writing
from tfx.function.execution.freeze_policy import FreezePolicy
from tfx.function.execution.function_with_options import FunctionWithOptions
from tfx.function.execution.host_state import calls_python
from tfx.function.execution.one_variable_call import OneVariableCall
from tfx.function.execution.plan import Plan
from tfx.function.execution.result_packing import result_packer, unique_outputs
from tfx.function.execution.stepped_plan import SteppedPlan, make_plan
from tfx.function.gradients import recurrent_rules as recurrent_rules
from tfx.function.gradients.pure_function import PureFunction
from tfx.function.inspection.describe import describe, describe_line
from tfx.function.inspection.placement import Placement, labelled, placement, signature_line
from tfx.function.pickling.concrete_functions import from_parts, parts_of
from tfx.function.recompute.hoist_random import draws_inside
from tfx.function.recompute.random_replay import RandomLog
from tfx.function.tracing.call_signature import CallSignature
from tfx.function.tracing.graph_inputs import (
    dimension_map,
    order_of_inputs,
    sources_in_written,
    substitute,
)
from tfx.graph import ir
from tfx.ops.random.generator import state_of_another
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.run_options import RunOptions
from tfx.runtime.values import RawValue

if TYPE_CHECKING:
    from tfx.function.inspection.run_metadata import RunMetadata


@cover
class ConcreteFunction:
    """One traced graph of a function.

    Not made directly: call a ``tfx.function``, or ask it with ``get_concrete_function``.

    Args:
        func_graph: The finished trace; its ``graph.outputs`` are results, then new values.
        signature: How arguments map to the graph's tensor arguments.
        results: The structure that the Python function returned, tensors in place (None stays).
        device: Canonical name of the device it was traced for.
    """

    def __init__(
        self, func_graph: FuncGraph, signature: CallSignature, results: Any, device: str
    ) -> None:
        self._func_graph = func_graph
        self.signature = signature
        self.device = device
        graph = func_graph.graph
        flat = nest.flatten(results, expand_composites=True)
        self._template = results
        self._present = [x is not None for x in flat]
        self._result_count = sum(self._present)
        self._written = func_graph.written_states()
        # What is run gives each value once; ``_places``: where its outputs have the graph's.
        self._runnable, self._places = unique_outputs(graph)
        self._entries: list[tuple[ir.Value, TracedVariable]] = [
            (s.entry, s) for s in func_graph.read_states() if s.entry is not None
        ]
        self._captures = list(func_graph.captured.values())
        self._input_order = order_of_inputs(graph, func_graph, self._entries)
        # The same in short: (number of the argument, None) or (None, reference to the variable).
        self._sources: list[tuple[Any, Any]] = [
            (i, None) if state is None else (None, state.ref) for _, i, state in self._input_order
        ]
        self._written_refs: list[Any] = [s.ref for s in self._written]
        self._locked_sources = sources_in_written(self._input_order, self._written)
        self._new_places = self._places[self._result_count :]
        # New values whose shape only a call tells: they are checked before any is installed.
        self._unchecked = [
            (self._places[i], s)
            for i, s in enumerate(self._written, self._result_count)
            if _may_not_fit(graph.outputs[i].shape, s.variable().shape)
        ]
        self._locks = in_order(s.variable()._lock_number for s in self._written)
        if self._written and calls_python(graph):
            self._locks = all_locks()  # that code may assign other variables meanwhile
        self._pack = labelled(result_packer(results, self._places), device)
        func_graph.finish(results, signature)
        self._plan: Plan | SteppedPlan | None = None
        freezable = not self._written and FreezePolicy.serves(self._entries)
        self._freezer = FreezePolicy(self._runnable, device) if freezable else None
        self._pure: PureFunction | None = None
        self._draws = any(seeds_of(s.variable()) is not None for s in func_graph.states.values())
        self._called: tuple[ir.Graph, list[EagerTensor]] | None = None
        # Variables that only this trace keeps alive: see ``defun``.
        self.owned: tuple[Variable, ...] = ()
        self._update: OneVariableCall | None = None
        self._plain = not self._captures and not self._entries and not self._written

    def keep_live(self) -> None:
        """Feed the variables in every call, and never hold a copy of them: see ``FreezePolicy``."""
        self._freezer = None

    # Facts

    @property
    def name(self) -> str:
        """Name of the traced function."""
        return self._func_graph.name

    @property
    def graph(self) -> FuncGraph:
        """The traced graph."""
        return self._func_graph

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the function reads or writes, in order of first use."""
        return tuple(s.variable() for s in self._func_graph.states.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def written_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that a call assigns."""
        return tuple(s.variable() for s in self._written)

    @property
    def inputs(self) -> list[SymbolicTensor]:
        """The graph's inputs: arguments, captured tensors and variables' entry values."""
        return [SymbolicTensor(v, self._func_graph) for v in self._func_graph.graph.inputs]

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The results as tensors of the graph, without structure."""
        values = self._func_graph.graph.outputs[: self._result_count]
        return [SymbolicTensor(v, self._func_graph) for v in values]

    @property
    def captured_inputs(self) -> list[Any]:
        """The variables and tensors that the function uses besides its arguments."""
        outer: list[Any] = [t for t, _ in self._captures]
        return outer + [s.variable() for _, s in self._entries]

    @property
    def structured_input_signature(self) -> tuple[Any, dict[str, Any]]:
        """``(args, kwargs)`` as the Python function takes them, tensors replaced by specs."""
        return self.signature.structured

    @property
    def structured_outputs(self) -> Any:
        """The structure of a call's result, tensors replaced by specs."""
        specs = iter(
            TensorSpec(TensorShape(v.shape), from_onnx(v.dtype), name=None)
            for v in self._func_graph.graph.outputs[: self._result_count]
        )
        flat = [next(specs) if p else None for p in self._present]
        return nest.pack_sequence_as(self._template, flat, expand_composites=True)

    @property
    def output_dtypes(self) -> Any:
        """The structure of a call's result, tensors replaced by dtypes."""
        return nest.map_structure(
            lambda s: None if s is None else s.dtype,
            self.structured_outputs,
            expand_composites=True,
        )

    @property
    def output_shapes(self) -> Any:
        """The structure of a call's result, tensors replaced by shapes."""
        return nest.map_structure(
            lambda s: None if s is None else s.shape,
            self.structured_outputs,
            expand_composites=True,
        )

    def bindings(self) -> list[tuple[str, int, Variable | None]]:
        """Return kind, number and variable (or None) of each input of the graph.

        The kinds are ``"argument"``, ``"capture"`` and ``"variable"``.
        """
        kinds = ("argument", "capture", "variable")
        return [
            (kinds[kind], i, state.variable() if state is not None else None)
            for kind, i, state in self._input_order
        ]

    def as_onnx(self) -> Any:
        """The graph as an ``onnx.ModelProto``.

        Its inputs are arguments and variables, its outputs results and variables' new values.

        Raises:
            InvalidArgumentError: the function calls Python code that its results depend on.
        """
        return self._func_graph.as_onnx()

    def output_names(self) -> list[str]:
        """Names of the graph's outputs: from the result's structure, then the variables'."""
        return self._func_graph.output_names()

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The signature as text, one line for each parameter and capture.

        Args:
            verbose: False: on one line, without captures.
        """
        return describe(self) if verbose else describe_line(self)

    def placement(self) -> Placement:
        """Return the device and execution provider of each node; compiles the graph if need be.

        Example:
            >>> import tfx as tf
            >>> f = tf.function(lambda x: x + 1.0)
            >>> print(f.get_concrete_function(tf.TensorSpec([2], tf.float32)).placement()[0].device)
            CPU:0
        """
        if self._plan is None:
            self._plan = make_plan(self._runnable, self.device)
        return placement(signature_line(self._func_graph), self.device, self._plan)

    def __str__(self) -> str:
        return f"ConcreteFunction {describe(self)}"

    def __reduce__(self) -> Any:
        """Pickle the graph and the variables, which the unpickled function keeps alive."""
        return _unpickled, (parts_of(self),)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {describe_line(self)} at 0x{id(self):X}>"

    # Calling

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call with tensors (positional or by name); Python arguments are fixed by the trace.

        Raises:
            TypeError: missing, extra or unknown arguments, or another value for a Python argument.
            InvalidArgumentError: a tensor of another dtype or shape.
        """
        tensors = self.signature.tensors_of(self.name, args, kwargs)
        return self.call_flat(tensors)

    def call_flat(self, tensors: Sequence[Tensor]) -> Any:
        """Call with the tensor arguments in order; they must fit the graph's inputs."""
        context = current()
        if context.graph is not None or (context.tapes and self._is_watched(context, tensors)):
            return self._call_observed(context, tensors)
        if self._plain:
            plan = self._plan
            if plan is None:
                plan = self._plan = make_plan(self._runnable, self.device)
            try:
                raw = plan.run_raw(plan.feed_tensors(*tensors), plan.output_names, RUN_OPTIONS)
            except Exception as e:
                raw = plan.rescued(e, [raw_of(t) for t in tensors])
            return self._pack(raw, plan.dtypes)
        update = self._update
        if update is not None:
            return self._pack(update.run(tensors), update.plan.dtypes)
        return self._call_stateful(tensors)

    def with_options(
        self, options: RunOptions | None = None, run_metadata: RunMetadata | None = None
    ) -> FunctionWithOptions:
        """The function with options for its calls; see ``Function.with_options``."""
        return FunctionWithOptions(self, options, run_metadata)

    async def aio(self, /, *args: Any, **kwargs: Any) -> Any:
        """``await`` a call; see ``Function.aio``."""
        return await FunctionWithOptions(self, RunOptions()).aio(*args, **kwargs)

    def prune(
        self,
        feeds: Any,
        fetches: Any,
        name: str | None = None,
        input_signature: Any = None,
        are_keyword_args_also_positional: bool = False,
        *,
        drop_stateful: bool = True,
    ) -> ConcreteFunction:
        """A function from some tensors of the graph to others.

        Args:
            feeds: What the new function takes: tensors of the graph (results of operations in
                the middle, too), their names, or variables, whose value is then an argument. The
                keys of a dict are the names of the arguments. Inputs of captured variables and
                tensors are passed over: what is captured stays so.
            fetches: What it returns: a structure of tensors, their names, variables (the value
                that they have at the end), or operations, which are carried out and return None.
            name: Name of the new function; None: ``"pruned"``.
            input_signature: ``(args, kwargs)`` with a ``TensorSpec`` for each feed, keywords
                sorted: how the new function is called. None: positionally or by name.
            are_keyword_args_also_positional: Whether keywords of ``input_signature`` can be given
                by position.
            drop_stateful: Leave out assignments, and what Python does (printing, asserting),
                where no fetch comes after them. False: all of them are carried out.

        Returns:
            A concrete function: it can be called, differentiated, used in other functions, saved.

        Raises:
            ValueError: a fetch depends on an argument that is not fed; something belongs to
                another graph, or is fed twice.
            KeyError: there is no tensor or operation of a name.

        Example:
            >>> import tfx as tf
            >>> @tf.function
            ... def f(x):
            ...     hidden = tf.identity(x + 1.0, name="hidden")
            ...     return hidden * 2.0
            >>> concrete = f.get_concrete_function(tf.TensorSpec([], tf.float32))
            >>> first = concrete.prune("x:0", {"hidden": "hidden:0"})
            >>> first(tf.constant(1.0))["hidden"].numpy()
            np.float32(2.0)
            >>> second = concrete.prune("hidden:0", concrete.outputs)
            >>> second(tf.constant(5.0))[0].numpy()
            np.float32(10.0)
        """
        from tfx.function.tracing.subgraph_functions import prune

        return prune(
            self._func_graph,
            feeds,
            fetches,
            name,
            input_signature,
            are_keyword_args_also_positional,
            drop_stateful=drop_stateful,
        )

    def call_flat_outputs(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """``call_flat`` with the results as a flat list."""
        return [x for x in nest.flatten(self.call_flat(tensors), True) if x is not None]

    def _call_stateful(self, tensors: Sequence[Any]) -> Any:
        freezer = self._freezer
        if freezer is not None:
            plan = freezer.plan
            if plan is not None:
                try:
                    raw = plan.run_raw_values([t._raw for t in tensors])
                except Exception:
                    if isinstance(plan, SteppedPlan):  # its effects must not happen twice
                        raise
                    freezer = None  # the live plan fails as well, and can say what it met
                else:
                    return self._pack(raw, plan.dtypes)
        plan = self._plan
        if plan is None:
            plan = self._plan = make_plan(self._runnable, self.device)
        if self._written:
            self._update = self._as_update(plan)
            return self._call_writing(plan, tensors)
        raw = plan.run(self._live_values(tensors))
        if freezer is not None:
            freezer.count([(v, s.variable()) for v, s in self._entries])
        return self._pack(raw, plan.dtypes)

    def _live_values(self, tensors: Sequence[Any]) -> list[RawValue]:
        """Return the graph's inputs at one moment: all values of an installation, or none."""
        done = installs.done
        try:
            values = [tensors[i]._raw if ref is None else ref()._raw for i, ref in self._sources]
        except AttributeError:
            self._refuse_gone()
            raise
        if installs.begun == done:
            return values
        with installs.paused():
            return [tensors[i]._raw if ref is None else ref()._raw for i, ref in self._sources]

    def _as_update(self, plan: Plan | SteppedPlan) -> OneVariableCall | None:
        """The short way of calls, if there is one: for one variable that is all the state."""
        if type(plan) is not Plan or len(self._written) != 1 or self._unchecked:
            return None
        (state,) = self._written
        if self._captures or any(s is not state for _, s in self._entries):
            return None
        return OneVariableCall(plan, state, [i for i, _ in self._sources], self._new_places[0])

    def _refuse_gone(self) -> None:
        """Raise an error that names the deleted variable, if one was deleted."""
        for state in self._func_graph.states.values():
            state.variable()

    def _call_writing(self, plan: Plan | SteppedPlan, tensors: Sequence[Any]) -> Any:
        """Run and install new values: all or none, and no other writer comes between."""
        with writing(self._locks):
            # Taken before the run: all are there when the first of them changes.
            written = [ref() for ref in self._written_refs]
            for variable in written:
                if variable is None:
                    self._refuse_gone()
            # What is read and written is locked: nobody else changes it meanwhile.
            given = (
                self._live_values(tensors)
                if self._locked_sources is None
                else [
                    tensors[i]._raw if i is not None else written[k]._raw
                    for i, k in self._locked_sources
                ]
            )
            raw = plan.run(given)
            for place, state in self._unchecked:
                state.variable().check_shape(TensorShape(raw[place].shape()))
            # By number: an iterator over ONNX Runtime's vector costs half as much again.
            new = list(map(raw.__getitem__, self._new_places))
            installs.during(install, written, new)
        return self._pack(raw, plan.dtypes)

    def _is_watched(self, context: Any, tensors: Sequence[Tensor]) -> bool:
        """True if some tape would record the call."""
        eager = [t for t, _ in self._func_graph.captured_eager.values()]
        variables = self.variables
        for tape in context.tapes:
            for variable in variables:
                if variable.trainable:
                    tape.watch_variable(variable)
            if any(tape.depends(x) for x in (*tensors, *eager, *variables)):
                return True
            if type(tape) is RandomLog and any(map(draws_inside, self._func_graph.graph.nodes)):
                return True
        return False

    def _call_observed(self, context: Any, tensors: Sequence[Tensor]) -> Any:
        """Under a tape or while another function is traced."""
        if context.graph is not None and context.tapes == recorders_inside_traces(context.tapes):
            outputs = self._call_node(context.graph, tensors)
        else:
            outputs = self._call_recorded(tensors)
        results = outputs[: self._result_count]
        flat = iter(results)
        leaves = [next(flat) if p else None for p in self._present]
        return nest.pack_sequence_as(self._template, leaves, expand_composites=True)

    def _inputs_in_order(
        self, tensors: Sequence[Tensor], read: Callable[[Variable], Tensor]
    ) -> list[Tensor]:
        """Arguments, captured tensors and variables' values in the order of the graph's inputs."""
        result = []
        for kind, i, state in self._input_order:
            if kind == 0:
                result.append(tensors[i])
            elif kind == 1:
                result.append(self._captures[i][0])
            else:
                assert state is not None
                result.append(read(state.variable()))
        return result

    def _call_recorded(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Call a pure function of its arguments, variables and watched constants under tapes."""
        pure = self._pure
        if pure is None:
            pure = self._pure = self._make_pure()
        tracing = current().graph is not None
        stand_in = self._stand_ins() if tracing else _itself
        with writing(() if tracing else self._locks):
            with nullcontext() if tracing else installs.paused():
                given = self._inputs_in_order(tensors, lambda v: stand_in(v).value())
                given += [tensor for tensor, _ in self._func_graph.captured_eager.values()]
                given += [stand_in(s.variable()).value() for s in self._written if s.entry is None]
            outputs = pure(given)
            if not tracing and self.device != DEFAULT_DEVICE:
                for output in outputs:
                    label(cast(EagerTensor, output), self.device)
            written = [state.variable() for state in self._written]
            new = outputs[self._result_count :]
            for variable, value in zip(written, new, strict=True):
                variable.check_shape(value.shape)
            if tracing:
                for variable, value in zip(written, new, strict=True):
                    stand_in(variable).assign(value)
            else:
                installs.during(install, written, [raw_of(value) for value in new])
        return outputs

    def _stand_ins(self) -> Callable[[Variable], Variable]:
        """Return a map of variables for a call in a trace, which gets random states of its own."""
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

    def _make_pure(self) -> PureFunction:
        """The graph with watched constants, and variables that it only writes, as inputs too.

        The latter for gradients: what is read after an assignment depends on the variable.
        """
        graph = self._func_graph.graph.copy()
        captured = [value for _, value in self._func_graph.captured_eager.values()]
        constants = {id(value) for value in captured}
        graph.constants = [v for v in graph.constants if id(v) not in constants]
        graph.inputs = [*graph.inputs, *captured]
        places = {id(value): i for i, value in enumerate(graph.inputs)}
        leaves = [(s, places[id(v)]) for v, s in self._entries]
        for state in self._written:
            if state.entry is None:
                variable = state.variable()
                leaves.append((state, len(graph.inputs)))
                graph.add_input(state.name, variable.dtype.onnx, variable.shape.symbolic)
        return PureFunction(graph, leaves=leaves, device=self.device)

    def _callee(self) -> tuple[ir.Graph, list[EagerTensor]]:
        """The graph that another one calls, and the constants that are inputs of it.

        A tape may watch an eager tensor: the enclosing graph must know of it.
        """
        if self._called is None:
            captured = self._func_graph.captured_eager.values()
            watchable = [(t, v) for t, v in captured if t.dtype.is_floating]
            graph = self._func_graph.graph
            if watchable:
                graph = graph.copy()
                constants = {id(v) for _, v in watchable}
                graph.constants = [v for v in graph.constants if id(v) not in constants]
                graph.inputs += [v for _, v in watchable]
            self._called = graph, [t for t, _ in watchable]
        return self._called

    def _call_node(self, graph: FuncGraph, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Add one call node to the enclosing trace."""
        callee, constants = self._callee()
        stand_in = self._stand_ins()
        given = self._inputs_in_order(tensors, lambda v: graph.read(stand_in(v)))
        values = [graph.value_of(t) for t in (*given, *constants)]
        dims = dimension_map(callee, values)
        types = [(v.dtype, substitute(v.shape, dims)) for v in callee.outputs]
        node = graph.graph.add_node(
            ir.CALL,
            values,
            {"graph": callee},
            types,
            name=current().scope + self.name,
            source=user_frame(),
        )
        graph.place(node)
        assigned = {}
        for i, state in enumerate(self._written):
            outer = graph.state_of(stand_in(state.variable()))
            outer.current = node.outputs[self._result_count + i]
            outer.written = True
            assigned[self._result_count + i] = outer
        if assigned:
            node.tag = Assigned(assigned)
        return [SymbolicTensor(v, graph) for v in node.outputs]


def _itself(variable: Variable) -> Variable:
    return variable


def _unpickled(parts: dict[str, Any]) -> ConcreteFunction:
    concrete = ConcreteFunction(*from_parts(parts))
    concrete.owned = concrete.variables
    return concrete


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
