"""CRC-32 by the quickest implementation that is installed.

zlib-ng's is about six times as quick as the zlib that comes with Python. It is optional, since the
two give the same sums; it is looked for when the first sum is made, since few programs make one.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Any


def crc32(data: Any, value: int = 0, /) -> int:
    """Return the CRC-32 of bytes, for which Python's lock is free where they are many.

    Args:
        data: An object with a contiguous buffer.
        value: The sum of what stands before it.
    """
    return _implementation()(data, value)


@functools.cache
def _implementation() -> Callable[[Any, int], int]:
    try:
        from zlib_ng import zlib_ng
    except ImportError:
        return zlib.crc32
    found: Callable[[Any, int], int] = zlib_ng.crc32
    return found
