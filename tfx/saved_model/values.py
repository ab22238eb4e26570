"""The manifest's records back to Python values."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tfx.bundle.python_values import (
    ConstantRef,
    DTypeValue,
    Leaf,
    Record,
    ShapeValue,
    TensorInfo,
    Value,
)
from tfx.core import dtypes
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.tensor import Tensor
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.sparse_ops.sparse_tensor import made as sparse_tensor


def to_spec(info: TensorInfo) -> TensorSpec:
    """The spec that a record describes."""
    return TensorSpec(TensorShape(info.shape), dtypes.as_dtype(info.dtype), info.name or None)


@lru_cache(maxsize=256)
def named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    """A named tuple class; the same one for the same name and fields."""
    title = name if name.isidentifier() else "Record"
    made: Any = namedtuple(title, fields, rename=True)  # type: ignore[misc] # noqa: PYI024
    # The class has no name that it could be imported by.
    reduce = {"__reduce__": lambda self: (_tuple_of, (name, fields, *self)), "__slots__": ()}
    return type(title, (made,), reduce)


def _tuple_of(name: str, fields: tuple[str, ...], *parts: Any) -> Any:
    return named_tuple(name, fields)(*parts)


_ROWS = re.compile(r"row_splits_\d+(?:_by_(\d+))?")


def _composite(name: str, parts: dict[str, Any]) -> Any:
    """A ragged or a sparse tensor, or indexed slices, whose components were a record; or None."""
    names = list(parts)
    if not all(isinstance(part, Tensor) for part in parts.values()):
        return None
    if name == "RaggedTensor" and names[:1] == ["flat_values"] and len(names) > 1:
        rows = [_ROWS.fullmatch(n) for n in names[1:]]
        if all(rows):
            sizes = tuple(int(m[1]) if m and m[1] else None for m in rows)
            return RaggedTensor(parts["flat_values"], tuple(list(parts.values())[1:]), sizes)
    if name == "SparseTensor" and sorted(names) == ["dense_shape", "indices", "values"]:
        return sparse_tensor(**parts)
    if name == "IndexedSlices" and names == ["values", "indices", "dense_shape"]:
        return IndexedSlices(**parts)
    return None


def result_from_value(value: Value, leaf: Callable[[int], Any]) -> Any:
    """A result with tensors from its record: composite tensors are what they were.

    Args:
        value: The record.
        leaf: Gives the tensor of a number.
    """
    return from_value(value, leaf, composite=_composite)


def from_value(
    value: Value,
    leaf: Callable[[int], Any] | None = None,
    constant: Callable[[int], Any] | None = None,
    composite: Callable[[str, dict[str, Any]], Any] | None = None,
) -> Any:
    """A Python value from its record; what could not be saved stays an ``Opaque``.

    Args:
        value: The record.
        leaf: Gives what stands for the tensor leaf of a number; None: there are none.
        constant: Gives the stored constant of an id; None: there are none.
        composite: Makes an object of a name and fields; None, or if it returns None: they are a
            named tuple.
    """

    def again(part: Value) -> Any:
        return from_value(part, leaf, constant, composite)

    if isinstance(value, Leaf):
        return value if leaf is None else leaf(value.index)
    if isinstance(value, TensorInfo):
        return to_spec(value)
    if isinstance(value, DTypeValue):
        return dtypes.as_dtype(value.name)
    if isinstance(value, ShapeValue):
        return TensorShape(value.dims)
    if isinstance(value, Record):
        parts = {n: again(v) for n, v in value.fields}
        found = None if composite is None else composite(value.type_name, parts)
        if found is not None:
            return found
        return named_tuple(value.type_name, tuple(parts))(*parts.values())
    if isinstance(value, ConstantRef):
        return value if constant is None else constant(value.index)
    if isinstance(value, tuple):
        return tuple(again(v) for v in value)
    if isinstance(value, list):
        return [again(v) for v in value]
    if isinstance(value, dict):
        return {k: again(v) for k, v in value.items()}
    return value
