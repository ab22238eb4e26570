"""Shape code on what is known now: contents of small tensors, and operators that move elements.

Who infers shapes, reads models, folds constants or tells users of static values asks here. An array
holds numbers, or objects where some elements are names of dimensions or None (unknown): the rules
move elements and do not look at them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static, python_slice
from tfx.graph.ir import Attributes, RawDim, Value

Array = np.ndarray[Any, Any]
Rule = Callable[[list[Any], Attributes], "Array | None"]


def contents(value: Value | None) -> Array | None:
    """The contents of a value, where a constant or static sizes tell them."""
    if value is None or value.dtype > dtypes.SEQUENCE:
        return None
    if value.const is not None:
        return value.const
    dims, shape = value.dims, value.shape
    if not is_static(dims) or not is_static(shape):
        return None
    return np.array(dims, dtypes.from_onnx(value.dtype).as_numpy_dtype).reshape(shape)


def sizes(value: Value | None, attrs: Attributes) -> tuple[RawDim, ...] | None:
    """What ``Shape`` gives, unknown and named dimensions included.

    Args:
        value: What it is applied to.
        attrs: Its attributes.
    """
    if value is None or value.shape is None:
        return None
    return value.shape[attrs.get("start", 0) : attrs.get("end")]


def _concat(arrays: list[Any], attrs: Attributes) -> Array:
    return np.asarray(np.concatenate(arrays, int(attrs["axis"])))


def _gather(arrays: list[Any], attrs: Attributes) -> Array:
    return np.asarray(np.take(arrays[0], arrays[1], int(attrs.get("axis", 0))))


def _slice(arrays: list[Any], attrs: Attributes) -> Array:
    x, starts, ends, *rest = arrays
    axes = rest[0] if rest and rest[0] is not None else range(len(starts))
    steps = rest[1] if len(rest) > 1 else [1] * len(starts)
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = x.shape[int(axis)]
        index[int(axis)] = python_slice(size, int(start), int(end), int(step))
    return np.asarray(x[tuple(index)])


def _squeeze(arrays: list[Any], attrs: Attributes) -> Array:
    axes = arrays[1] if len(arrays) > 1 and arrays[1] is not None else None
    where = None if axes is None else tuple(int(a) for a in axes)
    return np.asarray(np.squeeze(arrays[0], where))


def _unsqueeze(arrays: list[Any], attrs: Attributes) -> Array:
    return np.asarray(np.expand_dims(arrays[0], tuple(int(a) for a in arrays[1])))


def _reshape(arrays: list[Any], attrs: Attributes) -> Array:
    x, shape = arrays
    copied = not attrs.get("allowzero", 0)
    dims = [x.shape[i] if d == 0 and copied else int(d) for i, d in enumerate(shape)]
    return np.asarray(x.reshape(dims))


def _transpose(arrays: list[Any], attrs: Attributes) -> Array:
    return np.transpose(arrays[0], attrs.get("perm"))


# Operator -> what it makes of its inputs: the first holds the elements (all of Concat's do), the
# others are numbers. A ValueError, IndexError or TypeError: it cannot be applied to them.
MOVES: dict[str, Rule] = {
    "Concat": _concat,
    "Gather": _gather,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
