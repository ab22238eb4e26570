"""The traces of a loaded bundle: graph files become concrete functions when they are first needed.

A trace's file becomes a graph like one that was just traced: differentiable, callable inside other
functions, and ready to be saved again. The one decision: nothing that a graph file says is
believed. Its inputs, outputs, dtypes, shapes and the places of its weights are compared with the
manifest, and the file's hash is checked before anything looks into it.
"""

from __future__ import annotations

import copy
import hashlib
import mmap
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tfx.bundle.check_values import compatible
from tfx.bundle.dtypes import BY_NUMBER
from tfx.bundle.files import locate, open_plain
from tfx.bundle.records import (
    ConcreteFunctionEntry,
    FrozenVariable,
    GraphEntry,
    GraphInput,
    GraphOutput,
    Storage,
)
from tfx.core import nest
from tfx.core.dtypes import as_dtype
from tfx.core.errors import BundleError, FailedPreconditionError
from tfx.framework.device import DEFAULT_DEVICE
from tfx.framework.func_graph import Assigned, FuncGraph, TracedVariable
from tfx.framework.tensor import EagerTensor, SymbolicTensor
from tfx.framework.variable import Variable
from tfx.framework.variable_state import stored
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.call_signature import CallSignature
from tfx.function.tracing.function import Function
from tfx.function.tracing.parameters import Parameters
from tfx.graph.ir import Graph, RawShape, Value
from tfx.graph.serialization.deserialize import Imported, from_model
from tfx.graph.serialization.models import parse_model
from tfx.graph.string_constants import replaced_texts
from tfx.loaders.messages import describe_type, listed
from tfx.loaders.onnx_file import OnnxFile
from tfx.loaders.open_files import Sources
from tfx.loaders.requirements import check_runtime
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.memory import borrow
from tfx.runtime.values import RawValue
from tfx.saved_model.call_structures import arguments_of, parameters_of, results_of
from tfx.saved_model.values import result_from_value

# The graph files of a bundle by their paths: mapped, or their bytes.
Graphs: TypeAlias = dict[str, mmap.mmap | bytes]

# A mapping keeps a file descriptor, of which a process has some hundreds: small graphs are read.
_READ_BYTES = 1 << 16

# Above it weights are packed once a number of calls is worth the time and the memory.
_FIRST_CALL_BYTES = 256 << 20

_ADVICE = "the files do not belong together: copy or save the bundle again"


@dataclass(frozen=True, slots=True)
class Trace:
    """An open trace.

    Attributes:
        concrete: The function.
        arguments: The argument leaf that each of its tensors is, in order.
        results: The result leaf that each of its results is.
    """

    concrete: ConcreteFunction
    arguments: tuple[int, ...]
    results: tuple[int, ...]


