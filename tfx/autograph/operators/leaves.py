"""Values of symbols as leaves: composites, ragged tensors for example, are their tensors.

A dataclass is none: its attributes are symbols of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.framework.composite import leaves as structures
from tfx.framework.composite.indexed_slices import IndexedSlices


def is_composite(value: Any) -> bool:
    """True if a value stands for several tensors: ragged, sparse, an ``ExtensionType``."""
    own = getattr(type(value), "_tfx_expanded_kind", None)
    return own is not None or isinstance(value, IndexedSlices)


def flatten(value: Any) -> list[Any]:
    """The leaves of a structure, among them the tensors of composites."""
    return structures.flatten(value, is_composite)


def pack(like: Any, leaves: Sequence[Any]) -> Any:
    """The structure with other leaves."""
    return structures.pack(like, leaves, is_composite)


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The structure with what a function makes of its leaves."""
    return structures.map_leaves(function, value, is_composite)


def assert_same_structure(first: Any, second: Any) -> None:
    """Check that two values have leaves in the same places; see ``structures``."""
    structures.assert_same_structure(first, second, is_composite)
