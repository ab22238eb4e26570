"""Python values to the manifest's records: arguments, results, defaults, attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from tfx.bundle.python_values import (
    ConstantRef,
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
from tfx.core.nest_kinds import expanded_kind_of, kind_of, namedtuple_fields
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.tensor import EagerTensor

# The part of a record that says what a class with ``__tf_flatten__`` has beside its tensors.
METADATA = "metadata"
SCALARS = (bool, int, float, complex, str, bytes, type(None))
KEYS = (bool, int, float, str, bytes, type(None))
# The format keeps no larger integers.
_MAX_INT_BITS = 13_000
_MAX_TEXT = 200
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

Constant = Callable[[EagerTensor], int]


def tensor_info(spec: TensorSpec, name: str = "") -> TensorInfo:
    """The record of a spec."""
    shape = None if spec.shape.rank is None else tuple(spec.shape.symbolic or ())
    return TensorInfo(spec.dtype.name, shape, name or spec.name or "")


def is_scalar(value: Any) -> bool:
    """True if a value is stored as itself (a Python literal that is no container)."""
    if type(value) is int:
        return value.bit_length() <= _MAX_INT_BITS
    return type(value) in SCALARS


def to_value(value: Any, constant: Constant | None = None, *, is_argument: bool = False) -> Value:
    """The record of a Python value; what cannot be stored becomes ``Opaque``.

    Args:
        value: Anything; a ``Leaf`` in it stands for a tensor and stays.
        constant: Stores a tensor and returns its id; None: tensors cannot be stored here.
        is_argument: Whether it is what a call must match: then what classes with
            ``__tf_flatten__`` say beside their tensors is part of the record.
    """
    if is_scalar(value) or isinstance(value, Leaf):
        return cast(Value, value)
    special = _special(value)
    if special is not None:
        return special
    if isinstance(value, EagerTensor) and constant is not None:
        return ConstantRef(constant(value))
    return _structure(value, constant, is_argument)


def _special(value: Any) -> Value:
    """The record of what is no structure; None if it has none."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if isinstance(value, TensorSpec):
        return tensor_info(value)
    if isinstance(value, DType):
        return DTypeValue(value.name)
    if isinstance(value, TensorShape):
        return ShapeValue(None if value.rank is None else tuple(value.symbolic or ()))
    return None


def _structure(value: Any, constant: Constant | None, is_argument: bool) -> Value:
    def inner(part: Any) -> Value:
        return to_value(part, constant, is_argument=is_argument)

    fields = namedtuple_fields(type(value))
    if fields is not None:
        parts = tuple((n, inner(v)) for n, v in zip(fields, value, strict=True))
        return Record(type(value).__name__, parts)
    if isinstance(value, tuple):
        return tuple(inner(v) for v in value)
    if isinstance(value, Mapping):
        if all(type(k) in KEYS for k in value):
            return {k: inner(v) for k, v in value.items()}
        return _opaque(value)
    kind = expanded_kind_of(value) or kind_of(value)
    if kind is None:
        return _opaque(value)
    keys, values = kind.keys(value), [inner(v) for v in kind.values(value)]
    if all(isinstance(k, str) for k in keys) and keys:  # an attrs class or a dataclass
        return Record(type(value).__name__, tuple(zip(keys, values, strict=True)), is_tuple=False)
    if hasattr(value, "__tf_flatten__"):
        parts = tuple((f"field_{i}", v) for i, v in enumerate(values))
        if is_argument:
            parts = (*parts, (METADATA, inner(value.__tf_flatten__()[0])))
        return Record(type(value).__name__, parts, is_tuple=False)
    return values


def _opaque(value: Any) -> Opaque:
    """A stand-in that is the same in every process: no addresses."""
    return Opaque(type(value).__qualname__, _ADDRESS.sub("", repr(value))[:_MAX_TEXT])


def numbered(structure: Any) -> Any:
    """A structure with its specs replaced by ``Leaf(0)``, ``Leaf(1)``... in flattening order."""
    found = [leaf for leaf in nest.flatten(structure, True) if isinstance(leaf, TensorSpec)]
    numbers = iter(range(len(found)))
    return nest.map_structure(
        lambda x: Leaf(next(numbers)) if isinstance(x, TensorSpec) else x,
        structure,
        expand_composites=True,
    )
