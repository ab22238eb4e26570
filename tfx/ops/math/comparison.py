"""Comparisons, truth operations, and what ``==`` and ``!=`` mean on tensors.

Owns the operators whose result is boolean and whose operands broadcast. It must not know control
flow. The decision: the functions are strict (shapes that do not broadcast are an error), while the
Python operators ``==`` and ``!=`` answer False and True for operands that cannot be compared
element by element, as TensorFlow 2 does.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.rules import no_gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import binary, require_dtype, same_dtype, tensor


def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x == y`` element by element, with broadcasting.

    Args:
        x: Tensor of any dtype, or a value convertible to one.
        y: The same dtype.
        name: Accepted for compatibility.

    Returns:
        A bool tensor of the broadcast shape. NaN equals nothing.

    Raises:
        InvalidArgumentError: dtypes differ or the shapes do not broadcast.

    Example:
        >>> import tfx as tf
        >>> tf.equal([1, 2, 3], 2).numpy()
        array([False,  True, False])
    """
    return binary("Equal", x, y)


def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x != y`` element by element, with broadcasting; NaN differs from everything.

    Example:
        >>> import tfx as tf
        >>> tf.not_equal([1, 2, 3], 2).numpy()
        array([ True, False,  True])
    """
    return ox.Not(binary("Equal", x, y))


def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x < y`` element by element, with broadcasting.

    Example:
        >>> import tfx as tf
        >>> tf.less([1, 2, 3], 2).numpy()
        array([ True, False, False])
    """
    return _ordered("Less", x, y)


def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x <= y`` element by element, with broadcasting.

    Example:
        >>> import tfx as tf
        >>> tf.less_equal([1, 2, 3], 2).numpy()
        array([ True,  True, False])
    """
    return _ordered("LessOrEqual", x, y)


def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x > y`` element by element, with broadcasting.

    Example:
        >>> import tfx as tf
        >>> tf.greater([1, 2, 3], 2).numpy()
        array([False, False,  True])
    """
    return _ordered("Greater", x, y)


def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x >= y`` element by element, with broadcasting.

    Example:
        >>> import tfx as tf
        >>> tf.greater_equal([1, 2, 3], 2).numpy()
        array([False,  True,  True])
    """
    return _ordered("GreaterOrEqual", x, y)


def _ordered(op: str, x: Any, y: Any) -> Tensor:
    a, b = same_dtype(x, y, op)
    require_dtype(a, a.dtype.is_numeric_compatible, op, "a real number dtype")
    return apply(op, (a, b))


no_gradient(
    "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", why="the result is boolean"
)


def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x and y`` element by element, with broadcasting.

    Args:
        x: Bool tensor or a value convertible to one.
        y: The same.
        name: Accepted for compatibility.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        TypeError: an operand is not boolean.

    Example:
        >>> import tfx as tf
        >>> tf.logical_and([True, False], True).numpy()
        array([ True, False])
    """
    return ox.And(tensor(x, dtypes.bool), tensor(y, dtypes.bool))


def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x or y`` element by element, with broadcasting.

    Example:
        >>> import tfx as tf
        >>> tf.logical_or([True, False], False).numpy()
        array([ True, False])
    """
    return ox.Or(tensor(x, dtypes.bool), tensor(y, dtypes.bool))


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """Return whether exactly one of ``x`` and ``y`` is true, with broadcasting.

    Example:
        >>> import tfx as tf
        >>> tf.math.logical_xor([True, False], True).numpy()
        array([False,  True])
    """
    return ox.Xor(tensor(x, dtypes.bool), tensor(y, dtypes.bool))


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """``not x`` element by element.

    Example:
        >>> import tfx as tf
        >>> tf.logical_not([True, False]).numpy()
        array([False,  True])
    """
    return ox.Not(tensor(x, dtypes.bool))


no_gradient("And", "Or", "Xor", "Not", why="operands and result are boolean")


def tensor_equals(x: Any, other: Any) -> Any:
    """``x == other`` for a tensor or variable ``x``.

    Returns:
        False for None; a scalar False where the static shapes cannot be broadcast together;
        otherwise the element by element result.

    Raises:
        DTypeMismatchError: two tensors of different dtypes.
    """
    if other is None:
        return False
    return _loosely("Equal", x, other)


def tensor_not_equals(x: Any, other: Any) -> Any:
    """``x != other`` for a tensor or variable ``x``; the opposite of ``tensor_equals``."""
    if other is None:
        return True
    return ox.Not(_loosely("Equal", x, other))


def _loosely(op: str, x: Any, y: Any) -> Tensor:
    """The operator, or a scalar False for shapes that are known not to broadcast."""
    a, b = same_dtype(x, y, op)
    try:
        return apply(op, (a, b))
    except InvalidArgumentError:
        if _may_broadcast(a, b):
            raise
        return convert_to_tensor(False)


def _may_broadcast(a: Tensor, b: Tensor) -> bool:
    if a.shape.rank is None or b.shape.rank is None:
        return True
    pairs = zip(reversed(a.shape.as_list()), reversed(b.shape.as_list()), strict=False)
    return all(m is None or n is None or m == n or 1 in (m, n) for m, n in pairs)
