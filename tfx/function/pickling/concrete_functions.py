"""Concrete functions as plain data, for pickling: flat tables in place of linked nodes.

A function with Python code that can be imported is pickled by its name. Others carry their traces:
graphs with everything that makes them differentiable, the signature, and the variables themselves,
so that what is pickled in one piece with them shares them afterwards. Linked nodes would be pickled
by recursion, as deep as the graph is long; here they are rows of numbers.
"""

from __future__ import annotations

import inspect
import pickle
import pkgutil
from collections.abc import Sequence
from typing import Any

from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.framework.func_graph import Assigned, FuncGraph, TracedVariable
from tfx.framework.tensor import SymbolicTensor, from_array
from tfx.function.gradients.gradient_marker import CustomGradient, unknown_gradient
from tfx.function.tracing.call_signature import CallSignature
from tfx.function.tracing.parameters import Parameters
from tfx.graph.ir import HOST, Graph, Node, Value
from tfx.graph.passes.drop_host_calls import drop_host_calls, warn_dropped
from tfx.graph.tags import mark_from_text

# The form of what ``parts_of`` gives.
_VERSION = 1


def parts_of(concrete: Any) -> dict[str, Any]:
    """A concrete function as tables of plain data, and its variables.

    Raises:
        InvalidArgumentError: it uses tensors of a function around it, or a variable is gone.
    """
    func_graph: FuncGraph = concrete.graph
    if func_graph.captured:
        outer = next(iter(func_graph.captured.values()))[0]
        raise InvalidArgumentError(
            f"Function {concrete.name!r} cannot be pickled: it uses {outer!r} of the function that "
            "it was traced in. Pass it as an argument."
        )
    tables = _Writer(list(func_graph.states.values()))
    root = tables.graph(_portable(func_graph.graph))
    value = tables.value_number
    flat = nest.flatten(concrete._program.template, expand_composites=True)
    numbers = iter(range(len(flat)))
    leaves = [None if x is None else next(numbers) for x in flat]
    signature: CallSignature = concrete.signature
    return {
        "version": _VERSION,
        "name": func_graph.name,
        "device": concrete.device,
        "root": root,
        "graphs": tables.graphs,
        "values": tables.values,
        "arguments": [value(v) for v in func_graph.arguments],
        "eager": [value(v) for _, v in func_graph.captured_eager.values()],
        "states": [
            (s.variable(), value(s.entry), value(s.current), s.written)
            for s in func_graph.states.values()
        ],
        "parameters": plain_signature(signature.parameters),
        "arguments_given": signature.values,
        "results": _Template(concrete._program.template, leaves),
    }


def carry(function: Any, traces: Sequence[Any]) -> Any:
    """Return the result of ``__reduce__`` for a function that is pickled with its traces."""
    parts = (
        function.name,
        getattr(function, "__doc__", None),
        plain_signature(function.function_spec),
        function.input_signature,
        list(traces),
        # Where it is from. Dask, which tries names first, looks for ``__main__`` and takes code.
        (getattr(function, "__module__", ""), getattr(function, "__qualname__", function.name)),
    )
    return _made, (_CARRIED, *parts)


# By name, as a pickle names classes: it is a function like any other, so its module knows this one.
_CARRIED = "tfx.function.pickling.unpickled_function:CarriedFunction"


def _made(kind: str, *parts: Any) -> Any:
    return pkgutil.resolve_name(kind)(*parts)


def _portable(graph: Graph) -> Graph:
    """The graph without those host calls that cannot be pickled, as a saved one is.

    Raises:
        InvalidArgumentError: it calls Python code that its results depend on.
    """
    calls = [node.attrs["call"] for node in graph.all_nodes() if node.op == HOST]
    if all(map(_can_be_pickled, calls)):
        return graph
    kept, dropped = drop_host_calls(graph)
    warn_dropped(graph.name, dropped)
    return kept


def _can_be_pickled(call: Any) -> bool:
    try:
        pickle.dumps(call)
    except Exception:  # whatever the objects in it raise
        return False
    return True


class _Template:
    """A structure of results; tensors are pickled as numbers."""

    def __init__(self, structure: Any, leaves: list[int | None]) -> None:
        self.structure = nest.pack_sequence_as(structure, leaves, expand_composites=True)

    def filled(self, tensors: list[SymbolicTensor]) -> Any:
        """The structure with tensors in place."""
        flat = nest.flatten(self.structure, expand_composites=True)
        leaves = [None if i is None else tensors[i] for i in flat]
        return nest.pack_sequence_as(self.structure, leaves, expand_composites=True)


def plain_signature(parameters: Parameters) -> inspect.Signature:
    """Parameters without their annotations, which may be anything."""
    given = parameters.signature.parameters.values()
    return inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in given])


def from_parts(parts: dict[str, Any]) -> tuple[FuncGraph, CallSignature, Any, str]:
    """Return the constructor arguments of a pickled ``ConcreteFunction``.

    Args:
        parts: What ``parts_of`` gave.

    Raises:
        InvalidArgumentError: another version of this library wrote it.
    """
    if parts["version"] != _VERSION:
        raise InvalidArgumentError(
            f"The pickled function has form {parts['version']}, this version of tfx reads form "
            f"{_VERSION}: pickle it again, or save it with saved_model.save."
        )
    func_graph = FuncGraph(parts["name"])
    tables = _Reader(parts)
    states = []
    for variable, entry, current, written in parts["states"]:
        state = func_graph.state_of(variable)
        state.entry, state.current = tables.value(entry), tables.value(current)
        state.written = written
        states.append(state)
    tables.states = states
    func_graph.graph = tables.graph(parts["root"])
    func_graph.home = parts["device"]
    func_graph.arguments = [tables.values[i] for i in parts["arguments"]]
    for i in parts["eager"]:
        value = tables.values[i]
        assert value.const is not None
        tensor = from_array(value.const, owned=True)
        func_graph.captured_eager[id(tensor)] = (tensor, value)
    outputs = [SymbolicTensor(v, func_graph) for v in func_graph.graph.outputs]
    signature = CallSignature(
        Parameters.from_signature(parts["parameters"]), parts["arguments_given"]
    )
    return func_graph, signature, parts["results"].filled(outputs), parts["device"]


