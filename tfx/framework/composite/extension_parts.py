"""What of an ``ExtensionType`` is taken apart: its tensors, wherever in its fields they are.

The rest, numbers and text and shapes, belongs to the type of the object: a function is traced for
it, and the branches of a ``cond`` and the iterations of a loop must agree in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfx.core.nest_kinds import Kind
from tfx.core.specs import TypeSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable

_PARTS = "_tfx_parts"


class _Part:
    """Place of a tensor in what else an object has."""

    def __repr__(self) -> str:
        return "<a tensor>"


_PART = _Part()


def _is_part(value: Any) -> bool:
    if isinstance(value, Tensor | Variable | TypeSpec | IndexedSlices):
        return True
    return getattr(type(value), "_tfx_expanded_kind", None) is not None


def _found(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The paths of the parts in a field."""
    if _is_part(value):
        return [path]
    if isinstance(value, tuple):
        return [p for i, x in enumerate(value) for p in _found(x, (*path, i))]
    if isinstance(value, Mapping):
        return [p for k in sorted(value) for p in _found(value[k], (*path, k))]
    return []


def paths_of_parts(value: Any) -> list[tuple[Any, ...]]:
    """The paths of an object's parts: field names, then positions and keys.

    What was put together from other leaves, as ``tf.nest`` does, has the paths of the object that
    it was like.
    """
    known = vars(value).get(_PARTS)
    if known is None:
        known = [
            p for n in value._tfx_fields if n in vars(value) for p in _found(_at(value, n), (n,))
        ]
    return list(known)


def _at(value: Any, name: str) -> Any:
    return vars(value)[name]


def _keys(value: Any) -> list[str]:
    return ["_".join(map(str, path)) for path in paths_of_parts(value)]


def _values(value: Any) -> list[Any]:
    found = []
    for name, *rest in paths_of_parts(value):
        part = _at(value, name)
        for key in rest:
            part = part[key]
        found.append(part)
    return found


def _filled(value: Any, path: tuple[Any, ...], parts: dict[tuple[Any, ...], Any]) -> Any:
    """A field with other parts."""
    if path in parts:
        return parts[path]
    if isinstance(value, tuple):
        items = [_filled(x, (*path, i), parts) for i, x in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, Mapping):
        made: Any = type(value)
        return made({k: _filled(x, (*path, k), parts) for k, x in value.items()})
    return value


def _build(like: Any, values: list[Any]) -> Any:
    paths = paths_of_parts(like)
    new = object.__new__(type(like))
    vars(new).update(vars(like))
    parts = dict(zip(paths, values, strict=True))
    for name in {path[0] for path in paths}:
        vars(new)[name] = _filled(_at(like, name), (name,), parts)
    vars(new)[_PARTS] = paths
    return new


def other_values(value: Any) -> dict[str, Any]:
    """The fields, with marks in the place of tensors: equal for objects of one type."""
    marks: dict[tuple[Any, ...], Any] = dict.fromkeys(paths_of_parts(value), _PART)
    fields = [n for n in value._tfx_fields if n in vars(value)]
    return {n: _filled(_at(value, n), (n,), marks) for n in fields}


KIND = Kind(_keys, _values, _build, other_values)
