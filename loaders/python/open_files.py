"""The files of an open bundle: which may be read, and whether they are still the ones opened.

Owns every access to the bundle's folder. Must not know what a graph computes. The one decision: a
file is trusted for what was checked of it at that moment, so weights are mapped once and kept, and
whatever is opened later is compared with what was there in the beginning.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tfx.bundle import limits
from tfx.bundle.archive import Unpacked, is_archive, named_as
from tfx.bundle.files import locate, read_limited, verify_files
from tfx.bundle.manifest import ConstantEntry, FileEntry, Manifest, VariableEntry, read_manifest
from tfx.bundle.piece_checksums import PIECE, Comparison
from tfx.bundle.records import Storage
from tfx.bundle.shards import Store
from tfx.core.errors import BundleError, FailedPreconditionError
from tfx.core.system_errors import starting_threads
from tfx.loaders.state import Value
from tfx.runtime.fork_safe_locks import fork_safe

MAX_GRAPH_BYTES = (1 << 31) - 1
"""Protobuf's own limit."""


class Sources:
    """A bundle's manifest, mapped weights and graph files.

    Args:
        path: The bundle's folder, or an archive of it.
        verify: True hashes every file at once, None compares what is used of large files of weights
            when it is first used, False never compares those. See ``limits.HASH_ON_LOAD_BYTES``.

    Attributes:
        path: What was opened.
        root: The folder: the path, or where the archive is unpacked.
        manifest: The checked manifest.
        entries: The manifest's entry of each file, by path.

    Raises:
        NotFoundError: There is no such folder.
        BundleError: It is no bundle, or one that is damaged.
        UnsupportedVersionError: It is newer than this program.
    """

    def __init__(self, path: str | os.PathLike[str], *, verify: bool | None = None) -> None:
        """Read the manifest, check the files, map the variables."""
        # absolute: the program may change its working directory.
        self.path = Path(os.path.abspath(path))
        # It lives as long as this object: assets and ONNX Runtime want files.
        self._archive = Unpacked(self.path) if is_archive(self.path) else None
        self.root = self.path if self._archive is None else self._archive.folder
        with named_as(self.root, self.path):
            self._open(verify)

    def _open(self, verify: bool | None) -> None:
        self.manifest: Manifest = read_manifest(self.root)
        self.entries: dict[str, FileEntry] = {item.path: item for item in self.manifest.files}
        stores = {item.storage.file for item in self.manifest.variables}
        stores.update(item.storage.file for item in self.manifest.constants if item.storage)
        for item in self.manifest.files:
            # Small files of weights are hashed in any case. So is a graph, but when it is opened.
            check_hash = True if verify else None if item.path in stores else False
            verify_files(self.root, [item], check_hash=check_hash)
        large = limits.HASH_ON_LOAD_BYTES
        self._unchecked = {f for f in stores if verify is None and self.entries[f].size > large}
        self._comparisons: dict[str, Comparison] = {}
        self._checking = fork_safe(threading.Lock())
        self._seen = {item.path: self._identity(item.path) for item in self.manifest.files}
        self.store = Store(self.root, {item.path: item.size for item in self.manifest.files})
        self._stores = sorted(stores)
        for name in self._stores:
            self.store.file(name)
            if name in self._unchecked and self.entries[name].crc32:
                self._comparisons[name] = self.store.file(name).comparison(self.entries[name].crc32)
        self._values = [self._value(item) for item in self.manifest.variables]
        self._constants: dict[int, Value] = {}

    @property
    def fingerprint(self) -> str:
        """Return a digest that identifies the bundle, also among later ones in the same folder."""
        digest = hashlib.sha256()
        for item in sorted(self.manifest.files, key=lambda item: item.path):
            digest.update(f"{item.path}\0{item.size}\0".encode() + item.sha256)
        return digest.hexdigest()

    def check_fingerprint(self, expected: str) -> None:
        """Refuse a bundle that is not the one that was meant.

        Raises:
            FailedPreconditionError: Another bundle is in the folder.
        """
        if self.fingerprint != expected:
            raise FailedPreconditionError(
                f"{self.root}: another bundle is in the folder than when the object was pickled; "
                "what is pickled of a loaded bundle is its path, so the folder must stay as it is. "
                "Load the new bundle instead."
            )

    def take_values(self) -> list[Value]:
        """Return the variables' saved values, mapped, and forget them: once."""
        values, self._values = self._values, []
        return values

    def check(self, files: Iterable[str]) -> None:
        """Compare large files of weights with the manifest before they are used; each byte once.

        Args:
            files: Paths of files of the bundle.

        Raises:
            BundleError: A file is not the one that was saved.
        """
        self.check_parts({file: [(0, self.entries[file].size)] for file in files})

    def check_value(self, storage: Storage) -> None:
        """Compare what a tensor's value is made from with the manifest before it is used.

        Raises:
            BundleError: Its bytes, or those around it, are not those that were saved.
        """
        if storage.file in self._unchecked:
            place = self.store.entry(storage)
            self.check_parts({storage.file: [(place.offset, place.nbytes)]}, keep=True)

    def check_parts(
        self, parts: Mapping[str, Sequence[tuple[int, int]]], *, keep: bool = False
    ) -> None:
        """Compare parts of files, which are about to be used, with the manifest.

        Args:
            parts: First byte and number of bytes of each part, by file.
            keep: Whether they will be used through the mapping that variables share.

        Raises:
            BundleError: A file is not the one that was saved.
        """
        if self._unchecked.isdisjoint(parts):
            return
        with self._checking:
            unsummed = []
            for file in sorted(self._unchecked.intersection(parts)):
                comparison = self._comparisons.get(file)
                if comparison is None:
                    unsummed.append(file)
                    continue
                # The header says where everything is.
                header = (0, self.store.file(file).begin)
                wrong = comparison.compare([header, *parts[file]], keep=keep)
                if wrong is not None:
                    raise self._difference(file, *wrong)
                if comparison.complete:
                    self._unchecked.discard(file)
            if unsummed:
                # Python's lock is free while bytes are hashed.
                threads = min(len(unsummed), os.cpu_count() or 1)
                with starting_threads(), ThreadPoolExecutor(threads) as pool:
                    list(pool.map(self._check_whole, unsummed))
                self._unchecked.difference_update(unsummed)

    def _difference(self, file: str, number: int, found: int) -> BundleError:
        return BundleError(
            f"{self.root / file}: the CRC-32 of bytes {number * PIECE} to "
            f"{min((number + 1) * PIECE, self.entries[file].size) - 1} is {found:08x}, the "
            f"manifest says {self.entries[file].crc32[number]:08x}; the file was changed or "
            "damaged: copy or save the bundle again"
        )

    def _check_whole(self, file: str) -> None:
        # What was mapped, also if another bundle is in the folder by now.
        found, expected = self.store.file(file).sha256(), self.entries[file].sha256
        if found != expected:
            raise BundleError(
                f"{self.root / file}: its SHA-256 is {found.hex()}, the manifest says "
                f"{expected.hex()}; the file was changed or damaged: copy or save the bundle again"
            )

    def _value(self, item: VariableEntry | ConstantEntry) -> Value:
        storage = item.storage
        if storage is None or storage.file not in self._unchecked:
            return Value(self.store.value(item))
        return Value(self.store.value(item), check=lambda: self.check_value(storage))

    def close(self) -> None:
        """Let go of the mapping; it ends with the last array over it."""
        self._comparisons.clear()
        for name in self._stores:
            self.store.file(name).close()
        self._constants.clear()

    def constant(self, index: int) -> Value:
        """Return a constant of the manifest."""
        value = self._constants.get(index)
        if value is None:
            value = self._constants[index] = self._value(self.manifest.constants[index])
        return value

    def read_graph(self, file: str) -> bytes:
        """Return the bytes of an ONNX file that were verified against the manifest.

        Raises:
            BundleError: The file is missing, damaged or not the one that was saved.
        """
        entry = self.entries[file]
        path = locate(self.root, file, size=entry.size)
        if entry.size > MAX_GRAPH_BYTES:
            raise BundleError(
                f"{path}: {entry.size} bytes, limit {MAX_GRAPH_BYTES} for an ONNX file; save the "
                "bundle again with its weights outside of it"
            )
        data = read_limited(path, entry.size)
        if hashlib.sha256(data).digest() != entry.sha256:
            raise BundleError(
                f"{path}: its SHA-256 is not the one that the manifest says; the file was changed, "
                "damaged, or replaced by a newer save: copy or save the bundle again, and open it "
                "again"
            )
        return data

    def is_unchanged(self, file: str) -> bool:
        """Return whether a file is still the one that the bundle was opened with."""
        return self._identity(file) == self._seen[file]

    def _identity(self, file: str) -> tuple[int, int, int, int] | None:
        try:
            status = os.stat(self.root / file)
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
