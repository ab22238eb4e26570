"""ORT values: to and from NumPy and DLPack. A value is immutable once it left this module.

The C-level ``OrtValue`` is used directly (a wrapper costs a microsecond a call). ONNX Runtime
shares memory with NumPy in both directions, so every array that comes in is copied unless the
caller hands it over, and every array that goes out is a read-only view that keeps its value alive.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core import dtypes
from tfx.core.errors import UnimplementedError
from tfx.core.int4 import FOUR_BITS, pack, unpack
from tfx.runtime import cuda
from tfx.runtime.complex_values import ComplexValue
from tfx.runtime.devices import gpu_name, physical_gpu
from tfx.runtime.string_model import constant_model, utf8

RawValue: TypeAlias = _ort.OrtValue

# Whether a value was ever made on a GPU in this process: while not, nobody need ask where they are.
gpu_in_use = False
# Called when that happens.
_when_gpu_used: list[Callable[[], None]] = []

CPU_DEVICE = _ort.OrtDevice(_ort.OrtDevice.cpu(), _ort.OrtDevice.default_memory(), 0)
_HOST = "Cpu"
_STRING = 8
_BOOL = 9
_OF_THE_HOST = frozenset((_STRING, dtypes.complex64.onnx, dtypes.complex128.onnx))
# Element types that NumPy lacks (ml_dtypes carries them): moved as raw integers of the same width.
RAW_VIEWS: dict[int, Any] = {16: np.uint16, 17: np.uint8, 19: np.uint8}
# ONNX Runtime gives C's `long long`, which NumPy takes for a type beside int64.
_STANDARD = {"q": np.int64, "Q": np.uint64}


def when_gpu_used(action: Callable[[], None]) -> None:
    """Register a function to call when a GPU comes into use, now if one is."""
    if gpu_in_use:
        action()
    else:
        _when_gpu_used.append(action)


def note_gpu() -> None:
    """Values are made on a GPU from here on."""
    global gpu_in_use
    if not gpu_in_use:
        gpu_in_use = True
        for action in _when_gpu_used:
            action()


def device_of(value: RawValue) -> str:
    """The canonical name of the device whose memory a value is in.

    All logical CPU devices share the host's memory, which is ``"CPU:0"`` here.
    """
    if value.device_name() == _HOST:
        return "CPU:0"
    return gpu_name(value.__dlpack_device__()[1])


def copy_to_device(value: RawValue, device: str) -> RawValue:
    """The value in the memory of a device: itself if it is there already, a copy otherwise.

    Args:
        value: A value on any device. Strings and complex numbers stay on the host.
        device: Canonical device name.

    Raises:
        ResourceExhaustedError: the device has no memory for it.
        InternalError: CUDA could not copy.
    """
    on_host = value.device_name() == _HOST
    if device.startswith("CPU"):
        if on_host:
            return value
    elif value.element_type() in _OF_THE_HOST or (
        not on_host and same_memory(device_of(value), device)
    ):
        return value
    copy = empty(value.shape(), value.element_type(), device)
    copy_contents(copy, value)
    return copy


def same_memory(first: str, second: str) -> bool:
    """True if two devices are parts of one physical GPU."""
    return physical_gpu(first) == physical_gpu(second)


def empty(shape: list[int], element_type: int, device: str) -> RawValue:
    """A value with memory on a device, its contents undefined.

    Args:
        shape: Dimensions.
        element_type: ONNX's code; no strings.
        device: Canonical device name.

    Raises:
        ResourceExhaustedError: the device has no memory for it.
    """
    if not device.startswith("CPU"):
        note_gpu()
        return cuda.allocate(shape, element_type, physical_gpu(device))
    return _ort.OrtValue.ortvalue_from_shape_and_onnx_type(shape, element_type, CPU_DEVICE)


def copy_contents(target: RawValue, source: RawValue) -> None:
    """Overwrite the memory of a value that nobody else has with another's contents.

    Args:
        target: A value of the source's type and number of elements (no strings).
        source: On any device.

    Raises:
        InternalError: CUDA could not copy.
    """
    copy_all(((target, source),))


def copy_all(pairs: Iterable[tuple[RawValue, RawValue]]) -> None:
    """``copy_contents`` for several values: targets, each with its source."""
    beyond = []
    for target, source in pairs:
        if target.device_name() == source.device_name() == _HOST:
            ctypes.memmove(target.data_ptr(), source.data_ptr(), source.tensor_size_in_bytes())
        else:
            beyond.append((target, source))
    if beyond:
        cuda.copy_contents(beyond)


def duplicates(originals: Sequence[RawValue]) -> list[RawValue]:
    """Copies of values (no strings), each on the device of the original."""
    copies = [empty(v.shape(), v.element_type(), device_of(v)) for v in originals]
    copy_all(zip(copies, originals, strict=True))
    return copies


class RepeatedCopies:
    """The same copies again and again, each time between other values.

    Args:
        like: Values (no strings) of the sizes of what will be copied, in order.
        device: Where all targets are; canonical name.
    """

    __slots__ = ("_copies", "_full")

    def __init__(self, like: Sequence[RawValue], device: str) -> None:
        sizes = [v.tensor_size_in_bytes() for v in like]
        self._full = [i for i, size in enumerate(sizes) if size]
        self._copies: cuda.RepeatedCopies | None = None
        if self._full and not device.startswith("CPU"):
            index = physical_gpu(device)
            self._copies = cuda.RepeatedCopies([sizes[i] for i in self._full], index)

    def run(self, targets: Sequence[RawValue], sources: Sequence[RawValue]) -> None:
        """Overwrite the memory of targets that nobody else has with the contents of sources."""
        copies = self._copies
        if copies is None:
            copy_all(zip(targets, sources, strict=True))
            return
        given = [sources[i] for i in self._full]
        copies.run(
            [targets[i].data_ptr() for i in self._full],
            [v.data_ptr() for v in given],
            within=all(v.device_name() != _HOST for v in given),
        )


def from_numpy(array: np.ndarray[Any, Any], *, owned: bool = False) -> RawValue:
    """An ORT value with the array's contents.

    Args:
        array: Any array of a dtype that tfx knows.
        owned: The caller gives the memory away (nobody will write to it any more, or it is a
            read-only mapping): no copy is made.

    Returns:
        A CPU value. Non-contiguous arrays are always copied.

    Raises:
        InvalidArgumentError: an object array of other objects than str and bytes.
    """
    dtype = dtypes.as_dtype(array.dtype)
    code = dtype.onnx
    if code == _STRING:
        return _string_value(array)
    if dtype.is_complex:
        if not (owned and array.dtype == dtype.as_numpy_dtype):
            array = array.astype(dtype.as_numpy_dtype, order="C")
            array.flags.writeable = False
        return cast(RawValue, ComplexValue(array))
    if code in FOUR_BITS:
        return _copied(pack(array), code, array.shape)
    if code in RAW_VIEWS:
        return _copied(np.asarray(array, order="C"), code, array.shape)
    if not (owned and array.flags.c_contiguous):
        array = array.copy(order="C")
    elif not array.flags.writeable:
        array = _writable_alias(array)
    if dtype.as_numpy_dtype != array.dtype:  # e.g. big-endian
        array = array.astype(dtype.as_numpy_dtype)
    # DLPack, because it keeps the array alive as long as the value (and takes 0.4 us).
    if code == _BOOL:
        return bool_from_dlpack(array)
    return from_dlpack(array.__dlpack__())


def _takes_a_flag() -> bool:
    """True if ``OrtValue.from_dlpack`` needs a flag for booleans (up to release 1.31)."""
    try:
        _ort.OrtValue.from_dlpack(np.zeros(1, np.uint8).__dlpack__(), False)
    except TypeError:
        return False
    return True


if _takes_a_flag():

    def from_dlpack(capsule: Any) -> RawValue:
        """A value over the memory of a DLPack capsule, of any type but bool."""
        return _ort.OrtValue.from_dlpack(capsule, False)

    def bool_from_dlpack(producer: Any) -> RawValue:
        """A value over the memory of an object that has ``__dlpack__`` and holds booleans."""
        # Bytes with a flag: DLPack did not always have booleans.
        view = producer.view(np.uint8) if isinstance(producer, np.ndarray) else producer
        return _ort.OrtValue.from_dlpack(view.__dlpack__(), True)

else:
    from_dlpack = _ort.OrtValue.from_dlpack

    def bool_from_dlpack(producer: Any) -> RawValue:
        """A value over the memory of an object that has ``__dlpack__`` and holds booleans."""
        return _ort.OrtValue.from_dlpack(producer.__dlpack__())


class _Face:
    """Array interface over memory that ``owner`` keeps alive."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self._owner = owner
        self.__array_interface__ = interface


