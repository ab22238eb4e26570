"""The norm of lists of tensors, and bringing tensors below a norm.

Norms of a single tensor are in ``linalg_ops/norms.py``: one of them needs singular values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.where import where
from tfx.ops.common.arguments import (
    cast_to,
    floating_tensor,
    scalar_like,
    tensor,
)
from tfx.ops.math.arithmetic import add, divide, maximum, minimum, multiply
from tfx.ops.math.comparison import greater
from tfx.ops.math.elementwise import is_finite, reciprocal, sqrt, square
from tfx.ops.math.reduction import reduce_sum


def rooted(total: Tensor, root: Callable[[Tensor], Tensor]) -> Tensor:
    """The root of a sum of powers, which has the slope 0 where all of them are 0."""
    positive = greater(total, scalar_like(0, total))
    return where(positive, root(where(positive, total, scalar_like(1, total))), total)


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The Euclidean norm of all elements of a list of tensors.

    Args:
        t_list: Tensors or ``IndexedSlices``; None is left out.
        name: Accepted for compatibility.

    Returns:
        A scalar; 0 if there are no tensors.

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
    return convert_to_tensor(0.0) if total is None else rooted(total, sqrt)


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
        clip_norm: The largest norm, a positive scalar; what is negative counts as 0.
        axes: The axes that a norm is taken over; None: all.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.clip_by_norm([3.0, 4.0], 1.0).numpy()
        array([0.6, 0.8], dtype=float32)
    """
    values = _values(t)
    if isinstance(clip_norm, int | float):
        limit = convert_to_tensor(max(clip_norm, 0), values.dtype)
    else:
        limit = convert_to_tensor(clip_norm, values.dtype)
        limit = maximum(limit, scalar_like(0, limit))
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
) -> tuple[list[Any], Tensor]:
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
    limit = convert_to_tensor(clip_norm, total.dtype)
    scale = multiply(limit, minimum(reciprocal(total), reciprocal(limit)))
    scale = where(is_finite(total), scale, convert_to_tensor(np.nan, total.dtype))
    clipped = [
        None if v is None else _with_values(t, multiply(v, cast_to(scale, v.dtype)))
        for t, v in zip(t_list, values, strict=True)
    ]
    return clipped, total
