"""Writing a big new file at the speed of the disk, and its SHA-256 with it.

Owns the threads. Must not know what the bytes mean. The one decision: each byte passes once, from
the caller's buffer, to the system and to the hash at the same time, and the disk begins its work
while there is more to come, instead of when the file is made durable at the end.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, Self

from tfx.core.errors import AlreadyExistsError

# Below this a switch to another thread costs more than the hash.
_HASH_IN_THREAD = 1 << 20
# How far writing and hashing may be apart.
_PIECE = 32 << 20
# How much is written before the disk is told to begin.
_FLUSH_EVERY = 64 << 20

_flush: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class HashingWriter:
    """A new file that is hashed while it is written; use it in a ``with`` statement."""

    def __init__(self, path: str) -> None:
        """Make the file.

        Args:
            path: It must not exist: readers may have mapped what is there.

        Raises:
            AlreadyExistsError: There is such a file.
        """
        try:
            self._file: BinaryIO = open(path, "xb", buffering=0)  # noqa: SIM115
        except FileExistsError as error:
            raise AlreadyExistsError(
                f"{path}: there is such a file, expected to make a new one; write to another path "
                "and rename it"
            ) from error
        self._digest = hashlib.sha256()
        self._pool = ThreadPoolExecutor(2)
        self._flushing: Future[None] | None = None
        self._unflushed = 0

    def write(self, data: memoryview) -> None:
        """Write and hash all of ``data``; when this returns, the buffer may change."""
        if len(data) < _HASH_IN_THREAD:
            self._write_all(data)
            self._digest.update(data)
            return
        for begin in range(0, len(data), _PIECE):
            piece = data[begin : begin + _PIECE]
            # Both leave Python's lock to others while they work.
            hashed = self._pool.submit(self._digest.update, piece)
            self._write_all(piece)
            hashed.result()

    def sha256(self) -> bytes:
        """Return the hash of what has been written."""
        return self._digest.digest()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; makes no promise that it is durable."""
        self._pool.shutdown()
        self._file.close()
        if self._flushing is not None:
            self._flushing.result()  # a full disk may show only here

    def _write_all(self, data: memoryview) -> None:
        self._unflushed += len(data)
        while data:
            data = data[self._file.write(data) :]
        if self._unflushed >= _FLUSH_EVERY and (self._flushing is None or self._flushing.done()):
            if self._flushing is not None:
                self._flushing.result()
            self._flushing = self._pool.submit(_flush, self._file.fileno())
            self._unflushed = 0
