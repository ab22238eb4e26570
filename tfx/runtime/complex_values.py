"""Complex numbers as values: kept and handed on, since ONNX Runtime has no such tensors.

A value of this class stands where ONNX Runtime's do, with the part of their face that does not
compute: so a complex variable is assigned, read, saved and restored like any other. What would run
an operator on it is refused, because no session takes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.core import dtypes


class ComplexValue:
    """An immutable array of complex numbers with the face of an ``OrtValue``.

    Args:
        array: The contents, which nobody changes any more.
    """

    __slots__ = ("__weakref__", "_array")

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array = array[...]
        self._array.flags.writeable = False

    def shape(self) -> list[int]:
        """Dimensions."""
        return list(self._array.shape)

    def element_type(self) -> int:
        """ONNX's code of the element type."""
        return dtypes.as_dtype(self._array.dtype).onnx

    def data_type(self) -> str:
        """ONNX Runtime's text for the type."""
        return f"tensor({self._array.dtype})"

    def device_name(self) -> str:
        """Return the device of the memory, which is always the host."""
        return "Cpu"

    def tensor_size_in_bytes(self) -> int:
        """Number of bytes."""
        return self._array.nbytes

    def data_ptr(self) -> int:
        """Return the address of the array's first byte."""
        return self._array.ctypes.data

    def numpy(self) -> npt.NDArray[Any]:
        """The contents, read-only."""
        return self._array

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.zeros(0).__dlpack_device__()
