"""``GraphApi``: what a program can ask a graph, by TensorFlow's names.

Owns the look-up of operations and tensors by name and the listing. It knows a ``FuncGraph`` from
the outside only: its ``ir.Graph``, its arguments, captures and variables.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import current, name_scope, using
from tfx.framework.operation import Operation, consumers_of, operation_of, operations_of
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph import ir
from tfx.graph.fusion.elementwise import fused_plan
from tfx.graph.fusion.made_of import Fusion, fusion_of
from tfx.graph.passes.drop_host_calls import drop_host_calls, warn_dropped
from tfx.graph.passes.pipeline import prepare, tune_for_cpu
from tfx.graph.printer import to_text
from tfx.graph.serialization.serialize import to_model
from tfx.graph.summary import GraphSummary, PassEffect, summarize
from tfx.kernels.library import usable_library
from tfx.runtime.threads import thread_count

if TYPE_CHECKING:
    from tfx.framework.func_graph import FuncGraph, TracedVariable
    from tfx.framework.variable import Variable


class WithVariables:
    """What reads or writes variables. Subclasses say which."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables."""
        raise NotImplementedError

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that are trainable."""
        return tuple(v for v in self.variables if v.trainable)


class GraphApi(WithVariables):
    """The public methods of a graph.

    Attributes:
        name: Name of the function.
        graph: The nodes.
    """

    name: str
    graph: ir.Graph
    parent: FuncGraph | None
    home: str
    arguments: list[ir.Value]
    captured: dict[int, tuple[SymbolicTensor, ir.Value]]
    states: dict[int, TracedVariable]
    # Of a finished function: what it returned, its arguments, and how many of the graph's outputs
    # a call returns (the others are new values of variables).
    _results: Any = None
    _signature: Any = None
    _result_count: int | None = None

    building_function = True
    finalized = False
    seed: int | None = None

    @property
    def _self(self) -> FuncGraph:
        return cast("FuncGraph", self)

    def _tensor(self, value: ir.Value) -> SymbolicTensor:
        return SymbolicTensor(value, self._self)

    # What goes in and out

    def finish(self, results: Any, signature: Any) -> None:
        """The trace is over.

        Args:
            results: The structure that the function returned, with something in place of tensors.
            signature: The ``CallSignature`` of the function.
        """
        self._results = results
        self._signature = signature
        self._result_count = sum(x is not None for x in nest.flatten(results))

    @property
    def structured_outputs(self) -> Any:
        """The function's structured result as tensors of this graph; None while it is traced."""
        outputs = iter(self.outputs)
        flat = [None if x is None else next(outputs) for x in nest.flatten(self._results)]
        return nest.pack_sequence_as(self._results, flat)

    @property
    def structured_input_signature(self) -> Any:
        """``(args, kwargs)`` with specs in place of tensors; None while the function is traced."""
        return None if self._signature is None else self._signature.structured

    @property
    def inputs(self) -> list[SymbolicTensor]:
        """The graph's inputs: arguments, captured tensors and entry values of variables."""
        return [self._tensor(v) for v in self.graph.inputs]

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The function's results, flattened."""
        return [self._tensor(v) for v in self.graph.outputs[: self._result_count]]

    @property
    def captures(self) -> list[tuple[Any, SymbolicTensor]]:
        """Pairs of a value from outside of the graph and the input that represents it.

        Tensors of enclosing functions, then variables that are read.
        """
        pairs: list[tuple[Any, SymbolicTensor]] = [
            (outer, self._tensor(inner)) for outer, inner in self.captured.values()
        ]
        entries = [(s.variable(), s.entry) for s in self.states.values() if s.entry is not None]
        return pairs + [(v, self._tensor(entry)) for v, entry in entries]

    @property
    def external_captures(self) -> list[Any]:
        """The tensors and variables of ``captures``."""
        return [outer for outer, _ in self.captures]

    @property
    def internal_captures(self) -> list[SymbolicTensor]:
        """The inputs of ``captures``."""
        return [inner for _, inner in self.captures]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the graph reads or writes, in order of first use."""
        return tuple(s.variable() for s in self.states.values())

    @property
    def outer_graph(self) -> FuncGraph | None:
        """The graph of the function around this one; None: eager code is around it."""
        return self.parent

    @property
    def version(self) -> int:
        """The number of operations."""
        return len(self.graph.inputs) + len(self.graph.constants) + len(self.graph.nodes)

    def state_entering_by(self, value: ir.Value) -> TracedVariable | None:
        """The variable whose value an input is."""
        return next((s for s in self.states.values() if s.entry is value), None)

    # Operations and tensors by name

    def _operation_of(self, tensor: SymbolicTensor) -> Operation:
        return operation_of(tensor)

    def _consumers_of(self, tensor: SymbolicTensor) -> list[Operation]:
        return consumers_of(tensor)

    def get_operations(self) -> list[Operation]:
        """All operations: inputs and constants, then the others in program order.

        Example:
            >>> import tfx as tf
            >>> @tf.function
            ... def f(x):
            ...     with tf.name_scope("layer"):
            ...         return tf.nn.relu(tf.identity(x, name="hidden"))
            >>> graph = f.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
            >>> [op.name for op in graph.get_operations()]
            ['x', 'layer/hidden', 'layer/Relu']
        """
        return operations_of(self._self)

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name.

        Raises:
            TypeError: ``name`` is no text.
            ValueError: it is the name of a tensor.
            KeyError: there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings, not {type(name).__name__}.")
        return cast("Operation", self.as_graph_element(name, allow_tensor=False))

    def get_tensor_by_name(self, name: str) -> SymbolicTensor:
        """The tensor of a name such as ``"Square:0"``.

        Raises:
            TypeError: ``name`` is no text.
            ValueError: it is the name of an operation.
            KeyError: there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings, not {type(name).__name__}.")
        return cast("SymbolicTensor", self.as_graph_element(name, allow_operation=False))

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> SymbolicTensor | Operation:
        """The tensor or operation that an object or a name means.

        Args:
            obj: A tensor or operation of this graph, its name, or a variable that the graph uses
                (its value at the end).
            allow_tensor: Whether a tensor will do.
            allow_operation: Whether an operation will do.

        Raises:
            TypeError: something else.
            ValueError: it belongs to another graph, or is of the other kind.
            KeyError: there is none of this name.
        """
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation)
        if getattr(obj, "_is_tfx_variable", False) is True and allow_tensor:
            return self._variable_value(obj)
        if isinstance(obj, SymbolicTensor | Operation):
            kind = "Tensor" if isinstance(obj, Tensor) else "Operation"
            if not (allow_tensor if kind == "Tensor" else allow_operation):
                wanted = "an Operation" if allow_operation else "a Tensor"
                raise TypeError(f"Can not convert {kind} {obj!r} into {wanted}.")
            if obj.graph is not self:
                raise ValueError(
                    f"{kind} {obj!r} is not an element of this graph: it belongs to "
                    f"{obj.graph.name!r}, not {self.name!r}."
                )
            return obj
        kinds = ["Tensor"] * allow_tensor + ["Operation"] * allow_operation
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {' or '.join(kinds)}.")

    def _variable_value(self, variable: Any) -> SymbolicTensor:
        state = self.states.get(id(variable))
        if state is None or state.ref() is not variable or state.current is None:
            used = ", ".join(repr(s.name) for s in self.states.values())
            raise ValueError(
                f"Variable {variable.name!r} is not used by {self.name!r}, which uses "
                f"{used or 'no variables'}."
            )
        return self._tensor(state.current)

    def _named(
        self, name: str, allow_tensor: bool, allow_operation: bool
    ) -> SymbolicTensor | Operation:
        operation, colon, number = name.rpartition(":")
        found = self._operation(operation if colon else name)
        if colon and number.isdigit():
            if not allow_tensor:
                raise ValueError(f"Name {name!r} appears to refer to a Tensor, not an Operation.")
            return self._output(name, operation, found, int(number))
        if not allow_operation:
            what = "refers to an Operation" if found else "looks like the name of an Operation"
            raise ValueError(
                f"The name {name!r} {what}, not a Tensor. Tensor names must be of the form "
                "'<op_name>:<output_index>'."
            )
        if found is None:
            raise KeyError(
                f"The name {name!r} refers to an Operation not in the graph{self._nearest(name)}"
            )
        return found

    def _output(
        self, name: str, operation: str, found: Operation | None, number: int
    ) -> SymbolicTensor:
        if found is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{operation!r}, does not exist in the graph{self._nearest(operation)}"
            )
        outputs = found.outputs
        if number >= len(outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{operation!r}, exists but only has {len(outputs)} outputs."
            )
        return outputs[number]

    def _operation(self, name: str) -> Operation | None:
        graph = self.graph
        items: list[ir.Node | ir.Value] = [*graph.nodes, *graph.inputs, *graph.constants]
        found = next((item for item in items if item.name == name), None)
        return None if found is None else Operation(found, self._self)

    def _nearest(self, name: str) -> str:
        close = difflib.get_close_matches(name, [op.name for op in self.get_operations()], 3)
        return f"; the nearest are {', '.join(map(repr, close))}." if close else "."

    # Building

    @contextmanager
    def as_default(self) -> Iterator[FuncGraph]:
        """Add the operations inside the ``with`` block to this graph."""
        if current().graph is self:
            yield self._self
            return
        with using(graph=self._self, tapes=(), scope=""):
            yield self._self

    def name_scope(self, name: str) -> Any:
        """``tf.name_scope``."""
        return name_scope(name or "")

    def get_name_scope(self) -> str:
        """The current scope, without the slash at its end."""
        return current().scope.removesuffix("/")

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name that no operation has yet: ``name``, or ``name_1``, ``name_2``...

        Args:
            name: The name, below the current scope.
            mark_as_used: Whether nothing else may get the name from now on.
        """
        base = current().scope + name
        if mark_as_used:
            return self.graph.unique_name(base)
        names = dict(self.graph._names)
        found = self.graph.unique_name(base)
        self.graph._names.clear()
        self.graph._names.update(names)
        return found

    # As a whole

    def as_graph_def(self) -> Any:
        """The graph as ONNX's ``GraphProto``: nodes with names, inputs, outputs and attributes."""
        return to_model(drop_host_calls(self.graph)[0]).graph

    def as_onnx(self) -> Any:
        """The graph as an ``onnx.ModelProto`` that stock ONNX Runtime runs.

        Its inputs are arguments and variables, its outputs results and variables' new values.

        Raises:
            InvalidArgumentError: the function calls Python code that its results depend on.
        """
        graph, dropped = drop_host_calls(self.graph)
        warn_dropped(self.name, dropped)
        return to_model(prepare(graph, portable=True), output_names=self.output_names())

    def output_names(self) -> list[str]:
        """Names of the graph's outputs: from the result's structure, then the variables'."""
        if self._result_count is None:
            return [v.name for v in self.graph.outputs]
        names = [
            "_".join(str(p) for p in path) or "output_0"
            for path, leaf in nest.flatten_with_path(self._results, expand_composites=True)
            if leaf is not None
        ]
        names = [f"output_{n}" if n[0].isdigit() else n for n in names]
        written = [s for s in self.states.values() if s.written]
        return names + [f"{s.name.removesuffix(':0')}_new" for s in written]

    def summary(self) -> GraphSummary:
        """Counts of operators, dimensions and sizes; ``str`` of it is a table.

        Of a finished function also what passes make of it before it runs or is saved: nodes before
        and after each, and how many were removed, folded and shared. ``fusion`` has the programs
        of the fused kernels that its operators become while its variables may change, each with
        the lines of the program that it was made of.

        Example:
            >>> import tfx as tf
            >>> @tf.function
            ... def f(x):
            ...     return tf.nn.relu(x * x)
            >>> summary = f.get_concrete_function(tf.TensorSpec([None], tf.float32)).graph.summary()
            >>> summary.operators
            {'Mul': 1, 'Relu': 1}
        """
        entries = [s.entry for s in self.states.values() if s.entry is not None]
        effects: list[PassEffect] = []
        fusion: Fusion | None = None
        if self._result_count is not None:
            with suppress(InvalidArgumentError):  # Python code that cannot be left out
                runs = drop_host_calls(self.graph)[0]
                prepare(runs, effects=effects)
                fusion = self._fusion(runs)
        return summarize(self.graph, entries, effects, fusion)

    def _fusion(self, graph: ir.Graph) -> Fusion | None:
        """What runs together in a plan of the graph whose variables are inputs."""
        if not self.home.startswith("CPU"):
            return None
        library = usable_library(graph.fuses)
        if library is None:
            return None
        ready = tune_for_cpu(prepare(graph, runs_here=True, own_kernels=True), thread_count())
        return fusion_of(fused_plan(ready, library.instructions))

    def __str__(self) -> str:
        kinds = {id(inner): "captured" for _, inner in self.captured.values()}
        for state in self.states.values():
            if state.entry is not None:
                kinds[id(state.entry)] = "variable, written" if state.written else "variable"
        for node in self.graph.nodes:
            assigned = Operation(node, self._self).assigns
            if assigned:
                kinds[id(node)] = f"assigns {', '.join(assigned)}"
        names = None if self._result_count is None else self.output_names()
        return to_text(self.graph, notes=kinds, output_names=names)

    def __repr__(self) -> str:
        return f"<FuncGraph {self.name}>"
