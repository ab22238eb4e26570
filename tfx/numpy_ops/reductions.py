"""NumPy's reductions, orders and running sums."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.framework.tensor import Tensor
from tfx.numpy_ops import elementwise
from tfx.numpy_ops.promotion import array, floating, named_dtype, result_type, shared
from tfx.ops.array import sort as sort_ops
from tfx.ops.array.reshape import reshape
from tfx.ops.array.where import where
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.math import argmax as argmax_ops
from tfx.ops.math import cumulative, reduction, statistics


def _summed(x: Any, dtype: Any) -> Tensor:
    """Convert the operand of a sum or product: small integers and booleans to 64-bit ones."""
    found = array(x)
    if dtype is not None:
        return cast_to(found, named_dtype(dtype))
    if found.dtype.is_bool or (found.dtype.is_integer and found.dtype.size < 8):
        unsigned = found.dtype.is_integer and found.dtype.min == 0
        return cast_to(found, dtypes.uint64 if unsigned else dtypes.int64)
    return found


def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes; small integers are added as int64.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.sum([True, True]).numpy()
        np.int64(2)
    """
    return reduction.reduce_sum(_summed(a, dtype), axis, keepdims)


def prod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over axes; small integers are multiplied as int64."""
    return reduction.reduce_prod(_summed(a, dtype), axis, keepdims)


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False
) -> Tensor:
    """The mean over axes, of integers as float64."""
    x = floating(a) if dtype is None else cast_to(array(a), named_dtype(dtype))
    return reduction.reduce_mean(x, axis, keepdims)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
) -> Tensor:
    """The variance over axes; the sum of squares is divided by the count less ``ddof``."""
    x = floating(a) if dtype is None else cast_to(array(a), named_dtype(dtype))
    found = statistics.reduce_variance(x, axis, keepdims)
    if not ddof:
        return found
    count = cast_to(reduction.reduce_sum(0 * x + scalar_like(1, x), axis, keepdims), x.dtype)
    return found * (count / (count - scalar_like(ddof, x)))


def std(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes."""
    return statistics.reduce_std(floating(a), axis, keepdims)


def max(a: Any, axis: Any = None, out: None = None, keepdims: Any = None) -> Tensor:
    """The largest element over axes."""
    x = array(a)
    if x.dtype.is_bool:
        return any(x, axis, keepdims)
    return reduction.reduce_max(x, axis, bool(keepdims))


def min(a: Any, axis: Any = None, out: None = None, keepdims: Any = None) -> Tensor:
    """The smallest element over axes."""
    x = array(a)
    if x.dtype.is_bool:
        return all(x, axis, keepdims)
    return reduction.reduce_min(x, axis, bool(keepdims))


amax = max
amin = min


def ptp(a: Any, axis: Any = None, keepdims: Any = None) -> Tensor:
    """The largest less the smallest element."""
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


def all(a: Any, axis: Any = None, keepdims: Any = None) -> Tensor:
    """Return whether all elements over axes are not 0."""
    return reduction.reduce_all(elementwise.truth(a), axis, bool(keepdims))


def any(a: Any, axis: Any = None, keepdims: Any = None) -> Tensor:
    """Return whether any element over axes is not 0."""
    return reduction.reduce_any(elementwise.truth(a), axis, bool(keepdims))


def count_nonzero(a: Any, axis: Any = None) -> Tensor:
    """Count the elements over axes that are not 0."""
    return sum(elementwise.truth(a), axis)


def _ravelled(x: Any, axis: Any) -> tuple[Tensor, int]:
    found = array(x)
    return (reshape(found, [-1]), 0) if axis is None else (found, axis)


def argmax(a: Any, axis: Any = None) -> Tensor:
    """Return the index of the largest element; without an axis, in the ravelled array."""
    return argmax_ops.argmax(*_ravelled(a, axis))


def argmin(a: Any, axis: Any = None) -> Tensor:
    """Return the index of the smallest element; without an axis, in the ravelled array."""
    return argmax_ops.argmin(*_ravelled(a, axis))


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running sums; without an axis, of the ravelled array."""
    x, at = _ravelled(_summed(a, dtype), axis)
    return cumulative.cumsum(x, at)


def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running products."""
    x, at = _ravelled(_summed(a, dtype), axis)
    return cumulative.cumprod(x, at)


def _without_nan(a: Any, instead: float) -> Tensor:
    x = array(a)
    if not x.dtype.is_floating and not x.dtype.is_complex:
        return x
    return where(x == x, x, scalar_like(instead, x))


def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of what is not NaN."""
    return sum(_without_nan(a, 0), axis, dtype, keepdims)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product of what is not NaN."""
    return prod(_without_nan(a, 1), axis, dtype, keepdims)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The mean of what is not NaN."""
    x = floating(a)
    count = cast_to(sum(x == x, axis, keepdims=keepdims), x.dtype)
    return nansum(x, axis, dtype, keepdims) / count


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """The weighted mean over an axis.

    Args:
        a: Numbers.
        axis: An axis; None: all.
        weights: Of the shape of ``a``, or as many as the axis is long; None: all 1.
        returned: Also give the sum of the weights.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.average([1, 2, 3], weights=[1, 1, 2]).numpy()
        np.float64(2.25)
    """
    x = floating(a)
    w = 0 * x + scalar_like(1, x) if weights is None else floating(weights)
    x, w = shared(x, w)
    if w.shape.rank != x.shape.rank:
        rank = x.shape.rank or 0
        where_axis = (axis or 0) % rank
        w = reshape(w, [-1 if i == where_axis else 1 for i in range(rank)]) + 0 * x
    total = reduction.reduce_sum(w, axis)
    found = reduction.reduce_sum(x * w, axis) / total
    return (found, total) if returned else found


def sort(a: Any, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """Sorted along an axis; None: the ravelled array."""
    return sort_ops.sort(*_ravelled(a, axis))


def argsort(a: Any, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """The indices that sort; equal elements keep their order."""
    return cast_to(sort_ops.argsort(*_ravelled(a, axis), stable=True), dtypes.int64)


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Return whether all numbers are close; see ``isclose``."""
    return reduction.reduce_all(elementwise.isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any) -> Tensor:
    """Return whether shapes and elements are equal."""
    x, y = array(a1), array(a2)
    if not x.shape.is_compatible_with(y.shape):
        return array(False)
    x, y = [cast_to(v, result_type(x, y)) for v in (x, y)]
    return reduction.reduce_all(x == y)