class LoadedFiles:
    """The opened files of a bundle: manifest, mapped weights and graphs, variables.

    All files are mapped, so a save over the bundle does not disturb who has loaded it.

    Args:
        sources: The bundle.
        variables: Its variables, in the manifest's order.
        freeze: Whether functions may come to hold the values of variables, see ``LoadOptions``.

    Raises:
        BundleError: a file is missing or is not the one that was saved.
    """

    def __init__(
        self, sources: Sources, variables: Sequence[Variable], *, freeze: bool = True
    ) -> None:
        # Functions hold variables weakly; a loaded function must keep those it works on.
        self.variables = list(variables)
        self._constants: dict[int, EagerTensor] = {}
        self._places: dict[str, dict[int, str]] = {}
        self._traces: dict[int, Trace] = {}
        # Of the Python functions that traces are of, by the trace's number.
        self.parameters: dict[int, Parameters] = {}
        # Those that have short cuts to traces.
        self.functions: weakref.WeakSet[Function] = weakref.WeakSet()
        self.closed = False
        self._freezes = freeze
        self._lock = fork_safe(threading.RLock())
        self.adopt(sources, self.opened(sources), [stored(v) for v in self.variables])
        self._adopt()

    @staticmethod
    def opened(sources: Sources) -> Graphs:
        """The graph files of a bundle, mapped or read.

        Raises:
            BundleError: one is missing or of another size.
        """
        graphs = [g for c in sources.manifest.concrete_functions for g in c.graphs]
        return {g.file: _mapped(sources, g.file) for g in graphs}

    def adopt(
        self,
        sources: Sources,
        graphs: Graphs,
        saved: Sequence[RawValue],
    ) -> None:
        """Take the files of a bundle, or of another version of it, for those that are loaded.

        Args:
            sources: The bundle.
            graphs: Its graph files, see ``opened``.
            saved: The values that its variables have in the files.

        Raises:
            FailedPreconditionError: it was closed meanwhile.
        """
        with self.held():
            self.root, self.path = sources.root, sources.path
            self.manifest = sources.manifest
            self.store = sources.store
            self._check = sources.check_value
            self._entries = sources.entries
            self._graphs = graphs
            self._of_variables = {v.storage: v.name for v in self.manifest.variables}
            self._places.clear()
            self.fingerprint = sources.fingerprint
            # To see which variables are as they were saved.
            self.saved = list(saved)

    def close(self) -> list[Trace]:
        """Let go of the files; what was open of them is returned, and later uses are refused."""
        with self._lock:
            self.closed = True
            traces = list(self._traces.values())
            # New ones: copies of the object share the old ones.
            self._traces, self._graphs, self._constants = {}, {}, {}
            self._places, self.saved = {}, []
            self._check = lambda storage: self.refuse_closed()
            vars(self).pop("store", None)
        for function in list(self.functions):
            function._cache.served.clear()
        return traces

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within it nobody closes the bundle; no variable may be assigned meanwhile.

        Raises:
            FailedPreconditionError: it was closed.
        """
        with self._lock:
            self.refuse_closed()
            yield

    def refuse_closed(self) -> None:
        """Refuse whatever is wanted of a closed bundle.

        Raises:
            FailedPreconditionError: it was closed.
        """
        if self.closed:
            self.refuse("")

    def refuse(self, what: str) -> NoReturn:
        """Refuse the use of something that is of the closed bundle."""
        where = f"{what}: {self.root}" if what else f"{self.root}"
        raise FailedPreconditionError(f"{where} was closed; load it again with tf.saved_model.load")

    def graph_bytes(self, file: str) -> bytes:
        """The content of a graph file as it was loaded."""
        return bytes(self._graphs[file])

    def __deepcopy__(self, memo: dict[int, Any]) -> LoadedFiles:
        """The same files with variables of its own."""
        other = LoadedFiles.__new__(LoadedFiles)
        vars(other).update(vars(self))
        other.variables = [copy.deepcopy(v, memo) for v in self.variables]
        other._adopt()
        other._traces, other._lock = {}, fork_safe(threading.RLock())
        other.functions = weakref.WeakSet()
        return other

    def _adopt(self) -> None:
        self._numbers = {id(v): i for i, v in enumerate(self.variables)}
        for variable in self.variables:
            variable.origin = self

    def __setstate__(self, changed: dict[int, Variable]) -> None:
        """Work on other variables; no trace is open yet. See ``function.pickling``."""
        for number, variable in changed.items():
            self.variables[number] = variable
        self._adopt()

    def reduced(self, variable: Variable) -> tuple[Any, ...] | None:
        """Return one of the variables' pickle; None if it was assigned."""
        number = self._numbers.get(id(variable))
        if number is None or self.closed or stored(variable) is not self.saved[number]:
            return None
        return variable_of, (self, number)

    def check_variable(self, variable: Variable) -> None:
        """Compare the bytes of a variable's saved value with the manifest.

        Raises:
            BundleError: the file is not the one that was saved.
        """
        self._check(self.manifest.variables[self._numbers[id(variable)]].storage)

    def entry(self, number: int) -> ConcreteFunctionEntry:
        """The record of a concrete function."""
        return self.manifest.concrete_functions[number]

    def constant(self, number: int) -> EagerTensor:
        """A constant of the manifest."""
        tensor = self._constants.get(number)
        if tensor is None:
            with self.held():
                entry = self.manifest.constants[number]
                if entry.storage is not None:
                    self._check(entry.storage)
                value = borrow(self.store.value(entry))
                tensor = self._constants[number] = EagerTensor(value, as_dtype(entry.dtype))
        return tensor

    def trace(self, number: int, parameters: Parameters | None = None) -> Trace:
        """A concrete function; its file is read at the first call.

        Args:
            number: Its id.
            parameters: Those of the Python function that it is a trace of, if it is one of such.

        Raises:
            BundleError: the file is damaged, or is not what the manifest says.
        """
        with self._lock:
            self.refuse_closed()
            trace = self._traces.get(number)
            if trace is None:
                parameters = parameters or self.parameters.get(number)
                trace = self._traces[number] = self._open(self.entry(number), parameters)
            return trace

    def _open(self, entry: ConcreteFunctionEntry, parameters: Parameters | None) -> Trace:
        graph = entry.gradient_graph or entry.live_graph or entry.graph
        path = str(self.root / graph.file)
        check_runtime(self.manifest.requirements, self.root)
        imported = self._import(graph, path)
        try:
            return self._bind(entry, graph, imported, parameters)
        except BundleError as e:
            raise BundleError(f"{path}: {e.message}") from e

    def _import(self, graph: GraphEntry, path: str) -> Imported:
        mapped = self._graphs[graph.file]
        if hashlib.sha256(mapped).digest() != self._entries[graph.file].sha256:
            raise BundleError(
                f"{path}: its SHA-256 is not the one that the manifest says; the file was changed "
                "or damaged: copy or save the bundle again"
            )
        data = bytes(mapped)
        # What cannot be seen graph by graph: functions that multiply each other, stray data.
        OnnxFile(data, path)
        model = parse_model(data, path)
        shapes = {f.name: self.manifest.variables[f.variable].shape for f in graph.frozen_variables}
        tensors = {t.name: t for t in model.graph.initializer}
        for frozen in graph.frozen_variables:
            self._check_frozen(frozen, tensors.get(frozen.name), path)
        imported = from_model(
            model, path, as_inputs=shapes, external=lambda tensor: self._external(tensor)
        )
        assets = {a.file: str(self.root / a.file) for a in self.manifest.assets}
        for value, array in replaced_texts(imported.graph, assets):
            value.const = array
        return imported

    def _check_frozen(self, frozen: FrozenVariable, tensor: Any, path: str) -> None:
        """The initializer must be the variable: the same bytes, not only a tensor of that name."""
        variable = self.manifest.variables[frozen.variable]
        where = f"{path}: initializer {frozen.name!r}"
        if tensor is None:
            raise BundleError(
                f"{where} is missing, the manifest says it holds variable {variable.name!r}; "
                f"{_ADVICE}"
            )
        stored = self.store.entry(variable.storage)
        row = BY_NUMBER.get(tensor.data_type)
        found = (row.name if row else f"ONNX type {tensor.data_type}", tuple(tensor.dims))
        if found != (stored.dtype, stored.shape):
            raise BundleError(
                f"{where} is {describe_type(*found)}, variable {variable.name!r} is "
                f"{describe_type(stored.dtype, stored.shape)}; {_ADVICE}"
            )
        if tensor.external_data:
            place = {e.key: e.value for e in tensor.external_data}
            wanted = {
                "location": variable.storage.file,
                "offset": str(stored.offset),
                "length": str(stored.nbytes),
            }
            if place != wanted:
                raise BundleError(
                    f"{where} is at {place!r:.300}, variable {variable.name!r} is at {wanted}; "
                    f"{_ADVICE}"
                )

    def _external(self, tensor: Any) -> np.ndarray[Any, Any]:
        """The contents of a constant that lies in the store: the mapping itself."""
        place = {e.key: e.value for e in tensor.external_data}
        file = place.get("location", "")
        entry = None
        if file in self._entries and file.endswith(".safetensors"):
            stored = self.store.file(file)
            keys = self._places.get(file)
            if keys is None:
                # An empty tensor lies where the next one begins.
                places = {k: stored.entry(k) for k in stored}
                keys = self._places[file] = {e.offset: k for k, e in places.items() if e.nbytes}
            key = keys.get(int(place.get("offset", "-1")))
            entry = None if key is None else stored.entry(key)
        row = BY_NUMBER.get(tensor.data_type)
        if (
            entry is None
            or row is None
            or (row.name, tuple(tensor.dims)) != (entry.dtype, entry.shape)
            or place.get("length") != str(entry.nbytes)
        ):
            raise BundleError(
                f"initializer {tensor.name!r} is at {place!r:.300}, where the bundle has no such "
                f"tensor; {_ADVICE}"
            )
        assert key is not None
        name = self._of_variables.get(Storage(file, key))
        if name is not None:
            raise BundleError(
                f"initializer {tensor.name!r} is the variable {name!r}, but the manifest does "
                f"not say so; {_ADVICE}"
            )
        self._check(Storage(file, key))
        return stored.array(key)

    def _bind(
        self,
        entry: ConcreteFunctionEntry,
        graph_entry: GraphEntry,
        imported: Imported,
        parameters: Parameters | None,
    ) -> Trace:
        """Tie the graph's inputs and outputs to arguments, results and variables."""
        parameters = parameters or parameters_of(entry)
        values, arguments = arguments_of(entry, parameters)
        results = results_of(entry.result)
        func_graph = FuncGraph(entry.name)
        graph = func_graph.graph = imported.graph
        bound = self._bind_inputs(func_graph, graph_entry, imported.inputs)
        for i in range(len(entry.argument_leaves)):
            if i not in bound:
                bound[i] = _unused_input(graph, entry.argument_leaves[i])
        func_graph.arguments = [bound[i] for i in arguments]
        outputs = self._bind_outputs(func_graph, graph_entry, imported)
        tensors = {i: SymbolicTensor(outputs[i], func_graph) for i in results}
        structure = result_from_value(entry.result, tensors.__getitem__)
        # Components of a class may stand in another order than when they were saved.
        numbers = {id(tensor): i for i, tensor in tensors.items()}
        flat = nest.flatten(structure, expand_composites=True)
        results = [numbers[id(tensor)] for tensor in flat if tensor is not None]
        func_graph.graph.outputs = [outputs[i] for i in results]
        func_graph.graph.outputs += [
            s.current for s in func_graph.written_states() if s.current is not None
        ]
        signature = CallSignature(parameters, values)
        concrete = ConcreteFunction(func_graph, signature, structure, DEFAULT_DEVICE)
        if not self._freezes:
            concrete.keep_live()
        elif entry.live_graph is None and self._is_small(graph_entry):
            concrete.freeze_first()  # no function of the bundle writes what this one reads
        return Trace(concrete, tuple(arguments), tuple(results))

    def _is_small(self, graph: GraphEntry) -> bool:
        """True if packed copies of what a graph reads may be made for a single call."""
        read = [i.index for i in graph.inputs if i.source == "variable"]
        read += [f.variable for f in graph.frozen_variables]
        storages = (self.manifest.variables[i].storage for i in read)
        return sum(self.store.entry(s).nbytes for s in storages) <= _FIRST_CALL_BYTES

    def _bind_inputs(
        self, func_graph: FuncGraph, graph: GraphEntry, found: Mapping[str, Value]
    ) -> dict[int, Value]:
        described = [i.name for i in graph.inputs] + [f.name for f in graph.frozen_variables]
        if set(described) != found.keys():
            raise BundleError(
                f"it has the inputs {listed(sorted(found)) or 'none'}, the manifest says "
                f"{listed(sorted(described)) or 'none'}; {_ADVICE}"
            )
        arguments: dict[int, Value] = {}
        for item in graph.inputs:
            value = found[item.name]
            _check_type("input", item, value.dtype, value.shape)
            if item.source == "argument":
                arguments[item.index] = value
            elif item.source == "variable":
                state = self._state(func_graph, item.index)
                state.entry = state.current = value
            else:
                self._bind_constant(func_graph.graph, value, item.index)
        for frozen in graph.frozen_variables:
            state = self._state(func_graph, frozen.variable)
            state.entry = state.current = found[frozen.name]
        return arguments

    def _bind_constant(self, graph: Graph, value: Value, number: int) -> None:
        """An input that takes a constant of the manifest is a constant."""
        graph.inputs = [v for v in graph.inputs if v is not value]
        value.const = self.constant(number).view()
        value.shape = value.const.shape
        graph.constants.append(value)

    def _bind_outputs(
        self, func_graph: FuncGraph, graph: GraphEntry, imported: Imported
    ) -> dict[int, Value]:
        found = imported.outputs
        described = [o.name for o in graph.outputs]
        if set(described) != found.keys():
            raise BundleError(
                f"it has the outputs {listed(sorted(found)) or 'none'}, the manifest says "
                f"{listed(sorted(described)) or 'none'}; {_ADVICE}"
            )
        results: dict[int, Value] = {}
        for output in graph.outputs:
            value = found[output.name]
            dtype, shape = imported.declared[output.name]
            _check_type("output", output, dtype, shape)
            if output.target == "result":
                _check_type("output", output, value.dtype, None)
                if not compatible(value.shape, shape):  # onnx is wrong about some poolings
                    value.shape = shape
                results[output.index] = value
                continue
            _check_type("output", output, value.dtype, value.shape)
            state = self._state(func_graph, output.index)
            node = func_graph.graph.add_node(
                "Identity",
                (value,),
                {},
                [(value.dtype, value.shape)],
                name="Assign",
                tag=Assigned({0: state}),
            )
            state.current, state.written = node.outputs[0], True
        return results

    def _state(self, func_graph: FuncGraph, number: int) -> TracedVariable:
        return func_graph.state_of(self.variables[number])


def _mapped(sources: Sources, file: str) -> mmap.mmap | bytes:
    path = locate(sources.root, file, size=sources.entries[file].size)
    descriptor, size = open_plain(path)
    try:
        if size <= _READ_BYTES:
            with open(descriptor, "rb", closefd=False) as stream:
                return stream.read(size)
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def variable_of(files: LoadedFiles, number: int) -> Variable:
    """A variable by its number."""
    return files.variables[number]


def _check_type(kind: str, item: GraphInput | GraphOutput, dtype: int, shape: RawShape) -> None:
    row = BY_NUMBER.get(dtype)
    name = row.name if row else f"of ONNX type {dtype}"
    if name != item.dtype or not compatible(shape, item.shape):
        raise BundleError(
            f"{kind} {item.name!r} is {describe_type(name, shape)}, the manifest says "
            f"{describe_type(item.dtype, item.shape)}; {_ADVICE}"
        )


def _unused_input(graph: Graph, leaf: Any) -> Value:
    return graph.add_input(leaf.name or "unused", as_dtype(leaf.dtype).onnx, leaf.shape)
