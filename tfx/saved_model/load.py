"""``load``: a bundle as an object with the saved object's attributes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from tfx.bundle.archive import is_archive
from tfx.bundle.files import verify_file
from tfx.bundle.manifest import MANIFEST_NAME, is_bundle
from tfx.bundle.records import Manifest, ObjectNode
from tfx.core.dtypes import as_dtype
from tfx.core.errors import BundleError
from tfx.core.shapes import TensorShape
from tfx.framework.asset import Asset
from tfx.framework.context import init_scope
from tfx.framework.tensor import EagerTensor
from tfx.framework.variable import Variable, VariableAggregation, VariableSynchronization
from tfx.loaders.consistent_open import open_consistently
from tfx.loaders.open_files import Sources
from tfx.loaders.state import Value
from tfx.runtime.memory import borrow
from tfx.saved_model.functions import RestoredFunction
from tfx.saved_model.objects import LoadedObject as LoadedObject
from tfx.saved_model.signature import SignatureFunction, Signatures
from tfx.saved_model.tables import LoadedTable, table_of
from tfx.saved_model.traces import LoadedFiles
from tfx.saved_model.unchecked_variables import check_first
from tfx.saved_model.values import from_value, named_tuple

_TAGS = frozenset(("serve",))
_Enum = TypeVar("_Enum", bound=Enum)


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options of ``load``.

    Attributes:
        allow_partial_checkpoint: Accepted for compatibility.
        experimental_io_device: Accepted for compatibility.
        experimental_skip_checkpoint: Accepted for compatibility.
        experimental_variable_policy: Accepted for compatibility.
        experimental_load_function_aliases: Accepted for compatibility.
        verify: When to compare hashes with the manifest. Sizes are always compared, graphs and
            files of up to 4 MiB are always hashed when they are opened. True hashes every file now;
            None, the default, what is used of a larger file of weights when it is first used (a
            fraction of a second for each GiB); False leaves these out.
        freeze: True lets a function that only reads its variables hold packed copies of them: from
            the first call on if no function of the bundle writes them and they are not large, else
            once that is worth it. That is the fastest, but each function takes memory for its own.
            False feeds all functions from the one copy that is mapped.
    """

    allow_partial_checkpoint: bool = False
    experimental_io_device: Any = None
    experimental_skip_checkpoint: bool = False
    experimental_variable_policy: Any = None
    experimental_load_function_aliases: bool = False
    verify: bool | None = None
    freeze: bool = True


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """True if there is a bundle at a path: its folder, or what begins as an archive does.

    Args:
        export_dir: Any path.

    Example:
        >>> import tfx as tf
        >>> tf.saved_model.contains_saved_model("no/such/folder")
        False
    """
    return is_bundle(export_dir) or is_archive(export_dir)


