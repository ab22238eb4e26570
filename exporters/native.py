"""``save``: an object with its variables and traced functions as a bundle."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle.atomic import AtomicDirectory
from tfx.bundle.files import file_entry
from tfx.bundle.manifest import MANIFEST_NAME, manifest_bytes
from tfx.bundle.records import (
    AssetEntry,
    ConstantEntry,
    FunctionEntry,
    Manifest,
    Parameter,
    Requirements,
    Signature,
    SignatureTensor,
    VariableEntry,
)
from tfx.bundle.shards import write_store
from tfx.core.version import VERSION
from tfx.exporters.graphs import GraphWriter, Prepared, prepare_function, stored_array
from tfx.exporters.object_graph import ObjectGraph
from tfx.exporters.signatures import resolve_signatures
from tfx.exporters.values import to_value
from tfx.framework.asset import Asset
from tfx.framework.context import current
from tfx.framework.tensor import EagerTensor
from tfx.framework.variable import Variable
from tfx.function.concrete import ConcreteFunction
from tfx.function.polymorphic import Function
from tfx.graph.serialize import FUNCTION_DOMAIN

PRODUCER = "tfx"


@dataclass(frozen=True, slots=True)
class SaveOptions:
    """Options of ``save``.

    Attributes:
        namespace_whitelist: Accepted for compatibility: bundles hold standard operators only.
        save_debug_info: Accepted for compatibility.
        function_aliases: Accepted for compatibility.
        experimental_io_device: Accepted for compatibility.
        experimental_variable_policy: Accepted for compatibility.
        metadata: Text to keep in the manifest.
    """

    namespace_whitelist: Any = None
    save_debug_info: bool = False
    function_aliases: Any = None
    experimental_io_device: Any = None
    experimental_variable_policy: Any = None
    metadata: Mapping[str, str] | None = None


def save(
    obj: Any,
    export_dir: str | os.PathLike[str],
    signatures: Any = None,
    options: SaveOptions | None = None,
) -> None:
    """Save an object as a bundle: a folder of ONNX models over one file of variables.

    What is saved: variables, traced functions with all their traces, nested objects, lists and
    dicts, and plain Python attributes. The folder appears at once when everything is written; an
    older bundle there is replaced only then.

    Args:
        obj: A ``Module`` or any object whose attributes hold the state.
        export_dir: The folder.
        signatures: A function, or a dict of functions by name: the named entry points. A function
            needs an ``input_signature`` or exactly one trace; or give
            ``f.get_concrete_function(...)``. None: the only such function among the object's
            attributes, if there is one, becomes ``serving_default``.
        options: See ``SaveOptions``.

    Raises:
        ValueError: a signature cannot be told from its function, or saving inside a function.
        AlreadyExistsError: the folder exists and is not a bundle.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> class Doubler(tf.Module):
        ...     @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        ...     def __call__(self, x):
        ...         return 2.0 * x
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     tf.saved_model.save(Doubler(), parent + "/doubler")
        ...     sorted(os.listdir(parent + "/doubler"))
        ['bundle.pb', 'serving_default.onnx']
    """
    if current().graph is not None:
        raise ValueError("saved_model.save cannot be called while a function is traced: call it "
                         "from eager code.")
    bundle = _Bundle(obj, signatures, options or SaveOptions())
    with AtomicDirectory(export_dir) as folder:
        bundle.write(folder)


class _Bundle:
    """What one save gathers before it writes."""

    def __init__(self, obj: Any, signatures: Any, options: SaveOptions) -> None:
        self.options = options
        self.graph = ObjectGraph(obj)
        self.signatures = resolve_signatures(obj, signatures, self.graph.functions)
        self.prepared: list[Prepared] = []
        self.numbers: dict[int, int] = {}
        for name, (concrete, _) in self.signatures.items():
            self._prepare(concrete, name)
        for function, path in self.graph.functions:
            for concrete in _traces(function):
                self._prepare(concrete, path.replace("/", "."))
        self.variables: list[Variable] = []
        self.names: list[str] = []
        self._collect_variables()
        self.constants: list[ConstantEntry] = []
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}

    def _prepare(self, concrete: ConcreteFunction, name: str) -> None:
        if id(concrete) in self.numbers:
            return
        if concrete.graph.captures:
            return  # traced inside another function and good only there
        taken = {p.name for p in self.prepared}
        unique, i = name, 1
        while unique.casefold() in {t.casefold() for t in taken}:
            unique, i = f"{name}.{i}", i + 1
        self.numbers[id(concrete)] = len(self.prepared)
        self.prepared.append(prepare_function(concrete, unique))

    def _collect_variables(self) -> None:
        """Reachable variables by their paths, then those that only functions know."""
        taken: set[str] = set()
        found = {key: (v, path) for key, (v, path) in self.graph.variables.items()}
        for item in self.prepared:
            for v in item.concrete.variables:
                found.setdefault(id(v), (v, f"untracked/{v.name.removesuffix(':0')}"))
        for variable, path in found.values():
            name, i = path, 1
            while name in taken:
                name, i = f"{path}_{i}", i + 1
            taken.add(name)
            self.variables.append(variable)
            self.names.append(name)

    def write(self, folder: Any) -> None:
        """Write every file; the manifest last."""
        ids = {id(v): i for i, v in enumerate(self.variables)}
        functions = {id(f): i for i, (f, _) in enumerate(self.graph.functions)}
        nodes = self.graph.nodes(ids, functions, self._constant)
        arrays = {n: stored_array(v) for n, v in zip(self.names, self.variables, strict=True)}
        for item in self.prepared:
            arrays.update({k: v.const for k, v in item.constants.items() if v.const is not None})
        arrays.update(self.arrays)
        store = write_store(folder, arrays)
        writer = GraphWriter(folder, store.tensors, ids, self.names)
        changing = {key for item in self.prepared for key in item.written}
        concrete = tuple(writer.write(item, changing) for item in self.prepared)
        entries = tuple(
            VariableEntry(
                name=n,
                dtype=v.dtype.name,
                shape=None if v.shape.rank is None else tuple(v.shape.symbolic or ()),
                storage=store.tensors[n].storage,
                trainable=v.trainable,
            )
            for n, v in zip(self.names, self.variables, strict=True)
        )
        constants = tuple(
            ConstantEntry(c.name, c.dtype, c.shape, storage=store.tensors[c.name].storage)
            for c in self.constants
        )
        uses_functions = any(n.op == "Call" for p in self.prepared for n in p.graph.nodes)
        assets = _copy_assets(folder, self.graph.assets)
        manifest = Manifest(
            producer=PRODUCER,
            producer_version=VERSION,
            requirements=Requirements(
                opset=writer.opset,
                ir_version=writer.ir_version,
                domains={FUNCTION_DOMAIN: 1} if uses_functions else {},
            ),
            files=tuple(store.files)
            + tuple(file_entry(folder, f) for f in (*writer.files, *assets)),
            variables=entries,
            constants=constants,
            assets=tuple(AssetEntry(f) for f in assets),
            objects=tuple(nodes),
            functions=tuple(self._function(f, p) for f, p in self.graph.functions),
            concrete_functions=concrete,
            signatures=tuple(
                self._signature(name, c, outputs) for name, (c, outputs) in self.signatures.items()
            ),
            metadata=dict(self.options.metadata or {}),
        )
        (folder / MANIFEST_NAME).write_bytes(manifest_bytes(manifest))

    def _constant(self, tensor: EagerTensor, path: str) -> int:
        name = f"constants/{path}"
        self.arrays[name] = tensor.view()
        shape = tuple(tensor.shape.as_list())
        self.constants.append(ConstantEntry(name, tensor.dtype.name, shape))
        return len(self.constants) - 1

    def _function(self, function: Function | ConcreteFunction, path: str) -> FunctionEntry:
        parameters = (function.function_spec if isinstance(function, Function)
                      else function.signature.parameters)
        signature = function.input_signature if isinstance(function, Function) else None
        numbers = [self.numbers[id(c)] for c in _traces(function) if id(c) in self.numbers]
        return FunctionEntry(
            name=path,
            parameters=tuple(
                Parameter(
                    p.name,
                    p.kind.name.lower(),  # type: ignore[arg-type]
                    p.default is not p.empty,
                    None if p.default is p.empty else to_value(p.default),
                )
                for p in parameters.signature.parameters.values()
            ),
            concrete_functions=tuple(dict.fromkeys(numbers)),
            input_signature=None if signature is None else tuple(to_value(s) for s in signature),
            doc=(getattr(function, "__doc__", None) or "") if isinstance(function, Function) else "",
        )

    def _signature(
        self, name: str, concrete: ConcreteFunction, outputs: list[str]
    ) -> Signature:
        number = self.numbers[id(concrete)]
        return Signature(
            name,
            number,
            tuple(SignatureTensor(n, i) for i, n in enumerate(concrete.signature.names)),
            tuple(SignatureTensor(n, i) for i, n in enumerate(outputs)),
        )


def _copy_assets(folder: Path, assets: Sequence[Asset]) -> list[str]:
    """Copy each asset below ``assets/`` and return the paths inside the bundle."""
    files: list[str] = []
    for asset in assets:
        name, i = asset.path.name, 1
        while f"assets/{name}".casefold() in {f.casefold() for f in files}:
            name, i = f"{asset.path.stem}_{i}{asset.path.suffix}", i + 1
        (folder / "assets").mkdir(exist_ok=True)
        shutil.copyfile(asset.path, folder / "assets" / name)
        files.append(f"assets/{name}")
    return files


def _traces(function: Function | ConcreteFunction) -> list[ConcreteFunction]:
    if isinstance(function, ConcreteFunction):
        return [function]
    if function.input_signature is not None:
        function.get_concrete_function()
    return function.concrete_functions()


