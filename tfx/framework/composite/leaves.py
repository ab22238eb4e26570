"""Structures in which some classes of leaves stand for their tensors, and others do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.core import nest

Expands = Callable[[Any], bool]


def flatten(value: Any, expands: Expands) -> list[Any]:
    """The leaves of a structure, among them the tensors of leaves that are expanded.

    Args:
        value: A structure.
        expands: Whether a leaf counts as what it consists of.
    """
    found = nest.flatten(value)
    if not any(map(expands, found)):
        return found
    return [y for x in found for y in _parts(x, expands)]


def _parts(leaf: Any, expands: Expands) -> list[Any]:
    return nest.flatten(leaf, expand_composites=True) if expands(leaf) else [leaf]


def pack(like: Any, leaves: Sequence[Any], expands: Expands) -> Any:
    """The structure with other leaves."""
    found = nest.flatten(like)
    if not any(map(expands, found)):
        return nest.pack_sequence_as(like, list(leaves))
    given = iter(leaves)
    whole = [
        nest.pack_sequence_as(x, [next(given) for _ in _parts(x, expands)], True)
        if expands(x)
        else next(given)
        for x in found
    ]
    return nest.pack_sequence_as(like, whole)


def map_leaves(function: Callable[[Any], Any], value: Any, expands: Expands) -> Any:
    """The structure with what a function makes of its leaves."""
    return pack(value, [function(x) for x in flatten(value, expands)], expands)


def assert_same_structure(first: Any, second: Any, expands: Expands) -> None:
    """Check that two values have leaves in the same places.

    Raises:
        TypeError: their classes differ.
        ValueError: they have other parts, or other values beside their tensors.
    """
    nest.assert_same_structure(first, second)
    for x, y in zip(nest.flatten(first), nest.flatten(second), strict=True):
        if expands(x) or expands(y):
            nest.assert_same_structure(x, y, expand_composites=True)
