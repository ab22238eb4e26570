"""``Optional``: a value that may be missing.

It is an object of Python, no tensor: whether it has a value is known when it is made. A traced
function takes it like any other object, and the tensors in it like those of a closure.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TypeSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.composite.type_specs import type_spec_from_value
from tfx.framework.context import init_scope
from tfx.framework.convert import constant, convert_to_tensor
from tfx.framework.tensor import Tensor


class Optional:
    """A value, a tensor or a structure of tensors, that may be missing.

    Made by ``from_value`` and ``empty``.

    Example:
        >>> import tfx as tf
        >>> found = tf.experimental.Optional.from_value(3)
        >>> bool(found.has_value()), found.get_value().numpy()
        (True, np.int32(3))
        >>> none = tf.experimental.Optional.empty(found.element_spec)
        >>> bool(none.has_value()), none.element_spec
        (False, TensorSpec(shape=(), dtype=tf.int32, name=None))
    """

    __slots__ = ("__weakref__", "_spec", "_value")

    _spec: Any
    _value: tuple[Any, ...]

    def __init__(self) -> None:
        raise TypeError("Optional is made by Optional.from_value(value) or Optional.empty(spec).")

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Make an optional with a value.

        Args:
            value: A tensor, what converts to one, or a structure of them; a list becomes a tensor.

        Returns:
            The optional.

        Raises:
            TypeError: something in it does not convert to a tensor.
            InvalidArgumentError: a structure without any tensor.

        Example:
            >>> import tfx as tf
            >>> tf.experimental.Optional.from_value({"a": 1.0}).element_spec
            {'a': TensorSpec(shape=(), dtype=tf.float32, name=None)}
        """
        held = _held(value)
        if not nest.flatten(held):
            raise InvalidArgumentError(
                f"An optional holds at least one tensor; got {value!r}. One without a value is "
                "made by Optional.empty(element_spec).",
                op="OptionalFromValue",
            )
        return _made(nest.map_structure(type_spec_from_value, held), (held,))

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Make an optional without a value.

        Args:
            element_spec: A ``TypeSpec`` or a structure of them: of which kind the value would be.

        Returns:
            The optional.

        Raises:
            TypeError: something in it is no ``TypeSpec``.

        Example:
            >>> import tfx as tf
            >>> tf.experimental.Optional.empty(tf.TensorSpec([], tf.int32)).has_value().numpy()
            np.False_
        """
        for spec in nest.flatten(element_spec):
            if not isinstance(spec, TypeSpec):
                raise TypeError(f"element_spec must be made of TypeSpec objects; got {spec!r}.")
        return _made(element_spec, ())

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is a value, as a boolean scalar.

        Example:
            >>> import tfx as tf
            >>> tf.experimental.Optional.from_value(1).has_value().numpy()
            np.True_
        """
        with init_scope():  # in a traced function, too, it is known: an ``if`` of it is Python's
            return constant(bool(self._value))

    def get_value(self, name: str | None = None) -> Any:
        """The value.

        Raises:
            InvalidArgumentError: there is none.

        Example:
            >>> import tfx as tf
            >>> tf.experimental.Optional.from_value([1, 2]).get_value().numpy()
            array([1, 2], dtype=int32)
        """
        if not self._value:
            raise InvalidArgumentError(
                "The given optional does not have a value.", op="OptionalGetValue"
            )
        return nest.map_structure(lambda x: x, self._value[0])

    @property
    def element_spec(self) -> Any:
        """The ``TypeSpec`` of the value, or the structure of those of its parts."""
        return self._spec

    def _tfx_spec(self) -> OptionalSpec:
        return OptionalSpec(self._spec)

    def __repr__(self) -> str:
        return f"<Optional element_spec={self._spec!r} has_value={bool(self._value)}>"


class OptionalSpec(TypeSpec):
    """The type of an ``Optional``, also in an ``input_signature``.

    Args:
        element_spec: The ``TypeSpec`` of the value, or a structure of them.

    Raises:
        TypeError: something in it is no ``TypeSpec``.

    Example:
        >>> import tfx as tf
        >>> spec = tf.OptionalSpec(tf.TensorSpec([], tf.int32))
        >>> @tf.function(input_signature=[spec])
        ... def value_or(found):
        ...     return found.get_value() if found.has_value() else tf.constant(-1)
        >>> value_or(tf.experimental.Optional.from_value(3)).numpy()
        np.int32(3)
        >>> value_or(tf.experimental.Optional.empty(spec.element_spec)).numpy()
        np.int32(-1)
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        for spec in nest.flatten(element_spec):
            if not isinstance(spec, TypeSpec):
                raise TypeError(f"element_spec must be made of TypeSpec objects; got {spec!r}.")
        self._element_spec = element_spec

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """The spec of an optional."""
        return OptionalSpec(value.element_spec)

    @property
    def element_spec(self) -> Any:
        """The spec of the value."""
        return self._element_spec

    @property
    def value_type(self) -> type[Optional]:
        """``Optional``."""
        return Optional

    def is_subtype_of(self, other: object) -> bool:
        """True if every such optional is also one of ``other``."""
        if not isinstance(other, OptionalSpec) or not self._alike(other._element_spec):
            return False
        ours, theirs = nest.flatten(self._element_spec), nest.flatten(other._element_spec)
        return all(a.is_subtype_of(b) for a, b in zip(ours, theirs, strict=True))

    def most_specific_common_supertype(self, others: Sequence[Any]) -> OptionalSpec | None:
        """The spec that covers this one and others; None: there is none."""
        if not all(isinstance(o, OptionalSpec) and self._alike(o._element_spec) for o in others):
            return None
        columns = zip(*(nest.flatten(o._element_spec) for o in (self, *others)), strict=True)
        found = [first.most_specific_common_supertype(rest) for first, *rest in columns]
        if None in found:
            return None
        return OptionalSpec(nest.pack_sequence_as(self._element_spec, found))

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if an optional, or those of a spec, can be of this spec."""
        if not isinstance(spec_or_value, Optional | OptionalSpec):
            return False
        other = spec_or_value.element_spec
        if not self._alike(other):
            return False
        ours, theirs = nest.flatten(self._element_spec), nest.flatten(other)
        return all(a.is_compatible_with(b) for a, b in zip(ours, theirs, strict=True))

    def _alike(self, element_spec: Any) -> bool:
        try:
            nest.assert_same_structure(self._element_spec, element_spec)
        except (TypeError, ValueError):
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptionalSpec) and bool(self._element_spec == other._element_spec)

    def __hash__(self) -> int:
        return hash((OptionalSpec, *nest.flatten(self._element_spec)))

    def __reduce__(self) -> tuple[Any, ...]:
        return OptionalSpec, (self._element_spec,)

    def __repr__(self) -> str:
        return f"OptionalSpec({self._element_spec!r},)"


def _made(spec: Any, value: tuple[Any, ...]) -> Optional:
    found = object.__new__(Optional)
    found._spec = spec
    found._value = value
    return found


def _held(value: Any) -> Any:
    """The structure with tensors in it; lists are values, tuples and mappings are structures."""
    if isinstance(value, list) or not nest.is_nested(value):
        whole = isinstance(value, IndexedSlices) or hasattr(value, "_tfx_spec")
        return value if whole else convert_to_tensor(value)
    if isinstance(value, tuple):
        parts = [_held(x) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, dict):
        found = copy.copy(value)
        found.update({key: _held(x) for key, x in value.items()})
        return found
    return nest.map_structure(convert_to_tensor, value)
