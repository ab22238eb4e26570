"""Tracing: run a Python function once on symbolic tensors and keep the graph it builds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import nest
from tfx.core.errors import FailedPreconditionError, OpError
from tfx.core.shapes import TensorShape
from tfx.core.source import UNKNOWN_LOCATION, bracketed, raised_at, raised_inside
from tfx.core.specs import TensorSpec
from tfx.framework.body_graph import BodyGraph, LoopGraph
from tfx.framework.context import current, recorders_inside_traces, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.execution.plan import Plan
from tfx.function.tracing.call_signature import CallSignature
from tfx.function.tracing.parameters import Parameters
from tfx.function.tracing.trace_key import TraceKey, leaf_names, spec_shape, tensor_shape
from tfx.graph.copy_body import copy_node
from tfx.graph.ir import Graph, RawShape, Value, free_values
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.verify import verify_if_enabled

_NOTE = "While tracing function"


class Trace:
    """One run of a Python function on placeholders.

    Args:
        function: The Python function.
        name: Name of the graph.
        parameters: Its parameters.
        arguments: The call's arguments; tensors (or specs) among them become placeholders.
        given: The arguments themselves where ``arguments`` holds specs for them: initial values
            may depend on what they contain.
        shapes: Raw shape for each tensor leaf instead of its own (to generalise), or None.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        parameters: Parameters,
        arguments: TraceKey,
        given: TraceKey,
        shapes: Sequence[RawShape] | None = None,
    ) -> None:
        self.function = function
        self.parameters = parameters
        self.arguments = arguments
        self.func_graph = FuncGraph(name, parent=current().graph)
        self.given = given
        self.shapes = shapes
        self.actual: dict[int, Tensor] = {}

    def run(self, device: str, *, allow_variables: bool) -> ConcreteFunction:
        """Trace.

        Args:
            device: Canonical device name.
            allow_variables: Whether variables may be created (a function's first call).

        Raises:
            TypeError: the function returned something that is not a tensor.
            ValueError: it created variables or changed its arguments' structure.
        """
        func_graph = self.func_graph
        func_graph.created_variables = [] if allow_variables else None
        func_graph.evaluator = self._evaluate
        values, specs = self._placeholders()
        before = _structure(values)
        try:
            with using(graph=func_graph, tapes=recorders_inside_traces(current().tapes), scope=""):
                returned = self.parameters.call(self.function, values)
                if _structure(values) != before:
                    raise ValueError(
                        f"Function {func_graph.name!r} should not modify the structure of its "
                        "arguments; copy a list or dict before changing it."
                    )
                returned = nest.map_structure(_as_result, returned)
                results = nest.map_structure(self._result, returned, expand_composites=True)
        except Exception as e:
            _say_where(e, func_graph.name)
            raise
        finally:
            func_graph.evaluator = None  # it would keep the call's tensors alive
        flat = [r for r in nest.flatten(results, True) if r is not None]
        graph = func_graph.graph
        graph.outputs = [func_graph.value_of(r) for r in flat]
        for state in func_graph.written_states():
            assert state.current is not None
            graph.outputs.append(state.current)
        verify_if_enabled(graph)
        signature = CallSignature(self.parameters, specs, self.arguments.owners)
        return ConcreteFunction(func_graph, signature, results, device)

    def _placeholders(self) -> tuple[list[Any], list[Any]]:
        """The argument values with placeholders, and with specs, in place of tensors."""
        parameters = self.parameters
        found = leaf_names(parameters.names, self.arguments.values, parameters.var_keyword)
        names = iter(found)
        leaves = iter(self.arguments.leaves)
        shapes = iter(self.shapes) if self.shapes is not None else None
        contents = (x for x in self.given.leaves if isinstance(x, Tensor | TensorSpec))
        specs: list[Any] = []

        def placeholder(_: Any) -> Any:
            name, leaf = next(names), next(leaves)
            if not isinstance(leaf, Tensor | TensorSpec):
                specs.append(leaf)
                return leaf
            name = (leaf.name or name) if isinstance(leaf, TensorSpec) else name
            tensor = self.func_graph.add_argument(name, leaf.dtype.onnx, None)
            value = tensor._symbol
            if isinstance(leaf, TensorSpec):
                value.shape = spec_shape(leaf, value.name)
            else:
                value.shape = tensor_shape(leaf)
            if shapes is not None:
                value.shape = next(shapes)
            content = next(contents)
            if isinstance(content, Tensor):
                self.actual[id(value)] = content
            specs.append(TensorSpec(TensorShape(value.shape), leaf.dtype, name))
            return tensor

        given = self.arguments.values
        values = [nest.map_structure(placeholder, v, expand_composites=True) for v in given]
        flat = iter(specs)
        return values, [
            nest.map_structure(lambda _: next(flat), v, expand_composites=True) for v in given
        ]

    def _result(self, x: Any) -> Tensor | None:
        if x is None:
            return None
        if isinstance(x, Variable):
            return self.func_graph.read(x)
        if isinstance(x, Tensor):
            # A tensor of its own: results may repeat an argument or each other.
            return SymbolicTensor(self.func_graph.value_of(x), self.func_graph)
        try:
            return convert_to_tensor(x)
        except (TypeError, ValueError) as e:
            raise TypeError(
                f"Function {self.func_graph.name!r} must return zero or more Tensors; in "
                f"compilation of {self.function!r}, found return value of type "
                f"{type(x).__name__}, which is not a Tensor: {x!r}.{_remedy(x)}"
            ) from e

    def _evaluate(self, tensor: SymbolicTensor) -> EagerTensor:
        """Compute a tensor of the unfinished graph from the arguments of the call being traced."""
        graph = remove_dead_nodes(_unrolled(self.func_graph, tensor), keep_effects=False)
        open_values = free_values(graph)
        if open_values:
            raise FailedPreconditionError(
                f"The initial value of a variable depends on {open_values[0].name!r}, which has no "
                f"contents while {tensor.graph.name!r}, a branch or a loop body, is traced. Create "
                "the variable outside of it, or pass a callable that makes the initial value."
            )
        needed = _needed_inputs(graph)
        entries = {id(s.entry): s for s in self.func_graph.read_states()}
        outer = {id(v): t for t, v in self.func_graph.captured.values()}
        given = []
        for value in needed:
            content = self.actual.get(id(value), outer.get(id(value)))
            if id(value) in entries:
                given.append(entries[id(value)].variable()._raw)
            elif isinstance(content, EagerTensor):
                given.append(content._raw)
            elif isinstance(content, SymbolicTensor):
                given.append(content.graph.evaluate(content)._raw)
            else:
                raise FailedPreconditionError(
                    f"The initial value of a variable depends on {value.name!r}, an argument of "
                    f"{self.func_graph.name!r} that has no contents while it is traced. Call the "
                    "function with tensors first, or pass a callable that makes the initial value."
                )
        graph.inputs = needed
        return EagerTensor(Plan(graph).run(given)[0], tensor.dtype)


