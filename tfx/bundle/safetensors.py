"""Reading and writing tensors in the safetensors format.

Owns the byte layout: 8 bytes of little-endian header length N, N bytes of JSON padded with spaces,
then the tensors' bytes, contiguous and without holes. Must not know of variables or bundles. The
one decision: a file is mapped, never read, and its header is checked in full when it is opened, so
that ``array`` is a view that cannot reach outside the file.

What the format has no dtype for (strings, 4-bit integers, complex128) is stored in the forms of
``tensor_bytes`` describes, under a dtype that every reader knows; the true dtype and shape are JSON
in the header's metadata, under ``tfx.encoding``. Other readers see bytes, and nothing breaks.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from tfx.bundle import limits
from tfx.bundle.files import open_plain
from tfx.bundle.large_files import HashingWriter
from tfx.bundle.piece_checksums import Comparison, PieceSums
from tfx.bundle.records import FileEntry
from tfx.bundle.safetensors_header import ENCODING_KEY, TensorEntry, parse_header
from tfx.bundle.tensor_bytes import Encoded, decode, encode
from tfx.core.errors import BundleError
from tfx.core.mixins import Closing

_LENGTH = struct.Struct("<Q")
# Where the data begins: a multiple of a cache line, and of every alignment a kernel may want.
_ALIGNMENT = 64
_HASHED_AT_ONCE = 16 << 20
_FORGET: int | None = getattr(mmap, "MADV_DONTNEED", None)


class WrittenFile(NamedTuple):
    """The result of ``write_safetensors``: entries for the manifest and for ONNX external data."""

    size: int
    sha256: bytes
    crc32: tuple[int, ...]
    entries: dict[str, TensorEntry]
    tensor_sums: dict[str, tuple[int, ...]]

    def entry(self, path: str) -> FileEntry:
        """Return what a manifest says of the file; small files need no sums of pieces."""
        large = self.size > limits.HASH_ON_LOAD_BYTES
        return FileEntry(path, self.size, self.sha256, self.crc32 if large else ())


def write_safetensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, npt.NDArray[Any]],
    metadata: Mapping[str, str] | None = None,
    *,
    sums_tensors: bool = False,
) -> WrittenFile:
    """Write a new safetensors file; the same tensors give the same bytes.

    Buffers are written from where they are and summed meanwhile, see ``large_files``. Tensors whose
    size is a multiple of 64 bytes come first and the others by falling size of element, so that
    each tensor lies at a multiple of its element's size and nearly all of the data at one of 64.

    Args:
        path: The file to make. It must not exist: replacing the bytes of a file that is mapped
            would change them under its readers.
        tensors: Arrays by key; any byte order and strides.
        metadata: Text to keep in the header.
        sums_tensors: Whether to compute the CRC-32s of each tensor's pieces in place of the
            SHA-256 and the CRC-32s of the file, which are empty then.

    Returns:
        The size, the sums, and where each tensor is.

    Raises:
        BundleError: A tensor has a dtype that cannot be stored, or a key or metadata is not text.
        AlreadyExistsError: There is such a file already.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = write_safetensors(f"{folder}/a.safetensors", {"w": np.zeros(3, "f4")})
        ...     open_safetensors(f"{folder}/a.safetensors").array("w")
        array([0., 0., 0.], dtype=float32)
        >>> written.entries["w"].nbytes
        12
    """
    where = os.fspath(path)
    if "__metadata__" in tensors or not all(isinstance(key, str) and key for key in tensors):
        raise BundleError(
            f"{where}: keys {list(tensors)[:10]!r}, expected text that is not '' or '__metadata__'"
        )
    encoded = {key: encode(array, f"{where}: tensor {key!r}") for key, array in tensors.items()}
    order = sorted(encoded, key=lambda key: _sort_key(key, encoded[key]))
    header, begin = _header(encoded, order, dict(metadata or {}), where)
    entries = {}
    digest, pieces = hashlib.sha256(), PieceSums()
    own: dict[str, PieceSums] = {}
    whole = () if sums_tensors else (digest, pieces)
    with HashingWriter(where) as file:
        file.write(memoryview(header), *whole)
        for key in order:
            item = encoded.pop(key)
            entries[key] = TensorEntry(
                item.dtype, item.shape, begin, item.nbytes, item.stored_dtype, item.stored_shape
            )
            if sums_tensors:
                own[key] = PieceSums()
            file.write(item.buffer(), *((own[key],) if sums_tensors else whole))
            begin += item.nbytes
    return WrittenFile(
        begin,
        b"" if sums_tensors else digest.digest(),
        pieces.sums(),
        {key: entries[key] for key in sorted(entries)},
        {key: sums.sums() for key, sums in own.items()},
    )


def _sort_key(key: str, item: Encoded) -> tuple[bool, int, str]:
    return item.nbytes % _ALIGNMENT != 0, -item.array.dtype.itemsize, key


def _header(
    encoded: Mapping[str, Encoded], order: list[str], metadata: dict[str, str], where: str
) -> tuple[bytes, int]:
    special = {
        key: {"dtype": item.dtype, "shape": item.shape}
        for key, item in sorted(encoded.items())
        if (item.stored_shape != item.shape or item.dtype in ("string", "int4", "uint4"))
    }
    if ENCODING_KEY in metadata:
        raise BundleError(f"{where}: metadata has the key {ENCODING_KEY!r}, which is reserved")
    if special:
        metadata[ENCODING_KEY] = json.dumps(special, separators=(",", ":"))
    for key, text in metadata.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise BundleError(f"{where}: metadata {key!r}: {text!r}, expected text for both")
    table: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    end = 0
    for key in order:
        item = encoded[key]
        table[key] = {
            "dtype": item.stored_dtype,
            "shape": item.stored_shape,
            "data_offsets": [end, end + item.nbytes],
        }
        end += item.nbytes
    try:
        body = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise BundleError(f"{where}: a key is not Unicode text: {error.object[:80]!r}") from error
    body += b" " * (-(len(body) + _LENGTH.size) % _ALIGNMENT)
    if len(body) > limits.MAX_TENSOR_HEADER_BYTES:
        raise BundleError(
            f"{where}: {len(encoded)} tensors need a header of {len(body)} bytes, limit "
            f"{limits.MAX_TENSOR_HEADER_BYTES}; write several files"
        )
    return _LENGTH.pack(len(body)) + body, _LENGTH.size + len(body)


class SafetensorsFile(Closing):
    """A mapped safetensors file, read-only.

    Arrays share memory with the mapping and keep it alive, so ``close`` only says that no more
    arrays will be taken. The file must not be changed in place meanwhile: write a new one and
    rename it.

    Attributes:
        path: The file.
        size: Its size.
        begin: Where the tensors' bytes begin.
        metadata: The text of its header.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Map and check the file at ``path``; see ``open_safetensors``."""
        self.path = os.fspath(path)
        descriptor, self.size = open_plain(path)
        try:
            mapped, length = _map(descriptor, self.size, self.path)
        finally:
            os.close(descriptor)
        self._map: mmap.mmap | None = mapped
        header = parse_header(
            mapped[_LENGTH.size : _LENGTH.size + length],
            begin=_LENGTH.size + length,
            size=self.size,
            path=self.path,
        )
        self.metadata: dict[str, str] = header.metadata
        self.begin = _LENGTH.size + length
        self._entries = header.entries

    def keys(self) -> list[str]:
        """Return the keys in the order of the file's header."""
        return list(self._entries)

    def entry(self, key: str) -> TensorEntry:
        """Return dtype, shape, absolute offset and size of a tensor.

        Raises:
            BundleError: The file has no such tensor.
        """
        try:
            return self._entries[key]
        except KeyError:
            some = ", ".join(map(repr, list(self._entries)[:5]))
            raise BundleError(
                f"{self.path}: no tensor {key!r} among its {len(self._entries)} ({some}, ...)"
            ) from None

    def array(self, key: str) -> npt.NDArray[Any]:
        """Return a tensor as a read-only array over the mapped file, without reading it.

        Strings and 4-bit integers are packed in the file, so for those it is a copy.

        Raises:
            BundleError: The file has no such tensor, is closed, or the tensor's bytes are wrong.
        """
        entry = self.entry(key)
        if self._map is None:
            raise BundleError(f"{self.path}: closed, so no tensor {key!r}; open it again")
        return decode(
            self._map,
            entry.dtype,
            entry.shape,
            f"{self.path}: tensor {key!r}",
            offset=entry.offset,
            nbytes=entry.nbytes,
        )

    def header(self) -> bytes:
        """Return the first bytes of the file: the length of its JSON text, and the text.

        Raises:
            BundleError: The file is closed.
        """
        if self._map is None:
            raise BundleError(f"{self.path}: closed, so it has no header; open it again")
        return self._map[: self.begin]

    def comparison(self, sums: Sequence[int]) -> Comparison:
        """Return what compares pieces of the mapped bytes with the sums that they should have.

        Raises:
            BundleError: The file is closed.
        """
        if self._map is None:
            raise BundleError(f"{self.path}: closed, so it cannot be compared; open it again")
        return Comparison(self._map, sums)

    def sha256(self) -> bytes:
        """Return the hash of the mapped bytes; they are read, and not kept in memory for it.

        Raises:
            BundleError: The file is closed.
        """
        mapped = self._map
        if mapped is None:
            raise BundleError(f"{self.path}: closed, so it cannot be hashed; open it again")
        digest = hashlib.sha256()
        with memoryview(mapped) as data:
            for begin in range(0, self.size, _HASHED_AT_ONCE):
                digest.update(data[begin : begin + _HASHED_AT_ONCE])
                if _FORGET is not None:
                    # Only this process lets go of the pages; a later access maps them again.
                    mapped.madvise(_FORGET, begin, min(_HASHED_AT_ONCE, self.size - begin))
        return digest.digest()

    def close(self) -> None:
        """Let go of the mapping; it ends with the last array over it."""
        self._map = None

    def __len__(self) -> int:
        """Return the number of tensors."""
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._entries)

    def __contains__(self, key: object) -> bool:
        """Return whether there is a tensor of this key."""
        return key in self._entries

    def __repr__(self) -> str:
        """Return path, number of tensors and size."""
        return f"SafetensorsFile({self.path!r}, {len(self)} tensors, {self.size} bytes)"


def open_safetensors(path: str | os.PathLike[str]) -> SafetensorsFile:
    """Map a safetensors file and check its whole header.

    Args:
        path: The file.

    Returns:
        The open file; use it in a ``with`` statement or not at all.

    Raises:
        NotFoundError: There is no such file.
        BundleError: The file is truncated, or its header is not what the format prescribes.
    """
    return SafetensorsFile(path)


def _map(descriptor: int, size: int, path: str) -> tuple[mmap.mmap, int]:
    head = os.read(descriptor, _LENGTH.size)
    if len(head) < _LENGTH.size or size < _LENGTH.size:
        raise BundleError(
            f"{path}: {size} bytes, expected at least {_LENGTH.size}; not a safetensors file, or "
            "a truncated one"
        )
    (length,) = _LENGTH.unpack(head)
    if length > limits.MAX_TENSOR_HEADER_BYTES:
        raise BundleError(
            f"{path}: a header of {length} bytes, limit {limits.MAX_TENSOR_HEADER_BYTES}; not a "
            "safetensors file, or a damaged one"
        )
    if length > size - _LENGTH.size:
        raise BundleError(
            f"{path}: a header of {length} bytes in a file of {size}; the file is truncated or "
            "damaged: copy or save it again"
        )
    return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ), length
