"""Structures of elements along first axes: extension types and operators are their tensors.

Those that hold ragged or sparse tensors are not: rows of these are no slices of what they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.core import nest
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.composite import leaves as structures
from tfx.framework.composite.extension_parts import map_shapes, without_first
from tfx.framework.composite.extension_type import ExtensionType
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable


def _is_batch(value: Any) -> bool:
    kind = getattr(value, "_tfx_expanded_kind", None)
    taken = isinstance(value, ExtensionType) or getattr(value, "_tfx_is_numeric", False)
    return (taken and kind is not None) and all(
        isinstance(x, Tensor | Variable | TensorSpec) or _is_batch(x) for x in kind.values(value)
    )


def flatten(value: Any) -> list[Any]:
    """The leaves of a structure, among them the tensors of extension types."""
    return structures.flatten(value, _is_batch)


def pack(like: Any, leaves: Sequence[Any]) -> Any:
    """The structure with other leaves."""
    return structures.pack(like, leaves, _is_batch)


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The structure with what a function makes of its leaves."""
    return structures.map_leaves(function, value, _is_batch)


def assert_same_structure(first: Any, second: Any) -> None:
    """Check that two values have leaves in the same places; see ``structures``."""
    structures.assert_same_structure(first, second, _is_batch)


def of_slices(value: Any) -> Any:
    """The structure of slices: fields of extension types that are shapes lose their first axis."""
    return _with_shapes(without_first, value)


def of_rows(value: Any, length: int | None) -> Any:
    """The structure of stacked elements: fields that are shapes have their number in front."""
    return _with_shapes(TensorShape([length]).concatenate, value)


def _with_shapes(change: Callable[[TensorShape], TensorShape], value: Any) -> Any:
    def changed(x: Any) -> Any:
        return map_shapes(change, x) if isinstance(x, ExtensionType) and _is_batch(x) else x

    if not any(map(_is_batch, nest.flatten(value))):
        return value
    return nest.map_structure(changed, value)
