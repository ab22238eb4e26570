"""A model that consists of one string constant, written byte by byte: onnx is not imported for it.

ONNX Runtime's Python interface makes no string values from arrays; running this one does.
"""

from __future__ import annotations

from tfx.core.errors import InvalidArgumentError

_STRING = 8  # ONNX's code of the element type


def constant_model(items: list[bytes], shape: tuple[int, ...]) -> bytes:
    """Serialized ONNX model with one string constant as output ``c``."""
    tensor = b"".join(_field_int(1, d) for d in shape) + _field_int(2, _STRING)
    tensor += b"".join(_field_bytes(6, item) for item in items)
    attribute = _field_bytes(1, b"value") + _field_bytes(5, tensor) + _field_int(20, 4)
    node = _field_bytes(2, b"c") + _field_bytes(4, b"Constant") + _field_bytes(5, attribute)
    type_proto = _field_bytes(1, _field_int(1, _STRING) + _field_bytes(2, _shape_proto(shape)))
    output = _field_bytes(1, b"c") + _field_bytes(2, type_proto)
    graph = _field_bytes(1, node) + _field_bytes(2, b"g") + _field_bytes(12, output)
    return _field_int(1, 10) + _field_bytes(7, graph) + _field_bytes(8, _field_int(2, 21))


def _shape_proto(shape: tuple[int, ...]) -> bytes:
    return b"".join(_field_bytes(1, _field_int(1, d)) for d in shape)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field_int(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _field_bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def utf8(item: object) -> bytes:
    """The bytes of one string.

    Raises:
        InvalidArgumentError: neither text nor bytes.
    """
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode("utf-8", "surrogateescape")
    raise InvalidArgumentError(
        f"A string tensor holds str or bytes; got {item!r} of type {type(item).__name__}."
    )
