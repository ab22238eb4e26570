"""Python values in the manifest: arguments, results, defaults and plain attributes.

Owns the records that stand for what Python has no literal for (a tensor leaf, a spec, a named
tuple), and the walk over them. Must not know of protobuf (``codec`` does) nor of how a call binds
its arguments (the loader does). The one decision: None, bool, int, float, complex, str, bytes,
list, tuple and dict stand for themselves, so a structure reads like the call it describes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Shape: TypeAlias = tuple[int | str | None, ...] | None
"""Dimensions that are known (int), named (str) or unknown (None); None for an unknown rank."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The tensor leaf number ``index`` of a tree of arguments or of results."""

    index: int


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """The dtype, shape and name of a tensor; as a value it stands for a ``TensorSpec``."""

    dtype: str
    shape: Shape
    name: str = ""


@dataclass(frozen=True, slots=True)
class DTypeValue:
    """A dtype that is itself the value (``cast(x, tfx.int32)``)."""

    name: str


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """A ``TensorShape`` that is itself the value."""

    dims: Shape


@dataclass(frozen=True, slots=True)
class Record:
    """A named tuple (``is_tuple``) or a dataclass: its fields by name, in their order."""

    type_name: str
    fields: tuple[tuple[str, Value], ...]
    is_tuple: bool = True


@dataclass(frozen=True, slots=True)
class ConstantRef:
    """The constant of this id, as a default value or an attribute."""

    index: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """A Python object that cannot be stored; it only says what was there."""

    type_name: str
    text: str


Scalar: TypeAlias = bool | int | float | complex | str | bytes | None
Value: TypeAlias = (
    Scalar
    | Leaf
    | TensorInfo
    | DTypeValue
    | ShapeValue
    | Record
    | ConstantRef
    | Opaque
    | list["Value"]
    | tuple["Value", ...]
    | dict[Scalar, "Value"]
)


def walk(value: Value) -> Iterator[Value]:
    """Yield ``value`` and everything inside it, parents first, in order."""
    stack = [value]
    while stack:
        item = stack.pop()
        yield item
        if isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
        elif isinstance(item, dict):
            stack.extend(reversed(item.values()))
        elif isinstance(item, Record):
            stack.extend(part for _, part in reversed(item.fields))


def leaves(value: Value) -> list[int]:
    """Return the numbers of the leaves inside ``value``, in the order in which they appear."""
    return [item.index for item in walk(value) if isinstance(item, Leaf)]
