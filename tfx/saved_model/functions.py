"""Functions of a loaded bundle: called like the originals, in eager code, tapes and traces.

A trace's ONNX file is opened when the trace is first needed, and becomes a graph like one that was
just traced: differentiable, callable inside other functions, and ready to be saved again.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tfx.bundle.records import ConcreteFunctionEntry, FunctionEntry, GraphEntry, Manifest, Signature
from tfx.core.errors import BundleError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.func_graph import Assigned, FuncGraph, VariableState
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.function.arguments import CallSignature, check_tensor
from tfx.function.concrete import ConcreteFunction
from tfx.function.polymorphic import DEFAULT_DEVICE, Function
from tfx.function.signature import Arguments, Parameters
from tfx.graph.deserialize import from_model
from tfx.graph.ir import Graph
from tfx.graph.models import parse_model
from tfx.saved_model.values import from_value, to_spec


class Traces:
    """The concrete functions of a bundle, opened when needed.

    Args:
        folder: The bundle.
        manifest: Its manifest.
        variables: Its variables, in the manifest's order.
    """

    def __init__(self, folder: Path, manifest: Manifest, variables: Sequence[Variable]) -> None:
        self.folder = folder
        self.manifest = manifest
        # Functions hold variables weakly; a loaded function must keep those it works on.
        self.variables = list(variables)
        self._open: dict[int, ConcreteFunction] = {}
        self._lock = threading.Lock()

    def entry(self, number: int) -> ConcreteFunctionEntry:
        """The record of a concrete function."""
        return self.manifest.concrete_functions[number]

    def concrete(self, number: int, parameters: Parameters | None = None) -> ConcreteFunction:
        """A concrete function; its file is read at the first call."""
        with self._lock:
            known = self._open.get(number)
            if known is None:
                known = self._open[number] = self._load(self.entry(number), parameters)
            return known

    def _load(
        self, entry: ConcreteFunctionEntry, parameters: Parameters | None
    ) -> ConcreteFunction:
        graph_entry = entry.live_graph or entry.graph
        path = self.folder / graph_entry.file
        frozen = [f.name for f in graph_entry.frozen_variables]
        size = next(f.size for f in self.manifest.files if f.path == graph_entry.file)
        model = parse_model(path, size)
        allowed = {f.path for f in self.manifest.files}
        for tensor in model.graph.initializer:
            for item in tensor.external_data:
                if item.key == "location" and item.value not in allowed:
                    raise BundleError(
                        f"{path}: initializer {tensor.name!r} is in {item.value!r}, which is not a "
                        "file of the bundle."
                    )
        try:
            imported = from_model(model, as_inputs=frozen, base_dir=str(self.folder))
        except BundleError as e:
            raise BundleError(f"{path}: {e.message}") from e
        func_graph = self._func_graph(entry, graph_entry, imported.graph, imported.values, path)
        values, specs = _values(entry, parameters or _signature_parameters(entry))
        signature = CallSignature(parameters or _signature_parameters(entry), values)
        if len(signature.specs) != len(specs):
            raise BundleError(f"{path}: the arguments of {entry.name!r} are inconsistent.")
        results = [SymbolicTensor(v, func_graph)
                   for v in imported.graph.outputs[: len(entry.result_leaves)]]
        template = from_value(entry.result, lambda i: results[i])
        return ConcreteFunction(func_graph, signature, template, DEFAULT_DEVICE)

    def _func_graph(
        self,
        entry: ConcreteFunctionEntry,
        graph_entry: GraphEntry,
        graph: Graph,
        values: Mapping[str, Any],
        path: Path,
    ) -> FuncGraph:
        """Tie the graph's inputs and outputs to arguments and variables."""
        func_graph = FuncGraph(entry.name)
        func_graph.graph = graph
        arguments: dict[int, Any] = {}
        bound = [(i.name, i.source, i.index) for i in graph_entry.inputs]
        bound += [(f.name, "variable", f.variable) for f in graph_entry.frozen_variables]
        missing = [n for n, _, _ in bound if n not in values]
        missing += [o.name for o in graph_entry.outputs if o.name not in values]
        if missing:
            raise BundleError(
                f"{path}: the manifest says that the graph has {', '.join(map(repr, missing))}, "
                "but it has not; the files do not belong together."
            )
        for name, source, index in bound:
            value = values[name]
            if source == "argument":
                arguments[index] = value
                spec = entry.argument_leaves[index]
                value.shape = TensorShape(spec.shape).symbolic if spec.shape is not None else None
            else:
                state = self._state(func_graph, index)
                state.entry = state.current = value
        func_graph.arguments = [arguments[i] for i in sorted(arguments)]
        results: dict[int, Any] = {}
        for output in graph_entry.outputs:
            value = values[output.name]
            if output.target == "result":
                results[output.index] = value
            else:
                state = self._state(func_graph, output.index)
                node = graph.add_node("Identity", (value,), {}, [(value.dtype, value.shape)],
                                      name="Assign")
                node.tag = Assigned({0: state})
                state.current, state.written = node.outputs[0], True
        graph.outputs = [results[i] for i in sorted(results)]
        graph.outputs += [s.current for s in func_graph.written_states() if s.current is not None]
        return func_graph

    def _state(self, func_graph: FuncGraph, index: int) -> VariableState:
        return func_graph.state_of(self.variables[index])


