"""CUDA through its own C libraries: which devices there are, and copies to and from their memory.

ONNX Runtime's Python interface counts no devices and copies only element types that NumPy has, so
the driver (``libcuda``) and the runtime library (``libcudart``) are called directly. Nothing is
loaded before somebody asks for a GPU: a process that has called the driver cannot fork and go on.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
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
_NON_BLOCKING = 1  # cudaStreamNonBlocking
# Versions of the runtime library from which many copies are one call, with and without a number
# of the copy that failed.
_BATCHES, _BATCHES_WITHOUT_NUMBER = 12080, 13000


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


class _Attributes(ctypes.Structure):
    """``cudaMemcpyAttributes``: sources are read in the order of the stream; no hints."""

    _fields_ = (
        ("order", ctypes.c_int),
        ("hints", ctypes.c_int * 4),
        ("flags", ctypes.c_uint),
    )


_IN_ORDER = 1  # cudaMemcpySrcAccessOrderStream


@functools.cache
def _copy_many() -> Any:
    """``cudaMemcpyBatchAsync`` of addresses, sizes, their number and a stream; None: not there."""
    library = _runtime()
    version = ctypes.c_int()
    _check(library.cudaRuntimeGetVersion(ctypes.byref(version)), "say which version it is")
    if version.value < _BATCHES:
        return None
    attributes, first, failed = _Attributes(order=_IN_ORDER), ctypes.c_size_t(), ctypes.c_size_t()
    number = () if version.value >= _BATCHES_WITHOUT_NUMBER else (ctypes.byref(failed),)
    one = ctypes.c_size_t(1)

    def copy_many(targets: Any, sources: Any, sizes: Any, count: int, stream: Any) -> int:
        status: int = library.cudaMemcpyBatchAsync(
            targets,
            sources,
            sizes,
            ctypes.c_size_t(count),
            ctypes.byref(attributes),
            ctypes.byref(first),
            one,
            *number,
            stream,
        )
        return status

    return copy_many


@functools.cache
def _stream_of_copies(index: int) -> ctypes.c_void_p:
    """A stream of a GPU that waits for no other one."""
    library, stream = _runtime(), ctypes.c_void_p()
    with _current(index):
        status = library.cudaStreamCreateWithFlags(ctypes.byref(stream), _NON_BLOCKING)
    _check(status, "make a stream")
    return stream


class RepeatedCopies:
    """The same copies again and again, each time between other places: one call of CUDA.

    Args:
        sizes: Bytes of each copy, none of which is 0.
        index: The GPU that all targets are on.
    """

    __slots__ = ("_count", "_index", "_one_by_one", "_sizes")

    def __init__(self, sizes: Sequence[int], index: int) -> None:
        self._count = len(sizes)
        self._index = index
        self._sizes = (ctypes.c_size_t * len(sizes))(*sizes)
        self._one_by_one = False

    def run(self, targets: Sequence[int], sources: Sequence[int], *, within: bool) -> None:
        """Copy; done on return.

        Args:
            targets: Addresses.
            sources: Addresses.
            within: Whether all sources are on the GPU, too.

        Raises:
            InternalError: CUDA refused, with its reason.
        """
        library, stream = _runtime(), _stream_of_copies(self._index)
        if not (within and self._as_one(targets, sources, stream)):
            for target, source, size in zip(targets, sources, self._sizes, strict=True):
                status = library.cudaMemcpyAsync(target, source, size, _MEMCPY_DEFAULT, stream)
                _check(status, f"copy {size} bytes")
        _check(library.cudaStreamSynchronize(stream), "finish a copy")

    def _as_one(self, targets: Sequence[int], sources: Sequence[int], stream: Any) -> bool:
        """Whether the runtime library has taken the copies together."""
        copy_many = None if self._one_by_one else _copy_many()
        if copy_many is None:
            return False
        places = ctypes.c_void_p * self._count
        status = copy_many(places(*targets), places(*sources), self._sizes, self._count, stream)
        if status:
            _runtime().cudaGetLastError()  # else the next call would report it
            self._one_by_one = True
        return not status


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
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with _current(index):
        status = _runtime().cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
    _check(status, "say how much memory is free")
    return total.value - free.value, total.value


@contextlib.contextmanager
def _current(index: int) -> Iterator[None]:
    """Let a GPU be the current one of this thread."""
    library, before = _runtime(), ctypes.c_int()
    _check(library.cudaGetDevice(ctypes.byref(before)), "say which device is current")
    try:
        _check(library.cudaSetDevice(index), f"use GPU:{index}")
        yield
    finally:
        library.cudaSetDevice(before.value)
