"""Reading the values of one checkpoint file into memory that the program owns.

Owns the order of reads: pieces from the beginning to the end of the file, the fastest order for
disks, by several threads that read ahead while others verify the CRC-32 of parts that are still in
the processor's cache; large values outside of the system's cache are read directly from the disk.
Must not know of objects. The one decision: values are copied out of an open file and never mapped,
so variables keep what was restored whatever happens to the file later, even if it is overwritten in
place, and a deleted file can still be read.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tfx.bundle import piece_checksums as sums
from tfx.bundle.crc32 import crc32
from tfx.bundle.files import open_plain
from tfx.bundle.safetensors import SafetensorsFile, open_safetensors
from tfx.bundle.tensor_bytes import decode
from tfx.core.errors import BundleError, UnavailableError
from tfx.core.system_errors import starting_threads
from tfx.train.direct_io import Direct, room
from tfx.train.piece_checksums import HEADER_KEY, header_sum

# Below this a switch to another thread costs more than reading.
_READ_IN_THREADS = 1 << 20
# More than there may be processors: some wait for the disk.
_THREADS = 4
# What is read at once, and compared while it is in the processor's cache.
_CHUNK = 1 << 20
# What is read at once straight from the disk: requests as great as it takes.
_REQUEST = 4 << 20
# How far ahead the system is asked to read.
_AHEAD = 64 << 20
_TRIES = 10
_SEEKING = threading.Lock()
_OWN = threading.local()


class Wanted(NamedTuple):
    """A value to read; ``sums`` are the CRC-32s of its pieces, None if nobody knows them."""

    key: str
    sums: tuple[int, ...] | None


class _Part(NamedTuple):
    """A piece of a value: where it is in the file, where it goes, and the sum it should have."""

    key: str
    offset: int
    size: int
    into: memoryview | None
    expected: int | None


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
        try:
            _check_header(self.file)
        except BaseException:
            self._close()
            raise
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
        entries = {w.key: self.file.entry(w.key) for w in wanted}
        memory = {key: room(entry.nbytes, entry.offset) for key, entry in entries.items()}
        self._run([part for w in wanted for part in self._parts(w, memory[w.key])])
        return {key: self._decoded(key, buffer) for key, buffer in memory.items()}

    def compare(self, wanted: Sequence[Wanted]) -> None:
        """Read values, compare them with their sums, and keep nothing.

        Args:
            wanted: Which.

        Raises:
            BundleError: the file was damaged, or is closed.
        """
        self.descriptor(wanted[0].key if wanted else "")
        self._run([part for w in wanted for part in self._parts(w, None)])

    def _parts(self, wanted: Wanted, buffer: npt.NDArray[np.uint8] | None) -> Iterator[_Part]:
        entry = self.file.entry(wanted.key)
        for number, begin in enumerate(range(0, entry.nbytes, sums.PIECE)):
            size = min(sums.PIECE, entry.nbytes - begin)
            into = None if buffer is None else buffer.data[begin : begin + size]
            expected = None if wanted.sums is None else wanted.sums[number]
            yield _Part(wanted.key, entry.offset + begin, size, into, expected)

    def _run(self, parts: list[_Part]) -> None:
        """Read and compare parts, with several threads if it is much."""
        parts.sort(key=lambda part: part.offset)
        total = sum(part.size for part in parts)
        if total < _READ_IN_THREADS:
            for part in parts:
                self._take(part)
            return
        with Direct(self._descriptor) as direct:
            self._run_in_threads(iter(parts), total, direct)

    def _run_in_threads(self, waiting: Iterator[_Part], total: int, direct: Direct) -> None:
        turn = threading.Lock()
        failed = threading.Event()

        def work() -> None:
            while not failed.is_set():
                with turn:
                    batch = _batch(waiting)
                if not batch:
                    return
                try:
                    self._take_batch(batch, direct)
                except BaseException:
                    failed.set()
                    raise

        threads = min(_THREADS, -(-total // sums.PIECE) + 1)
        with starting_threads(), ThreadPoolExecutor(threads) as pool:
            running = [pool.submit(work) for _ in range(_THREADS)]
        for done in running:
            done.result()

    def _take_batch(self, batch: list[_Part], direct: Direct) -> None:
        """Read and compare neighbours, in the way that suits the largest of them."""
        greatest = max(batch, key=lambda part: part.size)
        fits = direct.fits(greatest.into, greatest.offset)
        # Its beginning may be there only because what comes before was read the usual way.
        asked = greatest.offset + greatest.size - 1
        cached = direct.is_cached(asked) if fits else True
        if not fits:  # what is read ahead would count as cached
            self._advise(batch[-1].offset + batch[-1].size)
        for part in batch:
            straight = not cached and direct.fits(part.into, part.offset)
            self._take(part, direct if straight else None)
        if not cached:
            direct.forget(asked)

    def _advise(self, end: int) -> None:
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):
                os.posix_fadvise(self._descriptor, end, _AHEAD, os.POSIX_FADV_WILLNEED)

    def _take(self, part: _Part, direct: Direct | None = None) -> None:
        """Read a part, in chunks, and compare it."""
        found = 0
        step = _CHUNK if direct is None else _REQUEST
        end = 0
        while end < part.size:
            begin = end
            # All but the first begin with a block of the file, as direct reads like it.
            end = min(part.size, begin + step - (part.offset + begin) % step)
            chunk = _scratch(end - begin) if part.into is None else part.into[begin:end]
            done = 0 if direct is None else direct.fill(chunk, part.offset + begin)
            self._fill(chunk[done:], part.offset + begin + done)
            if part.expected is not None:
                found = crc32(chunk, found)
        if part.expected is not None and found != part.expected:
            raise BundleError(
                f"{self.path}: the bytes of tensor {part.key!r} have the CRC-32 {found:08x}, the "
                f"file says {part.expected:08x}; the file was changed or damaged: use an older "
                "checkpoint, or a copy"
            )

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


def _check_header(file: SafetensorsFile) -> None:
    """Compare the header of a checkpoint with its sum; files of other programs have none."""
    says = file.metadata.get(HEADER_KEY)
    if says is None:
        return
    found = header_sum(file.header())
    if found is None or found[0] != says:
        raise BundleError(
            f"{file.path}: its header has the CRC-32 {found[0] if found else None}, it says "
            f"{says!r:.80}; the file was changed or damaged: use an older checkpoint, or a copy"
        )


def _batch(parts: Iterator[_Part]) -> list[_Part]:
    """The next parts: as many as make up a piece, so that small values are no work for each."""
    batch = []
    size = 0
    for part in parts:
        batch.append(part)
        size += part.size
        if size >= sums.PIECE // 2:
            break
    return batch


def _scratch(size: int) -> memoryview:
    """Memory of this thread's own, for what is not kept."""
    buffer: bytearray | None = getattr(_OWN, "buffer", None)
    if buffer is None:
        buffer = _OWN.buffer = bytearray(_CHUNK)
    return memoryview(buffer)[:size]


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