def _signature_parameters(entry: ConcreteFunctionEntry) -> Parameters:
    """Parameters for a trace that belongs to no function: its arguments by name."""
    args, kwargs = entry.arguments
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert isinstance(args, tuple)
    assert isinstance(kwargs, dict)
    names = [getattr(a, "name", "") or f"arg{i}" for i, a in enumerate(args)]
    parameters = [inspect.Parameter(n, positional) for n in names]
    parameters += [inspect.Parameter(str(n), inspect.Parameter.KEYWORD_ONLY) for n in kwargs]
    return Parameters.from_signature(inspect.Signature(parameters))


def _values(
    entry: ConcreteFunctionEntry, parameters: Parameters
) -> tuple[tuple[Any, ...], list[TensorSpec]]:
    """The trace's arguments, one value for each parameter, with specs for tensors."""
    specs = [to_spec(i) for i in entry.argument_leaves]
    args = from_value(entry.arguments[0], lambda i: specs[i])
    kwargs = from_value(entry.arguments[1], lambda i: specs[i])
    bound = parameters.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments.values()), specs


class RestoredFunction(Function):
    """A function of a loaded bundle: its traces are those that were saved, no more.

    Args:
        entry: The function's record.
        traces: The bundle's concrete functions.
        constant: Gives the stored constant of an id (defaults that are tensors).
    """

    def __init__(self, entry: FunctionEntry, traces: Traces, constant: Any) -> None:
        kinds = {k.name.lower(): k for k in inspect._ParameterKind}
        signature = inspect.Signature([
            inspect.Parameter(
                p.name,
                kinds[p.kind],
                default=from_value(p.default, lambda i: None, constant)
                if p.has_default else inspect.Parameter.empty,
            )
            for p in entry.parameters
        ])

        def restored(*args: Any, **kwargs: Any) -> Any:
            raise TypeError(f"The Python code of the loaded function {entry.name!r} is not there.")

        restored.__name__ = restored.__qualname__ = entry.name
        restored.__doc__ = entry.doc or None
        restored.__signature__ = signature  # type: ignore[attr-defined]
        super().__init__(restored, entry.name.rsplit("/", 1)[-1])
        self._traces_of_bundle = traces
        self._numbers: dict[Any, int] = {}
        for number in entry.concrete_functions:
            values, _ = _values(traces.entry(number), self._parameters)
            key = Arguments(_interchangeable(values), self._parameters.names).key
            self._numbers.setdefault((None, *key), number)
        self._cache = dict.fromkeys(self._numbers)  # type: ignore[arg-type]
        if entry.input_signature is not None:
            self.input_signature = tuple(from_value(s, lambda i: None)
                                         for s in entry.input_signature)
        self._first_call_done = True

    def concrete_functions(self) -> list[ConcreteFunction]:
        return [self._traces_of_bundle.concrete(n, self._parameters)
                for n in self._numbers.values()]

    def _lookup(self, key: Any, graph: FuncGraph | None) -> ConcreteFunction | None:
        key = (None, *_interchangeable(key[1:]))
        known = self._cache.get(key)
        number = self._numbers.get(key)
        if known is None and number is not None:
            known = self._traces_of_bundle.concrete(number, self._parameters)
            self._cache[key] = known
        return known

    def _arguments(self, values: tuple[Any, ...]) -> Arguments:
        return Arguments(_interchangeable(values), self._parameters.names)

    def _trace(self, key: Any, arguments: Arguments, given: Arguments) -> ConcreteFunction:
        options = "\n".join(
            f"  {self.name}{self._traces_of_bundle.concrete(n, self._parameters).signature!r}"
            for n in self._numbers.values()
        )
        shown = ", ".join(
            f"{x.dtype.name}{x.shape}" if isinstance(x, Tensor) else repr(x) for x in given.leaves
        )
        raise ValueError(
            f"Could not find matching concrete function to call loaded from the bundle: "
            f"{self.name}({shown}). It was saved with these traces:\n{options or '  none'}"
        )


