"""Writing an open bundle again, with the variables as they are now.

Owns the one thing that a loader writes. Must not make graphs: they are copied byte by byte, but for
the values that they hold of variables that have changed. The one decision: a graph names its
weights by file, offset and length, so the new files of weights must have each of them where the old
ones had; where that cannot be, nothing is written.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tfx.bundle.atomic_folder import AtomicDirectory
from tfx.bundle.files import file_entry, locate
from tfx.bundle.manifest import (
    MANIFEST_NAME,
    ConcreteFunctionEntry,
    FileEntry,
    Manifest,
    manifest_bytes,
)
from tfx.bundle.safetensors import write_safetensors
from tfx.bundle.safetensors_header import TensorEntry
from tfx.core.errors import AbortedError, FailedPreconditionError
from tfx.loaders.onnx_file import OnnxFile
from tfx.loaders.open_files import Sources
from tfx.loaders.state import Snapshot

_HOW_ELSE = "load the bundle with tfx.saved_model.load and save it with tfx.saved_model.save"


def save_again(sources: Sources, snapshot: Snapshot, path: str | os.PathLike[str]) -> None:
    """Write the bundle with the variables of ``snapshot``.

    Args:
        sources: The open bundle.
        snapshot: The variables.
        path: The folder to make or replace.

    Raises:
        AlreadyExistsError: There is something there which is no bundle.
        FailedPreconditionError: A graph holds what has changed, or would find its weights no more.
        AbortedError: The bundle was replaced on disk since it was opened.
    """
    manifest = sources.manifest
    sources.check(sources.entries)
    graphs = _read_graphs(sources)
    changed = _with_values(graphs, _held_values(graphs, snapshot, manifest))
    stored = _stored_values(snapshot, manifest)
    with AtomicDirectory(path) as folder:
        entries = []
        for item in manifest.files:
            target = folder / item.path
            target.parent.mkdir(parents=True, exist_ok=True)
            if item.path in stored:
                entries.append(_write_weights(sources, item, stored[item.path], target, graphs))
            elif item.path in changed:
                target.write_bytes(changed[item.path])
                entries.append(file_entry(folder, item.path))
            else:
                entries.append(_copy(sources, item, folder))
        saved = dataclasses.replace(manifest, files=tuple(entries))
        (folder / MANIFEST_NAME).write_bytes(manifest_bytes(saved))


def _read_graphs(sources: Sources) -> dict[str, OnnxFile]:
    files = {
        graph.file for concrete in sources.manifest.concrete_functions for graph in concrete.graphs
    }
    return {
        file: OnnxFile(sources.read_graph(file), str(sources.root / file)) for file in sorted(files)
    }


def _held_values(
    graphs: Mapping[str, OnnxFile], snapshot: Snapshot, manifest: Manifest
) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Return new values of changed variables that graph files hold, by file and initializer."""
    concretes: tuple[ConcreteFunctionEntry, ...] = manifest.concrete_functions
    held: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for graph in (concrete.graph for concrete in concretes):
        for item in graph.frozen_variables:
            if item.variable not in snapshot.changed:
                continue
            found = graphs[graph.file].initializers[item.name]
            value = snapshot.values[item.variable].array
            if found.dims != value.shape:
                raise FailedPreconditionError(
                    f"variable {manifest.variables[item.variable].name!r} has changed, and "
                    f"{graph.file!r} was made for {list(found.dims)}, not {list(value.shape)}, so "
                    f"the file cannot be copied; {_HOW_ELSE}"
                )
            if found.external is None:
                held.setdefault(graph.file, {})[item.name] = value
    return held


def _with_values(
    graphs: Mapping[str, OnnxFile], held: Mapping[str, Mapping[str, npt.NDArray[Any]]]
) -> dict[str, bytes]:
    return {file: graphs[file].with_values(values) for file, values in held.items()}


def _stored_values(
    snapshot: Snapshot, manifest: Manifest
) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """The variables by file and key."""
    stored: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for entry, value in zip(manifest.variables, snapshot.values, strict=True):
        stored.setdefault(entry.storage.file, {})[entry.storage.key] = value.array
    return stored


def _write_weights(
    sources: Sources,
    item: FileEntry,
    values: Mapping[str, npt.NDArray[Any]],
    target: Path,
    graphs: Mapping[str, OnnxFile],
) -> FileEntry:
    old = sources.store.file(item.path)
    # Constants live beside the variables, and stay.
    tensors = {key: values[key] if key in values else old.array(key) for key in old}
    written = write_safetensors(target, tensors, old.metadata)
    moved = {
        (entry.offset, entry.nbytes): key
        for key in old
        if _place(written.entries[key]) != _place(entry := old.entry(key))
    }
    for graph in graphs.values():
        for tensor in graph.initializers.values():
            place = tensor.external
            if place is None or place.location != item.path:
                continue
            key = moved.get((place.offset, place.length))
            if key is not None:
                raise FailedPreconditionError(
                    f"{key!r} would no longer be where {graph.path} expects it, because a tensor "
                    f"of {item.path!r} has another size than when it was loaded; {_HOW_ELSE}"
                )
    return written.entry(item.path)


def _place(entry: TensorEntry) -> tuple[int, int]:
    return entry.offset, entry.nbytes


def _copy(sources: Sources, item: FileEntry, folder: Path) -> FileEntry:
    shutil.copyfile(locate(sources.root, item.path, size=item.size), folder / item.path)
    entry = file_entry(folder, item.path)
    if (entry.size, entry.sha256) != (item.size, item.sha256):
        raise AbortedError(
            f"{sources.root / item.path}: it is not the file that was saved with the bundle; it "
            "was damaged, or replaced by a newer save: open the bundle again"
        )
    return item
