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
from tfx.runtime.values import RawValue, from_numpy, to_numpy

_BFLOAT16 = dtypes.bfloat16.onnx
# Of DLPack's C structures: the code of bfloat16, and where a managed tensor has its type code (after
# a pointer, the device and the rank).
_DLPACK_BFLOAT = 4
_TYPE_CODE_OFFSET = ctypes.sizeof(ctypes.c_void_p) + 12

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class _View:
    """A writable face of an array's memory, which it keeps alive; DLPack takes no read-only one."""

    __slots__ = ("__array_interface__", "_array")

    def __init__(self, array: npt.NDArray[Any], typestr: str) -> None:
        self._array = array
        self.__array_interface__ = {
            "shape": array.shape,
            "typestr": typestr,
            "data": (array.ctypes.data, False),
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
        UnimplementedError: ONNX Runtime cannot hold the dtype (complex numbers).
    """
    kind = array.dtype.kind
    shared = array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
    if not shared or not array.size:
        return from_numpy(array)
    if kind == "b":
        return _ort.OrtValue.from_dlpack(np.asarray(_View(array, "|u1")).__dlpack__(), True)
    if kind in "iuf":
        return _ort.OrtValue.from_dlpack(np.asarray(_View(array, array.dtype.str)).__dlpack__(), False)
    if dtypes.as_dtype(array.dtype).onnx == _BFLOAT16:
        capsule = np.asarray(_View(array, "=u2")).__dlpack__()
        code = _pointer(capsule, b"dltensor") + _TYPE_CODE_OFFSET
        ctypes.c_uint8.from_address(code).value = _DLPACK_BFLOAT
        return _ort.OrtValue.from_dlpack(capsule, False)
    return from_numpy(array)


class _Owned:
    """A writable face of a value's memory; the array over it keeps the value alive."""

    __slots__ = ("__array_interface__", "_value")

    def __init__(self, value: RawValue, array: npt.NDArray[Any]) -> None:
        self._value = value
        self.__array_interface__ = {
            "shape": array.shape,
            "typestr": f"|V{array.itemsize}" if array.dtype.kind == "V" else array.dtype.str,
            "data": (value.data_ptr(), False),
            "version": 3,
        }


def hand_over(value: RawValue) -> npt.NDArray[Any]:
    """A writable array over the memory of a value that the caller gives up (strings: a copy).

    Args:
        value: A CPU value which nothing else refers to, such as a result just computed.

    Returns:
        The array; strings are objects of type ``str``, of which bytes that are not UTF-8 are kept
        as surrogate escapes.
    """
    array = to_numpy(value)
    if array.dtype == object:
        texts = [item.decode("utf-8", "surrogateescape") for item in array.reshape(-1)]
        out = np.empty(len(texts), object)
        out[:] = texts
        return out.reshape(array.shape)
    if not array.size:
        return array.copy()
    return np.asarray(_Owned(value, array)).view(array.dtype)
