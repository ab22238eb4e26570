"""What of an ``ExtensionType`` is taken apart: its tensors, wherever in its fields they are.

The rest, numbers and text and shapes, belongs to the type of the object: a function is traced for
it, and the branches of a ``cond`` and the iterations of a loop must agree in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from tfx.core.nest_kinds import Kind
from tfx.core.shapes import TensorShape
from tfx.core.specs import TypeSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable

_PARTS = "_tfx_parts"
FieldPath: TypeAlias = tuple[Any, ...]


class _Part:
    """Place of a tensor in what else an object has."""

    def __repr__(self) -> str:
        return "<a tensor>"


_PART = _Part()


def _is_part(value: Any) -> bool:
    if isinstance(value, Tensor | Variable | TypeSpec | IndexedSlices):
        return True
    return getattr(type(value), "_tfx_expanded_kind", None) is not None


def _leaves(value: Any, path: FieldPath) -> Iterable[tuple[FieldPath, Any]]:
    """The leaves in a field, each with its path."""
    if isinstance(value, tuple) and not _is_part(value):
        items: Iterable[tuple[Any, Any]] = enumerate(value)
    elif isinstance(value, Mapping):
        items = [(k, value[k]) for k in sorted(value)]
    else:
        return [(path, value)]
    return [leaf for key, x in items for leaf in _leaves(x, (*path, key))]


def leaves_of(value: Any) -> list[tuple[FieldPath, Any]]:
    """The leaves in an object's fields, its parts and other values, each with its path."""
    names = [n for n in value._tfx_fields if n in vars(value)]
    return [leaf for n in names for leaf in _leaves(_at(value, n), (n,))]


def paths_of_parts(value: Any) -> list[FieldPath]:
    """The paths of an object's parts: field names, then positions and keys.

    What was put together from other leaves, as ``tf.nest`` does, has the paths of the object that
    it was like.
    """
    known = vars(value).get(_PARTS)
    if known is None:
        known = [path for path, leaf in leaves_of(value) if _is_part(leaf)]
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


def _filled(value: Any, path: FieldPath, parts: Mapping[FieldPath, Any]) -> Any:
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
    return replaced(like, dict(zip(paths_of_parts(like), values, strict=True)))


def replaced(like: Any, leaves: Mapping[FieldPath, Any]) -> Any:
    """An object with other leaves in its fields: a spec if its parts are specs then.

    Args:
        like: The object or spec.
        leaves: What takes the place of the leaves at these paths.
    """
    new = object.__new__(like._tfx_value_class)
    vars(new).update(vars(like))
    for name in {path[0] for path in leaves}:
        vars(new)[name] = _filled(_at(like, name), (name,), leaves)
    vars(new)[_PARTS] = paths_of_parts(like)
    if any(isinstance(part, TypeSpec) for part in _values(new)):
        return as_spec(new)
    return new


def without_first(shape: TensorShape) -> TensorShape:
    """The shape of a slice along the first axis; a scalar's and an unknown one stay."""
    return shape[1:] if shape.rank else shape


def as_spec(value: Any) -> Any:
    """The spec with the fields of an object."""
    spec = object.__new__(value._tfx_value_class.Spec)
    vars(spec).update(vars(value))
    return spec


def map_shapes(function: Callable[[TensorShape], TensorShape], value: Any) -> Any:
    """An object, or a spec, with other shapes in the fields that are shapes.

    Args:
        function: Makes the shape of one that is there.
        value: The object; those in its fields follow.
    """

    def changed(leaf: Any) -> Any:
        if isinstance(leaf, TensorShape):
            return function(leaf)
        return map_shapes(function, leaf) if hasattr(leaf, "_tfx_value_class") else leaf

    return replaced(value, {path: changed(leaf) for path, leaf in leaves_of(value)})


def other_values(value: Any) -> dict[str, Any]:
    """The fields, with marks in the place of tensors: equal for objects of one type."""
    marks: dict[FieldPath, Any] = dict.fromkeys(paths_of_parts(value), _PART)
    fields = [n for n in value._tfx_fields if n in vars(value)]
    return {n: _filled(_at(value, n), (n,), marks) for n in fields}


KIND = Kind(_keys, _values, _build, other_values)
