"""The files of a bundle, written into a folder: store, graphs, assets, and the manifest at last."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tfx.bundle.files import file_entry
from tfx.bundle.manifest import MANIFEST_NAME, manifest_bytes
from tfx.bundle.records import (
    AssetEntry,
    FileEntry,
    Manifest,
    Requirements,
    Signature,
    SignatureTensor,
    VariableEntry,
)
from tfx.bundle.shards import Located, WrittenStore, write_store
from tfx.core.errors import NotFoundError
from tfx.core.version import VERSION
from tfx.exporters.names import FileNames
from tfx.exporters.onnx_files import GraphWriter
from tfx.exporters.signatures import ResolvedSignature
from tfx.exporters.snapshot import SaveSnapshot
from tfx.framework.asset import Asset

PRODUCER = "tfx"


def write_bundle(
    folder: Path,
    parts: SaveSnapshot,
    *,
    metadata: Mapping[str, str],
    max_shard_bytes: int,
    sources: bool,
) -> None:
    """Write every file of a bundle.

    Args:
        folder: An empty folder.
        parts: What to write.
        metadata: Text to keep in the manifest.
        max_shard_bytes: Most bytes of tensors in one file.
        sources: Whether nodes keep the line of the program that made them.
    """
    arrays = parts.contents.arrays
    changing = {key for item in parts.prepared for key in item.written}
    store = _write_tensors(folder, parts, changing, max_shard_bytes)
    numbers = {id(v): i for i, v in enumerate(parts.variables)}
    assets = _copy_assets(folder, parts.assets)
    paths = {str(a.path): f.path for a, f in zip(parts.assets, assets, strict=True)}
    writer = GraphWriter(
        folder, store.tensors, numbers, parts.names, arrays, paths, sources=sources
    )
    concrete = tuple(writer.write(item, changing) for item in parts.prepared)
    manifest = Manifest(
        producer=PRODUCER,
        producer_version=VERSION,
        requirements=Requirements(
            opset=writer.opset, ir_version=writer.ir_version, domains=writer.domains
        ),
        files=(*store.files, *writer.files, *assets),
        variables=_variables(parts, store.tensors),
        constants=tuple(
            dataclasses.replace(constant, storage=store.tensors[key].storage)
            for constant, key in zip(parts.constants, parts.constant_keys, strict=True)
        ),
        assets=tuple(AssetEntry(f.path) for f in assets),
        tables=tuple(parts.tables),
        objects=tuple(parts.objects),
        functions=tuple(parts.functions),
        concrete_functions=concrete,
        signatures=tuple(_signature(s, parts) for s in parts.signatures),
        metadata=dict(metadata),
    )
    (folder / MANIFEST_NAME).write_bytes(manifest_bytes(manifest))


def _write_tensors(
    folder: Path, parts: SaveSnapshot, changing: set[int], max_shard_bytes: int
) -> WrittenStore:
    """Write all tensors; variables that functions may let grow into files of their own.

    A loader that saves the bundle again can then write these in any size: graphs name their weights
    by the places that they have in their files.
    """
    arrays = parts.contents.arrays
    growing = {
        name
        for name, variable in zip(parts.names, parts.variables, strict=True)
        if id(variable) in changing and not variable.shape.is_fully_defined()
    }
    fixed = {key: array for key, array in arrays.items() if key not in growing}
    store = write_store(folder, fixed, max_shard_bytes=max_shard_bytes)
    if not growing:
        return store
    other = write_store(
        folder,
        {key: arrays[key] for key in growing},
        stem="variables/growing",
        max_shard_bytes=max_shard_bytes,
    )
    files, tensors = (*store.files, *other.files), store.tensors | other.tensors
    return WrittenStore(files, tensors, store.tensor_sums | other.tensor_sums)


def _variables(parts: SaveSnapshot, tensors: Mapping[str, Located]) -> tuple[VariableEntry, ...]:
    return tuple(
        VariableEntry(
            name=name,
            dtype=variable.dtype.name,
            shape=variable.shape.symbolic,
            storage=tensors[name].storage,
            trainable=variable.trainable,
            synchronization=_choice(variable.synchronization, "AUTO"),
            aggregation=_choice(variable.aggregation, "NONE"),
        )
        for name, variable in zip(parts.names, parts.variables, strict=True)
    )


def _choice(value: object, default: str) -> str:
    """The name of an enum's member, empty for the default."""
    name = getattr(value, "name", default)
    return "" if name == default else str(name).lower()


def _signature(signature: ResolvedSignature, parts: SaveSnapshot) -> Signature:
    return Signature(
        signature.name,
        parts.numbers[id(signature.concrete)],
        tuple(SignatureTensor(n, i) for i, n in enumerate(signature.inputs)),
        tuple(SignatureTensor(n, i) for i, n in enumerate(signature.outputs)),
    )


def _copy_assets(folder: Path, assets: Sequence[Asset]) -> list[FileEntry]:
    """Copy each asset below ``assets/``; the entries are in the assets' order."""
    entries: list[FileEntry] = []
    names = FileNames()
    for asset in assets:
        path = f"assets/{names.file(asset.path.name)}"
        (folder / "assets").mkdir(exist_ok=True)
        try:
            shutil.copyfile(asset.path, folder / path)
        except FileNotFoundError as e:
            raise NotFoundError(
                f"Asset file {str(asset.path)!r} is gone; put it back before saving."
            ) from e
        entries.append(file_entry(folder, path))
    return entries
