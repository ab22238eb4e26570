"""ORT values: to and from NumPy and DLPack. A value is immutable once it left this module.

The C-level ``OrtValue`` is used directly (a wrapper costs a microsecond a call). ONNX Runtime
shares memory with NumPy in both directions, so every array that comes in is copied unless the
caller hands it over, and every array that goes out is a read-only view that keeps its value alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.runtime import cuda

RawValue: TypeAlias = _ort.OrtValue

CPU_DEVICE = _ort.OrtDevice(_ort.OrtDevice.cpu(), _ort.OrtDevice.default_memory(), 0)
_HOST = "Cpu"
_STRING = 8
_BOOL = 9
# Element types that NumPy lacks (ml_dtypes carries them): moved as raw integers of the same width.
_RAW_VIEWS: dict[int, Any] = {16: np.uint16, 17: np.uint8, 19: np.uint8}
_FOUR_BITS = frozenset((dtypes.int4.onnx, dtypes.uint4.onnx))
# ONNX Runtime gives C's `long long`, which NumPy takes for a type beside int64.
_STANDARD = {"q": np.int64, "Q": np.uint64}


def device_of(value: RawValue) -> str:
    """The canonical name of the device whose memory a value is in.

    All logical CPU devices share the host's memory, which is ``"CPU:0"`` here.
    """
    if value.device_name() == _HOST:
        return "CPU:0"
    return f"GPU:{value.__dlpack_device__()[1]}"


def copy_to_device(value: RawValue, device: str) -> RawValue:
    """The value in the memory of a device: itself if it is there already, a copy otherwise.

    Args:
        value: A value on any device. Strings stay on the host: GPUs have no strings.
        device: Canonical device name.

    Raises:
        ResourceExhaustedError: the device has no memory for it.
        InternalError: CUDA could not copy.
    """
    here = device_of(value)
    if device.startswith("CPU"):
        if here == "CPU:0":
            return value
        shape, code = value.shape(), value.element_type()
        copy = _ort.OrtValue.ortvalue_from_shape_and_onnx_type(shape, code, CPU_DEVICE)
    elif here == device or value.element_type() == _STRING:
        return value
    else:
        copy = cuda.allocate(value.shape(), value.element_type(), int(device.split(":")[1]))
    cuda.copy_contents(copy, value)
    return copy


def from_numpy(array: np.ndarray[Any, Any], *, owned: bool = False) -> RawValue:
    """An ORT value with the array's contents.

    Args:
        array: Any array of a dtype that tfx knows.
        owned: The caller gives the memory away (nobody will write to it any more, or it is a
            read-only mapping): no copy is made.

    Returns:
        A CPU value. Non-contiguous arrays are always copied.

    Raises:
        UnimplementedError: ONNX Runtime cannot hold the dtype (complex numbers, 4-bit integers).
        InvalidArgumentError: an object array of other objects than str and bytes.
    """
    dtype = dtypes.as_dtype(array.dtype)
    code = dtype.onnx
    if code == _STRING:
        return _string_value(array)
    if dtype.is_complex:
        raise UnimplementedError(
            f"ONNX Runtime has no {dtype.name} tensors; keep real and imaginary parts as two "
            "float tensors."
        )
    if code in _FOUR_BITS:
        raise UnimplementedError(
            f"ONNX Runtime's Python interface takes no {dtype.name} tensors; keep the numbers in "
            "an int8 or uint8 tensor."
        )
    if code in _RAW_VIEWS:
        return _copied(np.asarray(array, order="C"), code)
    if not (owned and array.flags.c_contiguous):
        array = array.copy(order="C")
    elif not array.flags.writeable:
        array = _writable_alias(array)
    if dtype.as_numpy_dtype != array.dtype:  # e.g. big-endian
        array = array.astype(dtype.as_numpy_dtype)
    # DLPack, because it keeps the array alive as long as the value (and takes 0.4 us).
    if code == _BOOL:
        return _ort.OrtValue.from_dlpack(array.view(np.uint8).__dlpack__(), True)
    return _ort.OrtValue.from_dlpack(array.__dlpack__(), False)


class _Alias:
    """Array interface over memory that another array owns and that nobody will write to."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._owner = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def _writable_alias(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory without the read-only flag, which DLPack refuses. Nobody writes to it."""
    return np.asarray(_Alias(array)) if array.size else array.copy()


def _copied(array: np.ndarray[Any, Any], code: int) -> RawValue:
    """A value with memory of its own, for element types that NumPy's DLPack cannot carry."""
    value = _ort.OrtValue.ortvalue_from_shape_and_onnx_type(list(array.shape), code, CPU_DEVICE)
    ctypes.memmove(value.data_ptr(), array.ctypes.data, array.nbytes)
    return value


class _Memory:
    """Array interface over a value's memory; the resulting array keeps the value alive."""

    __slots__ = ("__array_interface__", "_value")

    def __init__(self, value: RawValue, dtype: Any) -> None:
        self._value = value
        self.__array_interface__ = {
            "shape": tuple(value.shape()),
            "typestr": np.dtype(dtype).str,
            "data": (value.data_ptr(), True),
            "version": 3,
        }


