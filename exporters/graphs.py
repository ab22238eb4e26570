"""Concrete functions to ONNX files: the stock form, and the live form where state can change.

The stock form runs in any ONNX Runtime as it is: variables that the graph only reads are
initializers whose bytes are in the bundle's safetensors file. Variables that it writes are inputs
and outputs. Where some function of the bundle writes what the graph has as an initializer, a live
form with every variable as an input is stored too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle.records import (
    ConcreteFunctionEntry,
    FrozenVariable,
    GraphEntry,
    GraphInput,
    GraphOutput,
)
from tfx.bundle.shards import Located
from tfx.bundle.structure import Leaf
from tfx.bundle.structure import Value as Recorded
from tfx.core import nest
from tfx.core.dtypes import from_onnx
from tfx.core.specs import TensorSpec
from tfx.exporters.values import numbered, tensor_info, to_value
from tfx.framework.tensor import EagerTensor
from tfx.framework.variable import Variable
from tfx.function.concrete import ConcreteFunction
from tfx.graph.ir import Graph, Value
from tfx.graph.passes import prepare
from tfx.graph.serialize import ExternalData, Initializer, ir_version_of, opset_of, to_model

# Smaller constants stay inside the model.
EXTERNAL_CONSTANT = 1 << 12


@dataclass(frozen=True, slots=True)
class Prepared:
    """A concrete function on its way into a bundle.

    Attributes:
        concrete: The function.
        name: File stem.
        graph: Its graph after the passes.
        output_names: Names of the results, then of the new values.
        constants: Large constants by the key that they are stored under.
    """

    concrete: ConcreteFunction
    name: str
    graph: Graph
    output_names: tuple[str, ...]
    constants: Mapping[str, Value]

    @property
    def written(self) -> set[int]:
        """Ids of the variables that the function assigns."""
        return {id(v) for v in self.concrete.written_variables}


def prepare_function(concrete: ConcreteFunction, name: str) -> Prepared:
    """Run the passes and find what goes into the store."""
    graph = prepare(concrete.graph.graph)
    constants = {
        f"constants/{name}/{v.name}": v
        for v in graph.constants
        if v.const is not None and v.const.nbytes >= EXTERNAL_CONSTANT and v.const.dtype != object
    }
    taken = set(concrete.signature.names)
    names = []
    for output in concrete.output_names():
        names.append(_unique(output, taken))
        taken.add(names[-1])
    return Prepared(concrete, name, graph, tuple(names), constants)


class GraphWriter:
    """Writes the models of a bundle.

    Args:
        folder: The bundle's folder.
        located: Where each stored tensor is, by key.
        variables: Id in the manifest and store key of each variable, by ``id``.
        names: Name of each variable in the manifest, in order.
    """

    def __init__(
        self,
        folder: Path,
        located: Mapping[str, Located],
        variables: Mapping[int, int],
        names: list[str],
    ) -> None:
        self.folder = folder
        self.located = located
        self.variables = variables
        self.names = names
        self.opset = 0
        self.ir_version = 0
        self.files: list[str] = []

    def write(self, item: Prepared, changing: set[int]) -> ConcreteFunctionEntry:
        """Write the model files of a function; ``changing``: variables that some function writes."""
        concrete = item.concrete
        signature = concrete.signature
        specs = [TensorSpec(s.shape, s.dtype, n)
                 for s, n in zip(signature.specs, signature.names, strict=True)]
        args, kwargs = signature.with_leaves([Leaf(i) for i in range(len(specs))])
        arguments: tuple[Recorded, ...] = (
            tuple(to_value(a) for a in args),
            {k: to_value(v) for k, v in kwargs.items()},
        )
        results = [s for s in nest.flatten(concrete.structured_outputs) if s is not None]
        graph = self._write_graph(item, f"{item.name}.onnx", live=False)
        frozen = {id(v) for v in concrete.variables} - item.written
        live = None
        if frozen & changing:
            live = self._write_graph(item, f"{item.name}.live.onnx", live=True)
        return ConcreteFunctionEntry(
            name=item.name,
            arguments=arguments,
            result=to_value(numbered(concrete.structured_outputs)),
            argument_leaves=tuple(tensor_info(s) for s in specs),
            result_leaves=tuple(
                tensor_info(s, n) for s, n in zip(results, item.output_names, strict=False)
            ),
            graph=graph,
            live_graph=live,
        )

    def _write_graph(self, item: Prepared, file: str, *, live: bool) -> GraphEntry:
        concrete, graph = item.concrete, item.graph
        written = item.written
        initializers: dict[Value, Initializer] = {
            value: self._external(key, value.const)
            for key, value in item.constants.items()
            if value.const is not None
        }
        inputs: list[GraphInput] = []
        frozen: list[FrozenVariable] = []
        names: list[str] = []
        argument_names = concrete.signature.names
        taken = {*argument_names, *item.output_names}
        for value, (kind, index, variable) in zip(graph.inputs, concrete.bindings(), strict=True):
            dtype = from_onnx(value.dtype).name
            if kind == "argument":
                names.append(argument_names[index])
                inputs.append(GraphInput(names[-1], dtype, value.shape, "argument", index))
                continue
            assert variable is not None
            number = self.variables[id(variable)]
            names.append(_unique(self.names[number], taken))
            taken.add(names[-1])
            if live or id(variable) in written:
                inputs.append(GraphInput(names[-1], dtype, value.shape, "variable", number))
            else:
                frozen.append(FrozenVariable(names[-1], number))
                initializers[value] = self._variable(number, variable)
        outputs = self._outputs(item)
        self._save(file, graph, names, item.output_names, initializers)
        return GraphEntry(file, tuple(inputs), tuple(outputs), tuple(frozen))

    def _outputs(self, item: Prepared) -> list[GraphOutput]:
        outputs = []
        results = len(item.graph.outputs) - len(item.concrete.written_variables)
        for i, (value, name) in enumerate(zip(item.graph.outputs, item.output_names, strict=True)):
            dtype = from_onnx(value.dtype).name
            if i < results:
                outputs.append(GraphOutput(name, dtype, value.shape, "result", i))
            else:
                variable = item.concrete.written_variables[i - results]
                number = self.variables[id(variable)]
                outputs.append(GraphOutput(name, dtype, value.shape, "variable", number))
        return outputs

    def _variable(self, number: int, variable: Variable) -> Initializer:
        array = stored_array(variable)
        if array.size == 0 or array.dtype == object:
            return array  # ONNX Runtime has no external data of these
        return self._external(self.names[number], array)

    def _external(self, key: str, array: np.ndarray[Any, Any]) -> ExternalData:
        storage, entry = self.located[key]
        return ExternalData(storage.file, entry.offset, entry.nbytes, array.shape)

    def _save(
        self,
        file: str,
        graph: Graph,
        input_names: list[str],
        output_names: tuple[str, ...],
        initializers: Mapping[Value, Initializer],
    ) -> None:
        model = to_model(
            graph,
            input_names=input_names,
            output_names=output_names,
            initializers=initializers,
        )
        self.opset = max(self.opset, opset_of(graph))
        self.ir_version = max(self.ir_version, ir_version_of(self.opset))
        data: bytes = model.SerializeToString(deterministic=True)
        (self.folder / file).write_bytes(data)
        self.files.append(file)


def _unique(name: str, taken: set[str]) -> str:
    unique, i = name, 1
    while unique in taken:
        unique, i = f"{name}_{i}", i + 1
    return unique


def stored_array(variable: Variable) -> np.ndarray[Any, Any]:
    """A variable's contents, without a copy."""
    return EagerTensor(variable._value, variable.dtype).view()
