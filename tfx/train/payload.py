"""Reading the values of one checkpoint file into memory of the program's own.

Owns the order of reads: large pieces from the beginning to the end of the file, as disks like it
best, while other threads compare the pieces before with their CRC-32s. Must not know of objects.
The one decision: values are copied out of an open file and never mapped, so whatever happens to the
file later, also in place, variables keep what was restored, and a deleted file can still be read.
"""

from __future__ import annotations

import os
import threading
import weakref
import zlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tfx.bundle.encodings import decode
from tfx.bundle.files import open_plain
from tfx.bundle.safetensors import SafetensorsFile, open_safetensors
from tfx.core.errors import BundleError, UnavailableError
from tfx.train.checksums import PIECE

# Below this a switch to another thread costs more than the sum.
_SUM_IN_THREAD = 1 << 20
_THREADS = max(1, min(4, os.cpu_count() or 1))
_TRIES = 10
_SEEKING = threading.Lock()


class Wanted(NamedTuple):
    """A value to read; ``sums`` are the CRC-32s of its pieces, None if nobody knows them."""

    key: str
    sums: tuple[int, ...] | None


class Payload:
    """An open file of a checkpoint.

    Attributes:
        file: Its header.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file and check its header.

        Raises:
            NotFoundError: there is no such file.
            BundleError: it is damaged.
        """
        self.file, self._descriptor = _open(path)
        self.path = self.file.path
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self.file.close()  # the header is known; the mapping is not used

    def close(self) -> None:
        """Let go of the file."""
        self._close()

    def descriptor(self, key: str = "") -> int:
        """The open file.

        Raises:
            BundleError: it has been closed; ``key`` is what it was to be read for.
        """
        if not self._close.alive:
            what = f", so no tensor {key!r}" if key else ""
            raise BundleError(f"{self.path}: closed{what}; open it again")
        return self._descriptor

    def read(self, wanted: Sequence[Wanted]) -> dict[str, npt.NDArray[Any]]:
        """Return values as new arrays.

        Args:
            wanted: Which; in the order of the file they are read quickest.

        Raises:
            BundleError: the file was damaged, or is closed.
        """
        self.descriptor(wanted[0].key if wanted else "")
        memory: dict[str, npt.NDArray[np.uint8]] = {}
        with _Comparison(self.path) as comparison:
            for key, sums in sorted(wanted, key=lambda item: self.file.entry(item.key).offset):
                entry = self.file.entry(key)
                memory[key] = buffer = np.empty(entry.nbytes, np.uint8)
                for number, begin in enumerate(range(0, entry.nbytes, PIECE)):
                    part = buffer.data[begin : begin + PIECE]
                    self._fill(part, entry.offset + begin)
                    if sums is not None:
                        comparison.compare(key, part, sums[number])
        return {key: self._decoded(key, buffer) for key, buffer in memory.items()}

    def _decoded(self, key: str, buffer: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
        entry = self.file.entry(key)
        where = f"{self.path}: tensor {key!r}"
        array = decode(buffer.data, entry.dtype, entry.shape, where, nbytes=entry.nbytes)
        array.flags.writeable = True  # nobody else has this memory
        return array

    def _fill(self, part: memoryview, offset: int) -> None:
        try:
            _read_into(self._descriptor, part, offset)
        except EOFError:
            raise BundleError(
                f"{self.path}: it ends before its last tensor; the file was cut while it was open"
            ) from None
        except OSError as e:
            raise UnavailableError(f"{self.path}: cannot be read: {e.strerror or e}") from e


class _Comparison:
    """Compares what has been read with its CRC-32s, beside the reading."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pool: ThreadPoolExecutor | None = None
        self._running: list[Future[None]] = []

    def compare(self, key: str, data: memoryview, expected: int) -> None:
        """Compare now, or soon if it is much."""
        if len(data) < _SUM_IN_THREAD or _THREADS == 1:
            self._compare(key, data, expected)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS)
        self._running.append(self._pool.submit(self._compare, key, data, expected))

    def _compare(self, key: str, data: memoryview, expected: int) -> None:
        found = zlib.crc32(data)
        if found != expected:
            raise BundleError(
                f"{self._path}: the bytes of tensor {key!r} have the CRC-32 {found:08x}, the file "
                f"says {expected:08x}; the file was changed or damaged: use an older checkpoint, "
                "or a copy"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=kind is not None)
        if kind is None:
            for running in self._running:
                running.result()


def _open(path: str | os.PathLike[str]) -> tuple[SafetensorsFile, int]:
    """A header and a descriptor of one and the same file, though it may be replaced meanwhile."""
    for _ in range(_TRIES):
        descriptor, _ = open_plain(path)
        try:
            file = open_safetensors(path)
            if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                return file, descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise UnavailableError(f"{os.fspath(path)}: is replaced all the time; read it again later")


def _read_into(descriptor: int, block: memoryview, offset: int) -> None:
    while block:
        if hasattr(os, "preadv"):
            count = os.preadv(descriptor, [block], offset)
        else:  # Windows
            count = _seek_and_read(descriptor, block, offset)
        if not count:
            raise EOFError
        block = block[count:]
        offset += count


def _seek_and_read(descriptor: int, block: memoryview, offset: int) -> int:
    with _SEEKING:
        os.lseek(descriptor, offset, os.SEEK_SET)
        data = os.read(descriptor, len(block))
    block[: len(data)] = data
    return len(data)
