"""Variance, norms and counts: what is computed from several reductions."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.math.arithmetic import add, maximum, multiply, subtract
from tfx.ops.math.cast import cast, stop_gradient
from tfx.ops.math.comparison import equal, not_equal
from tfx.ops.math.complex_parts import imag, real
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.elementwise import rsqrt, sqrt, square
from tfx.ops.math.reduction import reduce_mean, reduce_sum


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean squared distance from the mean, over axes.

    Args:
        input_tensor: Tensor of a floating or complex dtype, or a value convertible to one.
        axis: A number or several; negative ones count from the end. None: all axes.
        keepdims: Keep the axes with length 1.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype; of complex numbers a real one.

    Raises:
        TypeError: an integer dtype.

    Example:
        >>> import tfx as tf
        >>> tf.math.reduce_variance([[1.0, 3.0], [2.0, 2.0]], axis=1).numpy()
        array([1., 0.], dtype=float32)
    """
    x = tensor(input_tensor)
    if x.dtype.is_complex:
        away = subtract(x, reduce_mean(x, axis, keepdims=True))
        squares = add(square(real(away)), square(imag(away)))
        return reduce_mean(squares, axis, keepdims=keepdims)
    if not x.dtype.is_floating:
        raise TypeError(
            f"Input must be either real or complex. Received integer type {x.dtype!r}. "
            "Convert it with tfx.cast."
        )
    spread = variance_around(x, reduce_mean(x, axis, keepdims=True), axis)
    # A sum over axes of length 1 drops them, also where the axes are known at run time only.
    return spread if keepdims else reduce_sum(spread, axis)


def variance_around(x: Tensor, mean: Tensor, axis: Any) -> Tensor:
    """The variance of ``x`` over axes, which are kept, given its mean.

    It is the mean of ``(x - c) ** 2`` less ``(mean - c) ** 2``, whatever ``c`` is. With the mean
    itself for ``c``, but as a constant, the second term is 0 and so is its gradient: no gradient
    passes through the mean only to vanish, and second derivatives are right all the same.
    """
    center = stop_gradient(mean)
    around = reduce_mean(square(subtract(x, center)), axis, keepdims=True)
    return subtract(around, square(subtract(mean, center)))


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the variance, over axes; its gradient is not finite where that is 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.reduce_std([1.0, 3.0]).numpy()
        np.float32(1.0)
    """
    return sqrt(reduce_variance(input_tensor, axis, keepdims))


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """``x`` over its Euclidean norm along ``axis``.

    Args:
        x: Tensor of a floating or complex dtype, or a value convertible to one.
        axis: A number or several; None: all axes.
        epsilon: Lower bound of the squared norm, which keeps 0 at 0.
        name: Accepted for compatibility.
        dim: The older name of ``axis``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: both ``axis`` and ``dim``.

    Example:
        >>> import tfx as tf
        >>> tf.math.l2_normalize([3.0, 4.0]).numpy()
        array([0.6, 0.8], dtype=float32)
    """
    if dim is not None:
        if axis is not None:
            raise InvalidArgumentError("l2_normalize takes axis or dim, its older name, not both")
        axis = dim
    x = tensor(x)
    squares = square(absolute(x)) if x.dtype.is_complex else square(x)
    scale = rsqrt(maximum(reduce_sum(squares, axis, keepdims=True), epsilon))
    return multiply(x, cast_to(scale, x.dtype))


def count_nonzero(
    input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Count the elements over axes that are not zero (not empty, for strings).

    Args:
        input: Tensor of a number, bool or string dtype, or a value convertible to one.
        axis: A number or several; None: all axes.
        keepdims: Keep the axes with length 1.
        dtype: Dtype of the result.
        name: Accepted for compatibility.

    Returns:
        The counts.

    Example:
        >>> import tfx as tf
        >>> tf.math.count_nonzero([[0, 1], [2, 3]], axis=1).numpy()
        array([1, 2])
    """
    x = tensor(input)
    present = x if x.dtype.is_bool else not_equal(x, _zero(x))
    counts = reduce_sum(cast_to(present, dtypes.int32), axis, bool(keepdims))
    return cast(counts, dtype)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Return the fraction of elements that are zero, as a float32 scalar.

    Example:
        >>> import tfx as tf
        >>> tf.math.zero_fraction([0.0, 1.0, 0.0, 3.0]).numpy()
        np.float32(0.5)
    """
    x = tensor(value)
    return reduce_mean(cast_to(equal(x, _zero(x)), dtypes.float32))


def _zero(x: Tensor) -> Tensor:
    if x.dtype is dtypes.string:
        return convert_to_tensor("")
    return convert_to_tensor(False) if x.dtype.is_bool else scalar_like(0, x)
