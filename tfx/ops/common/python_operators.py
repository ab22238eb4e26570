"""``tfx.__operators__``: what Python's operators do with tensors, as functions."""

from __future__ import annotations

from typing import Any

from tfx.core.namespaces import namespace
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.common.arguments import tensor as to_tensor


def add(x: Any, y: Any, name: str | None = None) -> Any:
    """``x + y``: the sum of numbers, or texts one behind the other.

    Args:
        x: A tensor, or what can be converted to one.
        y: Likewise, of the dtype of ``x``; the shapes are broadcast.
        name: Accepted for compatibility.

    Raises:
        TypeError, ValueError: ``y`` cannot be converted to the dtype of ``x``.
        InvalidArgumentError: the shapes do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.__operators__.add(tf.constant([1, 2]), 3).numpy()
        array([4, 5], dtype=int32)
    """
    return _operand(x) + y


def eq(self: Any, other: Any) -> Any:
    """``self == other``, element by element; False if the shapes do not fit.

    Args:
        self: A tensor, or what can be converted to one.
        other: Likewise.

    Example:
        >>> import tfx as tf
        >>> tf.__operators__.eq(tf.constant([1, 2]), [1, 3]).numpy()
        array([ True, False])
    """
    return _operand(self) == other


def ne(self: Any, other: Any) -> Any:
    """``self != other``, element by element; True if the shapes do not fit.

    Args:
        self: A tensor, or what can be converted to one.
        other: Likewise.

    Example:
        >>> import tfx as tf
        >>> tf.__operators__.ne(tf.constant([1, 2]), [1, 3]).numpy()
        array([False,  True])
    """
    return _operand(self) != other


def getitem(tensor: Any, slice_spec: Any) -> Any:
    """``tensor[slice_spec]``.

    Args:
        tensor: A tensor or variable, or what can be converted to a tensor.
        slice_spec: Indices, slices, ``tfx.newaxis``, ``...``, or a mask of bools.

    Raises:
        TypeError: an index is neither of these.

    Example:
        >>> import tfx as tf
        >>> tf.__operators__.getitem(tf.constant([[1, 2], [3, 4]]), (slice(None), 1)).numpy()
        array([2, 4], dtype=int32)
    """
    return _operand(tensor)[slice_spec]


def ragged_getitem(rt_input: Any, key: Any) -> Any:
    """``rt_input[key]``.

    Args:
        rt_input: A ragged tensor.
        key: Indices and slices, as many as there are dimensions at most.

    Raises:
        ValueError: a ragged dimension is indexed, other than the first.

    Example:
        >>> import tfx as tf
        >>> tf.__operators__.ragged_getitem(tf.ragged.constant([[1], [2, 3]]), 1).numpy()
        array([2, 3], dtype=int32)
    """
    return rt_input[key]


def _operand(x: Any) -> Any:
    return x if isinstance(x, Tensor | Variable) or is_ragged(x) else to_tensor(x)


__operators__ = namespace(
    "tfx.__operators__", add=add, eq=eq, getitem=getitem, ne=ne, ragged_getitem=ragged_getitem
)