class _Writer:
    """Tables of the graphs below a graph and of their values."""

    def __init__(self, states: list[TracedVariable]) -> None:
        self.graphs: list[Any] = []
        self.values: list[tuple[Any, ...]] = []
        self._graph_numbers: dict[int, int] = {}
        self._value_numbers: dict[int, int] = {}
        # Graphs made here: what is numbered by its id must not go.
        self._kept: list[Graph] = []
        # By variable: called graphs have records of their own.
        self._state_numbers = {id(s.variable()): i for i, s in enumerate(states)}

    def value_number(self, value: Value | None) -> int | None:
        """The row of a value."""
        if value is None:
            return None
        number = self._value_numbers.get(id(value))
        if number is None:
            number = self._value_numbers[id(value)] = len(self.values)
            self.values.append((value.name, value.dtype, value.shape, value.const, value.dims))
        return number

    def graph(self, graph: Graph) -> int:
        """The row of a graph."""
        number = self._graph_numbers.get(id(graph))
        if number is None:
            number = self._graph_numbers[id(graph)] = len(self.graphs)
            self.graphs.append(None)
            parent = graph.parent
            self.graphs[number] = (
                graph.name,
                None if parent is None else self._graph_numbers.get(id(parent)),
                graph.library,
                dict(graph._names) if parent is None else None,
                [self.value_number(v) for v in graph.inputs],
                [self.value_number(v) for v in graph.constants],
                [self._node(n) for n in graph.nodes],
                [self.value_number(v) for v in graph.outputs],
                graph.fuses,
                graph.kernel,
            )
        return number

    def _node(self, node: Node) -> tuple[Any, ...]:
        inputs = [self.value_number(v) for v in node.inputs]
        attrs = {
            k: _GraphNumber(self.graph(v)) if isinstance(v, Graph) else v
            for k, v in node.attrs.items()
        }
        outputs = [self.value_number(v) for v in node.outputs]
        tag = self._tag(node.tag)
        return (node.op, inputs, attrs, node.name, node.source, outputs, node.device, tag)

    def _tag(self, tag: Any) -> Any:
        if isinstance(tag, Assigned):
            states = {i: self._state_numbers.get(id(s.ref())) for i, s in tag.outputs.items()}
            return ("assigned", states, tag.again)
        if isinstance(tag, CustomGradient) and tag.deferred:
            return ("no gradient", tag.present, tag.results)
        if isinstance(tag, CustomGradient):
            self._kept.append(_portable(tag.graph))
            return ("gradient", self.graph(self._kept[-1]), tag.present, tag.results)
        return ("other", tag)


class _GraphNumber:
    """Stands for a graph among attributes."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Reader:
    """Graphs and values made again from their tables."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.values: list[Value] = []
        for name, dtype, shape, const, dims in parts["values"]:
            value = Value(name, dtype, shape, const=const)
            value.dims = dims
            self.values.append(value)
        self.states: list[TracedVariable] = []
        self._rows = parts["graphs"]
        self._graphs: dict[int, Graph] = {}

    def value(self, number: int | None) -> Value | None:
        """The value of a row."""
        return None if number is None else self.values[number]

    def graph(self, number: int) -> Graph:
        """The graph of a row."""
        graph = self._graphs.get(number)
        if graph is None:
            row = self._rows[number]
            name, parent, library, names, inputs, constants, nodes, outputs, *more = row
            graph = Graph(name, None if parent is None else self._graphs[parent])
            self._graphs[number] = graph
            if names is not None:
                graph._names = names
            if library:
                graph.library = True
            # What was pickled before there were fused plans, or these kernels, does not say.
            for attribute, given in zip(("fuses", "kernel"), more, strict=False):
                setattr(graph, attribute, given)
            graph.inputs = [self.values[i] for i in inputs]
            graph.constants = [self.values[i] for i in constants]
            graph.outputs = [self.values[i] for i in outputs]
            graph.nodes = [self._node(row) for row in nodes]
        return graph

    def _node(self, row: tuple[Any, ...]) -> Node:
        op, inputs, attrs, name, source, outputs, device, tag = row
        made = {
            k: self.graph(v.number) if isinstance(v, _GraphNumber) else v for k, v in attrs.items()
        }
        node = Node(
            op,
            tuple([self.value(i) for i in inputs]),
            made,
            name,
            source,
            outputs=tuple([self.values[i] for i in outputs]),
        )
        for value in node.outputs:
            value.node = node
        node.device = device
        node.tag = self._tag(tag)
        return node

    def _tag(self, tag: tuple[Any, ...]) -> Any:
        if tag[0] == "assigned":
            states = {i: self.states[n] for i, n in tag[1].items() if n is not None}
            return Assigned(states, again=tag[2:] == (True,))
        if tag[0] == "gradient":
            return CustomGradient(self.graph(tag[1]), tag[2], tag[3])
        if tag[0] == "no gradient":
            return CustomGradient(unknown_gradient, tag[1], tag[2])
        # A mark was a text before it was a type.
        return mark_from_text(tag[1]) if isinstance(tag[1], str) else tag[1]
