"""``Dimension``: one dimension of a shape as TensorFlow 1 shows it, and the switch that shows it.

Owns the class and what ``TensorShape`` gives after ``compat.v1.disable_v2_tensorshape()``. Shapes
know nothing of it: the switch replaces the methods of ``TensorShape`` that users see, so programs
that never call it pay nothing. Code of this library goes on to see integers.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex

from tfx.core.shapes import TensorShape


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


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """A dimension of a shape as a ``Dimension``.

    Args:
        shape: The shape; each dimension of one of unknown rank is unknown.
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


def _inside() -> bool:
    """True if code of this library asks: it needs integers, and None for an unknown size.

    ``autograph`` asks for the user, whose ``list(x.shape)`` it calls.
    """
    module: str = sys._getframe(2).f_globals.get("__name__", "")
    return module.startswith("tfx.") and not module.startswith("tfx.autograph")


class _Old:
    """Replacements of the methods of ``TensorShape`` while its dimensions are ``Dimension``s."""

    def __getitem__(self: Any, key: SupportsIndex | slice) -> Any:
        if _inside():
            return _plain["__getitem__"](self, key)
        if isinstance(key, slice) or self.rank is not None:
            found = _plain["__getitem__"](self, key)
            return found if isinstance(key, slice) else Dimension(found)
        return Dimension(None)

    def __iter__(self: Any) -> Iterator[Any]:
        if _inside():
            return iter(_plain["__iter__"](self))
        return iter([Dimension(dim) for dim in _plain["__iter__"](self)])

    def __repr__(self: Any) -> str:
        if self.rank is None:
            return "TensorShape(None)"
        return f"TensorShape({[Dimension(dim) for dim in self.as_list()]})"

    def __str__(self: Any) -> str:
        if self.rank is None:
            return "<unknown>"
        shown = ["?" if dim is None else str(dim) for dim in self.as_list()]
        return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"

    @property
    def dims(self: Any) -> list[Dimension] | None:
        if _inside():
            found: list[Any] | None = _plain["dims"].fget(self)
            return found
        return None if self.rank is None else [Dimension(dim) for dim in self.as_list()]


_NAMES = ("__getitem__", "__iter__", "__repr__", "__str__", "dims")
_plain: dict[str, Any] = {name: TensorShape.__dict__[name] for name in _NAMES}


def enable_v2_tensorshape() -> None:
    """Make shapes return integers and None, which is the default.

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.enable_v2_tensorshape()
        >>> tf.TensorShape([2, None])[0]
        2
    """
    for name, method in _plain.items():
        setattr(TensorShape, name, method)


def disable_v2_tensorshape() -> None:
    """Let shapes give a ``Dimension`` for each dimension, as in TensorFlow 1.

    It is for the whole process, until ``enable_v2_tensorshape``.

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.disable_v2_tensorshape()
        >>> tf.TensorShape([2, None])
        TensorShape([Dimension(2), Dimension(None)])
        >>> tf.compat.v1.enable_v2_tensorshape()
    """
    for name in _NAMES:
        setattr(TensorShape, name, _Old.__dict__[name])
