"""Python values to the manifest's records: arguments, results, defaults, attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfx.bundle.structure import (
    DTypeValue,
    Leaf,
    Opaque,
    Record,
    ShapeValue,
    TensorInfo,
    Value,
)
from tfx.core import nest
from tfx.core.dtypes import DType
from tfx.core.nest_kinds import namedtuple_fields
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_INT_LIMIT = 1 << 63


def tensor_info(spec: TensorSpec, name: str = "") -> TensorInfo:
    """The record of a spec."""
    shape = None if spec.shape.rank is None else tuple(spec.shape.symbolic or ())
    return TensorInfo(spec.dtype.name, shape, name or spec.name or "")


def is_plain(value: Any) -> bool:
    """Whether a value is stored as itself (a Python literal)."""
    if type(value) is int:
        return -_INT_LIMIT <= value < _INT_LIMIT
    return type(value) in _PLAIN


def to_value(value: Any) -> Value:
    """The record of a Python value; what cannot be stored becomes ``Opaque``.

    Args:
        value: Anything; a ``Leaf`` in it stands for a tensor and stays.
    """
    if is_plain(value) or isinstance(value, Leaf):
        return value  # type: ignore[no-any-return]
    if isinstance(value, TensorSpec):
        return tensor_info(value)
    if isinstance(value, DType):
        return DTypeValue(value.name)
    if isinstance(value, TensorShape):
        return ShapeValue(None if value.rank is None else tuple(value.symbolic or ()))
    fields = namedtuple_fields(type(value))
    if fields is not None:
        parts = tuple((n, to_value(v)) for n, v in zip(fields, value, strict=True))
        return Record(type(value).__name__, parts)
    if isinstance(value, tuple):
        return tuple(to_value(v) for v in value)
    if isinstance(value, list):
        return [to_value(v) for v in value]
    if isinstance(value, Mapping) and all(is_plain(k) for k in value):
        return {k: to_value(v) for k, v in value.items()}
    return Opaque(type(value).__qualname__, repr(value)[:200])


def numbered(structure: Any) -> Any:
    """A structure with its specs replaced by ``Leaf(0)``, ``Leaf(1)``... in flattening order."""
    numbers = iter(range(len(nest.flatten(structure))))
    return nest.map_structure(
        lambda x: Leaf(next(numbers)) if isinstance(x, TensorSpec) else x, structure
    )
