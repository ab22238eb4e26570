"""Memory shared with others where neither side may change it, or only one has it.

``values`` is for tensors that a program made: it copies what comes in. This module is for weights
mapped from a file, for arguments that live as long as a call, for results that nobody else has
seen, for initializers and for DLPack. The one decision: lifetime is never the caller's business,
each side keeps the other alive.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.core.int4 import FOUR_BITS
from tfx.runtime.values import (
    CPU_DEVICE,
    RAW_VIEWS,
    RawValue,
    array_over,
    bool_from_dlpack,
    copy_to_device,
    device_of,
    duplicates,
    from_dlpack,
    from_numpy,
    note_gpu,
    raw_view,
    to_numpy,
)

# Of DLPack's C structures: the code of bfloat16, and where a managed tensor has its type code
# (after a pointer, the device and the rank).
_DLPACK_BFLOAT = 4
_TYPE_CODE_OFFSET = ctypes.sizeof(ctypes.c_void_p) + 12

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def borrow(array: npt.NDArray[Any]) -> RawValue:
    """An ORT value over the memory of an array that nobody changes as long as the value lives.

    Args:
        array: Any array, read-only or not. Where its memory cannot be shared (strings, 8-bit
            floats, strides, a foreign byte order) the value is a copy.

    Returns:
        A CPU value; it keeps the array alive.

    Raises:
        UnimplementedError: ONNX Runtime takes no such array (complex numbers).
    """
    shared = array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
    if shared and array.size and array.dtype == dtypes.bfloat16.numpy_dtype:
        # NumPy exports no bfloat16, but 16-bit integers: only the type's code has to be another.
        face = array_over(array, array.ctypes.data, array.shape, "=u2")
        capsule = face.__dlpack__()
        code = _pointer(capsule, b"dltensor") + _TYPE_CODE_OFFSET
        ctypes.c_uint8.from_address(code).value = _DLPACK_BFLOAT
        return from_dlpack(capsule)
    try:
        return from_numpy(array, owned=shared)
    except BufferError as error:
        raise UnimplementedError(
            f"ONNX Runtime's Python interface takes no {array.dtype} tensors; cast to int8 or uint8"
        ) from error


def hand_over(value: RawValue) -> npt.NDArray[Any]:
    """A writable array over the memory of a value that the caller gives up (strings: a copy).

    Args:
        value: A value which nothing else refers to, such as a result just computed.

    Returns:
        The array; strings are objects of type ``str``, in which bytes that are not UTF-8 are
        surrogate escapes.

    Raises:
        UnimplementedError: ONNX Runtime's Python interface cannot give the strings.
    """
    value = copy_to_device(value, "CPU:0")
    array = to_numpy(value)
    if array.dtype == object:
        texts = np.empty(array.size, object)
        texts[:] = [item.decode("utf-8", "surrogateescape") for item in array.reshape(-1)]
        return texts.reshape(array.shape)
    if not array.size or value.element_type() in FOUR_BITS:  # which lie packed
        return array.copy()
    opaque = f"|V{array.itemsize}"  # NumPy's own text for a type that it does not know
    return array_over(value, value.data_ptr(), array.shape, opaque).view(array.dtype)


def lend(value: RawValue) -> tuple[RawValue, object]:
    """A value over the same memory that does not own it, and what must outlive it.

    ONNX Runtime takes initializers from outside only where the memory is not its own.
    """
    value = copy_to_device(value, "CPU:0")
    code = value.element_type()
    if code in FOUR_BITS:
        # Only address and dimensions are taken from it: the memory is half as long.
        array: npt.NDArray[Any] = array_over(value, value.data_ptr(), value.shape(), "|u1")
    elif code in RAW_VIEWS:
        array = raw_view(value)
    else:
        array = value.numpy()
        return _ort.OrtValue.ortvalue_from_numpy(array, CPU_DEVICE), (value, array)
    return _ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, code), (value, array)


def to_dlpack(value: RawValue, **options: Any) -> Any:
    """A DLPack capsule with the value's contents.

    A copy, because there are consumers that take no notice of read-only memory: a write to
    what they made of it would change the value. ``copy=False`` promises not to do that.

    Args:
        value: A value; one on a GPU is exported there.
        **options: ``stream``, ``max_version``, ``dl_device`` and ``copy`` of DLPack's protocol.

    Raises:
        BufferError: the options ask for what cannot be obtained.
    """
    version = options.get("max_version")
    if options.get("copy") is False:
        if version is None or version[0] < 1:
            raise BufferError("A tensor is read-only, which this version of DLPack cannot say.")
        return to_numpy(value).__dlpack__(**options)
    if value.element_type() in RAW_VIEWS or device_of(value) != "CPU:0":
        return duplicates([value])[0].to_dlpack()
    return to_numpy(value).copy().__dlpack__()


def array_from_dlpack(producer: Any) -> npt.NDArray[Any]:
    """A read-only array over the memory of any object on the CPU that has ``__dlpack__``.

    Raises:
        InvalidArgumentError: it cannot be exported, or not in a layout that is taken.
    """
    try:
        if "bfloat16" in str(getattr(producer, "dtype", "")):  # NumPy has none, ONNX Runtime has
            return to_numpy(from_dlpack(producer.__dlpack__()))
        return np.from_dlpack(producer)
    except (BufferError, RuntimeError, TypeError, ValueError) as e:
        raise InvalidArgumentError(
            f"An object of type {type(producer).__name__} cannot be taken over through DLPack: {e}"
        ) from e


def copy_from_gpu(producer: Any) -> RawValue:
    """A copy, on the same GPU, of any object there that has ``__dlpack__``.

    Raises:
        InvalidArgumentError: it cannot be exported, or is on no CUDA device.
    """
    try:
        is_bool = "bool" in str(getattr(producer, "dtype", ""))
        shared = bool_from_dlpack(producer) if is_bool else from_dlpack(producer.__dlpack__())
        note_gpu()
        return duplicates([shared])[0]
    except (BufferError, RuntimeError, TypeError, ValueError) as e:
        raise InvalidArgumentError(
            f"An object of type {type(producer).__name__} cannot be taken over through DLPack: {e}"
        ) from e
