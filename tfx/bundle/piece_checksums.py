"""CRC-32s of pieces: damage is found at the speed at which memory is read.

Owns the size of a piece, and the record of what was compared. Must not know what the bytes mean.
The one decision: beside the SHA-256 of a whole file there are sums of its parts, so that what is
used of a file can be compared without the rest, by several threads, and several times faster.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tfx.bundle.crc32 import crc32
from tfx.core.system_errors import starting_threads

PIECE = 16 << 20
# As many threads as are worthwhile: each compares several GB a second.
_THREADS = max(1, min(4, os.cpu_count() or 1))
_FORGET: int | None = getattr(mmap, "MADV_DONTNEED", None)
_EXPECT: int | None = getattr(mmap, "MADV_WILLNEED", None)


def piece_count(size: int) -> int:
    """Return the number of pieces in `size` bytes."""
    return -(-size // PIECE)


class PieceSums:
    """The CRC-32s of the pieces of data that comes in parts."""

    def __init__(self) -> None:
        """Begin without data."""
        self._sums: list[int] = []
        self._room = 0

    def update(self, data: memoryview) -> None:
        """Take more data, of one-byte elements."""
        while data:
            if not self._room:
                self._sums.append(0)
                self._room = PIECE
            part = data[: self._room]
            self._sums[-1] = crc32(part, self._sums[-1])
            self._room -= len(part)
            data = data[len(part) :]

    def sums(self) -> tuple[int, ...]:
        """Return the sums of what came."""
        return tuple(self._sums)


class Comparison:
    """The pieces of a mapped file that are verified to be as they were written.

    For one caller at a time; it works with several threads itself.
    """

    def __init__(self, mapped: mmap.mmap, sums: Sequence[int]) -> None:
        """Take a mapping and the sums that its pieces should have."""
        self._map = mapped
        self._size = len(mapped)
        self._sums = sums
        self._waiting = set(range(len(sums)))

    @property
    def complete(self) -> bool:
        """True if all pieces were compared."""
        return not self._waiting

    def compare(self, ranges: Iterable[tuple[int, int]], *, keep: bool) -> tuple[int, int] | None:
        """Compare all pieces that have a byte of these ranges and were not compared yet.

        Args:
            ranges: First byte and number of bytes of each.
            keep: Whether the pages will be used through this mapping soon; else they are let go.

        Returns:
            Number and sum of a piece that is another than it should be; None if there is none.
        """
        if not self._waiting:
            return None
        wanted = {
            number
            for begin, length in ranges
            if length > 0
            for number in range(begin // PIECE, (begin + length - 1) // PIECE + 1)
        }
        todo = sorted(wanted & self._waiting)
        for number, value in zip(todo, self._sums_of(todo, keep), strict=True):
            if value != self._sums[number]:
                return number, value
            self._waiting.discard(number)
        return None

    def _sums_of(self, numbers: Sequence[int], keep: bool) -> list[int]:
        with memoryview(self._map) as data:
            if len(numbers) < 2 or _THREADS == 1:
                return [self._sum(data, number, keep) for number in numbers]
            # Python's lock is free while bytes are summed.
            with starting_threads(), ThreadPoolExecutor(min(_THREADS, len(numbers))) as pool:
                return list(pool.map(lambda number: self._sum(data, number, keep), numbers))

    def _sum(self, data: memoryview, number: int, keep: bool) -> int:
        begin = number * PIECE
        length = min(PIECE, self._size - begin)
        self._advise(_EXPECT, begin, length)  # where it is not in memory: in one go
        found = crc32(data[begin : begin + length])
        if not keep:
            # Only this process lets go of the pages; a later access maps them again.
            self._advise(_FORGET, begin, length)
        return found

    def _advise(self, advice: int | None, begin: int, length: int) -> None:
        if advice is not None and not begin % mmap.PAGESIZE:
            # Advice that this system does not know; reading shows what is wrong.
            with contextlib.suppress(OSError):
                self._map.madvise(advice, begin, length)
