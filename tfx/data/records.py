"""Records in files: lines of text, TFRecords, records of fixed length."""

from __future__ import annotations

import gzip
import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from tfx.core.errors import DataLossError, InvalidArgumentError
from tfx.core.gfile import file_errors, local_path
from tfx.core.specs import TensorSpec
from tfx.data.leaves import Leaves, array_of, number, text
from tfx.data.nodes import Node, Run, Stage
from tfx.data.structure import Structure
from tfx.framework.tensor import EagerTensor
from tfx.summary.record_writer import COMPRESSIONS
from tfx.summary.records import crc32c, masked

_BUFFER = 1 << 18


class Records(Node):
    """The records of files, one file after another.

    Args:
        reader: Yields the records of a file, given its path, its compression and buffer size.
        filenames: A string tensor.
        compression: A string, which may be a tensor.
        buffer_size: Of reading.
        **numbers: What else the reader gets.
    """

    def __init__(
        self,
        reader: Callable[..., Iterator[bytes]],
        filenames: Any,
        compression: Any,
        buffer_size: Any,
        numbers: Sequence[Any] = (),
    ) -> None:
        self.reader = reader
        self.filenames = filenames
        self.compression = compression
        self.buffer_size = buffer_size
        self.numbers = tuple(numbers)
        self.structure = Structure(TensorSpec([], "string"))

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        names = [os.fsdecode(bytes(x)) for x in array_of(self.filenames).reshape(-1)]
        compression = _text(self.compression)
        if compression not in COMPRESSIONS:
            raise InvalidArgumentError(
                f"Unsupported compression type {compression!r}: expected '', 'GZIP' or 'ZLIB'."
            )
        size = number(self.buffer_size) or _BUFFER
        numbers = [number(x) for x in self.numbers]
        return _RecordsStage(names, lambda path: self.reader(path, compression, size, *numbers))


def _text(value: Any) -> str:
    if value is None:
        return ""
    found = array_of(value)[()] if isinstance(value, EagerTensor) else value
    return found.decode() if isinstance(found, bytes) else str(found)


class _RecordsStage(Stage):
    __slots__ = ("_begin", "_count", "_file", "_names", "_now")

    def __init__(self, names: Sequence[str], begin: Callable[[str], Iterator[bytes]]) -> None:
        super().__init__()
        self._names = names
        self._begin = begin
        self._file = 0
        self._count = 0  # of records read from the present file
        self._now: Iterator[bytes] | None = None

    def next(self) -> Leaves:
        """See ``Stage``."""
        while self._file < len(self._names):
            name = self._names[self._file]
            if self._now is None:
                self._now, self._count = self._begin(name), 0
            try:
                with file_errors(name), compression_errors(name):
                    found = next(self._now)
            except StopIteration:
                self._now = None
                self._file += 1
                continue
            except BaseException:
                # The rest of a damaged file cannot be found.
                self._now = None
                self._file += 1
                raise
            self._count += 1
            return (text(found),)
        raise StopIteration

    def save(self) -> Any:
        """See ``Stage``."""
        return {"file": self._file, "count": self._count if self._now is not None else None}

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        self._file, self._now, self._count = state["file"], None, 0
        if state["count"] is not None:
            self._now = self._begin(self._names[self._file])
            for _ in range(state["count"]):
                next(self._now)
            self._count = state["count"]

    def close(self) -> None:
        """See ``Stage``."""
        self._now = None


# Readers


@contextmanager
def compression_errors(path: str) -> Iterator[None]:
    """Raise ``DataLossError`` for what the libraries say of damaged compressed files."""
    try:
        yield
    except (zlib.error, gzip.BadGzipFile, EOFError) as e:
        raise DataLossError(f"{path}: {e}") from e


def opened(path: str, compression: str, size: int) -> IO[bytes]:
    """A file without its compression, and with a buffer of a size."""
    if compression == "GZIP":
        return io.BufferedReader(gzip.open(path), size)
    if compression == "ZLIB":
        with open(path, "rb") as file:
            return io.BytesIO(_inflated(file.read(), path))
    return open(path, "rb", buffering=max(size, 2))


def _inflated(data: bytes, path: str) -> bytes:
    """What several writers may have appended to a file, each as a stream of its own."""
    parts = []
    while data:
        stream = zlib.decompressobj()
        try:
            parts.append(stream.decompress(data))
        except zlib.error as e:
            raise DataLossError(f"{path}: {e}") from e
        if not stream.eof:
            raise DataLossError(f"{path}: the compressed data end too early")
        data = stream.unused_data
    return b"".join(parts)


def lines(path: str, compression: str, size: int) -> Iterator[bytes]:
    """The lines of a file, without what ends them."""
    with opened(path, compression, size) as file:
        for line in file:
            if line.endswith(b"\n"):
                line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
            yield line


def _read(file: IO[bytes], length: int) -> bytes:
    """As many bytes as there are, up to a length."""
    if length <= _BUFFER:
        return file.read(length)
    parts = []
    while length > 0 and (part := file.read(min(length, 64 * _BUFFER))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def tfrecords(path: str, compression: str, size: int) -> Iterator[bytes]:
    """The records of a TFRecord file, compared with their checksums."""
    with opened(path, compression, size) as file:
        offset = 0
        while True:
            head = file.read(12)
            if not head:
                return
            if len(head) < 12 or masked(crc32c(head[:8])) != int.from_bytes(head[8:], "little"):
                raise DataLossError(f"{path}: corrupted record at {offset}")
            (length,) = struct.unpack("<Q", head[:8])
            # Not all at once: a length that lies would ask for all memory.
            data, check = _read(file, length), file.read(4)
            if len(data) < length or len(check) < 4:
                raise DataLossError(f"{path}: truncated record at {offset}")
            if masked(crc32c(data)) != int.from_bytes(check, "little"):
                raise DataLossError(f"{path}: corrupted record at {offset}")
            offset += length + 16
            yield data


def records_of_file(path: Any, compression: str = "") -> Iterator[bytes]:
    """The records of a TFRecord file for a program, in graphs too.

    Args:
        path: The file.
        compression: ``""``, ``"GZIP"`` or ``"ZLIB"``.

    Raises:
        DataLossError: a file that is damaged.
        NotFoundError: no such file.
    """
    name = local_path(path)
    records = tfrecords(name, compression, _BUFFER)
    while True:
        with file_errors(name), compression_errors(name):
            record = next(records, None)
        if record is None:
            return
        yield record


def fixed_records(
    path: str, compression: str, size: int, record: int, header: int, footer: int
) -> Iterator[bytes]:
    """The records of a file of records of one length, between a header and a footer."""
    with opened(path, compression, size) as file:
        body = file.read()[header:]
    body = body[: len(body) - footer] if footer else body
    if len(body) % record:
        raise InvalidArgumentError(
            f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
            f"{path!r} has body length {len(body)} bytes, which is not an exact multiple of the "
            f"record length ({record} bytes)."
        )
    for start in range(0, len(body), record):
        yield body[start : start + record]
