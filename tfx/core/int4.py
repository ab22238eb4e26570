"""4-bit integers as ONNX has them: two elements a byte, the first in the low half.

NumPy (with ml_dtypes) has one element a byte, so such values are copied in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.core import dtypes

FOUR_BITS = frozenset((dtypes.int4.onnx, dtypes.uint4.onnx))


def pack(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The bytes of an array of ``int4`` or ``uint4``, in memory and in files."""
    halves = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & 0x0F
    if halves.size % 2:
        halves = np.append(halves, np.uint8(0))
    return np.asarray(halves[0::2] | (halves[1::2] << 4), np.uint8)


def unpack(packed: npt.NDArray[np.uint8], code: int, shape: Sequence[int]) -> npt.NDArray[Any]:
    """The array for such bytes.

    Args:
        packed: The bytes.
        code: ONNX's code of the element type.
        shape: Dimensions.
    """
    halves: npt.NDArray[Any] = np.empty(packed.size * 2, np.uint8)
    halves[0::2] = packed & 0x0F
    halves[1::2] = packed >> 4
    halves = halves[: int(np.prod(shape, dtype=np.int64))].reshape(shape)
    if code == dtypes.int4.onnx:  # the highest bit is the sign
        halves = (halves ^ 8).view(np.int8) - np.int8(8)
    return np.asarray(halves, dtypes.from_onnx(code).as_numpy_dtype)
