"""Raw shapes: the plain tuples in which the graph IR stores what is known of a shape.

Owns the meaning of one dimension and of a tuple of them: how names merge, broadcast and are
shown. It must not know `TensorShape`, the face of a raw shape towards the user.

The design decision: a raw shape is a `tuple[int | str | None, ...]`, or None for an unknown
rank. A string names a dimension of unknown size. A name with a dot in it was made by the
tracer, not by the user: it is unnamed, that is None, wherever a user can see it.
"""

from __future__ import annotations

import operator
from typing import Any, TypeAlias, TypeGuard

from tfx.core.errors import InvalidArgumentError

Dim: TypeAlias = int | str | None
RawShape: TypeAlias = tuple[Dim, ...] | None


def is_automatic_dim(dim: Dim) -> bool:
    """True if `dim` is a name made by the tracer, such as "image.d0"."""
    return type(dim) is str and "." in dim


def visible_shape(raw: RawShape) -> RawShape:
    """Returns `raw` with every automatically made name replaced by None."""
    if raw is None or str not in map(type, raw):
        return raw
    return tuple([None if is_automatic_dim(dim) else dim for dim in raw])


def format_shape(raw: RawShape) -> str:
    """Returns the text of a raw shape for messages: "[batch, 8, None]" or "<unknown>".

    Example:
        >>> format_shape(("batch", 8, "image.d0"))
        '[batch, 8, None]'
    """
    shown = visible_shape(raw)
    return "<unknown>" if shown is None else f"[{', '.join(map(str, shown))}]"


def checked_dim(dim: Any, dims: Any) -> Dim:
    """Returns one dimension that a user gave, within `dims`, as a raw one; or raises."""
    if dim is None:
        return None
    if isinstance(dim, str):
        if not dim:
            raise ValueError(
                f"the shape {dims!r} has an empty dimension name: use None for unnamed"
            )
        return str(dim)
    try:
        size = int(operator.index(dim))  # int() for bool, which is its own index
    except TypeError as e:
        if getattr(dim, "is_dimension", False):  # one of TensorFlow 1's, of unknown size
            return None
        raise TypeError(
            f"the dimension {dim!r} in the shape {dims!r} has type {type(dim).__name__}: expected "
            "an int, None for an unknown size, or a name"
        ) from e
    if size < 0:
        raise ValueError(
            f"the dimension {size} in the shape {dims!r} must be >= 0: use None for an unknown size"
        )
    return size


def merge_dims(a: Dim, b: Dim) -> Dim:
    """The more telling of two compatible dimensions: a size, a user's name, another name."""
    if a is None or (type(b) is int and type(a) is str):
        return b
    if is_automatic_dim(a) and type(b) is str and not is_automatic_dim(b):
        return b
    return a


def names_agree(pairs: list[tuple[Dim, Dim]]) -> bool:
    """True if no user's name on the left stands against two sizes on the right."""
    seen: dict[str, int] = {}
    for name, size in pairs:
        if type(name) is not str or type(size) is not int or is_automatic_dim(name):
            continue
        if seen.setdefault(name, size) != size:
            return False
    return True


def slice_unknown_rank(key: slice) -> RawShape:
    """The shape of a slice of a shape of unknown rank: its rank, if the bounds tell it."""
    if key.step is not None:
        raise ValueError(
            f"cannot take the slice {key} of a shape with unknown rank: a step needs a known rank"
        )
    start = 0 if key.start is None else operator.index(key.start)
    if key.stop is None or start < 0 or (stop := operator.index(key.stop)) < 0:
        return None
    return (None,) * max(0, stop - start)


def broadcast_static_shape(a: RawShape, b: RawShape) -> RawShape:
    """Returns the raw shape of two operands broadcast together, by NumPy's rules.

    Args:
        a: The raw shape of one operand.
        b: The raw shape of the other.

    Returns:
        The raw shape. A dimension is None where it is not certain: a name against another
        name or None, since either may turn out to be 1.

    Raises:
        InvalidArgumentError: If the shapes cannot be broadcast together.

    Example:
        >>> broadcast_static_shape(("batch", 1), (8,))
        ('batch', 8)
    """
    if a == b:
        return a
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    out: list[Dim] = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if x == 1 or x == y:
            out.append(y)
        elif y == 1:
            out.append(x)
        elif type(x) is int:
            if type(y) is int:
                raise InvalidArgumentError(
                    f"Incompatible shapes for broadcasting: {format_shape(a)} and "
                    f"{format_shape(b)}: sizes must be equal, or one of them 1"
                )
            out.append(x)
        else:
            out.append(y if type(y) is int else None)
    return tuple(out)


def common_shape(a: RawShape, b: RawShape) -> RawShape:
    """Return the most specific shape that describes both, with None where sizes differ."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def python_slice(size: int, first: int, last: int, step: int) -> slice:
    """Return what takes the elements that ONNX's ``Slice`` takes of an axis of a size.

    ONNX has no empty bound: with a negative step, a last one in front of the axis is "to the very
    front", and a first one there is the first element, where Python takes nothing.

    Example:
        >>> list(range(3))[python_slice(3, -1, -9, -1)], list(range(3))[python_slice(3, -9, -9, -1)]
        ([2, 1, 0], [0])
    """
    if step < 0:
        return slice(max(first, -size), None if last < -size else last, step)
    return slice(first, last, step)


def sizes_alone(shape: RawShape) -> tuple[int | None, ...] | None:
    """Return a shape without its names."""
    return None if shape is None else tuple(d if isinstance(d, int) else None for d in shape)


def is_static(shape: RawShape) -> TypeGuard[tuple[int, ...]]:
    """True if all of a shape is known as numbers."""
    return shape is not None and all(isinstance(d, int) for d in shape)
