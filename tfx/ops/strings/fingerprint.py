"""The hash by which words that are in no vocabulary are put into buckets.

Programs that were trained with TensorFlow expect the same buckets, so this is FarmHash's
``Fingerprint64``, a function whose results are fixed forever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.ops.strings.hash_words import Numbers, Texts, hash_all, word

_MASK = (1 << 64) - 1
_MIX = 0xC6A4A7935BD1E995
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def fingerprint64(data: bytes) -> int:
    """The fingerprint of some bytes, 0 to 2^64 - 1.

    Example:
        >>> hex(fingerprint64(b""))
        '0x9ae16a3b2f90404f'
    """
    found: int = _hash(data, len(data), len(data))
    return found


def fingerprints(texts: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """The fingerprint of each of some strings.

    Example:
        >>> int(fingerprints([b"", b"a"])[0]) == fingerprint64(b"")
        True
    """
    return hash_all(_hash, _path, texts)


_SHORT = np.array([0, 1, 4, 8, 17, 33, 65])  # from where on there is another path


def _path(sizes: Any) -> Any:
    return np.where(sizes <= 64, np.searchsorted(_SHORT, sizes, "right"), (sizes - 1) // 64 + 10)


def _hash(s: bytes | Texts, size: Numbers, one: int) -> Numbers:
    """The fingerprint of strings of which one has a size, and the others the same path."""
    if one <= 16:
        return _to_16(s, size, one)
    if one <= 32:
        return _to_32(s, size)
    return _to_64(s, size) if one <= 64 else _longer(s, size, one)


def combined(first: int, second: int) -> int:
    """The fingerprint of two fingerprints, 0 to 2^64 - 1, as TensorFlow crosses features.

    Example:
        >>> combined(1, 2) == combined(2, 1)
        False
    """
    mixed = (first ^ _MIX ^ _shifted(second * _MIX & _MASK) * _MIX) & _MASK
    return _shifted(_shifted(mixed * _MIX & _MASK) * _MIX & _MASK)


def _shifted(x: int) -> int:
    return x ^ x >> 47


def _rotated(value: Numbers, count: int) -> Numbers:
    value &= _MASK
    return (value >> count | value << (64 - count)) & _MASK


def _mixed(value: Numbers) -> Numbers:
    value &= _MASK
    return value ^ value >> 47


def _pair(u: Numbers, v: Numbers, factor: Numbers) -> Numbers:
    a = _mixed((u ^ v) * factor)
    return _mixed(((v ^ a) & _MASK) * factor) * factor & _MASK


def _to_16(s: bytes | Texts, size: Numbers, one: int) -> Numbers:
    if one == 0:
        return _K2
    factor = _K2 + size * 2
    if one >= 8:
        a, b = word(s, 0) + _K2 & _MASK, word(s, size - 8)
        c = _rotated(b, 37) * factor + a & _MASK
        d = (_rotated(a, 25) + b) * factor & _MASK
        return _pair(c, d, factor)
    if one >= 4:
        return _pair(size + (word(s, 0, 4) << 3), word(s, size - 4, 4), factor)
    y = word(s, 0, 1) + (word(s, size >> 1, 1) << 8)
    z = size + (word(s, size - 1, 1) << 2)
    return _mixed(y * _K2 ^ z * _K0) * _K2 & _MASK


def _to_32(s: bytes | Texts, size: Numbers) -> Numbers:
    factor = _K2 + size * 2
    a, b = word(s, 0) * _K1 & _MASK, word(s, 8)
    c, d = word(s, size - 8) * factor & _MASK, word(s, size - 16) * _K2 & _MASK
    return _pair(
        _rotated(a + b, 43) + _rotated(c, 30) + d & _MASK,
        a + _rotated(b + _K2, 18) + c & _MASK,
        factor,
    )


def _to_64(s: bytes | Texts, size: Numbers) -> Numbers:
    factor = _K2 + size * 2
    a, b = word(s, 0) * _K2 & _MASK, word(s, 8)
    c, d = word(s, size - 8) * factor & _MASK, word(s, size - 16) * _K2 & _MASK
    y = _rotated(a + b, 43) + _rotated(c, 30) + d & _MASK
    z = _pair(y, a + _rotated(b + _K2, 18) + c & _MASK, factor)
    e, f = word(s, 16) * factor & _MASK, word(s, 24)
    g = (y + word(s, size - 32)) * factor & _MASK
    h = (z + word(s, size - 24)) * factor & _MASK
    return _pair(
        _rotated(e + f, 43) + _rotated(g, 30) + h & _MASK,
        e + _rotated(f + a, 18) + g & _MASK,
        factor,
    )


def _weak(s: bytes | Texts, at: Numbers, a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
    w, x, y, z = (word(s, at + 8 * i) for i in range(4))
    a = a + w & _MASK
    b = _rotated(b + a + z, 21)
    c = a
    a = a + x + y & _MASK
    b = b + _rotated(a, 44) & _MASK
    return a + z & _MASK, b + c & _MASK


def _longer(s: bytes | Texts, size: Numbers, one: int) -> Numbers:
    x, y = 81, 81 * _K1 + 113 & _MASK
    z = _mixed(y * _K2 + 113) * _K2 & _MASK
    v = w = (0, 0)
    x = (x * _K2 & _MASK) + word(s, 0) & _MASK
    end = (one - 1) // 64 * 64
    for at in range(0, end, 64):
        x, y, z, v, w = _round(s, at, (x, y, z), v, w, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    w = (w[0] + (size - 1 & 63) & _MASK, w[1])
    v = (v[0] + w[0] & _MASK, v[1])
    w = (w[0] + v[0] & _MASK, w[1])
    x, y, z, v, w = _round(s, size - 64, (x, y, z), v, w, factor, 9)
    return _pair(
        _pair(v[0], w[0], factor) + _mixed(y) * _K0 + z & _MASK,
        _pair(v[1], w[1], factor) + x & _MASK,
        factor,
    )


def _round(
    s: bytes | Texts,
    at: Numbers,
    state: tuple[Numbers, Numbers, Numbers],
    v: tuple[Numbers, Numbers],
    w: tuple[Numbers, Numbers],
    factor: Numbers,
    times: int,
) -> tuple[Numbers, Numbers, Numbers, tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    x, y, z = state
    x = _rotated(x + y + v[0] + word(s, at + 8), 37) * factor & _MASK
    y = _rotated(y + v[1] + word(s, at + 48), 42) * factor & _MASK
    x ^= w[1] * times & _MASK
    y = y + v[0] * times + word(s, at + 40) & _MASK
    z = _rotated(z + w[0], 33) * factor & _MASK
    v = _weak(s, at, v[1] * factor & _MASK, x + w[0] & _MASK)
    w = _weak(s, at + 32, z + w[1] & _MASK, y + word(s, at + 16) & _MASK)
    return z, y, x, v, w