def array_over(
    owner: object, address: int, shape: Sequence[int], typestr: str, *, read_only: bool = False
) -> np.ndarray[Any, Any]:
    """An array over memory of the host.

    Args:
        owner: What the memory lives as long as; the array keeps it alive.
        address: Where the memory begins.
        shape: Dimensions; none may be 0.
        typestr: NumPy's text for the element type.
        read_only: Whether the array refuses to be written to.
    """
    interface = {"shape": tuple(shape), "typestr": typestr, "data": (address, read_only)}
    return np.asarray(_Face(owner, {**interface, "version": 3}))


def _writable_alias(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory without the read-only flag, which DLPack refuses. Nobody writes to it."""
    if not array.size:
        return array.copy()
    return array_over(array, array.ctypes.data, array.shape, array.dtype.str)


def _copied(array: np.ndarray[Any, Any], code: int, shape: Sequence[int]) -> RawValue:
    """A value with memory of its own, for element types that NumPy's DLPack cannot carry."""
    value = _ort.OrtValue.ortvalue_from_shape_and_onnx_type(list(shape), code, CPU_DEVICE)
    ctypes.memmove(value.data_ptr(), array.ctypes.data, array.nbytes)
    return value


def to_numpy(value: RawValue) -> np.ndarray[Any, Any]:
    """A read-only array over the value's memory (strings: a new object array of ``bytes``).

    Raises:
        UnimplementedError: strings that are not UTF-8, in a value that a kernel made.
    """
    if gpu_in_use:
        value = copy_to_device(value, "CPU:0")
    code = value.element_type()
    if code in RAW_VIEWS:
        numpy_dtype = dtypes.from_onnx(code).as_numpy_dtype
        if value.tensor_size_in_bytes() == 0:
            return np.empty(tuple(value.shape()), numpy_dtype)
        return raw_view(value).view(numpy_dtype)
    if code in FOUR_BITS:
        return _unpacked(value)
    try:
        array: np.ndarray[Any, Any] = value.numpy()
    except UnicodeDecodeError as e:
        if (given := _UNREADABLE.get(value)) is not None:
            return given
        raise UnimplementedError(
            f"A string tensor holds bytes that are not UTF-8 ({e}), which ONNX Runtime's Python "
            "interface cannot give back; keep such bytes in a uint8 tensor, or encode them as text."
        ) from e
    if code == _STRING:
        flat = np.empty(array.size, dtype=object)
        flat[:] = [s.encode() if isinstance(s, str) else s for s in array.reshape(-1).tolist()]
        array = flat.reshape(tuple(value.shape()))
    array.flags.writeable = False
    standard = _STANDARD.get(array.dtype.char)
    return array if standard is None else array.view(standard)


def _unpacked(value: RawValue) -> np.ndarray[Any, Any]:
    """A host value of 4-bit integers as a read-only array of its own."""
    packed = np.empty(0, np.uint8)
    if count := value.tensor_size_in_bytes():
        packed = array_over(value, value.data_ptr(), (count,), "|u1", read_only=True)
    array = unpack(packed, value.element_type(), value.shape())
    array.flags.writeable = False
    return array[...]  # a consumer cannot set the flag back: the memory is another array's


def raw_view(value: RawValue) -> np.ndarray[Any, Any]:
    """A host value of a type that NumPy lacks as unsigned integers of the same width, read-only."""
    typestr = np.dtype(RAW_VIEWS[value.element_type()]).str
    return array_over(value, value.data_ptr(), value.shape(), typestr, read_only=True)


# Runs a model of one constant: a session can, which is made of values.
_run_constant: Callable[[bytes], RawValue] | None = None


def run_constants_with(run: Callable[[bytes], RawValue]) -> None:
    """Say what runs a model without inputs and returns its output."""
    global _run_constant
    _run_constant = run


def _string_value(array: np.ndarray[Any, Any]) -> RawValue:
    """A string value, made by running a model that consists of one string constant.

    ONNX Runtime's Python interface makes no string values from arrays; its kernels do.
    """
    items = [x if type(x) is bytes else utf8(x) for x in array.reshape(-1).tolist()]
    assert _run_constant is not None  # set when `runtime.session` is imported
    value = _run_constant(constant_model(items, array.shape))
    if not _is_text(b"\0".join(items)):  # one item ends where the next one cannot go on
        kept = np.empty(len(items), object)
        kept[:] = items
        kept = kept.reshape(array.shape)
        kept.flags.writeable = False
        _UNREADABLE[value] = kept
    return value


# Contents that ONNX Runtime holds but cannot give back (bytes that are not UTF-8), as long as the
# value that was made from them lives.
_UNREADABLE: weakref.WeakKeyDictionary[RawValue, np.ndarray[Any, Any]] = weakref.WeakKeyDictionary()


def _is_text(item: bytes) -> bool:
    try:
        item.decode()
    except UnicodeDecodeError:
        return False
    return True
