"""A model that consists of one string constant, written byte by byte: onnx is not imported for it.

ONNX Runtime's Python interface makes no string values from arrays; running this one does.
"""

from __future__ import annotations

from tfx.core.errors import InvalidArgumentError
from tfx.core.wire_format import bytes_field, number_field

_STRING = 8  # ONNX's code of the element type


def constant_model(items: list[bytes], shape: tuple[int, ...]) -> bytes:
    """Serialized ONNX model with one string constant as output ``c``."""
    tensor = b"".join(number_field(1, d) for d in shape) + number_field(2, _STRING)
    tensor += b"".join(bytes_field(6, item) for item in items)
    attribute = bytes_field(1, b"value") + bytes_field(5, tensor) + number_field(20, 4)
    node = bytes_field(2, b"c") + bytes_field(4, b"Constant") + bytes_field(5, attribute)
    type_proto = bytes_field(1, number_field(1, _STRING) + bytes_field(2, _shape_proto(shape)))
    output = bytes_field(1, b"c") + bytes_field(2, type_proto)
    graph = bytes_field(1, node) + bytes_field(2, b"g") + bytes_field(12, output)
    return number_field(1, 10) + bytes_field(7, graph) + bytes_field(8, number_field(2, 21))


def _shape_proto(shape: tuple[int, ...]) -> bytes:
    return b"".join(bytes_field(1, number_field(1, d)) for d in shape)


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
