"""Reductions of many integers by NumPy, eagerly: ONNX Runtime's kernels are wrong or cut off.

What stands for them in graphs (``graph/kernels/integers.py``) takes passes over memory, of which
there is one here. Integers have no gradients, so no tape misses anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.context import current
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.runtime.values import device_of

# Elements from which it is quicker.
_MANY = 1 << 12
_REDUCTIONS: dict[str, Any] = {
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceSum": np.sum,
}
_KINDS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)


def reduced(op: str, x: Tensor, axes: Any, keepdims: bool | None) -> Tensor | None:
    """The reduction of many integers; None for other tensors.

    Args:
        op: The ONNX operator. Sums and products wrap around.
        x: What is reduced.
        axes: The axes; None: all.
        keepdims: Keep the axes with length 1.
    """
    if not isinstance(x, EagerTensor) or x.dtype not in _KINDS or op not in _REDUCTIONS:
        return None
    device = current().device
    here = (device is None or device.startswith("CPU")) and device_of(x._raw) == "CPU:0"
    if not here or math.prod(x._raw.shape()) < _MANY:
        return None
    kind = x.dtype.as_numpy_dtype
    given = {"dtype": kind} if op in ("ReduceProd", "ReduceSum") else {}
    along = None if axes is None else tuple(axes)
    found = _REDUCTIONS[op](x.view(), axis=along, keepdims=bool(keepdims), **given)
    return from_array(np.asarray(found, kind))
