"""The element types that a bundle can hold: one row for each.

Owns the mapping between a dtype's name, its number in the manifest (ONNX's own), its name in a
safetensors file, and its NumPy dtype. Must not know of ``tfx.DType``. The one decision: inside the
bundle layer a dtype is its plain name (``"float32"``), so that records compare and print simply.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from tfx.core.errors import BundleError


class ElementType(NamedTuple):
    """The format's description of a dtype; ``bits`` is the size of an element in a file."""

    name: str
    number: int
    bits: int
    safetensors: str
    numpy: np.dtype[Any]


_ROWS = (
    ElementType("float32", 1, 32, "F32", np.dtype("<f4")),
    ElementType("uint8", 2, 8, "U8", np.dtype("u1")),
    ElementType("int8", 3, 8, "I8", np.dtype("i1")),
    ElementType("uint16", 4, 16, "U16", np.dtype("<u2")),
    ElementType("int16", 5, 16, "I16", np.dtype("<i2")),
    ElementType("int32", 6, 32, "I32", np.dtype("<i4")),
    ElementType("int64", 7, 64, "I64", np.dtype("<i8")),
    ElementType("string", 8, 0, "", np.dtype(object)),
    ElementType("bool", 9, 8, "BOOL", np.dtype("?")),
    ElementType("float16", 10, 16, "F16", np.dtype("<f2")),
    ElementType("float64", 11, 64, "F64", np.dtype("<f8")),
    ElementType("uint32", 12, 32, "U32", np.dtype("<u4")),
    ElementType("uint64", 13, 64, "U64", np.dtype("<u8")),
    ElementType("complex64", 14, 64, "C64", np.dtype("<c8")),
    ElementType("complex128", 15, 128, "", np.dtype("<c16")),
    ElementType("bfloat16", 16, 16, "BF16", np.dtype(ml_dtypes.bfloat16)),
    ElementType("float8_e4m3fn", 17, 8, "F8_E4M3", np.dtype(ml_dtypes.float8_e4m3fn)),
    ElementType("float8_e5m2", 19, 8, "F8_E5M2", np.dtype(ml_dtypes.float8_e5m2)),
    ElementType("uint4", 21, 4, "", np.dtype(ml_dtypes.uint4)),
    ElementType("int4", 22, 4, "", np.dtype(ml_dtypes.int4)),
)

BY_NAME = {row.name: row for row in _ROWS}
BY_NUMBER = {row.number: row for row in _ROWS}
BY_SAFETENSORS = {row.safetensors: row for row in _ROWS if row.safetensors}
_BY_NUMPY = {row.numpy: row for row in _ROWS}


def element_type(name: str, where: str) -> ElementType:
    """Return the row of the dtype called ``name``; ``where`` begins the message of the error."""
    row = BY_NAME.get(name)
    if row is None:
        raise BundleError(f"{where}: dtype is {name!r}, expected one of {', '.join(BY_NAME)}")
    return row


def from_numpy(dtype: np.dtype[Any]) -> ElementType | None:
    """Return the row of a NumPy dtype of any byte order, or None where the format has none."""
    if dtype.kind in "SUT":
        return BY_NAME["string"]
    row = _BY_NUMPY.get(dtype)
    # The rows are little-endian, as files are.
    return _BY_NUMPY.get(dtype.newbyteorder("<")) if row is None else row
