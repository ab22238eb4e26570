"""Memory shared between arrays and ORT values where neither side may change it, or only one has it.

``values`` is for tensors that a program made: it copies what comes in. This module is for weights
mapped from a file, for arguments that live as long as a call, and for results that nobody else has
seen. The one decision: lifetime is never the caller's business, each side keeps the other alive.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core import dtypes
from tfx.core.errors import UnimplementedError
from tfx.runtime.values import RawValue, from_numpy, to_numpy

# Of DLPack's C structures: the code of bfloat16, and where a managed tensor has its type code
# (after a pointer, the device and the rank).
_DLPACK_BFLOAT = 4
_TYPE_CODE_OFFSET = ctypes.sizeof(ctypes.c_void_p) + 12

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class _Face:
    """Array interface for writing to memory that ``owner`` keeps alive."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: object, address: int, shape: tuple[int, ...], typestr: str) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (address, False),
            "version": 3,
        }


def borrow(array: npt.NDArray[Any]) -> RawValue:
    """An ORT value over the memory of an array that nobody changes as long as the value lives.

    Args:
        array: Any array, read-only or not. Where its memory cannot be shared (strings, 8-bit
            floats, strides, a foreign byte order) the value is a copy.

    Returns:
        A CPU value; it keeps the array alive.

    Raises:
        UnimplementedError: ONNX Runtime takes no such array (complex numbers, 4-bit integers).
    """
    shared = array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
    if shared and array.size and array.dtype == dtypes.bfloat16.numpy_dtype:
        # NumPy exports no bfloat16, but 16-bit integers: only the type's code has to be another.
        face = np.asarray(_Face(array, array.ctypes.data, array.shape, "=u2"))
        capsule = face.__dlpack__()
        code = _pointer(capsule, b"dltensor") + _TYPE_CODE_OFFSET
        ctypes.c_uint8.from_address(code).value = _DLPACK_BFLOAT
        return _ort.OrtValue.from_dlpack(capsule, False)
    try:
        return from_numpy(array, owned=shared)
    except BufferError as error:
        raise UnimplementedError(
            f"ONNX Runtime's Python interface takes no {array.dtype} tensors; cast to int8 or uint8"
        ) from error


def hand_over(value: RawValue) -> npt.NDArray[Any]:
    """A writable array over the memory of a value that the caller gives up (strings: a copy).

    Args:
        value: A CPU value which nothing else refers to, such as a result just computed.

    Returns:
        The array; strings are objects of type ``str``, in which bytes that are not UTF-8 are
        surrogate escapes.

    Raises:
        UnimplementedError: ONNX Runtime's Python interface cannot give the strings.
    """
    array = to_numpy(value)
    if array.dtype == object:
        texts = np.empty(array.size, object)
        texts[:] = [item.decode("utf-8", "surrogateescape") for item in array.reshape(-1)]
        return texts.reshape(array.shape)
    if not array.size:
        return array.copy()
    opaque = f"|V{array.itemsize}"  # NumPy's own text for a type that it does not know
    face = _Face(value, value.data_ptr(), array.shape, opaque)
    return np.asarray(face).view(array.dtype)
