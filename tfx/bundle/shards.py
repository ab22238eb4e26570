"""A store of tensors over one or several safetensors files.

Owns the split into shards and the JSON index that other programs expect beside them. Must not know
of variables. The one decision: one file named ``<stem>.safetensors`` as long as it stays below the
limit, and only then numbered shards with an index, so the usual bundle has the simple layout.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy.typing as npt

from tfx.bundle import limits, strict_json
from tfx.bundle.check_values import compatible
from tfx.bundle.files import check_path, file_entry, locate, read_limited
from tfx.bundle.records import ConstantEntry, FileEntry, Storage, VariableEntry
from tfx.bundle.safetensors import SafetensorsFile, open_safetensors, write_safetensors
from tfx.bundle.safetensors_header import TensorEntry
from tfx.bundle.tensor_bytes import decode, encode
from tfx.core.errors import BundleError

INDEX_SUFFIX = ".safetensors.index.json"


class Located(NamedTuple):
    """The location of a tensor in a bundle: its storage, and its bytes for ONNX external data."""

    storage: Storage
    entry: TensorEntry


class WrittenStore(NamedTuple):
    """The result of ``write_store``: entries for the manifest, and the location of each tensor."""

    files: tuple[FileEntry, ...]
    tensors: dict[str, Located]
    tensor_sums: dict[str, tuple[int, ...]]


def write_store(
    bundle: str | os.PathLike[str],
    tensors: Mapping[str, npt.NDArray[Any]],
    *,
    stem: str = "variables/model",
    metadata: Mapping[str, str] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
    sums_tensors: bool = False,
) -> WrittenStore:
    """Write tensors below the folder of a bundle that is being saved.

    Args:
        bundle: The folder.
        tensors: Arrays by key.
        stem: Path of the files inside the bundle, without its endings.
        metadata: Text to keep in the header of each file.
        max_shard_bytes: Most data a file gets, unless a single tensor is larger.
        sums_tensors: Whether to sum each tensor in place of the files, see ``write_safetensors``.

    Returns:
        What was written; no files if there are no tensors.

    Raises:
        BundleError: A tensor cannot be stored.
        AlreadyExistsError: A file exists already.
    """
    check_path(f"{stem}.safetensors", os.fspath(bundle))
    root = Path(bundle)
    groups = _split(tensors, max_shard_bytes)
    files: list[FileEntry] = []
    located: dict[str, Located] = {}
    sums: dict[str, tuple[int, ...]] = {}
    if groups:
        (root / stem).parent.mkdir(parents=True, exist_ok=True)
    for number, keys in enumerate(groups, 1):
        name = f"{stem}.safetensors"
        if len(groups) > 1:
            name = f"{stem}-{number:05d}-of-{len(groups):05d}.safetensors"
        part = {key: tensors[key] for key in keys}
        written = write_safetensors(root / name, part, metadata, sums_tensors=sums_tensors)
        files.append(written.entry(name))
        sums.update(written.tensor_sums)
        for key, entry in written.entries.items():
            located[key] = Located(Storage(name, key), entry)
    if len(groups) > 1:
        index = stem + INDEX_SUFFIX
        (root / index).write_bytes(_index(located))
        files.append(file_entry(root, index))
    ordered = {key: located[key] for key in sorted(located)}
    return WrittenStore(tuple(files), ordered, sums)


def _split(tensors: Mapping[str, npt.NDArray[Any]], limit: int) -> list[list[str]]:
    """Fill shards in the order of the keys, so that one shard mostly holds one part of a model."""
    groups: list[list[str]] = []
    room = 0
    for key in sorted(tensors):
        array = tensors[key]
        # Only strings have a size that is not known before they are packed.
        size = encode(array, repr(key)).nbytes if array.dtype.kind in "OSUT" else array.nbytes
        if not groups or size > room:
            groups.append([])
            room = limit
        groups[-1].append(key)
        room -= size
    return groups


def _index(located: Mapping[str, Located]) -> bytes:
    table = {
        "metadata": {"total_size": sum(item.entry.nbytes for item in located.values())},
        "weight_map": {
            key: item.storage.file.rpartition("/")[2] for key, item in sorted(located.items())
        },
    }
    return json.dumps(table, indent=2, ensure_ascii=False).encode() + b"\n"


class Store:
    """The tensors of a bundle, read through their ``Storage``; files are opened when first used."""

    def __init__(
        self, bundle: str | os.PathLike[str], sizes: Mapping[str, int] | None = None
    ) -> None:
        """Name the bundle.

        Args:
            bundle: The folder.
            sizes: Size of each file as the manifest states it; then no other file is opened.
        """
        self.bundle = Path(bundle)
        self._sizes = sizes
        self._files: dict[str, SafetensorsFile] = {}

    def file(self, path: str) -> SafetensorsFile:
        """Open a file of the bundle, once.

        Raises:
            BundleError: The path is not allowed or not listed, the file is missing, of another
                size, or damaged.
        """
        file = self._files.get(path)
        if file is None:
            size = None
            if self._sizes is not None:
                if path not in self._sizes:
                    raise BundleError(f"{self.bundle}: no file {path!r} in its manifest")
                size = self._sizes[path]
            file = self._files[path] = open_safetensors(locate(self.bundle, path, size=size))
        return file

    def entry(self, storage: Storage) -> TensorEntry:
        """Return dtype, shape and place of a tensor."""
        return self.file(storage.file).entry(storage.key)

    def array(self, storage: Storage) -> npt.NDArray[Any]:
        """Return a tensor as a read-only array over the mapped file."""
        return self.file(storage.file).array(storage.key)

    def value(self, item: VariableEntry | ConstantEntry) -> npt.NDArray[Any]:
        """Return the value of a variable or constant as a read-only array.

        Raises:
            BundleError: The stored tensor has another dtype or shape than the manifest says.
        """
        if isinstance(item, ConstantEntry) and item.inline is not None:
            data = item.inline
            return decode(data, item.dtype, item.shape, f"constant {item.name!r}", nbytes=len(data))
        storage = item.storage
        if storage is None:
            raise BundleError(f"{self.bundle}: constant {item.name!r} has no data")
        entry = self.entry(storage)
        if entry.dtype != item.dtype or not compatible(entry.shape, item.shape):
            raise BundleError(
                f"{self.bundle / storage.file}: tensor {storage.key!r} is {entry.dtype} of shape "
                f"{entry.shape}, the manifest says {item.dtype} of shape {item.shape} for "
                f"{item.name!r}; the files do not belong together: copy or save the bundle again"
            )
        return self.array(storage)


def read_index(path: str | os.PathLike[str]) -> dict[str, Storage]:
    """Read the JSON index of a sharded store, also of other programs.

    Args:
        path: The ``.safetensors.index.json``.

    Returns:
        Where each tensor is; files are relative to the index's folder.

    Raises:
        BundleError: It is not such an index, or names a file outside its folder.
    """
    where = os.fspath(path)
    data = read_limited(path, limits.MAX_INDEX_BYTES)
    try:
        table = strict_json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: not JSON ({error}); the file is damaged") from error
    weights = table.get("weight_map") if isinstance(table, dict) else None
    if not isinstance(weights, dict) or not all(isinstance(f, str) for f in weights.values()):
        raise BundleError(f"{where}: no weight_map, expected an object of file names by key")
    for file in sorted(set(weights.values())):
        check_path(file, where)
    return {key: Storage(file, key) for key, file in weights.items()}
