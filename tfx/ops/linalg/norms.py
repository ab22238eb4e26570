"""Norms of vectors, matrices and lists of tensors, and bringing tensors below a norm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.where import where
from tfx.ops.common.arguments import (
    cast_to,
    floating_tensor,
    normalize_axes,
    scalar_like,
    tensor,
)
from tfx.ops.math.arithmetic import add, divide, maximum, minimum, multiply, pow
from tfx.ops.math.comparison import greater
from tfx.ops.math.elementwise import abs, is_finite, reciprocal, sqrt, square
from tfx.ops.math.reduction import reduce_euclidean_norm, reduce_max, reduce_sum

_EUCLIDEAN = ("euclidean", "fro")


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The norm of vectors, of matrices, or of the whole tensor taken as one vector.

    The gradient at zero, where norms have none, is 0 (NaN in TensorFlow).

    Args:
        tensor: Tensor of a floating or complex dtype.
        ord: ``"euclidean"``, ``"fro"`` (matrices), a positive number, or ``np.inf``. Of a matrix
            the 1-norm and the infinity norm are the largest sum of a column and of a row.
        axis: None: all elements as one vector. A number: vectors along this axis. Two numbers:
            matrices of these axes.
        keepdims: Keep the reduced axes with size 1.
        name: Accepted for compatibility.

    Returns:
        The norms, of the tensor's dtype; of complex numbers they are real but for the Euclidean
        one, as in TensorFlow.

    Raises:
        ValueError: an order that is not supported, or axes that are not one or two numbers.

    Example:
        >>> import tfx as tf
        >>> tf.norm([3.0, 4.0]).numpy()
        np.float32(5.0)
    """
    z = convert_to_tensor(tensor)
    if z.dtype.is_complex:
        found = norm(abs(z), ord, axis, keepdims)
        return cast_to(found, z.dtype) if ord in (*_EUCLIDEAN, 2) else found
    x = floating_tensor(z, "norm")
    keep = bool(keepdims)
    pair = isinstance(axis, Sequence) and len(axis) > 1
    if pair and len(axis) != 2:
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers; got {axis!r}."
        )
    if isinstance(axis, Sequence) and len(axis) == 1:
        axis = axis[0]
    if pair:
        return _matrix_norm(x, ord, axis, keep)
    if ord == "fro":
        raise ValueError(
            "'ord' must be a supported vector norm, got fro; give two axes for matrices."
        )
    _check_order(ord, "vector")
    if ord in ("euclidean", 2):
        return reduce_euclidean_norm(x, axis, keep)
    if ord == 1:
        return reduce_sum(abs(x), axis, keep)
    if ord == math.inf:
        return reduce_max(abs(x), axis, keep)
    total = reduce_sum(pow(abs(x), float(ord)), axis, keep)
    return _rooted(total, lambda positive: pow(positive, 1.0 / ord))


def _rooted(total: Tensor, root: Callable[[Tensor], Tensor]) -> Tensor:
    """The root of a sum of powers, which has the slope 0 where all of them are 0."""
    positive = greater(total, scalar_like(0, total))
    return where(positive, root(where(positive, total, scalar_like(1, total))), total)


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """``tensor`` over its norm, and the norm with the reduced axes kept.

    Args:
        tensor: Tensor of a floating dtype.
        ord: See ``norm``.
        axis: See ``norm``.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.normalize([3.0, 4.0])[0].numpy()
        array([0.6, 0.8], dtype=float32)
    """
    length = norm(tensor, ord, axis, keepdims=True)
    return divide(floating_tensor(tensor, "normalize"), length), length


def _check_order(ord: Any, kind: str) -> None:
    if ord in _EUCLIDEAN:
        return
    if isinstance(ord, str) or not ord > 0:
        raise ValueError(
            f"'ord' must be a supported {kind} norm, got {ord}; expected 'euclidean', 'fro' (of "
            "matrices) or a positive number."
        )


def _matrix_norm(x: Tensor, ord: Any, axis: Sequence[int], keep: bool) -> Tensor:
    _check_order(ord, "matrix")
    axes = normalize_axes(axis, x.shape.rank, "norm")
    assert axes is not None
    row, column = axes
    if row == column:
        raise ValueError(f"'axis' must be two unique integers; got {axis!r}.")
    if ord in _EUCLIDEAN:
        return reduce_euclidean_norm(x, axes, keep)
    if ord == 1:
        result = reduce_max(reduce_sum(abs(x), row, True), column, True)
    elif ord == math.inf:
        result = reduce_max(reduce_sum(abs(x), column, True), row, True)
    else:
        raise ValueError(
            f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, inf], got {ord}. "
            "The 2-norm is the largest singular value."
        )
    return result if keep else ox.Squeeze(result, int64_constant(axes))


