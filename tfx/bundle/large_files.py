"""Writing a big new file at the speed of the disk, and sums of its bytes with it.

Owns the threads. Must not know what the bytes mean. The one decision: each byte passes once, from
the caller's buffer, to the system and to the sums while it is still near the processor, and the
disk begins its work while there is more to come, instead of when the file is made durable at the
end.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, Protocol, Self

from tfx.core.errors import AlreadyExistsError

# Below this a switch to another thread costs more than the sums.
_SUM_IN_THREAD = 1 << 20
# What is written at once: it stays in the processor's cache until it is summed.
_PIECE = 4 << 20
# How far the sums may be behind.
_BEHIND = 16
# How much is written before writeback is started.
_FLUSH_EVERY = 32 << 20
_SYNC_FILE_RANGE_WRITE = 2


class Sum(Protocol):
    """A checksum that is updated with all bytes of a file, such as an object of ``hashlib``."""

    def update(self, data: memoryview, /) -> None:
        """Take the next bytes."""


class HashingWriter:
    """A new file whose bytes are summed while it is written; use it in a ``with`` statement.

    Sums are complete when the block has ended.
    """

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
        # One thread for each place in the list of sums: each sees its bytes in their order.
        self._summers: list[ThreadPoolExecutor] = []
        self._summing: deque[Future[None]] = deque()
        self._last: dict[int, Future[None]] = {}
        self._flusher: ThreadPoolExecutor | None = None
        self._flushing: Future[None] | None = None
        self._begin = 0
        self._end = 0

    def write(self, data: memoryview, *sums: Sum) -> None:
        """Write all of ``data`` and have it summed.

        Args:
            data: It must not change before the block of the writer has ended.
            sums: What is to see these bytes; kept alive by the caller.
        """
        if len(data) < _SUM_IN_THREAD and all(
            (last := self._last.get(id(item))) is None or last.done() for item in sums
        ):
            self._write_all(data)
            for item in sums:
                item.update(data)
            return
        while len(self._summers) < len(sums):
            self._summers.append(ThreadPoolExecutor(1))
        for begin in range(0, len(data), _PIECE):
            piece = data[begin : begin + _PIECE]
            # All leave Python's lock to others while they work.
            for item, summer in zip(sums, self._summers, strict=False):
                self._last[id(item)] = running = summer.submit(item.update, piece)
                self._summing.append(running)
            self._write_all(piece)
            while self._summing and (
                len(self._summing) > _BEHIND * len(sums) or self._summing[0].done()
            ):
                self._summing.popleft().result()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the sums and close the file; makes no promise that it is durable."""
        for summer in self._summers:
            summer.shutdown(cancel_futures=kind is not None)
        if self._flusher is not None:
            self._flusher.shutdown()
        self._file.close()
        if kind is None:
            for running in self._summing:
                running.result()
            if self._flushing is not None:
                self._flushing.result()  # a full disk may show only here

    def _write_all(self, data: memoryview) -> None:
        self._end += len(data)
        while data:
            data = data[self._file.write(data) :]
        if self._end - self._begin >= _FLUSH_EVERY and (
            self._flushing is None or self._flushing.done()
        ):
            if self._flushing is not None:
                self._flushing.result()
            if self._flusher is None:
                self._flusher = ThreadPoolExecutor(1)
            self._flushing = self._flusher.submit(
                _flush, self._file.fileno(), self._begin, self._end - self._begin
            )
            self._begin = self._end


def _begin_to_flush() -> Callable[[int, int, int], None]:
    """Return a function that starts writeback of a byte range: (descriptor, first byte, length).

    ``fdatasync`` would wait for the disk, and write a journal each time.
    """
    if not hasattr(os, "posix_fadvise"):
        return _nothing
    try:
        call = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError):  # a C library without it: Linux alone has it
        return _nothing
    call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)

    def flush(descriptor: int, begin: int, length: int) -> None:
        # That it fails shows when the file is made durable.
        call(descriptor, begin, length, _SYNC_FILE_RANGE_WRITE)

    return flush


def _nothing(descriptor: int, begin: int, length: int) -> None:
    """Leave it to the system when it begins."""


_flush = _begin_to_flush()
