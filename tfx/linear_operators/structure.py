"""Operators as structures of tensors: how they are taken apart and put together, and their specs.

A class names the arguments of its constructor that make it up. Those that hold tensors, variables
and operators are its parts; the others, and its hints, belong to its type: a function is traced for
them. A number or shape whose value is known counts among these. An operator is put together by its
constructor, so what follows from its parts is right for the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import nest
from tfx.core.nest_kinds import Kind
from tfx.core.specs import TensorSpec, TypeSpec
from tfx.framework.composite.type_specs import type_spec_from_value
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.array.static_value import get_static_value

HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
_ABSENT = object()


class LinearOperatorSpec(TypeSpec):
    """The spec of a linear operator: specs of its parts, and its other values.

    Every class of operators has a subclass of it. ``tf.type_spec_from_value(operator)`` makes one.

    Args:
        parts: The specs of the parts, by the names of the constructor's arguments.
        others: The other values.
    """

    _tfx_value_class: Any
    _tfx_expanded_kind: Kind
    _tfx_is_numeric = True

    def __init__(self, parts: dict[str, Any], others: dict[str, Any]) -> None:
        self._parts, self._others = parts, others

    @property
    def value_type(self) -> Any:
        """The class of operators."""
        return self._tfx_value_class

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if an operator, or those of a spec, can be of this spec."""
        other = spec_or_value
        if not isinstance(other, TypeSpec) and hasattr(other, "_tfx_spec"):
            other = other._tfx_spec()
        return self._compare(other, lambda a, b: a.is_compatible_with(b))

    def is_subtype_of(self, other: object) -> bool:
        """True if every operator of this spec is also one of `other`."""
        return self._compare(other, lambda a, b: a.is_subtype_of(b))

    def _compare(self, other: Any, related: Callable[[Any, Any], bool]) -> bool:
        if type(other) is not type(self) or self._others != other._others:
            return False
        mine, theirs = _flat(self._parts), _flat(other._parts)
        return [p for p, _ in mine] == [p for p, _ in theirs] and all(
            related(a, b) for (_, a), (_, b) in zip(mine, theirs, strict=True)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """The most specific spec of which this one and `others` are subtypes, or None."""
        if not all(self._compare(other, lambda _a, _b: True) for other in others):
            return None
        columns = zip(*([x for _, x in _flat(s._parts)] for s in (self, *others)), strict=True)
        found = [first.most_specific_common_supertype(rest) for first, *rest in columns]
        return None if None in found else _build(self, found)

    def __eq__(self, other: object) -> bool:
        return self._compare(other, lambda a, b: bool(a == b))

    def __hash__(self) -> int:
        return hash((type(self), tuple(self._parts), tuple(self._others)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parts!r}, {self._others!r})"


def _flat(parts: dict[str, Any]) -> list[tuple[tuple[Any, ...], Any]]:
    """The parts in the order of the names, each with its path."""
    return list(nest.flatten_with_path(parts))


def _is_part(value: Any) -> bool:
    if isinstance(value, Tensor | Variable | TypeSpec):
        return True
    return getattr(type(value), "_tfx_expanded_kind", None) is not None


def _field(operator: Any, name: str) -> Any:
    """An argument of an operator's constructor: an attribute of it, or what it was given.

    Raises:
        ValueError: there is none.
    """
    for attribute in (name, f"_{name}"):
        found = getattr(operator, attribute, _ABSENT)
        if found is not _ABSENT:
            break
    else:
        found = operator.parameters.get(name, _ABSENT)
    if found is _ABSENT:
        raise ValueError(
            f"Could not determine an appropriate value for field `{name}` of {operator!r}: it has "
            f"neither an attribute `{name}` or `_{name}` nor a parameter of that name. Name in "
            "`_composite_tensor_fields` what the constructor takes."
        )
    if name in operator._composite_tensor_prefer_static_fields and isinstance(found, Tensor):
        known = get_static_value(found)
        found = found if known is None else known
    return found.tolist() if isinstance(found, np.ndarray | np.generic) else found


def _taken_apart(operator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts of an operator and its other values, by name.

    Raises:
        NotImplementedError: an argument is made of both.
    """
    parts, others = {}, {}
    for name in sorted({*operator._composite_tensor_fields, *HINTS}):
        value = _field(operator, name)
        kinds = {_is_part(leaf) for leaf in nest.flatten(value)}
        if kinds == {True, False}:
            raise NotImplementedError(f"Field `{name}` contains tensors and other values: {value}.")
        if kinds == {True}:
            parts[name] = nest.map_structure(lambda leaf: leaf, value)
        else:
            others[name] = tuple(value) if isinstance(value, list) else value
    return parts, others


def _halves(x: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return (x._parts, x._others) if isinstance(x, LinearOperatorSpec) else _taken_apart(x)


def _keys(x: Any) -> list[str]:
    return ["_".join(map(str, path)) for path, _ in _flat(_halves(x)[0])]


def _values(x: Any) -> list[Any]:
    return [part for _, part in _flat(_halves(x)[0])]


def _others(x: Any) -> dict[str, Any]:
    return _halves(x)[1]


def _build(like: Any, values: list[Any]) -> Any:
    """An operator with other parts; of anything but tensors, what has them in their places."""
    parts, others = _halves(like)
    parts = nest.pack_sequence_as(parts, list(values))
    cls = like._tfx_value_class
    if all(
        isinstance(x, Tensor | Variable) or hasattr(x, "_composite_tensor_fields") for x in values
    ):
        return cls(**parts, **others)
    return cls._spec_class(parts, others)


KIND = Kind(_keys, _values, _build, _others)
LinearOperatorSpec._tfx_expanded_kind = KIND


def spec_of(operator: Any) -> LinearOperatorSpec:
    """The spec of an operator."""
    parts, others = _taken_apart(operator)
    specs = nest.map_structure(_spec_of_part, parts)
    found: LinearOperatorSpec = operator._spec_class(specs, others)
    return found


def _spec_of_part(part: Any) -> TypeSpec:
    if isinstance(part, Tensor | Variable):
        return TensorSpec(part.shape, part.dtype)
    spec: TypeSpec = type_spec_from_value(part)
    return spec


def with_tensors(operator: Any) -> Any:
    """An operator with the values of its variables."""
    values = nest.flatten(operator, expand_composites=True)
    read = [x.read_value() if isinstance(x, Variable) else x for x in values]
    return nest.pack_sequence_as(operator, read, expand_composites=True)
