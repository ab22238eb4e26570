"""``load``: a bundle as an object with the saved object's attributes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfx.bundle.files import locate
from tfx.bundle.manifest import is_bundle, read_manifest
from tfx.bundle.records import Manifest, ObjectNode
from tfx.bundle.shards import Store
from tfx.core.shapes import TensorShape
from tfx.framework.asset import Asset
from tfx.framework.context import init_scope
from tfx.framework.module import Module
from tfx.framework.tensor import EagerTensor, from_array
from tfx.framework.variable import Variable
from tfx.saved_model.functions import RestoredFunction, SignatureFunction, Traces
from tfx.saved_model.values import from_value, named_tuple


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options of ``load``.

    Attributes:
        allow_partial_checkpoint: Accepted for compatibility.
        experimental_io_device: Accepted for compatibility.
        experimental_skip_checkpoint: Accepted for compatibility.
        experimental_variable_policy: Accepted for compatibility.
    """

    allow_partial_checkpoint: bool = False
    experimental_io_device: Any = None
    experimental_skip_checkpoint: bool = False
    experimental_variable_policy: Any = None


class LoadedObject(Module):
    """What ``load`` returns: attributes of the saved object, and ``signatures``."""

    signatures: dict[str, SignatureFunction]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the saved object's traced ``__call__``.

        Raises:
            TypeError: it had none.
        """
        call = vars(self).get("__call__")
        if call is None:
            raise TypeError("The saved object was not callable: its class had no traced __call__.")
        return call(*args, **kwargs)


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Whether the folder is a bundle.

    Args:
        export_dir: Any path.
    """
    return is_bundle(export_dir)


def load(
    export_dir: str | os.PathLike[str], tags: Any = None, options: LoadOptions | None = None
) -> Any:
    """Load a bundle.

    Variables are mapped from the file, not copied; a function's graph is opened at its first call.

    Args:
        export_dir: Folder of the bundle.
        tags: Accepted for compatibility.
        options: See ``LoadOptions``.

    Returns:
        An object with the saved object's attributes: variables that can be assigned, functions
        that take the same arguments, nested objects, and ``signatures`` by name.

    Raises:
        NotFoundError: no such folder.
        BundleError: it is no bundle, or it is damaged.
        UnsupportedVersionError: it was made by a newer version.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> m = tf.Module()
        >>> m.v = tf.Variable(2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(m, folder + "/m")
        ...     float(tf.saved_model.load(folder + "/m").v)
        2.0
    """
    folder = Path(export_dir)
    manifest = read_manifest(folder)
    for file in manifest.files:
        locate(folder, file.path, size=file.size)
    with init_scope():
        return _Loader(folder, manifest).load()


class _Loader:
    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.store = Store(folder, {f.path: f.size for f in manifest.files})
        self.variables = [self._variable(i) for i in range(len(manifest.variables))]
        self.traces = Traces(folder, manifest, self.variables)
        self.functions = [
            RestoredFunction(entry, self.traces, self._constant) for entry in manifest.functions
        ]
        self._constants: dict[int, EagerTensor] = {}

    def load(self) -> Any:
        nodes = self.manifest.objects
        made: list[Any] = [self._make(node) for node in nodes]
        order = _children_first(nodes)
        for i in order:
            if nodes[i].kind == "tuple":
                made[i] = self._tuple(nodes[i], made)
        for node, item in zip(nodes, made, strict=True):
            self._fill(node, item, made)
        root = made[0] if made else LoadedObject()
        if not isinstance(root, LoadedObject):
            return root
        parameters = {
            number: function.function_spec
            for entry, function in zip(self.manifest.functions, self.functions, strict=True)
            for number in entry.concrete_functions
        }
        root.signatures = {
            s.name: SignatureFunction(s, self.traces, parameters.get(s.concrete_function))
            for s in self.manifest.signatures
        }
        return root

    def _variable(self, number: int) -> Variable:
        entry = self.manifest.variables[number]
        array: np.ndarray[Any, Any] = self.store.value(entry)
        return Variable(
            from_array(array, owned=True),
            trainable=entry.trainable,
            name=entry.name,
            shape=TensorShape(entry.shape),
        )

    def _constant(self, number: int) -> EagerTensor:
        tensor = self._constants.get(number)
        if tensor is None:
            array = self.store.value(self.manifest.constants[number])
            tensor = self._constants[number] = from_array(array, owned=True)
        return tensor

    def _make(self, node: ObjectNode) -> Any:
        makers: dict[str, Callable[[], Any]] = {
            "object": LoadedObject,
            "list": list,
            "dict": dict,
            "tuple": lambda: None,
            "variable": lambda: self.variables[_target(node)],
            "function": lambda: self.functions[_target(node)],
            "constant": lambda: self._constant(_target(node)),
            "asset": lambda: Asset(self.folder / self.manifest.assets[_target(node)].file),
            "value": lambda: from_value(node.value, lambda i: None, self._constant),
        }
        maker = makers.get(node.kind)
        return None if maker is None else maker()

    def _tuple(self, node: ObjectNode, made: list[Any]) -> Any:
        parts = [made[c.node] for c in node.children]
        if node.field_names:
            return named_tuple(node.class_name, node.field_names)(*parts)
        return tuple(parts)

    def _fill(self, node: ObjectNode, item: Any, made: list[Any]) -> None:
        for child in node.children:
            value = made[child.node]
            if node.kind == "list":
                item.append(value)
            elif node.kind == "dict":
                item[child.name if child.key is None else child.key] = value
            elif node.kind == "object":
                vars(item)[child.name] = value


def _target(node: ObjectNode) -> int:
    assert node.target is not None
    return node.target


def _children_first(nodes: tuple[ObjectNode, ...]) -> list[int]:
    """Numbers of the nodes so that tuples come after the tuples that they hold."""
    order: list[int] = []
    seen: set[int] = set()
    for start in range(len(nodes)):
        stack = [(start, False)]
        while stack:
            i, expanded = stack.pop()
            if expanded:
                order.append(i)
            elif i not in seen:
                seen.add(i)
                stack.append((i, True))
                stack.extend((c.node, False) for c in nodes[i].children
                             if nodes[c.node].kind == "tuple")
    return order
