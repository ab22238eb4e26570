"""A reader of event files that shares nothing with the writer: bitwise CRC, wire format by hand."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

# Names of the numbers of the dtypes that the tests use.
DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 10: "?"}


def crc32c(data: bytes) -> int:
    """CRC-32C by the definition: division of polynomials, reflected, bit by bit."""
    register = 0xFFFFFFFF
    for byte in data:
        for i in range(8):
            bit = (register ^ (byte >> i)) & 1
            register >>= 1
            if bit:
                register ^= 0x82F63B78
    return register ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    rotated = ((crc >> 15) | (crc << 17)) & 0xFFFFFFFF
    return struct.pack("<I", (rotated + 0xA282EAD8) % 2**32)


def records(path: Path) -> list[bytes]:
    """The records of a file; every checksum is compared."""
    data, found = path.read_bytes(), []
    while data:
        length, check = data[:8], data[8:12]
        assert check == masked(length)
        (size,) = struct.unpack("<Q", length)
        record = data[12 : 12 + size]
        assert data[12 + size : 16 + size] == masked(record)
        found.append(record)
        data = data[16 + size :]
    return found


def fields(message: bytes) -> list[tuple[int, Any]]:
    """The fields of a protobuf message: number and value (an integer or bytes)."""
    found: list[tuple[int, Any]] = []
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        match key & 7:
            case 0:
                found.append((key >> 3, varint()))
            case 1:
                found.append((key >> 3, message[at : at + 8]))
                at += 8
            case 2:
                size = varint()
                found.append((key >> 3, message[at : at + size]))
                at += size
            case kind:
                raise AssertionError(f"wire type {kind}")
    return found


class Value:
    """One value of one step.

    Attributes:
        step: The step.
        tag: The value's name.
        content: The tensor: an array, or an object array of bytes.
        plugin: The plugin that shows it.
        metadata: All of the metadata, as bytes.
    """

    def __init__(self, step: int, value: bytes) -> None:
        parts = dict(fields(value))
        self.step = step
        self.tag = parts[1].decode()
        self.content = _tensor(parts[8])
        self.metadata: bytes = parts.get(9, b"")
        data = dict(fields(dict(fields(self.metadata)).get(1, b"")))
        self.plugin = data.get(1, b"").decode()

    def __repr__(self) -> str:
        return f"<{self.tag} at {self.step}: {self.content}>"


def _tensor(message: bytes) -> np.ndarray[Any, Any]:
    parts = fields(message)
    single = dict(parts)
    dims = [dict(fields(d)).get(1, 0) for n, d in fields(single.get(2, b"")) if n == 2]
    if single[1] == 7:
        return np.array([v for n, v in parts if n == 8], object).reshape(dims)
    return np.frombuffer(single.get(4, b""), DTYPES[single[1]]).reshape(dims)


def read(folder: Path) -> list[Value]:
    """The values in the files of a folder, in the order in which they were written."""
    values = []
    for path in sorted(folder.iterdir(), key=lambda p: int(p.name.split(".")[-2])):
        first, *rest = records(path)
        assert dict(fields(first))[3] == b"brain.Event:2"
        for record in rest:
            event = dict(fields(record))
            values += [Value(event.get(2, 0), v) for _, v in fields(event[5])]
    return values
