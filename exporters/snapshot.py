"""The content of one save in memory: functions, variables with their contents, constants.

The one decision: everything that can fail, and everything that could change meanwhile, is settled
here, before a file exists. Values of variables are immutable, so holding them is a snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tfx.bundle.python_values import Leaf
from tfx.bundle.records import (
    ConstantEntry,
    FunctionEntry,
    ObjectNode,
    Parameter,
    ParameterKind,
    TableEntry,
)
from tfx.core.errors import FailedPreconditionError
from tfx.core.specs import TensorSpec
from tfx.exporters.bundle_tensors import Contents
from tfx.exporters.manifest_values import to_value
from tfx.exporters.names import FileNames, unique_name
from tfx.exporters.object_graph import Callee, ObjectGraph
from tfx.exporters.onnx_files import Prepared, prepare_function
from tfx.exporters.signatures import (
    ResolvedSignature,
    input_names,
    resolve_signatures,
    result_names,
)
from tfx.framework.asset import Asset
from tfx.framework.tensor import EagerTensor
from tfx.framework.variable import Variable
from tfx.framework.variable_locks import installs
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.function import Function
from tfx.function.tracing.input_signature import is_closed
from tfx.lookup_ops.static_tables import StaticHashTable, StaticTable, StaticVocabularyTable

_NO_RANK = 1 << 20
# Where the names of variables begin that no attribute of the object leads to.
_UNTRACKED = "untracked/"


class SaveSnapshot:
    """The parts of a bundle to be.

    Args:
        obj: What is saved.
        signatures: What the user gave to ``save``.
        custom_gradients: Whether gradients that parts of functions have of their own are saved.

    Attributes:
        signatures: The named entry points.
        prepared: The concrete functions, numbered as in the manifest.
        numbers: Their numbers by ``id`` of the concrete function.
        variables: The variables, numbered as in the manifest.
        names: Their names, which are their keys in the store.
        contents: All tensors.
        constants: Records of tensors that are attributes or default values, without a place.
        constant_keys: The key in the store of each.
        functions: Records of the traced functions.
        objects: Records of the object graph.
        assets: The assets, numbered as in the manifest.
        tables: Records of the lookup tables.

    Raises:
        ValueError: something cannot be saved; the message says what.
    """

    def __init__(self, obj: Any, signatures: Any, *, custom_gradients: bool = True) -> None:
        graph, self.signatures = _traced(obj, signatures)
        self._custom_gradients = custom_gradients
        self.contents = Contents()
        self.assets: list[Asset] = graph.assets
        traces = {id(f): _traces(f) for f, _ in graph.functions}
        concrete = [s.concrete for s in self.signatures]
        concrete += [c for found in traces.values() for c in found]
        self.variables: list[Variable] = []
        self.names: list[str] = []
        self._gather_variables(graph, concrete)
        self.prepared: list[Prepared] = []
        self.numbers: dict[int, int] = {}
        files = FileNames()
        for item in self.signatures:
            self._prepare(item.concrete, files, item.name, item.inputs, item.outputs)
        for function, path in graph.functions:
            for trace in traces[id(function)]:
                self._prepare(trace, files, path, input_names(trace), result_names(trace))
        self.constants: list[ConstantEntry] = []
        self.constant_keys: list[str] = []
        self._constant_numbers: dict[int, int] = {}
        self._constant_names: set[str] = set()
        self._exported: list[EagerTensor] = []
        self.tables = [self._table(t, path or "table") for t, path in graph.tables]
        self.functions: list[FunctionEntry] = [
            self._function(f, path, traces[id(f)]) for f, path in graph.functions
        ]
        self.objects: list[ObjectNode] = graph.nodes(
            {id(v): i for i, v in enumerate(self.variables)},
            {id(f): i for i, (f, _) in enumerate(graph.functions)},
            self._constant,
        )

    def _gather_variables(self, graph: ObjectGraph, functions: list[ConcreteFunction]) -> None:
        """Reachable variables by their paths, then those that only functions know."""
        found = dict(graph.variables)
        for concrete in functions:
            for v in concrete.variables:
                name = v.name.removesuffix(":0").removeprefix(_UNTRACKED)
                found.setdefault(id(v), (v, _UNTRACKED + name))
        with installs.paused():  # all values of one moment, whatever other threads do
            values = [v._raw for v, _ in found.values()]
        for (variable, path), value in zip(found.values(), values, strict=True):
            name = unique_name(path, self.contents.arrays)
            self.variables.append(variable)
            self.names.append(name)
            self.contents.add_variable(name, EagerTensor(value, variable.dtype).view())

    def _prepare(
        self,
        concrete: ConcreteFunction,
        files: FileNames,
        name: str,
        inputs: Collection[str],
        outputs: Collection[str],
    ) -> None:
        if id(concrete) not in self.numbers:
            self.numbers[id(concrete)] = len(self.prepared)
            self.prepared.append(
                prepare_function(
                    concrete,
                    files.stem(name),
                    inputs,
                    outputs,
                    self.contents,
                    custom_gradients=self._custom_gradients,
                )
            )

    def _constant(self, tensor: EagerTensor, path: str) -> int:
        number = self._constant_numbers.get(id(tensor))
        if number is None:
            number = self._constant_numbers[id(tensor)] = len(self.constants)
            array = tensor.view()
            name = unique_name(f"constants/{path}", self._constant_names)
            self._constant_names.add(name)
            self.constant_keys.append(self.contents.add_constant(name, array))
            self.constants.append(ConstantEntry(name, tensor.dtype.name, array.shape))
        return number

    def _table(self, table: StaticTable, path: str) -> TableEntry:
        keys, values = table.export()
        tensors = [keys, values]
        if isinstance(table, StaticHashTable):
            tensors.append(table.default_value)
        numbers = []
        for tensor, part in zip(tensors, ("keys", "values", "default"), strict=False):
            assert isinstance(tensor, EagerTensor)
            self._exported.append(tensor)  # constants are known by their identity
            numbers.append(self._constant(tensor, f"{path}/{part}"))
        buckets = table.num_oov_buckets if isinstance(table, StaticVocabularyTable) else 0
        default = numbers[2] if len(numbers) > 2 else None
        return TableEntry(table.name or path, numbers[0], numbers[1], default, buckets)

    def _function(
        self, function: Callee, path: str, traces: list[ConcreteFunction]
    ) -> FunctionEntry:
        if isinstance(function, Function):
            parameters, signature = function.function_spec, function.input_signature
            doc = getattr(function, "__doc__", None) or ""
        else:
            parameters, signature, doc = function.signature.parameters, None, ""
        return FunctionEntry(
            name=path,
            parameters=tuple(
                self._parameter(p, path) for p in parameters.signature.parameters.values()
            ),
            concrete_functions=tuple(self.numbers[id(c)] for c in traces),
            input_signature=None
            if not is_closed(signature)
            else tuple(to_value(s) for s in signature or ()),
            doc=doc,
        )

    def _parameter(self, parameter: Any, path: str) -> Parameter:
        kind: ParameterKind = parameter.kind.name.lower()
        if parameter.default is parameter.empty:
            return Parameter(parameter.name, kind)
        name = f"{path}/{parameter.name}"
        default = to_value(parameter.default, lambda tensor: self._constant(tensor, name))
        return Parameter(parameter.name, kind, has_default=True, default=default)


def _traced(obj: Any, signatures: Any) -> tuple[ObjectGraph, list[ResolvedSignature]]:
    """The object graph and the signatures, once every function is traced that can be.

    A trace may make variables (an optimizer's slots) and change attributes (a layer that is built
    at its first call), so the object is looked at again until there is nothing new.
    """
    given = signatures.values() if isinstance(signatures, Mapping) else [signatures]
    while True:
        graph = ObjectGraph(obj)
        functions = [f for f, _ in graph.functions] + [f for f in given if isinstance(f, Function)]
        count = _count_traces(functions)
        resolved = resolve_signatures(obj, signatures, graph.functions)
        for function in functions:
            if isinstance(function, Function) and is_closed(function.input_signature):
                function.get_concrete_function()
        if _count_traces(functions) == count:
            return graph, resolved


def _count_traces(functions: list[Callee]) -> int:
    return sum(len(f.concrete_functions) for f in functions if isinstance(f, Function))


def _traces(function: Callee) -> list[ConcreteFunction]:
    """The traces of a function in the order in which a call should try them.

    Those for fixed shapes come before those for more general ones, and later ones before earlier
    ones, as the function itself chooses. Traces that cannot be called from outside, and second ones
    for the same arguments (on another device), are left out.
    """
    if isinstance(function, ConcreteFunction):
        return [function] if _can_be_called(function) else []
    traces = [c for c in reversed(function.concrete_functions) if _can_be_called(c)]
    different = {_called_with(c): c for c in reversed(traces)}
    kept = {id(c) for c in different.values()}
    return sorted([c for c in traces if id(c) in kept], key=_generality)


def _called_with(concrete: ConcreteFunction) -> str:
    """The arguments of a trace as text, equal exactly if a call cannot tell them apart."""
    signature = concrete.signature
    args, kwargs = signature.with_leaves([Leaf(i) for i in range(len(signature.specs))])
    values = [to_value(part, is_argument=True) for part in (*args, *kwargs.values())]
    return f"{signature!r} {values!r}"


def _can_be_called(concrete: ConcreteFunction) -> bool:
    """Return False if it uses tensors of an enclosing function, or a variable that is gone."""
    try:
        return not concrete.graph.captured and concrete.variables is not None
    except FailedPreconditionError:
        return False


def _generality(concrete: ConcreteFunction) -> int:
    """Return the number of dimensions of the arguments that are unknown."""
    return sum(_open_dimensions(spec) for spec in concrete.signature.specs)


def _open_dimensions(spec: TensorSpec) -> int:
    if spec.shape.rank is None:
        return _NO_RANK
    return sum(dim is None for dim in spec.shape.as_list())
