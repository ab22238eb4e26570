"""The protocol by which objects say which of them one trace of a function serves.

Owns ``TraceType`` and what must be true of an object that has one. Must not know how functions are
traced: to them such an object is a structure of its tensors, beside which stands its type
(``core.nest_kinds``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from tfx.core.nest_kinds import TRACED
from tfx.core.specs import TypeSpec


class PlaceholderContext:
    """What is known of the trace that placeholders are made for: nothing so far."""


class TraceType(ABC):
    """What a trace depends on of an argument of a class of its own.

    ``__tf_tracing_type__`` of the argument returns it. Calls whose arguments have equal types, or
    subtypes of those of an earlier trace, are served by that trace.

    Example:
        >>> import tfx as tf
        >>> class ScaleType(tf.types.experimental.TraceType):
        ...     def __init__(self, factor):
        ...         self.factor = factor
        ...
        ...     def is_subtype_of(self, other):
        ...         return self == other
        ...
        ...     def most_specific_common_supertype(self, others):
        ...         return self if all(self == other for other in others) else None
        ...
        ...     def placeholder_value(self, placeholder_context):
        ...         return Scale(self.factor)
        ...
        ...     def __eq__(self, other):
        ...         return isinstance(other, ScaleType) and self.factor == other.factor
        ...
        ...     def __hash__(self):
        ...         return hash(self.factor)
        >>> class Scale:
        ...     def __init__(self, factor):
        ...         self.factor = factor
        ...
        ...     def __tf_tracing_type__(self, context):
        ...         return ScaleType(self.factor)
        >>> @tf.function
        ... def scaled(x, scale):
        ...     return x * scale.factor
        >>> [int(scaled(tf.constant(2), Scale(n))) for n in (3, 3, 4)]
        [6, 6, 8]
        >>> scaled.experimental_get_tracing_count()
        2
    """

    @abstractmethod
    def is_subtype_of(self, other: TraceType) -> bool:
        """True if a trace for ``other`` serves what is of this type."""

    @abstractmethod
    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """The narrowest type of which this one and ``others`` are subtypes; None: there is none."""

    @abstractmethod
    def placeholder_value(self, placeholder_context: Any) -> Any:
        """What the Python function gets for an argument of this type while it is traced."""

    def to_tensors(self, value: Any) -> list[Any]:
        """The tensors of a value of this type: always as many, which become inputs of the trace."""
        return []

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """A value of this type that has other tensors; without any the placeholder."""
        return self.placeholder_value(PlaceholderContext())

    def flatten(self) -> list[Any]:
        """The specs of what ``to_tensors`` gives."""
        return []

    def cast(self, value: Any, cast_context: Any) -> Any:
        """A value as one of this type.

        Raises:
            AssertionError: ``value`` is not equal to the placeholder.
        """
        if value != self.placeholder_value(PlaceholderContext()):
            raise AssertionError(f"Cannot cast {value!r} to the type {self!r}.")
        return value

    @abstractmethod
    def __hash__(self) -> int: ...

    @abstractmethod
    def __eq__(self, other: object) -> bool: ...


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """An object that says by its ``TraceType`` which traces serve it."""

    def __tf_tracing_type__(self, context: Any) -> TraceType:
        """The type of the object, as an argument of a function."""


_base: Any = TraceType  # an abstract class is registered, of which no instance is made
_base.register(TypeSpec)


def trace_type_of(value: Any) -> TraceType:
    """The type of an object that follows the protocol.

    Raises:
        TypeError: it gives something else.
    """
    assert TRACED.beside is not None
    found = TRACED.beside(value)
    if not isinstance(found, TraceType):
        raise TypeError(
            f"__tf_tracing_type__ of {value!r} must return a tf.types.experimental.TraceType; got "
            f"{found!r}."
        )
    return found
