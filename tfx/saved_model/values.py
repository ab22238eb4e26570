"""The manifest's records back to Python values."""

from __future__ import annotations

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


def from_value(
    value: Value,
    leaf: Callable[[int], Any] | None = None,
    constant: Callable[[int], Any] | None = None,
) -> Any:
    """A Python value from its record; what could not be saved stays an ``Opaque``.

    Args:
        value: The record.
        leaf: Gives what stands for the tensor leaf of a number; None: there are none.
        constant: Gives the stored constant of an id; None: there are none.
    """
    if isinstance(value, Leaf):
        return value if leaf is None else leaf(value.index)
    if isinstance(value, TensorInfo):
        return to_spec(value)
    if isinstance(value, DTypeValue):
        return dtypes.as_dtype(value.name)
    if isinstance(value, ShapeValue):
        return TensorShape(value.dims)
    if isinstance(value, Record):
        parts = {n: from_value(v, leaf, constant) for n, v in value.fields}
        return named_tuple(value.type_name, tuple(parts))(*parts.values())
    if isinstance(value, ConstantRef):
        return value if constant is None else constant(value.index)
    if isinstance(value, tuple):
        return tuple(from_value(v, leaf, constant) for v in value)
    if isinstance(value, list):
        return [from_value(v, leaf, constant) for v in value]
    if isinstance(value, dict):
        return {k: from_value(v, leaf, constant) for k, v in value.items()}
    return value
