"""``tf.experimental.dlpack``: tensors to and from other libraries, by DLPack capsules."""

from __future__ import annotations

import ctypes
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor

_NAME = b"dltensor"
_BOOL, _BFLOAT = 6, 4  # DLDataTypeCode


class _Head(ctypes.Structure):
    """The beginning of what a capsule points to, a ``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Producer:
    """A capsule as the object that it came from: with its device, and types that NumPy lacks."""

    def __init__(self, capsule: Any) -> None:
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        try:
            head = _Head.from_address(get(capsule, _NAME))
        except ValueError:
            raise InvalidArgumentError(
                "from_dlpack needs a capsule named 'dltensor' that has not been used yet, or an "
                f"object that has __dlpack__; got {capsule!r}."
            ) from None
        self._capsule = capsule
        self._device = (head.device_type, head.device_id)
        self.dtype = {_BOOL: "bool", _BFLOAT: "bfloat16"}.get(head.code, "")

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def to_dlpack(tf_tensor: Any) -> Any:
    """A DLPack capsule with a copy of a tensor's contents, on its device.

    Args:
        tf_tensor: A tensor, or what becomes one; no strings and no complex numbers.

    Raises:
        TypeError: a tensor of a trace.

    Example:
        >>> import numpy as np
        >>> import tfx as tf
        >>> capsule = tf.experimental.dlpack.to_dlpack(tf.constant([1.0, 2.0]))
        >>> tf.experimental.dlpack.from_dlpack(capsule).numpy()
        array([1., 2.], dtype=float32)
    """
    x = convert_to_tensor(tf_tensor)
    if not isinstance(x, EagerTensor):
        raise TypeError(
            f"to_dlpack needs a tensor with contents; got {x!r}. Call it outside of tf.function."
        )
    return x.__dlpack__()


def from_dlpack(dlcapsule: Any) -> Tensor:
    """A tensor with the contents of a DLPack capsule.

    Args:
        dlcapsule: A capsule, which is used up; or any object that has ``__dlpack__``.

    Raises:
        InvalidArgumentError: it was used up, or is in a layout that is not taken.
    """
    given = dlcapsule if hasattr(dlcapsule, "__dlpack__") else _Producer(dlcapsule)
    return convert_to_tensor(given)
