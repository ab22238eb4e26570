"""A check that a bundle is another version of an open one: the same graphs, other variables.

Owns the comparison and the words for what differs. Must not know how variables are swapped. The one
decision: all that a call can meet must be equal (signatures, graphs, constants, the dtypes and
shapes of variables), so a session that is open for one version computes what the other one says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.bundle.manifest import ConcreteFunctionEntry, GraphEntry, Manifest, VariableEntry
from tfx.bundle.shards import Store
from tfx.core.errors import BundleError, FailedPreconditionError
from tfx.loaders.messages import describe_type, listed
from tfx.loaders.onnx_file import OnnxFile
from tfx.loaders.open_files import Sources

ReadGraph = Callable[[str], bytes]


def require_same_graphs(
    manifest: Manifest, store: Store, read_graph: ReadGraph, new: Sources, where: str
) -> None:
    """Refuse a bundle whose variables cannot be swapped into an open one.

    Args:
        manifest: The manifest of the open bundle.
        store: Its weights.
        read_graph: Gives its graph files.
        new: The other bundle.
        where: The open bundle, for messages.

    Raises:
        FailedPreconditionError: The bundles differ in more than the values of variables.
        BundleError: The other bundle is damaged.
    """
    reason = (
        _variables(manifest.variables, new.manifest.variables)
        or _functions(manifest, new.manifest)
        or _constants(manifest, store, new)
        or _graphs(manifest, read_graph, new)
    )
    if reason is not None:
        raise FailedPreconditionError(
            f"{new.root} cannot be reloaded into the open bundle of {where}: {reason}; open it as "
            "a bundle of its own"
        )


def _variables(old: Sequence[VariableEntry], new: Sequence[VariableEntry]) -> str | None:
    ours, theirs = ({v.name: v for v in items} for items in (old, new))
    missing = [name for name in ours if name not in theirs]
    if missing:
        return f"it has no variable {missing[0]!r}"
    more = [name for name in theirs if name not in ours]
    if more:
        return f"it has the variable {more[0]!r}, which the open bundle has not"
    for name, item in ours.items():
        before = describe_type(item.dtype, item.shape)
        now = describe_type(theirs[name].dtype, theirs[name].shape)
        if before != now:
            return f"variable {name!r} is {now} there, {before} here"
    if list(ours) != list(theirs):
        return "its variables come in another order"
    return None


def _functions(old: Manifest, new: Manifest) -> str | None:
    ours, theirs = ({s.name: s for s in m.signatures} for m in (old, new))
    if ours.keys() != theirs.keys():
        return (
            f"it has the signatures {listed(sorted(theirs)) or 'none'}, the open bundle "
            f"{listed(sorted(ours)) or 'none'}"
        )
    if len(old.concrete_functions) != len(new.concrete_functions):
        return (
            f"it has {len(new.concrete_functions)} traces of functions, the open bundle "
            f"{len(old.concrete_functions)}"
        )
    for before, now in zip(old.concrete_functions, new.concrete_functions, strict=True):
        if not _equal(before, now):
            return f"the function {before.name!r} takes or returns something else there"
    for name, signature in ours.items():
        if signature != theirs[name]:
            return f"the signature {name!r} takes or returns something else there"
    return None


def _equal(one: ConcreteFunctionEntry, other: ConcreteFunctionEntry) -> bool:
    # By their text too: a default that is not a number does not equal itself.
    return one == other or repr(one) == repr(other)


def _constants(old: Manifest, store: Store, new: Sources) -> str | None:
    if len(old.constants) != len(new.manifest.constants):
        return f"it has {len(new.manifest.constants)} constants, here are {len(old.constants)}"
    for before, now in zip(old.constants, new.manifest.constants, strict=True):
        if (before.name, before.dtype, before.shape) != (now.name, now.dtype, now.shape):
            return f"the constant {before.name!r} is another one there"
        if not _same(store.value(before), new.store.value(now)):
            return f"the constant {before.name!r} has another value there"
    return _stored_constants(old, store, new)


def _stored_constants(old: Manifest, store: Store, new: Sources) -> str | None:
    """Constants that graphs name by their places beside the variables."""
    variables = {(v.storage.file, v.storage.key) for v in old.variables}
    for file in sorted({v.storage.file for v in old.variables} | _stores(old)):
        if file not in new.entries:
            return f"its weights are not in {file!r}"
        ours, theirs = store.file(file), new.store.file(file)
        for key in ours:
            if (file, key) in variables:
                continue
            if key not in theirs or not _same(ours.array(key), theirs.array(key)):
                return f"the constant {key!r} has another value there"
    return None


def _stores(manifest: Manifest) -> set[str]:
    return {c.storage.file for c in manifest.constants if c.storage is not None}


def _same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.dtype == object:
        return bool(one.tolist() == other.tolist())
    # Bytes: NaN must equal itself, and 0.0 is not -0.0.
    return not one.size or bool(np.array_equal(_bytes(one), _bytes(other)))


def _bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _graphs(old: Manifest, read_graph: ReadGraph, new: Sources) -> str | None:
    hashes = {item.path: item.sha256 for item in old.files}
    for concrete in old.concrete_functions:
        for graph in concrete.graphs:
            if hashes[graph.file] == new.entries[graph.file].sha256:
                continue
            theirs = _core(new.read_graph(graph.file), graph, str(new.root / graph.file))
            try:
                ours = _core(read_graph(graph.file), graph, graph.file)
            except BundleError:
                ours = None  # the old folder is gone
            if ours != theirs:
                return f"the graph {graph.file!r} is another one there"
    return None


def _core(data: bytes, graph: GraphEntry, path: str) -> bytes:
    """A model without its variables and without the name of what wrote it."""
    return OnnxFile(data, path).without({item.name for item in graph.frozen_variables})
