"""Models that consist of string constants, written byte by byte: onnx is not imported for them.

ONNX Runtime's Python interface makes no string values from arrays; running such a model does. It
takes a microsecond for each string of a constant, so many are one text there, which an operator
splits.
"""

from __future__ import annotations

from tfx.core.errors import InvalidArgumentError
from tfx.core.wire_format import bytes_field, number_field

_STRING, _INT64 = 8, 7  # ONNX's codes of element types
_FEW = 32  # strings that are quicker one by one
_OPSET = 21
# No text in UTF-8 has these bytes.
_MARK = b"\xff\xfe"


def constant_model(items: list[bytes], shape: tuple[int, ...]) -> bytes:
    """Serialized ONNX model with one string constant as output ``c``."""
    text = _MARK.join(items) if len(items) > _FEW else b""
    if text.count(_MARK) + 1 == len(items) > _FEW:
        return _model(_split(text, shape), shape)
    return _model(_constant(b"c", _tensor(_STRING, shape, items)), shape)


def _split(text: bytes, shape: tuple[int, ...]) -> bytes:
    """Nodes that cut one string at the marks, and bring the parts into a shape."""
    size = b"".join([number_field(7, d) for d in shape])
    sizes = number_field(1, len(shape)) + number_field(2, _INT64) + size
    mark = bytes_field(1, b"delimiter") + bytes_field(4, _MARK) + number_field(20, 3)
    return (
        _constant(b"t", _tensor(_STRING, (1,), [text]))
        + _constant(b"s", sizes)
        + _node(b"StringSplit", [b"t"], [b"p", b"n"], mark)
        + _node(b"Reshape", [b"p", b"s"], [b"c"])
    )


def _model(nodes: bytes, shape: tuple[int, ...]) -> bytes:
    type_proto = bytes_field(1, number_field(1, _STRING) + bytes_field(2, _shape_proto(shape)))
    output = bytes_field(1, b"c") + bytes_field(2, type_proto)
    graph = nodes + bytes_field(2, b"g") + bytes_field(12, output)
    return number_field(1, 10) + bytes_field(7, graph) + bytes_field(8, number_field(2, _OPSET))


def _tensor(kind: int, shape: tuple[int, ...], items: list[bytes]) -> bytes:
    sizes = b"".join([number_field(1, d) for d in shape])
    return sizes + number_field(2, kind) + b"".join([bytes_field(6, item) for item in items])


def _constant(name: bytes, tensor: bytes) -> bytes:
    attribute = bytes_field(1, b"value") + bytes_field(5, tensor) + number_field(20, 4)
    return _node(b"Constant", [], [name], attribute)


def _node(op: bytes, inputs: list[bytes], outputs: list[bytes], attribute: bytes = b"") -> bytes:
    names = b"".join([bytes_field(1, i) for i in inputs] + [bytes_field(2, o) for o in outputs])
    last = bytes_field(5, attribute) if attribute else b""
    return bytes_field(1, names + bytes_field(4, op) + last)


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
