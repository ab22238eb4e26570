"""Concrete functions to ONNX files: the stock form, and the live form where state can change.

The stock form runs in any ONNX Runtime as it is: variables that the graph only reads are
initializers whose bytes are in the bundle's safetensors file. Variables that it writes are inputs
and outputs. Where some function of the bundle writes what the graph has as an initializer, a live
form with every variable as an input is stored too. Where parts of a function have gradients of
their own (``custom_gradient``), a third form says what these are; who differentiates needs it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle.python_values import Leaf
from tfx.bundle.records import (
    ConcreteFunctionEntry,
    FileEntry,
    FrozenVariable,
    GraphEntry,
    GraphInput,
    GraphOutput,
)
from tfx.bundle.shards import Located
from tfx.core import nest
from tfx.core.dtypes import from_onnx
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.exporters.bundle_tensors import Contents
from tfx.exporters.manifest_values import numbered, tensor_info, to_value
from tfx.exporters.names import unique_name, unique_names
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.graph.custom_gradients import has_custom_gradients
from tfx.graph.ir import Graph, Node, Value, bodies_below
from tfx.graph.passes.custom_gradient_markers import forget_gradients, rewrite_gradients
from tfx.graph.passes.drop_host_calls import drop_host_calls, warn_dropped
from tfx.graph.passes.hoist_constants import hoist_constants, is_large
from tfx.graph.passes.join_pairs import hands_on_complex
from tfx.graph.passes.pipeline import prepare
from tfx.graph.serialization.serialize import ExternalData, Initializer, to_model
from tfx.graph.string_constants import replaced_texts

_log = logging.getLogger("tfx")

# Smaller constants stay inside the model.
EXTERNAL_CONSTANT = 1 << 12


# ONNX Runtime's shape inference does not read external data; no shape is longer than this.
_SHAPE_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Prepared:
    """A concrete function on its way into a bundle.

    Attributes:
        concrete: The function.
        name: File stem.
        graph: Its graph after the passes.
        gradient_graph: The same with the gradients that parts of it have of their own, if any do.
        inputs: Names of the tensor arguments.
        outputs: Names of the results.
        constants: Large constants of both and the keys that they are stored under.
    """

    concrete: ConcreteFunction
    name: str
    graph: Graph
    gradient_graph: Graph | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: tuple[tuple[Value, str], ...]

    @property
    def written(self) -> set[int]:
        """``id`` of the variables that the function assigns."""
        return {id(v) for v in self.concrete.written_variables}


def prepare_function(
    concrete: ConcreteFunction,
    name: str,
    inputs: Collection[str],
    outputs: Collection[str],
    contents: Contents,
    *,
    custom_gradients: bool = True,
) -> Prepared:
    """Run the passes, and put large constants into the store."""
    if custom_gradients and has_custom_gradients(concrete.graph.graph, hands_on_complex):
        _log.warning(
            "Function %r is saved without the gradients of its own that parts with complex numbers "
            "have: what is loaded is differentiated by the operations of these parts.",
            concrete.name,
        )
    traced, dropped = drop_host_calls(concrete.graph.graph)
    gradient_graph = None
    if has_custom_gradients(traced):
        if custom_gradients:
            with_gradients = _with_gradients(traced, name, dropped)
            gradient_graph = hoist_constants(with_gradients, EXTERNAL_CONSTANT)
        else:
            traced = forget_gradients(traced)
    warn_dropped(concrete.name, dropped)
    graph = hoist_constants(prepare(traced, keep_marked=True, portable=True), EXTERNAL_CONSTANT)
    large = {
        id(value): value
        for form in (graph, gradient_graph)
        if form is not None
        for part in (form, *bodies_below(form))
        for value in part.constants
        if is_large(value, EXTERNAL_CONSTANT)
    }
    constants = tuple(
        (value, contents.add_constant(f"constants/{name}/{value.name}", value.const))
        for value in large.values()
        if value.const is not None
    )
    results = unique_names(outputs, inputs)
    return Prepared(concrete, name, graph, gradient_graph, tuple(inputs), tuple(results), constants)


def _with_gradients(traced: Graph, name: str, dropped: list[Node]) -> Graph:
    """The form of a graph that is for differentiation, with the gradients of its markers.

    Args:
        traced: The graph.
        name: The function, for messages.
        dropped: Gets the host calls that were left out of gradients.
    """

    def transform(gradient: Graph) -> Graph | None:
        try:
            plain, left_out = drop_host_calls(gradient)
        except InvalidArgumentError as e:
            _log.warning(
                "Function %r is saved without the gradient %r: what is loaded cannot be "
                "differentiated there. %s",
                name,
                gradient.name,
                e.message,
            )
            return None
        dropped.extend(left_out)
        return ready(plain)

    def ready(graph: Graph) -> Graph:
        prepared = prepare(graph, keep_marked=True, keep_gradients=True, portable=True)
        return rewrite_gradients(prepared, transform, EXTERNAL_CONSTANT)

    return ready(traced)


class GraphWriter:
    """Writes the models of a bundle.

    Args:
        folder: The bundle's folder.
        located: Where each stored tensor is, by key.
        variables: Number in the manifest of each variable, by ``id``.
        names: Name of each variable in the manifest, in order; its key in the store too.
        arrays: The tensors that were stored, by key.
        paths: Where each asset is in the bundle, by where it was.
        sources: Whether nodes keep the line of the program that made them.

    Attributes:
        files: What was written, for the manifest.
        opset: The largest version of the standard domain among the models.
        ir_version: The largest version of the format.
        domains: Versions of the other domains.
    """

    def __init__(
        self,
        folder: Path,
        located: Mapping[str, Located],
        variables: Mapping[int, int],
        names: list[str],
        arrays: Mapping[str, np.ndarray[Any, Any]],
        paths: Mapping[str, str] | None = None,
        *,
        sources: bool = False,
    ) -> None:
        self._paths = paths or {}
        self.files: list[FileEntry] = []
        self.opset = 0
        self.ir_version = 0
        self.domains: dict[str, int] = {}
        self._folder = folder
        self._located = located
        self._variables = variables
        self._names = names
        self._arrays = arrays
        self._sources = sources

    def write(self, item: Prepared, changing: set[int]) -> ConcreteFunctionEntry:
        """Write the models of a function; ``changing``: variables that some function writes."""
        concrete = item.concrete
        specs = concrete.signature.specs
        args, kwargs = concrete.signature.with_leaves([Leaf(i) for i in range(len(specs))])
        results = [s for s in nest.flatten(concrete.structured_outputs, True) if s is not None]
        graph = self._write_graph(item, f"{item.name}.onnx", live=False)
        frozen = {id(v) for v in concrete.variables} - item.written
        live = None
        if frozen & changing:
            live = self._write_graph(item, f"{item.name}.live.onnx", live=True)
        with_gradients = None
        if item.gradient_graph is not None:
            other = replace(item, graph=item.gradient_graph)
            with_gradients = self._write_graph(other, f"{item.name}.gradient.onnx", live=True)
        return ConcreteFunctionEntry(
            name=item.name,
            arguments=(
                tuple(to_value(a, is_argument=True) for a in args),
                {k: to_value(v, is_argument=True) for k, v in kwargs.items()},
            ),
            result=to_value(numbered(concrete.structured_outputs)),
            argument_leaves=tuple(
                tensor_info(TensorSpec(s.shape, s.dtype), n)
                for s, n in zip(specs, item.inputs, strict=True)
            ),
            result_leaves=tuple(
                tensor_info(s, n) for s, n in zip(results, item.outputs, strict=True)
            ),
            graph=graph,
            live_graph=live,
            gradient_graph=with_gradients,
        )

    def _write_graph(self, item: Prepared, file: str, *, live: bool) -> GraphEntry:
        initializers: dict[Value, Initializer] = {
            value: self._stored(key) for value, key in item.constants
        }
        # A function that gives the path of an asset says where it is in the bundle.
        initializers.update(replaced_texts(item.graph, self._paths))
        inputs: list[GraphInput] = []
        frozen: list[FrozenVariable] = []
        names: list[str] = []
        outputs = self._outputs(item)
        taken = {*item.inputs, *(o.name for o in outputs)}
        written = item.written
        for value, binding in zip(item.graph.inputs, item.concrete.bindings(), strict=True):
            kind, index, variable = binding
            dtype = from_onnx(value.dtype).name
            if kind == "argument":
                names.append(item.inputs[index])
                inputs.append(GraphInput(names[-1], dtype, value.shape, "argument", index))
                continue
            assert variable is not None
            number = self._variables[id(variable)]
            names.append(unique_name(self._names[number], taken))
            taken.add(names[-1])
            if live or id(variable) in written:
                inputs.append(GraphInput(names[-1], dtype, value.shape, "variable", number))
            else:
                frozen.append(FrozenVariable(names[-1], number))
                initializers[value] = self._stored(self._names[number])
        self._save(file, item.graph, names, [o.name for o in outputs], initializers)
        return GraphEntry(file, tuple(inputs), tuple(outputs), tuple(frozen))

    def _outputs(self, item: Prepared) -> list[GraphOutput]:
        """Results, then new values of variables."""
        outputs: list[GraphOutput] = []
        count = len(item.outputs)
        for i, value in enumerate(item.graph.outputs):
            dtype = from_onnx(value.dtype).name
            if i < count:
                outputs.append(GraphOutput(item.outputs[i], dtype, value.shape, "result", i))
                continue
            number = self._variables[id(item.concrete.written_variables[i - count])]
            taken = {*item.inputs, *(o.name for o in outputs)}
            name = unique_name(f"{self._names[number]}_new", taken)
            outputs.append(GraphOutput(name, dtype, value.shape, "variable", number))
        return outputs

    def _stored(self, key: str) -> Initializer:
        array = self._arrays[key]
        if array.size == 0 or array.dtype.hasobject:
            return array  # ONNX Runtime has no external data of these
        if array.dtype.kind in "iu" and array.nbytes <= _SHAPE_BYTES:
            return array  # it may feed Reshape and the like, which want to read it at once
        storage, entry = self._located[key]
        return ExternalData(storage.file, entry.offset, entry.nbytes, array.shape)

    def _save(
        self,
        file: str,
        graph: Graph,
        input_names: list[str],
        output_names: list[str],
        initializers: Mapping[Value, Initializer],
    ) -> None:
        model = to_model(
            graph,
            input_names=input_names,
            output_names=output_names,
            initializers=initializers,
            sources=self._sources,
        )
        for item in model.opset_import:
            if item.domain:
                self.domains[item.domain] = max(item.version, self.domains.get(item.domain, 0))
            else:
                self.opset = max(self.opset, item.version)
        self.ir_version = max(self.ir_version, model.ir_version)
        data: bytes = model.SerializeToString(deterministic=True)
        (self._folder / file).write_bytes(data)
        self.files.append(FileEntry(file, len(data), hashlib.sha256(data).digest()))
