"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.linalg_ops.eigen import svd
from tfx.ops.array.transpose import transpose
from tfx.ops.common.arguments import cast_to, floating_tensor, normalize_axes
from tfx.ops.linalg.norms import rooted
from tfx.ops.math.arithmetic import divide, pow
from tfx.ops.math.elementwise import abs
from tfx.ops.math.reduction import reduce_euclidean_norm, reduce_max, reduce_sum

_EUCLIDEAN = ("euclidean", "fro")
_SIGNED = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)


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
        tensor: Tensor of a floating or complex dtype; for 1 and ``np.inf`` also of signed integers.
        ord: ``"euclidean"``, ``"fro"`` (matrices), a positive number, or ``np.inf``. Of a matrix
            the 1-norm and the infinity norm are the largest sum of a column and of a row, and the
            2-norm is the largest singular value.
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
        pair = isinstance(axis, Sequence) and len(axis) == 2
        if pair and ord == 2:
            return _matrix_norm(z, ord, axis, bool(keepdims))
        found = norm(abs(z), ord, axis, keepdims)
        return cast_to(found, z.dtype) if ord in (*_EUCLIDEAN, 2) else found
    x = z if ord in (1, math.inf) and z.dtype in _SIGNED else floating_tensor(z, "norm")
    keep = bool(keepdims)
    pair = isinstance(axis, Sequence) and len(axis) > 1
    if pair and len(axis) != 2:
        raise InvalidArgumentError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers; got {axis!r}."
        )
    if isinstance(axis, Sequence) and len(axis) == 1:
        axis = axis[0]
    if pair:
        return _matrix_norm(x, ord, axis, keep)
    if ord == "fro":
        raise InvalidArgumentError(
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
    return rooted(total, lambda positive: pow(positive, 1.0 / ord))


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """``tensor`` over its norm, and the norm with the reduced axes kept.

    Args:
        tensor: See ``norm``; of integers the quotient is floating.
        ord: See ``norm``.
        axis: See ``norm``.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.normalize([3.0, 4.0])[0].numpy()
        array([0.6, 0.8], dtype=float32)
    """
    x = convert_to_tensor(tensor)
    length = cast_to(norm(x, ord, axis, keepdims=True), x.dtype)
    return divide(x, length), length


def _check_order(ord: Any, kind: str) -> None:
    if ord in _EUCLIDEAN:
        return
    if isinstance(ord, str) or not ord > 0:
        raise InvalidArgumentError(
            f"'ord' must be a supported {kind} norm, got {ord}; expected 'euclidean', 'fro' (of "
            "matrices) or a positive number."
        )


def _matrix_norm(x: Tensor, ord: Any, axis: Sequence[int], keep: bool) -> Tensor:
    _check_order(ord, "matrix")
    axes = normalize_axes(axis, x.shape.rank, "norm")
    assert axes is not None
    row, column = axes
    if row == column:
        raise InvalidArgumentError(f"'axis' must be two unique integers; got {axis!r}.")
    if ord in _EUCLIDEAN:
        return reduce_euclidean_norm(x, axes, keep)
    if ord == 1:
        result = reduce_max(reduce_sum(abs(x), row, True), column, True)
    elif ord == math.inf:
        result = reduce_max(reduce_sum(abs(x), column, True), row, True)
    elif ord == 2:
        others = [i for i in range(len(x.shape)) if i not in axes]
        values = svd(transpose(x, [*others, row, column]), compute_uv=False)
        result = reduce_max(values, -1)
        return ox.Unsqueeze(result, int64_constant(sorted(axes))) if keep else result
    else:
        raise InvalidArgumentError(
            f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got {ord}."
        )
    return result if keep else ox.Squeeze(result, int64_constant(axes))
