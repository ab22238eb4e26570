"""Reading checkpoints: all of one through ``CheckpointReader``, or a variable by its name.

Owns what must hold for the files of a checkpoint to be believed. Must not know of live objects. The
one decision: opening reads the headers alone, so listing is fast at any size. Each value is
compared with its CRC-32s while it is read, so the others need not be; those of a small file are all
compared before the first is handed out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.bundle import limits
from tfx.bundle.files import locate, verify_file
from tfx.bundle.manifest import is_bundle, read_manifest
from tfx.bundle.safetensors_header import TensorEntry
from tfx.bundle.shards import INDEX_SUFFIX, read_index
from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import (
    BundleError,
    MissingFileError,
    NotFoundError,
    UnsupportedVersionError,
)
from tfx.core.mixins import Closing
from tfx.train.files import SUFFIX, find_files
from tfx.train.latest_checkpoint_file import latest_checkpoint
from tfx.train.name_hints import nearest
from tfx.train.object_graph import SavedNode, from_json, from_keys
from tfx.train.piece_checksums import CHECKSUM_KEY, HEADER_KEY, parse_checksums
from tfx.train.values import Payload, Wanted

FORMAT = 1
FORMAT_KEY = "tfx.checkpoint"
GRAPH_KEY = "tfx.objects"
# TensorFlow's programs name variables so.
_FOREIGN_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"


class _ByName(dict[str, Any]):
    """What is known of variables by name; names as TensorFlow's programs have them find it, too."""

    def __missing__(self, name: Any) -> Any:
        plain = _plain_name(name)
        if plain == name:
            raise KeyError(name)
        return self[plain]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or super().__contains__(_plain_name(name))

    def get(self, name: Any, default: Any = None) -> Any:
        """The entry of a variable, or ``default``."""
        return self[name] if name in self else default  # noqa: SIM401


def _plain_name(name: Any) -> Any:
    return name.removesuffix(_FOREIGN_ENDING) if isinstance(name, str) else name


