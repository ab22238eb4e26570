"""The values that ``TestCase`` compares, in the forms in which it compares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tfx.core import nest
from tfx.framework.composite.indexed_slices import IndexedSlices, IndexedSlicesValue
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable

_Array: TypeAlias = np.ndarray[Any, Any]


def value_of(x: Any) -> Any:
    """What NumPy holds of a tensor, of slices, or of all that a function returns."""
    if callable(x) and not isinstance(x, Tensor | Variable):
        return nest.map_structure(value_of, x())
    if isinstance(x, IndexedSlices):
        shape = x.dense_shape
        return IndexedSlicesValue(
            value_of(x.values), value_of(x.indices), None if shape is None else value_of(shape)
        )
    return x.numpy() if hasattr(x, "numpy") else x


def as_plain(x: Any) -> Any:
    """Named tuples and data classes as dicts."""
    if hasattr(x, "_asdict"):
        return x._asdict()
    if hasattr(x, "__attrs_attrs__") or hasattr(x, "__dataclass_fields__"):
        return dict(vars(x))
    return x


def is_structure(a: Any, b: Any) -> bool:
    """True if lists cannot be compared as arrays."""
    try:
        for x in (a, b):
            if any(isinstance(v, Tensor | Variable | Mapping) for v in nest.flatten(x)):
                return True
            if np.asarray(x).dtype == object:
                return True
    except ValueError:  # rows of different lengths
        return True
    return False


def widened(x: _Array) -> _Array:
    """16-bit and narrower floats as float32, texts and integers as they are."""
    if x.dtype.kind == "V" or x.dtype == np.float16:
        return x.astype(np.float32)
    return x if x.dtype.kind in "fc" else np.asarray(x)


def as_bytes(x: _Array) -> _Array:
    """Texts as bytes, which is what tensors hold."""
    if x.dtype.kind == "U":
        return np.char.encode(x, "utf-8").astype(object)
    if x.dtype.kind == "S":
        return x.astype(object)
    if x.dtype == object:
        items = [v.encode() if isinstance(v, str) else v for v in x.reshape(-1).tolist()]
        made = np.empty(len(items), object)
        made[:] = items
        return made.reshape(x.shape)
    return x


def text_of(msg: Any) -> str:
    """The message that a test gave, or nothing."""
    return "" if msg is None else str(msg)
