"""``tfx.io.serialize_tensor`` and ``parse_tensor``: TensorFlow's message for one tensor.

The message is written and read here field by field: dtype (1), shape (2), contents (4), strings
(8), and the repeated numbers that TensorFlow writes for tensors that were made in Python.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.core.wire_format import bytes_field, fields, number_field, read_varint
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import tensor
from tfx.ops.common.python_ops import by_python
from tfx.ops.strings.strings import one_text

_NUMBERS: dict[str, int] = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
    "float8_e5m2": 24,
    "float8_e4m3fn": 25,
}
# Field of repeated numbers -> how each is stored: as a varint, or in so many bytes.
_REPEATED = {5: "<f4", 6: "<f8", 7: "", 10: "", 11: "", 13: "", 16: "", 17: ""}


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as a string, in the form that TensorFlow reads.

    Args:
        tensor: Any tensor.
        name: Accepted for compatibility.

    Returns:
        A scalar string.

    Raises:
        UnimplementedError: TensorFlow has no such dtype.

    Example:
        >>> import tfx as tf
        >>> text = tf.io.serialize_tensor(tf.constant([1, 2]))
        >>> tf.io.parse_tensor(text, tf.int32).numpy()
        array([1, 2], dtype=int32)
    """
    x = _tensor(tensor)
    if x.dtype.name not in _NUMBERS:
        raise UnimplementedError(f"serialize_tensor has no form for {x.dtype.name}; cast it.")
    kind = x.dtype

    def write(array: Any) -> list[Any]:
        return [np.array(message_of_array(array, kind), object)]

    return by_python("io.serialize_tensor", write, [x], [(dtypes.string, ())])[0]


_tensor = tensor


def message_of_array(array: Any, kind: DType) -> bytes:
    """An array as the message."""
    dims = b"".join([bytes_field(2, number_field(1, d) if d else b"") for d in array.shape])
    head = number_field(1, _NUMBERS[kind.name]) + bytes_field(2, dims)
    if kind is dtypes.string:
        return head + b"".join([bytes_field(8, item) for item in array.reshape(-1)])
    return head + (bytes_field(4, np.ascontiguousarray(array).tobytes()) if array.size else b"")


def parse_tensor(serialized: Any, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor that ``serialize_tensor`` made a string of.

    Args:
        serialized: A scalar string.
        out_type: The dtype that it has.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: not such a string, or of another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.io.parse_tensor(tf.io.serialize_tensor([[1.5]]), tf.float32).numpy()
        array([[1.5]], dtype=float32)
    """
    kind = dtypes.as_dtype(out_type)
    x = one_text(serialized, "ParseTensor", "use map_fn")

    def read(data: Any) -> list[Any]:
        return [array_of_message(data.item(), kind)]

    return by_python("io.parse_tensor", read, [x], [(kind, None)])[0]


def array_of_message(data: bytes, kind: DType) -> Any:
    """The array in a message.

    Raises:
        InvalidArgumentError: not such a message, or of another dtype.
    """
    try:
        return _parsed(data, kind)
    except (ValueError, IndexError, OverflowError) as e:
        if isinstance(e, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"Cannot parse tensor from proto: {e}") from e


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number and contents."""
    for field in fields(data, 0, len(data)):
        contents = data[field.begin : field.end] if field.value is None else field.value
        yield field.number, contents


def _parsed(data: bytes, kind: DType) -> Any:
    number = 0
    shape: list[int] = []
    contents: bytes | None = None
    texts: list[bytes] = []
    numbers: list[Any] = []
    for field, value in _fields(data):
        if field == 1 and isinstance(value, int):
            number = value
        elif isinstance(value, bytes) and field == 2:
            shape = [_dim(item) for f, item in _fields(value) if f == 2 and isinstance(item, bytes)]
        elif isinstance(value, bytes) and field == 4:
            contents = value
        elif isinstance(value, bytes) and field == 8:
            texts.append(value)
        elif field in _REPEATED:
            numbers += _repeated(value, _REPEATED[field])
    if number != _NUMBERS.get(kind.name):
        named = next((n for n, i in _NUMBERS.items() if i == number), f"number {number}")
        raise InvalidArgumentError(
            f"Type mismatch between parsed tensor ({named}) and dtype ({kind.name})"
        )
    return _filled(kind, shape, contents, texts, numbers)


def _dim(data: bytes) -> int:
    size = next((v for f, v in _fields(data) if f == 1 and isinstance(v, int)), 0)
    if size >= 1 << 63:
        raise InvalidArgumentError("a dimension is negative")
    return size


def _repeated(value: int | bytes, form: str) -> list[Any]:
    if isinstance(value, int):
        return [value]
    if form:
        return list(np.frombuffer(value, form).tolist())
    found, place = [], 0
    while place < len(value):
        number, place = read_varint(value, place, len(value))
        found.append(number)
    return found


def _filled(
    kind: DType, shape: list[int], contents: bytes | None, texts: list[bytes], numbers: list[Any]
) -> Any:
    """The array; as in TensorFlow the last of too few elements stands for the rest."""
    count = math.prod(shape)
    if kind is dtypes.string:
        found = np.empty(len(texts), object)
        found[:] = texts
        return _completed(found, count, b"").reshape(shape)
    numpy_dtype = np.dtype(kind.as_numpy_dtype)
    if contents is not None:
        if len(contents) != count * numpy_dtype.itemsize:
            raise InvalidArgumentError(f"{len(contents)} bytes for {count} elements of {kind.name}")
        return np.frombuffer(contents, numpy_dtype).reshape(shape)
    if kind.name in ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"):  # their bits
        bits = np.array(numbers, np.uint16).astype(f"u{numpy_dtype.itemsize}")
        return _completed(bits.view(numpy_dtype), count, 0).reshape(shape)
    if kind.is_integer and kind.min < 0:
        numbers = [n - (1 << 64) if n >= 1 << 63 else n for n in numbers]
    return _completed(np.array(numbers, numpy_dtype), count, 0).reshape(shape)


def _completed(found: Any, count: int, default: Any) -> Any:
    if len(found) > count:
        raise InvalidArgumentError(f"{len(found)} elements for a shape of {count}")
    if len(found) == count:
        return found
    if count > 1 << 28:
        raise InvalidArgumentError(f"{count} elements of which the message has {len(found)}")
    whole = np.full(count, found[-1] if len(found) else default, found.dtype)
    whole[: len(found)] = found
    return whole