def to_numpy(value: RawValue) -> np.ndarray[Any, Any]:
    """A read-only array over the value's memory (strings: a new object array of ``bytes``).

    Raises:
        UnimplementedError: strings that are not UTF-8.
    """
    code = value.element_type()
    raw = _RAW_VIEWS.get(code)
    if raw is not None:
        value = copy_to_device(value, "CPU:0")
        numpy_dtype = dtypes.from_onnx(code).as_numpy_dtype
        if value.tensor_size_in_bytes() == 0:
            return np.empty(tuple(value.shape()), numpy_dtype)
        return np.asarray(_Memory(value, raw)).view(numpy_dtype)
    try:
        array: np.ndarray[Any, Any] = value.numpy()
    except UnicodeDecodeError as e:
        raise UnimplementedError(
            f"A string tensor holds bytes that are not UTF-8 ({e}), which ONNX Runtime's Python "
            "interface cannot give back; keep such bytes in a uint8 tensor, or encode them as text."
        ) from e
    if code == _STRING:
        flat = np.empty(array.size, dtype=object)
        flat[:] = [s.encode() if isinstance(s, str) else s for s in array.reshape(-1)]
        array = flat.reshape(tuple(value.shape()))
    array.flags.writeable = False
    standard = _STANDARD.get(array.dtype.char)
    return array if standard is None else array.view(standard)


def lend(value: RawValue) -> tuple[RawValue, object]:
    """A value over the same memory that does not own it, and what must outlive it.

    ONNX Runtime takes initializers from outside only where the memory is not its own.
    """
    value = copy_to_device(value, "CPU:0")
    code = value.element_type()
    raw = _RAW_VIEWS.get(code)
    if raw is None:
        array: np.ndarray[Any, Any] = value.numpy()
        return _ort.OrtValue.ortvalue_from_numpy(array, CPU_DEVICE), (value, array)
    array = np.asarray(_Memory(value, raw))
    return _ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, code), (value, array)


def to_dlpack(value: RawValue, **options: Any) -> Any:
    """A DLPack capsule with the value's contents.

    A copy, because there are consumers that take no notice of read-only memory: whoever wrote to
    what they made of it would change the value. ``copy=False`` promises not to do that.

    Args:
        value: A CPU value.
        **options: ``stream``, ``max_version``, ``dl_device`` and ``copy`` of DLPack's protocol.

    Raises:
        BufferError: the options ask for what cannot be had.
    """
    version = options.get("max_version")
    if options.get("copy") is False:
        if version is None or version[0] < 1:
            raise BufferError("A tensor is read-only, which this version of DLPack cannot say.")
        return to_numpy(value).__dlpack__(**options)
    if value.element_type() in _RAW_VIEWS:
        return _copied(to_numpy(value), value.element_type()).to_dlpack()
    return to_numpy(value).copy().__dlpack__()


def array_from_dlpack(producer: Any) -> np.ndarray[Any, Any]:
    """A read-only array over the memory of any object on the CPU that has ``__dlpack__``.

    Raises:
        InvalidArgumentError: it cannot be exported, or not in a layout that is taken.
    """
    try:
        if "bfloat16" in str(getattr(producer, "dtype", "")):  # NumPy has none, ONNX Runtime has
            return to_numpy(_ort.OrtValue.from_dlpack(producer.__dlpack__(), False))
        return np.from_dlpack(producer)
    except (BufferError, RuntimeError, TypeError, ValueError) as e:
        raise InvalidArgumentError(
            f"An object of type {type(producer).__name__} cannot be taken over through DLPack: {e}"
        ) from e


def _string_value(array: np.ndarray[Any, Any]) -> RawValue:
    """A string value, made by running a model that consists of one string constant.

    ONNX Runtime's Python interface makes no string values from arrays; its kernels do.
    """
    from tfx.runtime.session import Session

    items = [_utf8(item) for item in array.reshape(-1).tolist()]
    model = _constant_model(items, array.shape)
    return Session(model).run({})[0]


def _utf8(item: object) -> bytes:
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode("utf-8", "surrogateescape")
    raise InvalidArgumentError(
        f"A string tensor holds str or bytes; got {item!r} of type {type(item).__name__}."
    )


def _constant_model(items: list[bytes], shape: tuple[int, ...]) -> bytes:
    """Serialized ONNX model with one string constant as output ``c`` (no need for onnx here)."""
    tensor = b"".join(_field_int(1, d) for d in shape) + _field_int(2, _STRING)
    tensor += b"".join(_field_bytes(6, item) for item in items)
    attribute = _field_bytes(1, b"value") + _field_bytes(5, tensor) + _field_int(20, 4)
    node = _field_bytes(2, b"c") + _field_bytes(4, b"Constant") + _field_bytes(5, attribute)
    type_proto = _field_bytes(1, _field_int(1, _STRING) + _field_bytes(2, _shape_proto(shape)))
    output = _field_bytes(1, b"c") + _field_bytes(2, type_proto)
    graph = _field_bytes(1, node) + _field_bytes(2, b"g") + _field_bytes(12, output)
    return _field_int(1, 10) + _field_bytes(7, graph) + _field_bytes(8, _field_int(2, 21))


def _shape_proto(shape: tuple[int, ...]) -> bytes:
    return b"".join(_field_bytes(1, _field_int(1, d)) for d in shape)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field_int(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _field_bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


shape_of: Callable[[RawValue], list[int]] = _ort.OrtValue.shape
