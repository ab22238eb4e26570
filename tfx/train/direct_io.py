"""Reads that go from the disk straight into the memory where values stay.

Owns the alignment that such reads need in files and in memory, and the check whether the system
has a file's bytes in its cache, which is faster to read. Must not know what is read. The one
decision: direct reads are optional; where the system does not offer them, or one fails, the caller
reads the same bytes the usual way. They are faster because several large requests run at once, and
the processor neither copies the bytes nor allocates memory for a second copy.
"""

from __future__ import annotations

import contextlib
import os
import sys
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

# Places in the file and in memory are multiples of it; those of disks are as great or smaller.
BLOCK = 4096
# Smaller values are read the usual way.
_WORTHWHILE = 1 << 20
# What the system's own allocator gives, and kernels may count on.
_ALIGNMENT = 16


def room(nbytes: int, offset: int) -> npt.NDArray[np.uint8]:
    """New memory for the bytes of a file from ``offset`` on, its blocks like those of the file."""
    if nbytes < _WORTHWHILE or offset % _ALIGNMENT:
        return np.empty(nbytes, np.uint8)
    memory = np.empty(nbytes + BLOCK, np.uint8)
    skip = (offset - memory.ctypes.data) % BLOCK
    return memory[skip : skip + nbytes]


class Direct:
    """A second way to read an open file, past the cache of the system; for several threads."""

    def __init__(self, descriptor: int) -> None:
        """Try to open it.

        Args:
            descriptor: The open file, also if it was deleted or replaced since.
        """
        self._open = contextlib.ExitStack()
        self._works = False
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                self._cached = self._again(descriptor, 0)
                # So the question about a block brings no more than this block into the cache.
                os.posix_fadvise(self._cached, 0, 0, os.POSIX_FADV_RANDOM)
                self._direct = self._again(descriptor, os.O_DIRECT)
                self._works = True

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; the file that it was made from stays open."""
        self._open.close()

    def fits(self, block: memoryview | None, offset: int) -> bool:
        """True if ``fill`` can read these bytes: enough of them, and memory from ``room``."""
        if not self._works or block is None or len(block) < _WORTHWHILE:
            return False
        place = np.frombuffer(block, np.uint8).ctypes.data
        return (place - offset) % BLOCK == 0

    def is_cached(self, offset: int) -> bool:
        """True if the system has the block there in memory; True if nobody knows."""
        if sys.platform == "linux" and self._works:
            try:
                os.preadv(self._cached, [bytearray(1)], offset, os.RWF_NOWAIT)
            except BlockingIOError:
                return False
            except OSError:  # a file system that does not tell
                pass
        return True

    def forget(self, offset: int) -> None:
        """Undo what ``is_cached`` may have caused: else the block is cached when asked again."""
        if sys.platform == "linux" and self._works:
            with contextlib.suppress(OSError):
                begin = offset - offset % BLOCK
                os.posix_fadvise(self._cached, begin, BLOCK, os.POSIX_FADV_DONTNEED)

    def fill(self, block: memoryview, offset: int) -> int:
        """Read the bytes from ``offset`` on.

        Returns:
            How many were read; the others are to be read the usual way.
        """
        done = 0
        try:
            while self._works and done < len(block):
                count = self._some(block[done:], offset + done)
                if not count:
                    break
                done += count
        except OSError:  # larger blocks, or a file system that opens what it cannot read
            self._works = False
        return done

    def _some(self, block: memoryview, offset: int) -> int:
        """Read whole blocks of the file, or a part of one block; the number of bytes."""
        whole = len(block) - len(block) % BLOCK
        begin = offset % BLOCK
        if whole and not begin:
            return os.preadv(self._direct, [block[:whole]], offset)
        memory = np.empty(2 * BLOCK, np.uint8)
        skip = -memory.ctypes.data % BLOCK
        spare = memory[skip : skip + BLOCK].data
        found = spare[begin : os.preadv(self._direct, [spare], offset - begin)][: len(block)]
        block[: len(found)] = found
        return len(found)

    def _again(self, descriptor: int, flags: int) -> int:
        """Open the file once more, with a position and advice of its own."""
        path = f"/proc/self/fd/{descriptor}"
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
        self._open.callback(os.close, opened)
        return opened