def _unrolled(func_graph: FuncGraph, tensor: SymbolicTensor) -> Graph:
    """The unfinished graph with a tensor as its result, and bodies around that as if they ran once.

    What the inputs of bodies are is left open, but for variables.
    """
    bodies: list[BodyGraph] = []
    around = tensor.graph
    while isinstance(around, BodyGraph):
        bodies.insert(0, around)
        around = around.parent
    outer: dict[int, Value] = {}
    for body in reversed(bodies):
        for entry, variable in body.entries.values() if isinstance(body, LoopGraph) else ():
            outer[id(entry)] = body.parent.value_of(body.parent.read(variable))
    graph = func_graph.graph.copy()
    known: dict[int, Value] = {}

    def lookup(value: Value) -> Value:
        while id(value) in outer:
            value = outer[id(value)]
        return known.get(id(value), value)

    for body in bodies:
        graph.constants += body.graph.constants
        for node in body.graph.nodes:
            made = copy_node(node, graph, lookup, lambda value: value)
            known.update((id(v), w) for v, w in zip(node.outputs, made.outputs, strict=True))
    graph.outputs = [lookup(tensor._symbol)]
    return graph


def _as_result(x: Any) -> Any:
    """What stands for an object among the results, where its class says so by ``_tfx_result``."""
    made = getattr(type(x), "_tfx_result", None)
    return x if made is None else made(x)


def _say_where(error: Exception, name: str) -> None:
    """Add the user's line to an error of the traced code; the innermost function does it.

    It is a note, which tracebacks show; errors of our own have it in the message, too.
    """
    if any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ())):
        return
    place = raised_at(error)
    if place is not UNKNOWN_LOCATION:
        where = f'File "{place.file}", line {place.line}, in {place.function}'
        error.add_note(f"{_NOTE} {name!r}: {where}")
        text = str(error)
        if f"{place.text()}" in text or not raised_inside(error):
            return
        if isinstance(error, OpError):
            error.message = text + bracketed(place)
            error.args = (error.message,)
            error.source = error.source or place
        elif type(error) in (TypeError, ValueError) and error.args == (text,):
            error.args = (text + bracketed(place),)


def _remedy(returned: Any) -> str:
    """Return advice about a result that is no tensor, or an empty string."""
    if inspect.iscoroutine(returned):
        returned.close()  # nobody will await it
        return (
            " An `async def` cannot be traced: make it a plain function, and await the traced "
            "function with `await f.aio(...)`."
        )
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        return (
            " A generator runs when it is iterated, after the trace: return a list or a stacked "
            "tensor instead of using `yield`."
        )
    return ""


def _needed_inputs(graph: Graph) -> list[Value]:
    used = {id(v) for node in graph.nodes for v in node.inputs if v is not None}
    used.update(id(v) for v in graph.outputs)
    return [v for v in graph.inputs if id(v) in used]


def _structure(values: Any) -> Any:
    """Return the structure that must not change: the paths and identities of all leaves."""
    return [
        (path, leaf if isinstance(leaf, int | float | str | np.generic) else id(leaf))
        for path, leaf in nest.flatten_with_path(list(values), expand_composites=True)
    ]
