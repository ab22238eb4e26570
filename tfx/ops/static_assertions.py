"""Checks of dtypes and shapes, which hold while a function is traced as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.framework.variable import Variable
from tfx.ops._host import refusal
from tfx.ops._support import tensor
from tfx.ops.static_value import get_static_value

_INSTEAD = "Give the shape in the input_signature, or call set_shape."


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether something is a tensor of numbers (bool and string are none).

    Example:
        >>> import tfx as tf
        >>> tf.debugging.is_numeric_tensor(tf.constant(1)), tf.debugging.is_numeric_tensor(1)
        (True, False)
    """
    return isinstance(tensor, Tensor) and tensor.dtype.is_numeric_compatible


def assert_type(
    tensor: Any, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has a dtype.

    Args:
        tensor: Tensor or a value convertible to one.
        tf_type: The dtype.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Raises:
        TypeError: it has another one.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_type(tf.constant(1.0), tf.float32)
    """
    _require_type(_tensor(tensor), dtypes.as_dtype(tf_type), message)


def _require_type(given: Tensor, wanted: DType, message: str | None) -> None:
    if given.dtype is not wanted:
        raise TypeError(f"{_prefix(message)}tensor must be of type {wanted!r}; got {given.dtype!r}")


def _tensor(x: Any) -> Tensor:
    return tensor(x)


def _prefix(message: str | None) -> str:
    return f"{message}.  " if message else ""


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise a TypeError unless a tensor has an integer dtype; see ``assert_type``."""
    given = _tensor(x)
    if not given.dtype.is_integer:
        raise TypeError(
            f'{_prefix(message)}Expected "x" to be integer type.  Found: tensor of dtype '
            f"{given.dtype!r}"
        )


def assert_same_float_dtype(
    tensors: Iterable[Any] | None = None, dtype: DTypeLike | None = None
) -> DType:
    """Raise unless tensors have one floating dtype.

    Args:
        tensors: Tensors; None among them are passed over.
        dtype: The dtype that they must have; None: any.

    Returns:
        The dtype; float32 where nothing says.

    Raises:
        ValueError: dtypes differ or are not floating.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_same_float_dtype([tf.constant(1.0), tf.constant(2.0)])
        tf.float32
    """
    given = [x for x in tensors or () if x is not None]
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    for x in given:
        if wanted is None:
            wanted = x.dtype
        if x.dtype is not wanted:
            other = "" if x is given[0] else f" as {given[0]}"
            raise ValueError(
                f"{x}, type={x.dtype!r}, must be of the same type ({wanted!r}){other}."
            )
    result = dtypes.float32 if wanted is None else wanted
    if not result.is_floating:
        raise ValueError(f"Expected floating point type, got {result!r}.")
    return result


def assert_proper_iterable(values: Any) -> None:
    """Raise unless a value is a list, tuple or the like: no tensor, array or text.

    Raises:
        TypeError: it is not.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_proper_iterable([tf.constant(1)])
    """
    if isinstance(values, Tensor | Variable | np.ndarray | str | bytes):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_rank(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise unless a tensor has a rank.

    Args:
        x: Tensor or a value convertible to one.
        rank: The number of dimensions.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Raises:
        ValueError: it has another one.
        OperatorNotAllowedInGraphError: inside a function, its rank is not known.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_rank([[1, 2]], 2)
    """
    wanted = _static_rank(rank)
    _require_rank(x, message, f"{wanted}", lambda have: have == wanted)


def assert_rank_at_least(
    x: Any, rank: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has at least a rank; see ``assert_rank``."""
    wanted = _static_rank(rank)
    _require_rank(x, message, f"at least {wanted}", lambda have: have >= wanted)


def assert_rank_in(
    x: Any, ranks: Iterable[Any], message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has one of several ranks; see ``assert_rank``."""
    wanted = tuple(_static_rank(r) for r in ranks)
    _require_rank(x, message, f"in {wanted}", lambda have: have in wanted)


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> Tensor:
    """Raise unless a tensor is a scalar; see ``assert_rank``. Returns the tensor."""
    given = _tensor(tensor)
    if _rank(given) != 0:
        raise ValueError(f"{_prefix(message)}Expected scalar shape, saw shape: {given.shape}.")
    return given


def _static_rank(rank: Any) -> int:
    given = _tensor(rank)
    _require_type(given, dtypes.int32, None)
    if given.shape.rank != 0:
        raise ValueError("Rank must be a scalar.")
    value = get_static_value(given)
    if value is None:
        raise refusal(given, "The rank of an assertion", "Give it as a Python int.")
    return int(value)


def _rank(given: Tensor) -> int:
    rank = given.shape.rank
    if rank is None:
        raise refusal(given, "An assertion about the rank", _INSTEAD)
    return rank


def _require_rank(x: Any, message: str | None, wanted: str, holds: Any) -> None:
    given = _tensor(x)
    have = _rank(given)
    if not holds(have):
        raise ValueError(
            f"{_prefix(message)}Tensor {_name(given)} must have rank {wanted}.  Received rank "
            f"{have}, shape {given.shape}"
        )


def _name(given: Tensor) -> str:
    return "" if isinstance(given, EagerTensor) else given.name


# What stands for any size, and for any number of leading dimensions.
_ANY_SIZE = (None, ".")
_ANY_DIMS = (Ellipsis, "*")


def assert_shapes(
    shapes: Mapping[Any, Any] | Sequence[tuple[Any, Any]],
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless tensors have given shapes, in which a letter is one size everywhere.

    Args:
        shapes: Pairs of a tensor and its shape. A dimension is a number, a name (one size wherever
            it occurs), or None (any size); ``...`` in front stands for any number of dimensions.
        data: Accepted for compatibility: the message shows the shapes.
        summarize: Accepted for compatibility.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Raises:
        ValueError: a tensor has another shape.
        OperatorNotAllowedInGraphError: inside a function, a shape is not known.

    Example:
        >>> import tfx as tf
        >>> x, y = tf.ones([2, 3]), tf.ones([2])
        >>> tf.debugging.assert_shapes([(x, ("N", 3)), (y, ("N",))])
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    # Name -> its size, and where it was first seen.
    sizes: dict[Any, tuple[int, str]] = {}
    for x, wanted in pairs:
        _check_shape(_tensor(x), wanted, sizes, _prefix(message))


def _check_shape(
    given: Tensor, wanted: Any, sizes: dict[Any, tuple[int, str]], prefix: str
) -> None:
    text = f"Tensor {_name(given)} shape={given.shape} dtype={given.dtype.name}".replace("  ", " ")
    if not hasattr(wanted, "__iter__") and not hasattr(wanted, "__getitem__"):
        raise ValueError(f"{prefix}{text}.  Specified shape must be an iterable.  Got: {wanted!r}")
    rest = list(wanted)
    open_ended = bool(rest) and any(rest[0] is s or rest[0] == s for s in _ANY_DIMS)
    rest = rest[1:] if open_ended else rest
    if any(d is Ellipsis or d == "*" for d in rest):
        raise ValueError(
            f"{prefix}{text}: `...` or `*` for a variable number of unspecified dimensions is only "
            f"allowed as the first entry; got {wanted!r}."
        )
    rank = _rank(given)
    if rank < len(rest) or (rank > len(rest) and not open_ended):
        expected = f"at least {len(rest)}" if open_ended else str(len(rest))
        raise ValueError(
            f"{prefix}{text} must have rank {expected}.  Received rank {rank}, shape {given.shape}"
        )
    for i, size in enumerate(rest, rank - len(rest)):
        if size not in _ANY_SIZE:
            _check_size(given, i, size, sizes, f"{prefix}%s  {text}")


def _check_size(
    given: Tensor, axis: int, size: Any, sizes: dict[Any, tuple[int, str]], template: str
) -> None:
    have = given.shape[axis]
    if have is None:
        raise refusal(given, f"An assertion about dimension {axis}", _INSTEAD)
    place = f"shape={given.shape} dtype={given.dtype.name} dimension {axis}"
    if isinstance(size, int | np.integer):
        expected, origin = int(size), "Specified explicitly."
    else:
        expected, where = sizes.setdefault(size, (have, place))
        origin = f"Specified by tensor {where}."
    if have != expected:
        raise ValueError(
            f"{template % origin} dimension {axis} must have size {expected}.  Received size "
            f"{have}, shape {given.shape}"
        )