class CheckpointReader(Closing):
    """An open checkpoint, or any other safetensors file.

    Attributes:
        path: The file that was opened: the only one, or the index.
        nodes: The object graph; node 0 is the root.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open and check; see ``load_checkpoint``."""
        self.path = _resolve(path)
        self._where: dict[str, Payload] = {}
        if self.path.name.endswith(INDEX_SUFFIX):
            self._files = self._open_shards()
        else:
            self._files = [Payload(self.path)]
            self._where = dict.fromkeys(self._files[0].file, self._files[0])
        self._verified: set[str] = set()
        metadata = self._files[0].file.metadata if self._files else {}
        _check_version(metadata, self.path)
        self._sums = self._checksums(metadata)
        graph = metadata.get(GRAPH_KEY)
        self.nodes: list[SavedNode] = (
            from_keys(self._where, str(self.path)) if graph is None
            else from_json(graph, self._where, str(self.path))
        )  # fmt: skip

    def _open_shards(self) -> list[Payload]:
        index = read_index(self.path)
        folder = self.path.parent
        files = {
            name: Payload(locate(folder, name))
            for name in sorted({storage.file for storage in index.values()})
        }
        for key, storage in index.items():
            if key not in files[storage.file].file:
                raise BundleError(
                    f"{self.path}: it has tensor {key!r} in {storage.file}, where it is not; the "
                    "files do not belong together"
                )
            self._where[key] = files[storage.file]
        first = next(iter(files.values()), None)
        for file in files.values():
            extra = [key for key in file.file if self._where.get(key) is not file]
            if extra or (first and _shared(file) != _shared(first)):
                what = (
                    f"its tensor {extra[0]!r} is not in" if extra else "it differs from others of"
                )
                raise BundleError(
                    f"{file.path}: {what} {self.path.name}; the files do not belong together"
                )
        return list(files.values())

    def _checksums(self, metadata: dict[str, str]) -> dict[str, tuple[int, ...]] | None:
        """The CRC-32s of the values; None in files of other programs."""
        missing = [key for key in (FORMAT_KEY, CHECKSUM_KEY, HEADER_KEY) if key not in metadata]
        if len(missing) == 3:
            return None
        if missing:
            raise BundleError(
                f"{self.path}: its metadata has no {missing[0]!r}, as checkpoints do; the file was "
                "changed or damaged: use an older checkpoint, or a copy"
            )
        sizes = {key: file.file.entry(key).nbytes for key, file in self._where.items()}
        return parse_checksums(metadata[CHECKSUM_KEY], sizes, str(self.path))

    def keys(self) -> list[str]:
        """Return the names of the variables, sorted."""
        return sorted(self._where)

    def entry(self, key: str) -> TensorEntry:
        """Return dtype and shape of a variable without reading its value.

        Raises:
            NotFoundError: the checkpoint has no such variable.
        """
        key = self._known(key)
        return self._where[key].file.entry(key)

    def array(self, key: str) -> npt.NDArray[Any]:
        """Return the value as a new array; strings as ``bytes``.

        Raises:
            NotFoundError: the checkpoint has no such variable.
            BundleError: the file was damaged.
        """
        key = self._known(key)
        return self.arrays([key])[key]

    def arrays(self, keys: Iterable[str]) -> dict[str, npt.NDArray[Any]]:
        """Return several values, which are read together, as new arrays.

        Args:
            keys: Names as ``keys`` gives them.

        Raises:
            BundleError: a file was damaged.
        """
        groups: dict[str, list[str]] = {}
        for key in keys:
            groups.setdefault(self._where[key].path, []).append(key)
        found: dict[str, npt.NDArray[Any]] = {}
        for file in self._files:
            if file.path in groups:
                self._check(file)
                found.update(file.read([self._wanted(key) for key in groups[file.path]]))
        return {key: _as_bytes(array) for key, array in found.items()}

    def _wanted(self, key: str) -> Wanted:
        return Wanted(key, None if self._sums is None else self._sums[key])

    def verify(self) -> None:
        """Read all values and compare them with their CRC-32s; files of other programs have none.

        Raises:
            BundleError: a file was damaged.
        """
        for file in self._files:
            self._verify(file)

    def verify_small(self) -> None:
        """Do so for small files, where it takes no time; values of others when they are read.

        Raises:
            BundleError: a file was damaged.
        """
        for file in self._files:
            self._check(file)

    def _check(self, file: Payload) -> None:
        if file.file.size <= limits.HASH_ON_LOAD_BYTES and file.path not in self._verified:
            self._verify(file)

    def _verify(self, file: Payload) -> None:
        if self._sums is not None:
            file.compare([self._wanted(key) for key in file.file])
        self._verified.add(file.path)

    def _known(self, name: str) -> str:
        for key in (name, name.removesuffix(_FOREIGN_ENDING)):
            if key in self._where:
                return key
        raise NotFoundError(
            f"{self.path}: no variable {name!r} among its {len(self._where)}"
            f"{nearest(name, self._where)}"
        )

    # TensorFlow's names

    def has_tensor(self, name: str) -> bool:
        """Return whether the checkpoint has a variable of this name."""
        return name in self._where or name.removesuffix(_FOREIGN_ENDING) in self._where

    def get_tensor(self, name: str) -> Any:
        """Return the value of a variable as a new array (a NumPy scalar for a scalar).

        Raises:
            NotFoundError: the checkpoint has no such variable.
            BundleError: the file was damaged.
        """
        array = self.array(name)
        return array[()] if array.ndim == 0 else array

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shape of each variable by name."""
        return _ByName({key: list(self.entry(key).shape) for key in self.keys()})

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return the dtype of each variable by name."""
        return _ByName({key: dtypes.as_dtype(self.entry(key).dtype) for key in self.keys()})

    def debug_string(self) -> bytes:
        """Return a line for each variable: name, dtype and shape."""
        lines = [f"{k} ({self.entry(k).dtype}) {list(self.entry(k).shape)}\n" for k in self.keys()]
        return "".join(lines).encode()

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files:
            file.close()

    def __repr__(self) -> str:
        """Return path and number of variables."""
        return f"CheckpointReader({str(self.path)!r}, {len(self._where)} variables)"


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Open a checkpoint for reading.

    Args:
        ckpt_dir_or_file: What ``save`` returned, a folder (its latest checkpoint is opened), a
            bundle (its variables are), or a safetensors file or index of any program.

    Returns:
        A reader.

    Raises:
        NotFoundError: there is no such checkpoint.
        BundleError: it is damaged.
        UnsupportedVersionError: it was made by a newer version.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = tf.train.Checkpoint(step=tf.Variable(7)).write(folder + "/ckpt")
        ...     load_checkpoint(path).get_tensor("step")
        np.int32(7)
    """
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path) and not is_bundle(path):
        latest = latest_checkpoint(path)
        if latest is None:
            raise NotFoundError(
                f"{path}: no checkpoint was saved in this folder; expected a folder with a "
                "'checkpoint' file, or the path of a checkpoint"
            )
        path = latest
    return CheckpointReader(path)


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """Read one variable of a checkpoint.

    Args:
        ckpt_dir_or_file: See ``load_checkpoint``.
        name: The variable's name, as ``list_variables`` gives it.

    Returns:
        A NumPy array.

    Raises:
        NotFoundError: there is no such checkpoint or variable.
        BundleError: the checkpoint is damaged.
    """
    with load_checkpoint(ckpt_dir_or_file) as reader:
        return reader.get_tensor(name)


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """List the variables of a checkpoint.

    Args:
        ckpt_dir_or_file: See ``load_checkpoint``.

    Returns:
        Names and shapes, sorted by name.

    Raises:
        NotFoundError: there is no such checkpoint.
        BundleError: it is damaged.
    """
    with load_checkpoint(ckpt_dir_or_file) as reader:
        return list(reader.get_variable_to_shape_map().items())


def _resolve(path: str | os.PathLike[str]) -> Path:
    """The file to open for a checkpoint."""
    text = os.fspath(path)
    if is_bundle(text):
        return _weights_of(Path(text))
    found = find_files(text)
    if found is not None:
        return found
    if text.endswith((SUFFIX, INDEX_SUFFIX)) and os.path.isfile(text):
        return Path(text)
    if os.path.isdir(text):
        latest = latest_checkpoint(text)
        hint = f"; did you mean its latest checkpoint {latest!r}?" if latest else ""
        raise MissingFileError(f"{text}: a folder, expected the path of a checkpoint in it{hint}")
    folder, name = os.path.split(text)
    raise MissingFileError(
        f"{text}: no checkpoint of this path, expected {name}{SUFFIX} or {name}{INDEX_SUFFIX} in "
        f"the folder{nearest(name, _names_in(folder or '.'))}"
    )


def _weights_of(bundle: Path) -> Path:
    """The variables of a bundle, compared with its manifest."""
    for entry in read_manifest(bundle).files:
        if entry.path.startswith("variables/"):
            verify_file(bundle, entry, check_hash=True)
    found = find_files(bundle / "variables" / "model")
    if found is None:
        raise NotFoundError(f"{bundle}: a bundle without variables, expected one that has some")
    return found


def _names_in(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        return []
    return [
        name.removesuffix(suffix)
        for name in os.listdir(folder)
        for suffix in (SUFFIX, INDEX_SUFFIX)
        if name.endswith(suffix)
    ]


def _check_version(metadata: dict[str, str], path: Path) -> None:
    text = metadata.get(FORMAT_KEY, str(FORMAT))
    if not text.isdecimal() or len(text) > 9:
        raise BundleError(f"{path}: its format is {text!r:.80}, expected a number")
    if int(text) > FORMAT:
        raise UnsupportedVersionError(
            f"{path}: a checkpoint of format {text}, this version reads up to {FORMAT}; upgrade "
            "tfx-onnx"
        )


def _shared(file: Payload) -> dict[str, str]:
    """Return the metadata that all shards of a checkpoint share."""
    return {k: v for k, v in file.file.metadata.items() if k != HEADER_KEY}


def _as_bytes(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype != object:
        return array
    flat = [text.encode("utf-8", "surrogateescape") for text in array.reshape(-1)]
    return np.array(flat, object).reshape(array.shape)
