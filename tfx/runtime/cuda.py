"""CUDA through its own C libraries: which devices there are, and copies to and from their memory.

ONNX Runtime's Python interface counts no devices and copies only element types that NumPy has, so
the driver (``libcuda``) and the runtime library (``libcudart``) are called directly. Nothing is
loaded before somebody asks for a GPU: a process that has called the driver cannot fork and go on.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core.errors import InternalError, ResourceExhaustedError
from tfx.runtime.shared_libraries import load

_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_COMPUTE_MAJOR, _COMPUTE_MINOR = 75, 76  # CUdevice_attribute
_MEMCPY_DEFAULT = 4  # cudaMemcpyDefault: the addresses tell the direction
_OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """A GPU as the driver describes it."""

    name: str
    compute_capability: tuple[int, int]
    memory: int


@functools.cache
def devices() -> tuple[CudaDevice, ...]:
    """The GPUs that this process may use (``CUDA_VISIBLE_DEVICES`` counts); empty: none."""
    try:
        driver = load(_DRIVER)
    except OSError:
        return ()
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    return tuple(_describe(driver, i) for i in range(count.value))


def driver_version() -> tuple[int, int]:
    """The newest CUDA that the driver can serve; (0, 0): there is no driver."""
    number = ctypes.c_int()
    try:
        load(_DRIVER).cuDriverGetVersion(ctypes.byref(number))
    except OSError:
        return (0, 0)
    return number.value // 1000, number.value % 1000 // 10


def built_for() -> int:
    """The major version of CUDA that the installed ONNX Runtime was built for."""
    return int(str(getattr(onnxruntime, "cuda_version", "") or "13").split(".")[0])


def _describe(driver: Any, index: int) -> CudaDevice:
    handle, number = ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    memory = ctypes.c_size_t()
    driver.cuDeviceGet(ctypes.byref(handle), index)
    driver.cuDeviceGetName(name, len(name), handle)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
    capability = []
    for attribute in (_COMPUTE_MAJOR, _COMPUTE_MINOR):
        driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, handle)
        capability.append(number.value)
    return CudaDevice(
        name.value.decode(errors="replace"), (capability[0], capability[1]), memory.value
    )


@functools.cache
def ort_device(index: int) -> Any:
    """ONNX Runtime's name for the memory of a GPU."""
    return onnxruntime.OrtDevice.make("cuda", index)._get_c_device()


@functools.cache
def _runtime() -> Any:
    """The CUDA runtime library that ONNX Runtime's provider uses itself."""
    major = built_for()
    windows = sys.platform == "win32"
    library = load(f"cudart64_{major}.dll" if windows else f"libcudart.so.{major}")
    pointer = ctypes.c_void_p
    library.cudaMemcpyAsync.argtypes = (pointer, pointer, ctypes.c_size_t, ctypes.c_int, pointer)
    library.cudaStreamSynchronize.argtypes = (ctypes.c_void_p,)
    library.cudaGetErrorString.restype = ctypes.c_char_p
    return library


def _check(status: int, what: str) -> None:
    if status:
        message = _runtime().cudaGetErrorString(status)
        reason = message.decode(errors="replace") if message else f"error {status}"
        kind = ResourceExhaustedError if status == _OUT_OF_MEMORY else InternalError
        raise kind(f"CUDA could not {what}: {reason}.")


def copy_contents(pairs: Iterable[tuple[Any, Any]]) -> None:
    """Copy between ORT values of one size, each on the host or on a GPU; done on return.

    Args:
        pairs: Targets, each with its source.

    Raises:
        InternalError: CUDA refused, with its reason.
    """
    library = _runtime()
    for target, source in pairs:
        size = source.tensor_size_in_bytes()
        if size:
            status = library.cudaMemcpyAsync(
                target.data_ptr(), source.data_ptr(), size, _MEMCPY_DEFAULT, None
            )
            _check(status, f"copy {size} bytes")
    _check(library.cudaStreamSynchronize(None), "finish a copy")


def allocate(shape: list[int], element_type: int, index: int) -> Any:
    """An ORT value in the memory of a GPU, its contents undefined.

    Raises:
        ResourceExhaustedError: the memory is used up.
    """
    device = ort_device(index)
    try:
        return _ort.OrtValue.ortvalue_from_shape_and_onnx_type(shape, element_type, device)
    except RuntimeError as e:
        raise ResourceExhaustedError(
            f"GPU:{index} has no memory for a tensor of shape {shape}: {e}"
        ) from e


def memory_in_use(index: int) -> tuple[int, int]:
    """Bytes of a GPU in use (by all processes), and bytes it has, as the driver counts them.

    Raises:
        InternalError: CUDA refused, with its reason.
    """
    library = _runtime()
    before = ctypes.c_int()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _check(library.cudaGetDevice(ctypes.byref(before)), "say which device is current")
    try:
        _check(library.cudaSetDevice(index), f"use GPU:{index}")
        status = library.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
        _check(status, "say how much memory is free")
    finally:
        library.cudaSetDevice(before.value)
    return total.value - free.value, total.value
