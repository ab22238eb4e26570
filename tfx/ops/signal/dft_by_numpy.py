"""The operator ``DFT`` by NumPy, on the CPU: ONNX Runtime's kernel takes ten times as long."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

import numpy as np

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.runtime.values import device_of

# Numbers from which NumPy's transform is worth a step of a plan.
LEAST = 1 << 10
# What NumPy transforms in its own precision.
KINDS = (dtypes.float32, dtypes.float64)


def dft(x: Tensor, axis: Tensor, *, inverse: int = 0, onesided: int = 0) -> Tensor:
    """The operator applied: eagerly NumPy computes it where that is sooner.

    Args:
        x: Pairs ``[..., length, 2]``, or numbers ``[..., length, 1]``.
        axis: The axis of the transform, an int64 scalar.
        inverse: With the other sign, and divided by the length.
        onesided: The first half of the frequencies alone; not of an inverse.
    """
    attrs = {"inverse": 1} if inverse else {"onesided": 1} if onesided else {}
    if not (_is_here(x) and isinstance(axis, EagerTensor)):
        return ox.DFT(x, None, axis, **attrs)
    found = transformed(x.view(), int(axis.view()), **attrs)
    result = from_array(found, owned=True)
    for tape in current().tapes:
        tape.record("DFT", attrs, (x, None, axis), (result,))
    return result


def _is_here(x: Tensor) -> TypeGuard[EagerTensor]:
    """True for numbers in the memory of the first CPU, of which there are enough."""
    device = current().device
    if not isinstance(x, EagerTensor) or not (device is None or device.startswith("CPU")):
        return False
    return x.dtype in KINDS and math.prod(x._raw.shape()) >= LEAST and device_of(x._raw) == "CPU:0"


def transformed(x: Any, axis: int, *, inverse: int = 0, onesided: int = 0) -> Any:
    """An array of pairs transformed; see ``dft``."""
    axis = axis + 1 if axis < 0 else axis
    values = x[..., 0]
    if not values.shape[axis]:  # NumPy has no transform of nothing, which is nothing
        return np.zeros((*values.shape, 2), x.dtype)
    if x.shape[-1] == 2:
        kind = np.complex64 if x.dtype == np.float32 else np.complex128
        values = np.ascontiguousarray(x).view(kind)[..., 0]
    elif onesided:
        return _pairs(np.fft.rfft(values, axis=axis), x.dtype)
    found = (np.fft.ifft if inverse else np.fft.fft)(values, axis=axis)
    if onesided:
        size = values.shape[axis] // 2 + 1
        found = np.take(found, range(size), axis)
    return _pairs(found, x.dtype)


def _pairs(values: Any, kind: Any) -> Any:
    return np.ascontiguousarray(values)[..., None].view(kind)
