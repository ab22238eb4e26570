"""Protobuf's wire format: fields of a message out of bytes, and bytes of a field.

Owns varints, lengths and their limits. Must not know of any message. The one decision: a message is
never copied or built as objects; a field is a pair of positions in the one buffer, so a file of any
size is walked in the time that its nodes take, however large its tensors are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZE = {_FIXED64: 8, _FIXED32: 4}


class WireError(ValueError):
    """The bytes are not a protobuf message."""


class Field(NamedTuple):
    """One field: its content is ``data[begin:end]``, or for a varint the number ``value``."""

    number: int
    start: int
    begin: int
    end: int
    value: int | None


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Return the varint at ``position`` and where it ends.

    Raises:
        WireError: It goes beyond ``end``, or beyond 64 bits.
    """
    value = shift = 0
    while position < end:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift > 63:
            raise WireError(f"a number at byte {position} has more than 64 bits")
    raise WireError(f"a number at byte {position} has no end")


def fields(data: bytes, begin: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message ``data[begin:end]`` in their order.

    Raises:
        WireError: It is not a message.
    """
    position = begin
    while position < end:
        start = position
        key = data[position]
        position += 1
        if key >= 0x80:
            key, position = read_varint(data, start, end)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise WireError(f"a field at byte {start} has the number 0")
        if kind == _BYTES:
            size, position = read_varint(data, position, end)
            if size > end - position:
                raise WireError(f"a field at byte {start} of {size} bytes goes beyond its message")
            yield Field(number, start, position, position + size, None)
            position += size
        elif kind == _VARINT:
            value, after = read_varint(data, position, end)
            yield Field(number, start, position, after, value)
            position = after
        else:
            fixed = _FIXED_SIZE.get(kind)
            if fixed is None or fixed > end - position:
                raise WireError(f"a field at byte {start} has the wire type {kind} or is cut off")
            yield Field(number, start, position, position + fixed, None)
            position += fixed


def signed(value: int) -> int:
    """Return an int64 that was read as an unsigned number."""
    return value - (1 << 64) if value >= 1 << 63 else value


def packed_varints(data: bytes, field: Field) -> list[int]:
    """Return the signed numbers of a repeated field, packed or not."""
    if field.value is not None:
        return [signed(field.value)]
    numbers = []
    position = field.begin
    while position < field.end:
        value, position = read_varint(data, position, field.end)
        numbers.append(signed(value))
    return numbers


def varint(value: int) -> bytes:
    """Return the bytes of a number."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(number: int, value: int) -> bytes:
    """Return the bytes of an integer field."""
    return varint(number << 3 | _VARINT) + varint(value)


def bytes_field(number: int, content: bytes) -> bytes:
    """Return the bytes of a string, bytes or message field."""
    return varint(number << 3 | _BYTES) + varint(len(content)) + content
