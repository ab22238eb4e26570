"""The keyed hash by which strings are put into buckets that nobody can foresee: SipHash-2-4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tfx.ops.strings.hash_words import Numbers, Texts, hash_all, word

_MASK = (1 << 64) - 1


def siphash(data: bytes, key: tuple[int, int]) -> int:
    """The hash of some bytes, 0 to 2^64 - 1.

    Args:
        data: Any bytes.
        key: Two numbers of 64 bits.

    Example:
        >>> hex(siphash(bytes(range(15)), (0x0706050403020100, 0x0F0E0D0C0B0A0908)))
        '0xa129ca6149be45e5'
    """
    found: int = _hash(data, len(data), len(data), key)
    return found


def siphashes(texts: Sequence[bytes], key: tuple[int, int]) -> npt.NDArray[np.uint64]:
    """The hash of each of some strings.

    Example:
        >>> int(siphashes([b"", b"a"], (1, 2))[1]) == siphash(b"a", (1, 2))
        True
    """

    def keyed(s: bytes | Texts, size: Numbers, one: int) -> Numbers:
        return _hash(s, size, one, key)

    return hash_all(keyed, lambda sizes: sizes // 8, texts)


def _hash(s: bytes | Texts, size: Numbers, one: int, key: tuple[int, int]) -> Numbers:
    """The hashes of strings that have as many whole words as one of a size."""
    low, high = (part & _MASK for part in key)
    state = [
        low ^ 0x736F6D6570736575,
        high ^ 0x646F72616E646F6D,
        low ^ 0x6C7967656E657261,
        high ^ 0x7465646279746573,
    ]
    end = one // 8 * 8
    last = word(s, end, size - end) | (size & 0xFF) << 56
    for part in [*[word(s, place) for place in range(0, end, 8)], last]:
        state[3] = state[3] ^ part
        _mix(state, 2)
        state[0] = state[0] ^ part
    state[2] = state[2] ^ 0xFF
    _mix(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _mix(state: list[Numbers], rounds: int) -> None:
    a, b, c, d = state
    for _ in range(rounds):
        a = (a + b) & _MASK
        b = _turn(b, 13) ^ a
        a = _turn(a, 32)
        c = (c + d) & _MASK
        d = _turn(d, 16) ^ c
        a = (a + d) & _MASK
        d = _turn(d, 21) ^ a
        c = (c + b) & _MASK
        b = _turn(b, 17) ^ c
        c = _turn(c, 32)
    state[:] = a, b, c, d


def _turn(x: Numbers, by: int) -> Numbers:
    return (x << by | x >> (64 - by)) & _MASK
