"""Hashes of many strings at once: the words that a hash reads, of one string or of each of many.

The decision: a hash is written once, over numbers of 64 bits. Of one string these are Python's, of
many an array's, so the strings that take the same path through it are hashed by one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

# Integers of 64 bits: Python's, which the hash itself keeps below 2^64, or an array of uint64.
Numbers: TypeAlias = Any
# Strings of one path, their sizes, and the size of any of them: the hashes.
Hash: TypeAlias = "Callable[[bytes | Texts, Numbers, int], Numbers]"

_FEW = 16  # strings that Python hashes sooner


class Texts:
    """Some of the strings of a buffer.

    Args:
        words: The eight bytes that begin at each place of the buffer, as a number.
        starts: Where each string begins, uint64.
    """

    def __init__(self, words: npt.NDArray[np.uint64], starts: npt.NDArray[np.uint64]) -> None:
        self._words, self._starts = words, starts

    def word(self, place: Numbers) -> Numbers:
        """The eight bytes from a place of each string on, the lowest first."""
        return self._words[self._starts + place]


def word(data: bytes | Texts, place: Numbers, size: Numbers = 8) -> Numbers:
    """Some bytes from a place on as a number, the lowest first.

    Args:
        data: One string, or many.
        place: Where the bytes begin.
        size: How many they are, at most eight.
    """
    if isinstance(data, bytes):
        return int.from_bytes(data[place : place + size], "little")
    found = data.word(place)
    if isinstance(size, int) and size == 8:
        return found
    return found & ((np.uint64(1) << np.uint64(8) * np.asarray(size, np.uint64)) - np.uint64(1))


def hash_all(
    hashed: Hash, path: Callable[[Any], Any], texts: Sequence[bytes]
) -> npt.NDArray[np.uint64]:
    """The hash of each string.

    Args:
        hashed: Computes the hashes of strings that take the same path.
        path: Given the sizes of strings as an int64 array, an integer for each: equal ones take
            the same path.
        texts: The strings.
    """
    count = len(texts)
    if count <= _FEW:
        one_by_one = [hashed(text, len(text), len(text)) for text in texts]
        return np.array(one_by_one, np.uint64)
    sizes = np.fromiter(map(len, texts), np.int64, count)
    starts = (np.cumsum(sizes) - sizes).astype(np.uint64)
    # The last string's words reach beyond its end.
    buffer = b"".join([*texts, bytes(16)])
    words = np.ndarray(len(buffer) - 7, "<u8", buffer, strides=(1,))
    result = np.empty(count, np.uint64)
    paths = path(sizes)
    order = np.argsort(paths, kind="stable")
    ends = np.flatnonzero(np.diff(paths[order], append=-1)) + 1
    for places in np.split(order, ends[:-1]):
        some, size = Texts(words, starts[places]), sizes[places]
        result[places] = hashed(some, size.astype(np.uint64), int(size[0]))
    return result