def global_norm(t_list: Any, name: str | None = None) -> Tensor | None:
    """The Euclidean norm of all elements of a list of tensors.

    Args:
        t_list: Tensors or ``IndexedSlices``; None is left out.
        name: Accepted for compatibility.

    Returns:
        A scalar; None if there are no tensors.

    Raises:
        TypeError: ``t_list`` is not a sequence.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.global_norm([tf.constant([3.0]), None, tf.constant([4.0])]).numpy()
        np.float32(5.0)
    """
    total: Tensor | None = None
    for value in _values_of(t_list, "global_norm"):
        if value is not None:
            squares = reduce_sum(square(value))
            total = squares if total is None else add(total, cast_to(squares, total.dtype))
    return None if total is None else _rooted(total, sqrt)


def _values_of(t_list: Any, op: str) -> list[Tensor | None]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` of {op} should be a sequence of tensors; got {t_list!r}.")
    return [None if t is None else _values(t) for t in t_list]


def _values(t: Any) -> Tensor:
    return floating_tensor(t.values if isinstance(t, IndexedSlices) else t, "a norm")


def _with_values(t: Any, values: Tensor) -> Any:
    if isinstance(t, IndexedSlices):
        return IndexedSlices(values, t.indices, t.dense_shape)
    return values


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """``t`` scaled down so that its Euclidean norm is at most ``clip_norm``.

    Args:
        t: Tensor or ``IndexedSlices`` of a floating dtype.
        clip_norm: The largest norm, a positive scalar.
        axes: The axes that a norm is taken over; None: all.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.clip_by_norm([3.0, 4.0], 1.0).numpy()
        array([0.6, 0.8], dtype=float32)
    """
    values = _values(t)
    limit = convert_to_tensor(clip_norm, values.dtype)
    squares = reduce_sum(square(values), axes, True)
    # The root of zero has no slope: it is taken of one instead.
    positive = greater(squares, 0)
    length = where(positive, sqrt(where(positive, squares, scalar_like(1, squares))), squares)
    return _with_values(t, divide(multiply(values, limit), maximum(length, limit)))


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """``t`` scaled down so that its norm divided by its size is at most ``clip_norm``.

    Args:
        t: Tensor of a floating dtype.
        clip_norm: The largest average, a positive scalar.
        name: Accepted for compatibility.
    """
    x = floating_tensor(t, "clip_by_average_norm")
    limit = convert_to_tensor(clip_norm, x.dtype)
    count = cast_to(ox.Size(x), x.dtype)
    average = divide(sqrt(reduce_sum(square(x))), count)
    return multiply(multiply(x, limit), minimum(reciprocal(average), reciprocal(limit)))


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor | None]:
    """Tensors scaled by one factor so that their common norm is at most ``clip_norm``.

    Args:
        t_list: Tensors or ``IndexedSlices``; None is passed through.
        clip_norm: The largest norm, a positive scalar.
        use_norm: The norm if it is already known.
        name: Accepted for compatibility.

    Returns:
        The scaled tensors and the norm before. If the norm is not finite all of them are NaN.

    Raises:
        TypeError: ``t_list`` is not a sequence.

    Example:
        >>> import tfx as tf
        >>> tf.clip_by_global_norm([tf.constant([3.0]), tf.constant([4.0])], 1.0)[0][1].numpy()
        array([0.8], dtype=float32)
    """
    values = _values_of(t_list, "clip_by_global_norm")
    total = global_norm(t_list) if use_norm is None else tensor(use_norm)
    if total is None:
        return list(t_list), None
    limit = convert_to_tensor(clip_norm, total.dtype)
    scale = multiply(limit, minimum(reciprocal(total), reciprocal(limit)))
    scale = where(is_finite(total), scale, convert_to_tensor(np.nan, total.dtype))
    clipped = [
        None if v is None else _with_values(t, multiply(v, cast_to(scale, v.dtype)))
        for t, v in zip(t_list, values, strict=True)
    ]
    return clipped, total
