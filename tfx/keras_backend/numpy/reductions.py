"""Sums, means, extremes and running totals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from keras.src.backend.common import standardize_dtype

import tfx as tf
from tfx.keras_backend import sparse_shapes
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.numpy.promotion import (
    cast,
    floats,
    is_whole,
    kind_of,
    name_of,
    result_type,
    tensor,
    truth,
)
from tfx.keras_backend.sparse import KINDS, is_sparse

# What sums and products of small integers are kept in.
_TOTALS = {
    "bool": "int32",
    "int8": "int32",
    "int16": "int32",
    "uint8": "uint32",
    "uint16": "uint32",
}


def _axes(axis: Any) -> Any:
    return list(axis) if isinstance(axis, tuple) else axis


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum along axes; small integers are added as 32 bits."""
    x = tensor(x)
    x = cast(x, _TOTALS.get(name_of(x), x.dtype))
    if is_sparse(x):
        return sparse_shapes.total(x, _axes(axis), keepdims)
    return tf.reduce_sum(x, _axes(axis), keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The product along axes; small integers are multiplied as 32 bits."""
    x = tensor(x)
    kind = standardize_dtype(dtype) if dtype else _TOTALS.get(name_of(x), name_of(x))
    return tf.reduce_prod(cast(x, kind), _axes(axis), keepdims)


def _through_floats(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function computed in float32 at least; floating results have the dtype of the argument."""

    def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = tensor(x)
        wide = cast(x, result_type(name_of(x), "float32"))
        found = compute(wide, _axes(axis), keepdims)
        return found if is_whole(x) else cast(found, x.dtype)

    return call


def _mean_of_any(x: Any, axis: Any, keepdims: bool) -> Any:
    if type(x) in KINDS:
        own = sparse_shapes.mean if is_sparse(x) else sparse_shapes.mean_of_slices
        return own(x, axis, keepdims)
    return tf.reduce_mean(x, axis, keepdims)


_mean = _through_floats(_mean_of_any)
_var = _through_floats(tf.math.reduce_variance)
_std = _through_floats(tf.math.reduce_std)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean along axes."""
    return _mean(x, axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The variance along axes."""
    return _var(x, axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation along axes."""
    return _std(x, axis, keepdims)


def _extreme(
    x: Any, axis: Any, keepdims: bool, initial: Any, reduce: Callable[..., Any], choose: Any
) -> Any:
    x = tensor(x)
    truth = x.dtype == tf.bool
    if truth:
        x = tf.cast(x, tf.int32)
    if initial is not None and 0 in x.shape.as_list():
        # Without elements the answer is the initial value.
        pads = [[1, 0] if d == 0 else [0, 0] for d in x.shape.as_list()]
        x = tf.pad(x, pads, constant_values=initial)
    found = reduce(x, _axes(axis), keepdims)
    if initial is not None:
        found = choose(found, convert_to_tensor(initial, name_of(found)))
    return tf.cast(found, tf.bool) if truth else found


def max(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    """The largest element along axes."""
    _refuse_nothing(x, initial)
    return _extreme(x, axis, keepdims, initial, tf.reduce_max, tf.maximum)


def min(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    """The smallest element along axes."""
    _refuse_nothing(x, initial)
    return _extreme(x, axis, keepdims, initial, tf.reduce_min, tf.minimum)


def _refuse_nothing(x: Any, initial: Any) -> None:
    if initial is None and 0 in tuple(getattr(x, "shape", ())):
        raise ValueError("Cannot compute the max of an empty tensor.")


def amax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element along axes."""
    return max(x, axis, keepdims)


def amin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element along axes."""
    return min(x, axis, keepdims)


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element minus the smallest along axes."""
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """True where an element along axes is not 0."""
    return tf.reduce_any(truth(x), _axes(axis), keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """True where all elements along axes are not 0."""
    return tf.reduce_all(truth(x), _axes(axis), keepdims)


def count_nonzero(x: Any, axis: Any = None) -> Any:
    """How many elements along axes are not 0."""
    if axis == ():
        return tf.cast(truth(x), tf.int32)
    return tf.reduce_sum(tf.cast(truth(x), tf.int32), _axes(axis))


def average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    """The weighted mean along axes."""
    if weights is None:
        return mean(floats(x)[0], axis)
    x, weights = floats(x, weights)
    if weights.shape.rank == 1 and x.shape.rank != 1 and axis is not None:
        place = axis if isinstance(axis, int) else axis[0]
        shape = [1] * x.shape.rank
        shape[place] = -1
        weights = tf.reshape(weights, shape)
    total = tf.reduce_sum(x * weights, _axes(axis))
    return total / tf.reduce_sum(tf.broadcast_to(weights, tf.shape(x)), _axes(axis))


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sums along an axis, or of all elements."""
    return _running(x, axis, dtype, tf.math.cumsum)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running products along an axis, or of all elements."""
    return _running(x, axis, dtype, tf.math.cumprod)


def _running(x: Any, axis: int | None, dtype: Any, compute: Callable[..., Any]) -> Any:
    kind = standardize_dtype(dtype) if dtype else kind_of(tensor(x))
    x = convert_to_tensor(x, "int32" if kind == "bool" else kind)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    return compute(x, axis)


# What passes over NaN


def _without_nan(x: Any, value: float) -> Any:
    x = tensor(x)
    if is_whole(x):
        return x
    return tf.where(tf.math.is_nan(x), tf.constant(value, x.dtype), x)


def nansum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum along axes without NaN."""
    return sum(_without_nan(x, 0.0), axis, keepdims)


def nanprod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product along axes without NaN."""
    return prod(_without_nan(x, 1.0), axis, keepdims)


def nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sums along an axis without NaN."""
    return cumsum(_without_nan(x, 0.0), axis, dtype)


def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running products along an axis without NaN."""
    return cumprod(_without_nan(x, 1.0), axis, dtype)


def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element along axes without NaN; NaN where there is nothing else."""
    return _nan_extreme(x, axis, keepdims, -math.inf, max)


def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element along axes without NaN; NaN where there is nothing else."""
    return _nan_extreme(x, axis, keepdims, math.inf, min)


def _nan_extreme(x: Any, axis: Any, keepdims: bool, outside: float, reduce: Any) -> Any:
    x = tensor(x)
    if is_whole(x):
        return reduce(x, axis, keepdims)
    found = reduce(_without_nan(x, outside), axis, keepdims)
    nothing = all(tf.math.is_nan(x), axis, keepdims)
    return tf.where(nothing, tf.constant(math.nan, x.dtype), found)


def nanmean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean along axes without NaN."""
    x = tensor(x)
    if is_whole(x):
        return mean(x, axis, keepdims)
    wide = cast(x, result_type(name_of(x), "float32"))
    return cast(_nan_mean(wide, axis, keepdims), x.dtype)


def _nan_mean(x: Any, axis: Any, keepdims: bool) -> Any:
    count = tf.reduce_sum(tf.cast(~tf.math.is_nan(x), x.dtype), _axes(axis), keepdims)
    return tf.reduce_sum(_without_nan(x, 0.0), _axes(axis), keepdims) / count


def nanvar(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The variance along axes without NaN."""
    x = tensor(x)
    if is_whole(x):
        return var(x, axis, keepdims)
    wide = cast(x, result_type(name_of(x), "float32"))
    apart = wide - _nan_mean(wide, axis, True)
    return cast(_nan_mean(tf.math.square(apart), axis, keepdims), x.dtype)


def nanstd(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation along axes without NaN."""
    return tf.math.sqrt(nanvar(x, axis, keepdims))
