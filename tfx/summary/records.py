"""The framing of event files: each record with its length and two checksums.

A record is its length (8 bytes, little-endian), the masked CRC-32C of those 8 bytes, the data, and
the masked CRC-32C of the data. The decision: Python has no CRC-32C, and a loop over bytes would
take a second for an image of ten megabytes; so long data is cut into lanes that NumPy advances
together, and the lanes' checksums are put together by the linearity of the code.
"""

from __future__ import annotations

import struct
from functools import cache

import numpy as np

# Castagnoli's polynomial, lowest power in the highest bit.
_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8
_LANE = 512
_ONES = 0xFFFFFFFF


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def _advance(state: int, data: bytes) -> int:
    for byte in data:
        state = _TABLE[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


@cache
def _lane_tables() -> tuple[tuple[int, ...], ...]:
    """Return, for each byte of the state, its states after a lane of zero bytes."""
    zeros = bytes(_LANE)
    bits = [_advance(1 << i, zeros) for i in range(32)]

    def combined(byte: int, value: int) -> int:
        total = 0
        for i in range(8):
            if value >> i & 1:
                total ^= bits[8 * byte + i]
        return total

    return tuple(tuple(combined(byte, value) for value in range(256)) for byte in range(4))


def crc32c(data: bytes) -> int:
    """The CRC-32C of some data.

    Example:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    lanes = len(data) // _LANE
    if lanes < 4:
        return _advance(_ONES, data) ^ _ONES
    whole = lanes * _LANE
    columns = np.frombuffer(data, np.uint8, whole).reshape(lanes, _LANE).T.astype(np.uint32)
    table = np.array(_TABLE, np.uint32)
    states = np.zeros(lanes, np.uint32)
    for column in columns:
        states = table[(states ^ column) & 0xFF] ^ (states >> np.uint32(8))
    t0, t1, t2, t3 = _lane_tables()
    state = _ONES
    for lane in states.tolist():
        state = t0[state & 255] ^ t1[state >> 8 & 255] ^ t2[state >> 16 & 255] ^ t3[state >> 24]
        state ^= lane
    return _advance(state, data[whole:]) ^ _ONES


def masked(crc: int) -> int:
    """A checksum as it is stored, so that the checksum of data with checksums in it works."""
    return ((crc >> 15 | crc << 17) + _MASK) & _ONES


def framed(data: bytes) -> bytes:
    """A record: data between length and checksums."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        [
            length,
            struct.pack("<I", masked(crc32c(length))),
            data,
            struct.pack("<I", masked(crc32c(data))),
        ]
    )
