"""Values of symbols as leaves: composites, ragged tensors for example, are their tensors.

A dataclass is none: its attributes are symbols of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.core import nest
from tfx.framework.composite.indexed_slices import IndexedSlices


def is_composite(value: Any) -> bool:
    """True if a value stands for several tensors: ragged, sparse, an ``ExtensionType``."""
    own = getattr(type(value), "_tfx_expanded_kind", None)
    return own is not None or isinstance(value, IndexedSlices)


def flatten(value: Any) -> list[Any]:
    """The leaves of a structure, among them the tensors of composites."""
    found = nest.flatten(value)
    if not any(map(is_composite, found)):
        return found
    return [y for x in found for y in _parts(x)]


def _parts(leaf: Any) -> list[Any]:
    return nest.flatten(leaf, expand_composites=True) if is_composite(leaf) else [leaf]


def pack(like: Any, leaves: Sequence[Any]) -> Any:
    """The structure with other leaves."""
    found = nest.flatten(like)
    if not any(map(is_composite, found)):
        return nest.pack_sequence_as(like, list(leaves))
    given = iter(leaves)
    whole = [
        nest.pack_sequence_as(x, [next(given) for _ in _parts(x)], True)
        if is_composite(x)
        else next(given)
        for x in found
    ]
    return nest.pack_sequence_as(like, whole)


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The structure with what a function makes of its leaves."""
    return pack(value, [function(x) for x in flatten(value)])


def assert_same_structure(first: Any, second: Any) -> None:
    """Check that two values have leaves in the same places.

    Raises:
        TypeError: their classes differ.
        ValueError: they have other parts, or other values beside their tensors.
    """
    nest.assert_same_structure(first, second)
    for x, y in zip(nest.flatten(first), nest.flatten(second), strict=True):
        if is_composite(x) or is_composite(y):
            nest.assert_same_structure(x, y, expand_composites=True)
