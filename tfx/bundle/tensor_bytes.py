"""Arrays to and from the bytes that a file holds.

Owns the encoding of each dtype, also of those that safetensors has no name for:

* ``string``: n + 1 little-endian uint64 offsets, then the bytes of all strings. Elements are UTF-8;
  bytes that are none come back as a ``str`` with surrogate escapes, so nothing is lost.
* ``int4``, ``uint4``: two elements a byte, the first in the low half, as ONNX packs them.
* ``complex128``: pairs of float64.

Must not know of files. The one decision: where the bytes in memory are those of the file already,
neither direction copies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tfx.bundle.dtypes import ElementType, element_type, from_numpy
from tfx.core.errors import BundleError
from tfx.core.int4 import pack, unpack


class Encoded(NamedTuple):
    """An array as a file holds it; ``stored_dtype`` and ``stored_shape`` are safetensors' terms."""

    dtype: str
    shape: tuple[int, ...]
    stored_dtype: str
    stored_shape: tuple[int, ...]
    nbytes: int
    array: npt.NDArray[Any]

    def buffer(self) -> memoryview:
        """Return the bytes; copies now, and not before, what is not laid out like the file."""
        array = np.ascontiguousarray(self.array)
        if not array.size:
            return memoryview(b"")
        little = array.dtype.newbyteorder("<")
        if array.dtype != little:
            array = array.astype(little)
        return array.reshape(-1).view(np.uint8).data


def encode(array: npt.NDArray[Any], where: str) -> Encoded:
    """Describe how ``array`` is stored; the bytes are taken when ``buffer`` is called.

    Args:
        array: Any array of a dtype that the format has; strings as ``str``, ``bytes`` or objects.
        where: The name of the tensor, for messages.

    Returns:
        The description.

    Raises:
        BundleError: The dtype has no encoding, or a string array holds something else.
    """
    row = from_numpy(array.dtype)
    if row is None:
        raise BundleError(
            f"{where}: an array of dtype {array.dtype} cannot be stored, expected a numeric, bool "
            "or string dtype; convert it first"
        )
    shape = tuple(array.shape)
    if row.safetensors:
        return Encoded(row.name, shape, row.safetensors, shape, array.nbytes, array)
    if row.name == "complex128":
        return Encoded(row.name, shape, "F64", (*shape, 2), array.nbytes, array)
    data = _pack_strings(array, where) if row.name == "string" else pack(array)
    return Encoded(row.name, shape, "U8", data.shape, data.nbytes, data)


def stored_form(dtype: str, shape: Sequence[int], where: str) -> tuple[str, tuple[int, ...] | None]:
    """Return safetensors' dtype and shape for a tensor; a string's length cannot be known."""
    row = element_type(dtype, where)
    shape = tuple(shape)
    if row.safetensors:
        return row.safetensors, shape
    if dtype == "complex128":
        return "F64", (*shape, 2)
    if dtype == "string":
        return "U8", None
    return "U8", ((math.prod(shape) + 1) // 2,)


def decode(
    data: Any, dtype: str, shape: Sequence[int], where: str, *, offset: int = 0, nbytes: int
) -> npt.NDArray[Any]:
    """Return the array whose encoding is ``nbytes`` bytes of the buffer ``data``.

    Args:
        data: Any object with the buffer protocol.
        dtype: The dtype's name.
        shape: The shape.
        where: The name of the tensor, for messages.
        offset: Where its bytes begin.
        nbytes: How many there are.

    Returns:
        A read-only array; it shares memory with ``data`` unless the encoding is packed.

    Raises:
        BundleError: The bytes are not the encoding of such an array.
    """
    row = element_type(dtype, where)
    count = math.prod(shape)
    expected = _encoded_size(row, count)
    if expected is not None and nbytes != expected:
        raise BundleError(
            f"{where}: {nbytes} bytes, expected {expected} for {dtype} of shape {tuple(shape)}"
        )
    if dtype == "string":
        array = _unpack_strings(bytes(memoryview(data)[offset : offset + nbytes]), count, where)
    elif row.bits == 4:
        packed = np.frombuffer(data, np.uint8, nbytes, offset)
        array = unpack(packed, row.number, (count,))
    elif nbytes == 0:
        array = np.empty(0, row.numpy)  # frombuffer refuses an empty buffer
    else:
        array = np.frombuffer(data, row.numpy, count, offset)
        if dtype == "bool" and array.view(np.uint8).max() > 1:
            raise BundleError(f"{where}: a bool has a byte that is neither 0 nor 1")
    array = array.reshape(tuple(shape))
    array.flags.writeable = False
    return array


def check_inline(data: bytes, dtype: str, shape: Sequence[int], where: str) -> None:
    """Refuse bytes that are not the encoding of such an array."""
    decode(data, dtype, shape, where, nbytes=len(data))


def _encoded_size(row: ElementType, count: int) -> int | None:
    return None if row.name == "string" else (count * row.bits + 7) // 8


def _pack_strings(array: npt.NDArray[Any], where: str) -> npt.NDArray[np.uint8]:
    parts = [_string_bytes(item, where) for item in array.ravel().tolist()]
    offsets = np.zeros(len(parts) + 1, "<u8")
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return np.frombuffer(b"".join([offsets.tobytes(), *parts]), np.uint8)


def _string_bytes(item: object, where: str) -> bytes:
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        try:
            return item.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise BundleError(f"{where}: the string {item!r:.80} is not Unicode text") from error
    raise BundleError(
        f"{where}: an element of type {type(item).__name__} ({item!r:.80}) in an array of objects, "
        "expected str or bytes"
    )


def _unpack_strings(data: bytes, count: int, where: str) -> npt.NDArray[Any]:
    head = 8 * (count + 1)
    if len(data) < head:
        raise BundleError(f"{where}: {len(data)} bytes, expected at least {head} for its strings")
    offsets = np.frombuffer(data, "<u8", count + 1).tolist()
    size = len(data) - head
    if offsets[0] != 0 or offsets[-1] != size or sorted(offsets) != offsets:
        raise BundleError(
            f"{where}: the offsets of its {count} strings do not divide its {size} bytes; the data "
            "is damaged: copy or save it again"
        )
    array = np.empty(count, object)
    for index in range(count):
        part = data[head + offsets[index] : head + offsets[index + 1]]
        array[index] = part.decode("utf-8", "surrogateescape")
    return array
