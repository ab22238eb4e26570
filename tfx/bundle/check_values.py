"""Checks of the small things that every record is made of: names, ids, dtypes, shapes, values.

Owns the wording of those messages. Must not know of whole records. The one decision: a check takes
``where``, the place in words, and raises; it never returns a verdict that could be overlooked.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable
from typing import NoReturn

from tfx.bundle import limits
from tfx.bundle.dtypes import BY_NAME, element_type
from tfx.bundle.python_values import (
    ConstantRef,
    DTypeValue,
    Leaf,
    Record,
    Shape,
    ShapeValue,
    TensorInfo,
    Value,
    walk,
)
from tfx.core.errors import BundleError


def fail(where: str, problem: str) -> NoReturn:
    """Raise the error of a broken rule."""
    raise BundleError(f"{where}: {problem}")


def check_id(index: int, count: int, where: str, what: str, plural: str) -> None:
    """Refuse an id that is not the position of an item."""
    if not 0 <= index < count:
        have = f"has {plural} 0 to {count - 1}" if count else f"has no {plural}"
        fail(where, f"{what} is {index}, but the bundle {have}")


def check_name(name: str, where: str, what: str) -> None:
    """Refuse an empty or endless name."""
    if not name:
        fail(where, f"{what} is empty, expected a name")
    if len(name) > limits.MAX_NAME_LENGTH:
        fail(where, f"{what} has {len(name)} characters, limit {limits.MAX_NAME_LENGTH}")


def check_unique(names: Iterable[str], where: str, what: str, *, empty_ok: bool = False) -> None:
    """Refuse a name that comes twice, and bad names."""
    seen: set[str] = set()
    for name in names:
        if name or not empty_ok:
            check_name(name, where, f"the name of a {what}")
        if name in seen:
            fail(where, f"two of its {what} entries are named {name!r}, expected unique names")
        seen.add(name)


def check_identifiers(names: Iterable[str], where: str, what: str) -> None:
    """Refuse names that a Python signature or named tuple could not have, and repeated ones."""
    names = tuple(names)
    check_unique(names, where, what)
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            fail(where, f"the name of a {what} is {name!r:.80}, expected a Python identifier")


def check_dtype(dtype: str, where: str) -> None:
    """Refuse an unknown dtype."""
    if dtype not in BY_NAME:
        element_type(dtype, where)


def check_shape(shape: Shape, where: str) -> None:
    """Refuse dimensions that no tensor can have."""
    if shape is None:
        return
    if len(shape) > limits.MAX_RANK:
        fail(where, f"shape has {len(shape)} dimensions, limit {limits.MAX_RANK}")
    sizes = [dim for dim in shape if isinstance(dim, int)]
    # Zeros are left out: [0, 2**62, 2**62] is as wrong as it looks.
    if any(dim < 0 for dim in sizes) or math.prod(filter(None, sizes)) > limits.MAX_ELEMENTS:
        fail(where, f"shape is {shape!r}, expected at most {limits.MAX_ELEMENTS} elements")
    if any(dim == "" or len(dim) > limits.MAX_NAME_LENGTH for dim in shape if isinstance(dim, str)):
        fail(where, f"shape is {shape!r:.200}, expected names of dimensions not to be empty")


def compatible(one: Shape, other: Shape) -> bool:
    """Return whether a tensor could have both shapes."""
    if one is None or other is None or one == other:
        return True
    return len(one) == len(other) and all(
        a == b for a, b in zip(one, other, strict=True) if isinstance(a, int) and isinstance(b, int)
    )


def check_value(value: Value, where: str, constants: int, *, leaves_allowed: bool = False) -> None:
    """Check what is inside a value; leaves have no meaning outside arguments and results."""
    if value is None:
        return
    for item in walk(value):
        if isinstance(item, Leaf):
            if not leaves_allowed:
                fail(where, f"has the tensor leaf {item.index}, expected plain values here")
        elif isinstance(item, TensorInfo):
            check_dtype(item.dtype, where)
            check_shape(item.shape, where)
        elif isinstance(item, DTypeValue):
            check_dtype(item.name, where)
        elif isinstance(item, ShapeValue):
            check_shape(item.dims, where)
        elif isinstance(item, ConstantRef):
            check_id(item.index, constants, where, "a constant", "constants")
        elif isinstance(item, Record):
            check_identifiers((name for name, _ in item.fields), where, f"{item.type_name!r} field")
