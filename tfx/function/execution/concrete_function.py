"""``ConcreteFunction``: one trace, callable. Binds arguments and variables to a plan.

The graph's inputs are, in order: tensor arguments, captured tensors of an enclosing function,
variables (interleaved as the trace met them). Its outputs are the results, then the new value of
every variable that was assigned, which is installed only after the whole call succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tfx.core import nest
from tfx.core.dtypes import from_onnx, variant
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.core.tracebacks import cover
from tfx.framework.context import current
from tfx.framework.func_graph import FuncGraph
from tfx.framework.graph_api import WithVariables
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.function.execution.function_with_options import TakesOptions
from tfx.function.execution.observed_calls import ObservedCalls
from tfx.function.execution.program import Program
from tfx.function.execution.strategies import ClosedCall, ReadingCall, choose
from tfx.function.gradients import recurrent_rules as recurrent_rules
from tfx.function.inspection.function_type import FunctionType, of_trace
from tfx.function.inspection.placement import Placement, placement, signature_line
from tfx.function.inspection.predicted_placement import predicted
from tfx.function.pickling.concrete_functions import from_parts, parts_of
from tfx.function.tracing.call_signature import CallSignature
from tfx.function.tracing.subgraph_functions import prune
from tfx.runtime.devices import parse_device


@cover
class ConcreteFunction(TakesOptions, WithVariables):
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
        self.signature = signature
        self.device = device
        self._program = program = Program(func_graph, results, device)
        self._func_graph = func_graph
        self._strategy = choose(program)
        self._observed = ObservedCalls(program)
        func_graph.finish(results, signature)
        # Variables that only this trace keeps alive: see ``defun``.
        self.owned: tuple[Variable, ...] = ()

    def keep_live(self) -> None:
        """Feed the variables in every call, and never hold a copy of them: see ``FreezePolicy``."""
        if isinstance(self._strategy, ReadingCall):
            self._strategy = ReadingCall(self._program, None)

    def freeze_first(self) -> None:
        """Make the frozen plan before the first call, see ``FreezePolicy``."""
        if isinstance(self._strategy, ReadingCall) and self._strategy.freezer is not None:
            self._strategy.freezer.is_due = True

    def warm_up(self) -> None:
        """Compile the graph, so that the first call need not."""
        strategy = self._strategy
        if isinstance(strategy, ReadingCall) and strategy.freezer and strategy.freezer.is_due:
            strategy.freeze()
            if strategy.freezer.plan is not None:
                return
        _ = self._program.plan

    def close(self, refuse: Callable[[], NoReturn], plan: Any) -> None:
        """Let go of sessions and derivatives; whoever calls gets an error.

        Args:
            refuse: Raises it.
            plan: What refuses everything, in the place of the plan.
        """
        self._strategy = ClosedCall(refuse)
        self._program.close(plan)
        self._observed = ObservedCalls(self._program)

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
    def written_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that a call assigns."""
        return tuple(s.variable() for s in self._program.written)

    @property
    def inputs(self) -> list[SymbolicTensor]:
        """The graph's inputs: arguments, captured tensors and variables' entry values."""
        return [SymbolicTensor(v, self._func_graph) for v in self._func_graph.graph.inputs]

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The results as tensors of the graph, without structure."""
        values = self._func_graph.graph.outputs[: self._program.result_count]
        return [SymbolicTensor(v, self._func_graph) for v in values]

    @property
    def captured_inputs(self) -> list[Any]:
        """What the function uses besides its arguments: variables and tensors."""
        outer: list[Any] = [t for t, _ in self._program.captures]
        return outer + [s.variable() for _, s in self._program.entries]

    @property
    def structured_input_signature(self) -> tuple[Any, dict[str, Any]]:
        """``(args, kwargs)`` as the Python function takes them, tensors replaced by specs."""
        return self.signature.structured

    @property
    def function_type(self) -> FunctionType:
        """The parameters, captures and the result with their types, as a ``Signature``."""
        return of_trace(self)

    @property
    def structured_outputs(self) -> Any:
        """The structure of a call's result, tensors replaced by specs."""
        specs = iter(
            TensorSpec(TensorShape(v.shape), from_onnx(v.dtype), name=None)
            for v in self._func_graph.graph.outputs[: self._program.result_count]
        )
        flat = [next(specs) if p else None for p in self._program.present]
        return nest.pack_sequence_as(self._program.template, flat, expand_composites=True)

    @property
    def output_dtypes(self) -> Any:
        """The structure of a call's result, tensors replaced by dtypes."""
        return nest.map_structure(
            lambda s: None if s is None else getattr(s, "dtype", variant),
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
            for kind, i, state in self._program.input_order
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
        return repr(self.function_type) if verbose else str(self.function_type)

    def placement(self, device: str | None = None) -> Placement:
        """Return the device and execution provider of each node; compiles the graph if need be.

        Args:
            device: A GPU, ``"/GPU:0"``, that need not exist: what it would run, what would be left
                to the CPU and what would be copied in every run, by the kernels that ONNX
                Runtime's documentation lists. None: the device that it was traced for.

        Raises:
            InvalidArgumentError: no such kind of device, or another CPU.

        Example:
            >>> import tfx as tf
            >>> f = tf.function(lambda x: x + 1.0)
            >>> print(f.get_concrete_function(tf.TensorSpec([2], tf.float32)).placement()[0].device)
            CPU:0
        """
        name = signature_line(self._func_graph)
        wanted = self.device if device is None else parse_device(device)
        if wanted == self.device:
            return placement(name, self.device, self._program.plan)
        if wanted.startswith("CPU"):
            raise InvalidArgumentError(
                f"placement of {name} on {device!r}: it was traced for {self.device}. Trace it in "
                "a tfx.device scope to see its nodes there; only placements on GPUs are predicted."
            )
        return predicted(name, wanted, self._func_graph.graph)

    def __str__(self) -> str:
        return f"ConcreteFunction {self.function_type!r}"

    def __reduce__(self) -> Any:
        """Pickle the graph and the variables, which the unpickled function keeps alive."""
        return _unpickled, (parts_of(self),)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.function_type} at 0x{id(self):X}>"

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
        if context.graph is None and not (
            context.tapes and self._observed.is_watched(context, tensors)
        ):
            return self._strategy.run(tensors)
        return self._observed.call(context, tensors, self.name)

    def add_to_graph(self, g: Any = None, overwrite: bool = False) -> None:
        """Let a graph have this function: each has the functions that it calls, and no others.

        TensorFlow keeps functions by name beside the nodes that call them, so programs add to a
        graph those that a later rewriting may call. Here a call holds its function, and no
        rewriting looks for another one by name: there is nothing to add.

        Args:
            g: A graph; None means the one being built, if any.
            overwrite: Accepted for compatibility.

        Example:
            >>> import tfx as tf
            >>> double = tf.function(lambda x: 2.0 * x).get_concrete_function(tf.TensorSpec([]))
            >>> @tf.function
            ... def f(x):
            ...     double.add_to_graph()
            ...     return double(x)
            >>> float(f(tf.constant(1.0)))
            2.0
        """

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Let a graph have this function and its gradient; see ``add_to_graph``.

        Args:
            g: A graph; None means the one being built, if any.
        """

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
        parts = prune(
            self._func_graph,
            feeds,
            fetches,
            name,
            input_signature,
            are_keyword_args_also_positional,
            drop_stateful=drop_stateful,
        )
        return ConcreteFunction(*parts)

    def call_flat_outputs(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """``call_flat`` with the results as a flat list."""
        return [x for x in nest.flatten(self.call_flat(tensors), True) if x is not None]


def _unpickled(parts: dict[str, Any]) -> ConcreteFunction:
    concrete = ConcreteFunction(*from_parts(parts))
    concrete.owned = concrete.variables
    return concrete
