"""``Optional``: a value that may be missing.

It is an object of Python, no tensor: whether it has a value is known when it is made. A traced
function takes it like any other object, and the tensors in it like those of a closure.
"""

from __future__ import annotations

import copy
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

    def __repr__(self) -> str:
        return f"<Optional element_spec={self._spec!r} has_value={bool(self._value)}>"


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
