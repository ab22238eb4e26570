"""``Dimension``: one dimension of a shape as ``TensorShape.dims`` has it.

Must not know shapes. TensorFlow 1 has such an object for each dimension everywhere, see
``compat/v1/graph/old_shapes.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


class Dimension:
    """The size of one dimension, which may be unknown.

    Arithmetic and comparisons with an unknown size are unknown: a ``Dimension`` without a value,
    or None.

    Args:
        value: The size; None where it is unknown.

    Raises:
        TypeError: ``value`` is no integer.
        ValueError: ``value`` is negative.

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.Dimension(3) + 2, tf.compat.v1.Dimension(None) * 2
        (Dimension(5), Dimension(None))
    """

    __slots__ = ("_value",)
    is_dimension = True  # for code that must not know this module

    def __init__(self, value: Any) -> None:
        if isinstance(value, Dimension):
            value = value.value
        if value is None or type(value) is int:
            self._value: int | None = value
        else:
            try:
                self._value = operator.index(value)
            except TypeError as e:
                raise TypeError(
                    f"Dimension value must be an integer or None; got {value!r} of type "
                    f"{type(value).__name__}."
                ) from e
        if self._value is not None and self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0.")

    @property
    def value(self) -> int | None:
        """The size, None where it is unknown."""
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value!r})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __eq__(self, other: object) -> Any:
        try:
            that = Dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        return None if self._value is None or that is None else self._value == that

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented or equal is None else not equal

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int | None:
        return self._value

    def __index__(self) -> int | None:
        return self._value

    def __reduce__(self) -> Any:
        return Dimension, (self._value,)

    def is_compatible_with(self, other: Any) -> bool:
        """True if both can be the same size."""
        that = Dimension(other).value
        return self._value is None or that is None or self._value == that

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ValueError unless ``is_compatible_with(other)``."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {Dimension(other)} are not compatible.")

    def merge_with(self, other: Any) -> Dimension:
        """Return the dimension that is compatible with both: the known size, if either has one.

        Raises:
            ValueError: they are different sizes.
        """
        other = Dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other.value if self._value is None else self._value)

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(f"{self!r} / {other!r}: sizes are integers; expected // instead of /.")

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError(f"{other!r} / {self!r}: sizes are integers; expected // instead of /.")


def _arithmetic(compute: Callable[[int, int], int], swapped: bool = False) -> Any:
    def method(self: Dimension, other: Any) -> Any:
        try:
            that = Dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        if self.value is None or that is None:
            return Dimension(None)
        return Dimension(compute(that, self.value) if swapped else compute(self.value, that))

    return method


def _order(compare: Callable[[int, int], bool]) -> Any:
    def method(self: Dimension, other: Any) -> Any:
        that = Dimension(other).value
        return None if self.value is None or that is None else compare(self.value, that)

    return method


for _name, _compute in {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
}.items():
    setattr(Dimension, f"__{_name}__", _arithmetic(_compute))
    setattr(Dimension, f"__r{_name}__", _arithmetic(_compute, swapped=True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Dimension, f"__{_name}__", _order(getattr(operator, _name)))


def dimension_value(dimension: Any) -> Any:
    """The size of a dimension of a shape: an int, or None where it is unknown.

    The same in programs with either form of shapes, see
    ``tfx.compat.v1.disable_v2_tensorshape``.

    Example:
        >>> import tfx as tf
        >>> tf.compat.dimension_value(tf.TensorShape([2, None])[0])
        2
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """A dimension of a shape as a ``Dimension``.

    Args:
        shape: A ``TensorShape``; each dimension of one of unknown rank is unknown.
        index: The dimension's place.

    Raises:
        IndexError: the shape has fewer dimensions.

    Example:
        >>> import tfx as tf
        >>> tf.compat.dimension_at_index(tf.TensorShape([2, None]), 0)
        Dimension(2)
    """
    if shape.rank is None:
        return Dimension(None)
    return Dimension(shape.as_list()[index])