def load(
    export_dir: str | os.PathLike[str], tags: Any = None, options: LoadOptions | None = None
) -> Any:
    """Load a bundle.

    Variables are mapped from the file, not copied; a function's graph is opened at its first call.
    What was loaded stays as it is when the bundle is saved over.

    Args:
        export_dir: Folder of the bundle.
        tags: None or "serve": a bundle has one set of functions.
        options: See ``LoadOptions``.

    Returns:
        An object with the saved object's attributes: variables that can be assigned, functions
        that take the same arguments, nested objects, and ``signatures`` by name.

    Raises:
        NotFoundError: no such folder.
        BundleError: it is no bundle, or it is damaged.
        UnsupportedVersionError: it was made by a newer version.
        ValueError: other tags.

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
    options = options or LoadOptions()
    if not _TAGS.issuperset([tags] if isinstance(tags, str) else tags or ()):
        raise ValueError(
            f"Got an incompatible argument to `tags`: {tags!r}; a bundle has one set of functions, "
            "which is loaded with None or 'serve'."
        )
    verify, freeze = options.verify, options.freeze
    with init_scope(), _without_collections():
        return open_consistently(export_dir, lambda: _Loader(export_dir, verify, freeze).load())


def open_files(export_dir: str, fingerprint: str) -> LoadedFiles:
    """Variables and graphs of a bundle, without the objects that were saved.

    Args:
        export_dir: Folder of the bundle.
        fingerprint: That of the bundle that is meant.

    Raises:
        NotFoundError: no such folder.
        BundleError: it is no bundle, or it is damaged.
        FailedPreconditionError: it is another one.
    """
    with init_scope():
        loader = open_consistently(export_dir, lambda: _Loader(export_dir, None))
    loader.sources.check_fingerprint(fingerprint)
    return loader.files


@contextmanager
def _without_collections() -> Iterator[None]:
    """Keep Python from looking for cycles again and again while thousands of objects are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Loader:
    def __init__(
        self, folder: str | os.PathLike[str], verify: bool | None, freeze: bool = True
    ) -> None:
        self.sources = sources = Sources(folder, verify=verify)
        self.root = sources.root
        self.manifest: Manifest = sources.manifest
        for asset in self.manifest.assets:
            # Programs open assets by themselves, so this is the moment before their first use.
            entry = sources.entries[asset.file]
            verify_file(self.root, entry, check_hash=None if verify is False else True)
        names = {
            n.target: str(n.metadata.get("name") or "")
            for n in self.manifest.objects
            if n.kind == "variable"
        }
        self.variables = [
            self._variable(i, value, names.get(i)) for i, value in enumerate(sources.take_values())
        ]
        self.files = LoadedFiles(sources, self.variables, freeze=freeze)
        self.tables = [table_of(t, self.files.constant) for t in self.manifest.tables]
        self.functions = [RestoredFunction(f, self.files) for f in self.manifest.functions]
        self.files.parameters.update(
            (number, function.function_spec)
            for entry, function in zip(self.manifest.functions, self.functions, strict=True)
            for number in entry.concrete_functions
        )

    def load(self) -> Any:
        nodes = self.manifest.objects
        if nodes[0].kind not in ("object", "function"):
            raise BundleError(
                f"{self.root / MANIFEST_NAME}: object 0, the root, is of kind {nodes[0].kind!r}, "
                "expected 'object' or 'function'; save the bundle again"
            )
        made: list[Any] = [self._make(node) for node in nodes]
        for i in _children_first(nodes):
            if nodes[i].kind == "tuple":
                made[i] = self._tuple(nodes[i], made)
        for node, item in zip(nodes, made, strict=True):
            self._fill(node, item, made)
        for i, item in enumerate(made):
            if isinstance(item, LoadedTable):
                item.check(f"{self.root / MANIFEST_NAME}: object {i}")
        root = made[0]
        root.signatures = self._signatures()
        return root

    def _signatures(self) -> Signatures:
        parameters = self.files.parameters
        made = {
            s.name: SignatureFunction(s, self.files, parameters.get(s.concrete_function))
            for s in self.manifest.signatures
        }
        return Signatures(made)

    def _variable(self, number: int, value: Value, name: str | None) -> Variable:
        entry = self.manifest.variables[number]
        raw = value.raw if value.unchecked is None else borrow(value.unchecked)
        variable = Variable(
            EagerTensor(raw, as_dtype(entry.dtype)),
            trainable=entry.trainable,
            name=name or _default_name(entry.name, reachable=name is not None),
            shape=TensorShape(entry.shape),
            synchronization=_member(VariableSynchronization, entry.synchronization, "AUTO"),
            aggregation=_member(VariableAggregation, entry.aggregation, "NONE"),
        )
        if value.unchecked is not None:
            check_first(variable)
        return variable

    def _make(self, node: ObjectNode) -> Any:
        makers: dict[str, Callable[[int], Any]] = {
            "object": lambda target: self._object(node),
            "list": lambda target: [],
            "dict": lambda target: {},
            "variable": lambda target: self.variables[target],
            "function": lambda target: self.functions[target],
            "constant": self.files.constant,
            "asset": lambda target: Asset(self.root / self.manifest.assets[target].file),
            "table": lambda target: self.tables[target],
            "value": lambda target: from_value(node.value, None, self.files.constant),
        }
        maker = makers.get(node.kind)
        return None if maker is None else maker(node.target or 0)

    def _object(self, node: ObjectNode) -> LoadedObject:
        made = LoadedTable() if node.metadata.get("table") == "mutable" else LoadedObject()
        made._self_files = self.files
        return made

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


def _default_name(path: str, *, reachable: bool) -> str:
    """Return the name of a variable whose name is not stored: the end of its path."""
    return path.rpartition("/")[2] if reachable else path.removeprefix("untracked/")


def _member(kind: type[_Enum], name: str, default: str) -> _Enum:
    """A member of an enum by its name in lower case; one that is not known is the default."""
    members = kind.__members__
    return members.get(name.upper(), members[default])


def _children_first(nodes: tuple[ObjectNode, ...]) -> list[int]:
    """Return the numbers of the nodes, tuples after the tuples that they hold."""
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
                stack.extend(
                    (c.node, False) for c in nodes[i].children if nodes[c.node].kind == "tuple"
                )
    return order