def _interchangeable(value: Any) -> Any:
    """Lists as tuples: either may be passed for the other."""
    if type(value) in (list, tuple):
        return tuple(_interchangeable(v) for v in value)
    if type(value) is dict:
        return {k: _interchangeable(v) for k, v in value.items()}
    return value


class SignatureFunction:
    """A named entry point of a loaded bundle: named tensors in, a dict of named tensors out.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> class Doubler(tf.Module):
        ...     @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        ...     def __call__(self, x):
        ...         return {"y": 2.0 * x}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(Doubler(), folder + "/m")
        ...     f = tf.saved_model.load(folder + "/m").signatures["serving_default"]
        ...     f(x=tf.constant([1.0, 2.0]))["y"].numpy()
        array([2., 4.], dtype=float32)
    """

    def __init__(self, signature: Signature, traces: Traces, parameters: Parameters | None) -> None:
        self._signature = signature
        self._traces = traces
        self._parameters = parameters
        entry = traces.entry(signature.concrete_function)
        self._inputs = {i.name: to_spec(entry.argument_leaves[i.leaf]) for i in signature.inputs}

    @property
    def name(self) -> str:
        """The signature's name."""
        return self._signature.name

    @property
    def concrete_function(self) -> ConcreteFunction:
        """The concrete function behind the signature."""
        return self._traces.concrete(self._signature.concrete_function, self._parameters)

    @property
    def structured_input_signature(self) -> tuple[tuple[()], dict[str, TensorSpec]]:
        """``((), {name: spec})``."""
        return (), {n: TensorSpec(s.shape, s.dtype, n) for n, s in self._inputs.items()}

    @property
    def structured_outputs(self) -> dict[str, TensorSpec]:
        """Spec of each output by name."""
        entry = self._traces.entry(self._signature.concrete_function)
        return {o.name: to_spec(entry.result_leaves[o.leaf]) for o in self._signature.outputs}

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the signature reads or writes."""
        return self.concrete_function.variables

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of ``variables`` that are trainable."""
        return self.concrete_function.trainable_variables

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        """Call with one tensor for each input, by name (positionally if there is only one).

        Raises:
            TypeError: missing or unknown names.
            InvalidArgumentError: a tensor that does not fit.
        """
        names = list(self._inputs)
        if args:
            if len(args) > 1 or len(names) != 1 or kwargs:
                raise TypeError(
                    f"Signature {self.name!r} takes its inputs by name: {', '.join(names)}; got "
                    f"{len(args)} positional arguments."
                )
            kwargs = {names[0]: args[0]}
        missing = [n for n in names if n not in kwargs]
        unknown = [n for n in kwargs if n not in self._inputs]
        if missing or unknown:
            raise TypeError(
                f"Signature {self.name!r} takes {', '.join(names) or 'no inputs'}; "
                + (f"missing {', '.join(missing)}. " if missing else "")
                + (f"Unknown: {', '.join(unknown)}." if unknown else "")
            )
        order = sorted(self._signature.inputs, key=lambda i: i.leaf)
        tensors = [check_tensor(self.name, i.name, self._inputs[i.name], kwargs[i.name])
                   for i in order]
        outputs = self.concrete_function.call_flat_outputs(tensors)
        return {o.name: outputs[o.leaf] for o in self._signature.outputs}

    def __repr__(self) -> str:
        return f"<signature {self.name}({self._inputs}) -> {self.structured_outputs}>"
