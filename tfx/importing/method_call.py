"""One graph of a method as a traced function over variables that others share."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfx.core import nest
from tfx.core.dtypes import from_onnx
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.core.shapes import TensorShape
from tfx.core.signatures import show_signature
from tfx.core.specs import TensorSpec
from tfx.framework.context import current
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.function.tracing.function import Function
from tfx.graph.ir import Value
from tfx.graph.onnx_import.read_model import ForeignGraph, guarded, read_model, used_values
from tfx.graph.onnx_import.types import tensor_type
from tfx.graph.onnx_import.weights import find_weights
from tfx.graph.serialization.models import ForeignModel
from tfx.importing.call import identifiers
from tfx.importing.method_graphs import MethodGraph, Port, filled, matched, ports_in, pruned
from tfx.importing.model_inputs import InputPort, ports_of
from tfx.importing.open_model import open_model

_PLAIN = inspect.Parameter.POSITIONAL_OR_KEYWORD


class MethodCall:
    """A graph of a method: bound to variables, traced once.

    Args:
        label: The method, for messages.
        name: A name for its function, an identifier.
        graph: Its description.
        variables: All variables by name.

    Attributes:
        arguments: The structure of each parameter.
        results: The structure of the results.
        function: The traced function: of each parameter that has tensors, these alone.
        weights: The variable's name of each of the graph's inputs that is one.

    Raises:
        InvalidArgumentError: the graph and its description do not fit each other.
        BundleError: the graph is damaged.
        UnimplementedError: it uses an operator or a type that cannot be represented.
    """

    def __init__(
        self, label: str, name: str, graph: MethodGraph, variables: Mapping[str, Variable]
    ) -> None:
        self.label = label
        self.graph = graph
        self.loaded = loaded = open_model(graph.model)
        loaded.name = label
        self.variables = variables
        self.weights = weights_of(loaded, graph)
        stored = {t.name for t in loaded.proto.graph.initializer}
        with guarded(label):
            ports = ports_of(loaded, graph.shapes)
        self.ports = {p.name: p for p in ports if p.name not in self.weights and not p.default}
        for port in self.ports.values():
            if port.sequence or port.optional:
                raise InvalidArgumentError(
                    f"{label}: input {port.name!r} is a sequence or optional, expected a tensor"
                )
        kept = [n for n in self.weights if n in stored]
        self.foreign = read_model(
            loaded.proto,
            label,
            weights=kept,
            shapes={n: p.shape for n, p in self.ports.items()},
            arrays=_other_arrays(loaded, kept),
            external=loaded.external,
        )
        self._values = _plain_values(self.foreign.inputs) | self.foreign.weights
        self._outputs = _plain_values(self.foreign.outputs)
        self.updates = dict(graph.updates)
        self._describe(graph)
        self._check(variables)
        self._used = used_values(self.foreign.graph)
        self._declared = _declared_shapes(loaded, self.ports)
        self.function = self._as_function(name)

    def _describe(self, graph: MethodGraph) -> None:
        plain = {n: Port(n) for n in self.ports}
        self.arguments = dict(plain if graph.arguments is None else graph.arguments)
        answers = [n for n in self._outputs if n not in self.updates]
        whole: Any = {n: Port(n) for n in answers}
        if graph.results is None:
            self.results = whole if len(answers) != 1 else Port(answers[0])
        else:
            self.results = graph.results
        self.has_fixed_results = any(
            leaf is not None and not isinstance(leaf, Port) for leaf in nest.flatten(self.results)
        )
        self.parameters = graph.parameters
        if graph.parameters is None:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            names = identifiers(list(self.arguments))
            self.arguments = dict(zip(names, self.arguments.values(), strict=True))
            self.parameters = inspect.Signature([inspect.Parameter(n, kind) for n in names])
        else:  # what was left out keeps its default
            bound = inspect.BoundArguments(graph.parameters, OrderedDict(self.arguments))
            bound.apply_defaults()
            self.arguments = dict(bound.arguments)

    def _check(self, variables: Mapping[str, Variable]) -> None:
        given = [p.name for p in ports_in(self.arguments)]
        for name in given:
            if name not in self.ports:
                raise InvalidArgumentError(
                    f"{self.label}: its arguments have {name!r}, which is no input of the graph; "
                    f"it has {', '.join(self.ports) or 'none'}."
                )
        lacking = [n for n in self.ports if n not in given]
        if lacking:
            raise InvalidArgumentError(
                f"{self.label}: nothing is given for the graph's input {lacking[0]!r}: it is no "
                "argument and no variable."
            )
        for port in [p.name for p in ports_in(self.results)] + [*self.updates]:
            if port not in self._outputs:
                raise InvalidArgumentError(
                    f"{self.label}: its results have {port!r}, which is no output of the graph; it "
                    f"has {', '.join(self._outputs) or 'none'}."
                )
        pairs = [(n, self._values[n], v) for n, v in self.weights.items() if n in self._values]
        pairs += [(n, self._outputs[n], v) for n, v in self.updates.items()]
        for port, value, name in pairs:
            _check_variable(self.label, port, value, name, variables)

    def matched(self, arguments: Mapping[str, Any]) -> tuple[list[Any] | None, str | None]:
        """The function's arguments for a call that is bound; or None, and why it does not fit."""
        found: dict[str, Any] = {}
        for name, structure in self.arguments.items():
            kept, wrong = matched(structure, arguments.get(name), name)
            if wrong is not None:
                return None, wrong
            if ports_in(structure):
                found[name] = kept
        return self._spread(found), None

    def misfit(self, arguments: Sequence[Any]) -> str | None:
        """Which of the function's arguments has another shape or dtype than the graph's, if any."""
        names = self.input_names
        for name, value in zip(names, nest.flatten(list(arguments)), strict=True):
            spec = self.ports[name].tensor
            shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
            if shape is not None and not spec.shape.is_compatible_with(shape):
                return f"{name} has the shape {tuple(shape)}, expected {spec.shape}"
            if isinstance(value, Tensor) and dtype != spec.dtype:
                return f"{name} is {value.dtype.name}, expected {spec.dtype.name}"
        return None

    def __call__(self, *arguments: Any) -> Any:
        """Call with what ``matched`` gave."""
        results = self._called(arguments)
        if not self.has_fixed_results:
            return results
        tensors = [leaf for leaf in nest.flatten(results) if leaf is not None]
        leaves = dict(zip(ports_in(self.results), tensors, strict=True))
        return filled(self.results, leaves.__getitem__, fixed=True)

    @property
    def concrete_function(self) -> ConcreteFunction:
        """The function's trace."""
        concrete: ConcreteFunction = self.function.get_concrete_function()
        return concrete

    @property
    def input_names(self) -> list[str]:
        """The graph's name of each tensor that the function takes, in order."""
        return [p.name for name in self.arguments for p in ports_in(self.arguments[name])]

    @property
    def output_names(self) -> list[str]:
        """The graph's name of each tensor that the function returns, in order."""
        return [p.name for p in ports_in(self.results)]

    def spec(self, port: Port) -> TensorSpec:
        """The spec of an input."""
        tensor = self.ports[port.name].tensor
        return TensorSpec(tensor.shape, tensor.dtype, name=port.name)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, EagerTensor]:
        """Call with tensors by the graph's names; gives the results by the graph's names."""
        results = nest.flatten(self._called(self._spread(self._pruned(lambda p: inputs[p.name]))))
        tensors = [leaf for leaf in results if leaf is not None]
        return dict(zip(self.output_names, tensors, strict=True))

    def bound_graph(self) -> tuple[ForeignGraph, dict[str, Variable]]:
        """The graph whose weights have the variables' names, and these variables."""
        bound = ForeignGraph(self.foreign.graph)
        bound.inputs = {n: v for n, v in self.foreign.inputs.items() if n in self.ports}
        bound.outputs, bound.values = self.foreign.outputs, self.foreign.values
        variables: dict[str, Variable] = {}
        for port, name in self.weights.items():
            if port in self._values and id(self._values[port]) in self._used:
                key = name if name not in {*variables, *bound.inputs, *bound.outputs} else port
                bound.weights[key], variables[key] = self._values[port], self.variables[name]
        return bound, variables

    def _pruned(self, leaf: Callable[[Port], Any]) -> dict[str, Any]:
        """The parameters that have tensors, with these alone, each replaced."""
        return {n: pruned(s, leaf) for n, s in self.arguments.items() if ports_in(s)}

    def _kinds(self) -> dict[str, inspect._ParameterKind]:
        """How the function takes each parameter that has tensors: as the source does.

        A ``**`` parameter whose names could not be written as parameters stays a dict.
        """
        assert self.parameters is not None
        declared = {n: p.kind for n, p in self.parameters.parameters.items()}
        kinds = {n: declared.get(n, _PLAIN) for n, s in self.arguments.items() if ports_in(s)}
        has_rest = inspect.Parameter.VAR_POSITIONAL in kinds.values()
        for name, kind in kinds.items():
            if kind is inspect.Parameter.VAR_KEYWORD:
                inner = [str(n) for n in self.arguments[name]]
                if identifiers([*kinds, *inner]) != [*kinds, *inner]:
                    kinds[name] = inspect.Parameter.KEYWORD_ONLY if has_rest else _PLAIN
            elif kind is inspect.Parameter.KEYWORD_ONLY and not has_rest:
                kinds[name] = _PLAIN  # may be given by position, too
            elif kind is inspect.Parameter.POSITIONAL_ONLY:
                kinds[name] = _PLAIN
        return kinds

    def _spread(self, values: Mapping[str, Any]) -> list[Any]:
        """The function's arguments in order: ``*`` and ``**`` parameters one by one."""
        found: list[Any] = []
        for name, kind in self._kinds().items():
            value = values[name]
            if kind is inspect.Parameter.VAR_POSITIONAL:
                found += value
            elif kind is inspect.Parameter.VAR_KEYWORD:
                found += [value[key] for key in sorted(value)]
            else:
                found.append(value)
        return found

    def _called(self, arguments: Sequence[Any]) -> Any:
        """The function's results for what ``_spread`` gave."""
        named = self._by_name
        if not named:
            return self.function(*arguments)
        at = len(arguments) - len(named)
        return self.function(*arguments[:at], **dict(zip(named, arguments[at:], strict=True)))

    def _as_function(self, name: str) -> Function:
        def call(*arguments: Any, **named: Any) -> Any:
            return self._body(arguments, named)

        kinds = self._kinds()
        shown = dict(zip(kinds, identifiers([*kinds]), strict=True))
        parameters: list[inspect.Parameter] = []
        for parameter, kind in kinds.items():
            if kind is inspect.Parameter.VAR_KEYWORD:
                only = inspect.Parameter.KEYWORD_ONLY
                keys = [k for k, s in self.arguments[parameter].items() if ports_in(s)]
                parameters += [inspect.Parameter(key, only) for key in sorted(keys)]
            else:
                parameters.append(inspect.Parameter(shown[parameter], kind))
        self._by_name = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
        show_signature(call, inspect.Signature(parameters))
        call.__name__ = call.__qualname__ = name
        return Function(call, name, self._spread(self._pruned(self.spec)), autograph=False)

    def _body(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Put the graph into the one under construction, and assign what it updates."""
        graph = current().graph
        if graph is None:  # functions are asked to run eagerly: this one has no Python to run
            return self.function.get_concrete_function(*given, **named)(*given, **named)
        specs, arguments = self._spread(self._pruned(self.spec)), [*given, *named.values()]
        mapping: dict[int, Tensor] = {}
        for spec, tensor in zip(nest.flatten(specs), nest.flatten(arguments), strict=True):
            mapping[id(self._values[spec.name])] = tensor
        for port, name in self.weights.items():
            value = self._values.get(port)
            if value is not None and id(value) in self._used:
                mapping[id(value)] = self.variables[name].value()
        inline_nodes(self.foreign.graph, mapping, graph)
        for port, name in self.updates.items():
            self.variables[name].assign(mapping[id(self._outputs[port])])
        return filled(self.results, lambda port: self._leaving(port, mapping), fixed=False)

    def _leaving(self, port: Port, mapping: Mapping[int, Tensor]) -> Tensor:
        """A result, with what the source says of its shape."""
        tensor = mapping[id(self._outputs[port.name])]
        declared = self._declared.get(port.name)
        if declared is not None and tensor.shape.is_compatible_with(declared):
            tensor.set_shape(declared)
        return tensor


def weights_of(loaded: ForeignModel, graph: MethodGraph) -> dict[str, str]:
    """The variable's name of each input and initializer of a graph that is one."""
    if graph.weights is not None:
        return dict(graph.weights)
    return {n: n for n, weight in find_weights(loaded).items() if weight.default}


def _declared_shapes(loaded: ForeignModel, ports: Mapping[str, InputPort]) -> dict[str, Any]:
    """What a graph says of its outputs' shapes, in numbers and in sizes that its inputs have."""
    known = {d for p in ports.values() for d in p.shape or () if isinstance(d, str)}
    found: dict[str, Any] = {}
    for item in loaded.proto.graph.output:
        try:
            _, shape = tensor_type(item)
        except OpError:  # it has no type: reading the graph finds it
            continue
        if shape is not None:
            found[item.name] = [d if isinstance(d, int) or d in known else None for d in shape]
    return found


def _other_arrays(loaded: ForeignModel, variables: list[str]) -> Mapping[str, Any]:
    """The initializers that stay constants: what variables are may have no data."""
    left_out = frozenset(variables)
    if not left_out:
        return loaded.arrays()
    return loaded.arrays(left_out)


def _plain_values(found: Mapping[str, Value | list[Value]]) -> dict[str, Value]:
    return {n: v for n, v in found.items() if isinstance(v, Value)}


def _check_variable(
    label: str, port: str, value: Value, name: str, variables: Mapping[str, Variable]
) -> None:
    variable = variables.get(name)
    if variable is None:
        raise InvalidArgumentError(
            f"{label}: {port!r} of the graph is the variable {name!r}, which is not given; there "
            f"are {', '.join(list(variables)[:20]) or 'none'}."
        )
    dtype, shape = from_onnx(value.dtype), TensorShape(value.shape)
    if variable.dtype != dtype or not shape.is_compatible_with(variable.shape):
        raise InvalidArgumentError(
            f"{label}: the variable {name!r} is {variable.dtype.name} of shape {variable.shape}, "
            f"{port!r} of the graph is {dtype.name} of shape {shape}."
        )
