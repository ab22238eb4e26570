"""Distinct elements and their counts: ``unique``, ``unique_with_counts``, ``bincount``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_if_negative
from tfx.framework.indices import contents, from_the_front
from tfx.framework.rules import no_gradient
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.common.arguments import cast_to, dtype_or, scalar_like, static_ints, tensor
from tfx.ops.common.counts import counted
from tfx.ops.common.shapes import (
    as_int64_shape,
    as_vector,
    concat_shape,
    dimension,
    filled,
    movable,
    rank_of,
    shape_vector,
)
from tfx.ops.math.cast import cast, stop_gradient


class Unique(NamedTuple):
    """The result of ``unique``."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The result of ``unique_with_counts``."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # hides tuple.count, as TensorFlow's does


def unique(x: Any, out_idx: DTypeLike | None = dtypes.int32, name: str | None = None) -> Unique:
    """The distinct elements of a vector in order of first occurrence.

    Each NaN is distinct from all others; 0.0 and -0.0 are one, the first of them.

    Args:
        x: Vector.
        out_idx: int32 or int64.
        name: Accepted for compatibility.

    Returns:
        ``Unique(y, idx)`` with ``x[i] == y[idx[i]]``.

    Raises:
        InvalidArgumentError: not a vector.

    Example:
        >>> import tfx as tf
        >>> tf.unique([3, 1, 3]).y.numpy()
        array([3, 1], dtype=int32)
    """
    y, index, _ = _distinct(x)
    return Unique(y, cast_to(index, dtype_or(out_idx, dtypes.int32)))


def unique_with_counts(
    x: Any, out_idx: DTypeLike | None = dtypes.int32, name: str | None = None
) -> UniqueWithCounts:
    """``unique``, and how often each element occurs.

    Example:
        >>> import tfx as tf
        >>> tf.unique_with_counts([3, 1, 3]).count.numpy()
        array([2, 1], dtype=int32)
    """
    y, index, count = _distinct(x)
    kind = dtype_or(out_idx, dtypes.int32)
    return UniqueWithCounts(y, cast_to(index, kind), cast_to(count, kind))


def unique_along(x: Any, axis: Any, out_idx: DTypeLike | None = dtypes.int32) -> Unique:
    """The distinct slices along an axis in order of first occurrence.

    Args:
        x: Tensor.
        axis: No number for a vector, or one.
        out_idx: int32 or int64.
    """
    y, index, _ = unique_with_counts_along(x, axis, out_idx)
    return Unique(y, index)


def unique_with_counts_along(
    x: Any, axis: Any, out_idx: DTypeLike | None = dtypes.int32
) -> UniqueWithCounts:
    """``unique_along``, and how often each slice occurs.

    Raises:
        InvalidArgumentError: more than one axis, or one that ``x`` does not have.
    """
    axes = np.reshape(axis, [-1]).tolist()
    values = tensor(x)
    rank = rank_of(values)
    if not axes or rank == 1:
        return unique_with_counts(values, out_idx)
    if len(axes) > 1 or (rank is not None and not -rank <= axes[0] < rank):
        raise InvalidArgumentError(
            f"axis must be of no element or one, an axis of a tensor of shape {values.shape}; got "
            f"{axes}.",
            op="UniqueWithCountsV2",
        )
    moved = movable(stop_gradient(values))
    y, _, index, count = ox.Unique(moved, axis=int(axes[0]), sorted=0, outputs=4)
    kind = dtype_or(out_idx, dtypes.int32)
    return UniqueWithCounts(cast_to(y, values.dtype), cast_to(index, kind), cast_to(count, kind))


def _distinct(values: Any) -> tuple[Tensor, Tensor, Tensor]:
    x = tensor(values)
    found = _found(x)
    size = x.shape.num_elements()
    for result, length in zip(found, (None, size, None), strict=True):
        result.set_shape([length])
    return found


def _found(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if rank_of(x) not in (1, None):
        raise InvalidArgumentError(f"unique expects a 1D vector; got shape {x.shape}.", op="Unique")
    x = stop_gradient(x)
    moved = movable(x)
    known = contents(moved) if x.dtype.is_floating else None
    if not x.dtype.is_floating or (known is not None and not np.isnan(known).any()):
        y, _, index, count = ox.Unique(moved, sorted=0, outputs=4)
        return cast_to(y, x.dtype), index, count
    # The kernel takes NaN for everything, and NaN equals nothing: numbers get the number of their
    # group, each NaN one of its own.
    nans = ox.IsNaN(moved)
    numbers = ox.Where(nans, scalar_like(0, moved), moved)
    groups = ox.Unique(numbers, sorted=0, outputs=4)[2]
    size = ox.Size(moved)
    own = ox.Range(size, ox.Add(size, size), int64_constant(1))
    keys = ox.Where(nans, own, groups)
    _, first, index, count = ox.Unique(keys, sorted=0, outputs=4)
    return ox.Gather(x, first), index, count


no_gradient("Unique", why="as in TensorFlow; gather with the indices where gradients are needed")


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: DTypeLike | None = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Count the occurrences of each of the numbers 0, 1, 2...

    Args:
        arr: Integers, 0 or more; other numbers count without their fraction.
        weights: What each occurrence counts, of the shape of ``arr``; None means 1.
        minlength: Least number of bins.
        maxlength: Largest number of bins; larger numbers are not counted.
        dtype: Element type of the result without weights, which have their own.
        name: Accepted for compatibility.
        axis: None or 0 counts all elements; -1 each row of a matrix by itself.
        binary_output: Only whether a number occurs, as 0 or 1.

    Returns:
        ``[bins]``, or ``[rows, bins]`` for ``axis=-1``.

    Raises:
        InvalidArgumentError: a negative number, or more than two axes for
            ``axis=-1``.
        ValueError: another axis, or weights with ``binary_output``.

    Example:
        >>> import tfx as tf
        >>> tf.math.bincount([1, 1, 3]).numpy()
        array([0, 2, 0, 1], dtype=int32)
    """
    if axis not in (None, 0, -1):
        raise InvalidArgumentError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported."
        )
    if binary_output and weights is not None:
        raise InvalidArgumentError(
            "Arguments `binary_output` and `weights` are mutually exclusive. Please specify only "
            "one."
        )
    x = _countable(arr)
    by_row = axis == -1 and rank_of(x) != 1
    if by_row and rank_of(x) != 2:
        raise InvalidArgumentError(
            f"Shape must be at most rank 2 but is {x.shape} for bincount with axis=-1.",
            op="DenseBincount",
        )
    bins = _bins(x, minlength, maxlength)
    if weights is None:
        kind = dtype_or(dtype, dtypes.int32)
        amounts = filled(shape_vector(x), 1, kind)
    else:
        amounts = tensor(weights)
    if not by_row and rank_of(x) != 1:
        flat = int64_constant([-1])
        x, amounts = ox.Reshape(x, flat), ox.Reshape(amounts, flat)
    # Numbers beyond the last bin fall into one more, which is cut off.
    places = x if maxlength is None else ox.Min(x, bins)
    room = ox.Add(bins, int64_constant([1]))
    shape = concat_shape(dimension(x, 0), room) if by_row else room
    attrs = {"axis": -1} if binary_output else {"axis": -1, "reduction": "add"}
    places = from_the_front(places)
    counts = ox.ScatterElements(filled(shape, 0, amounts.dtype), places, amounts, **attrs)
    ends = int64_constant([0]), int64_constant([-1]), int64_constant([-1])
    return ox.Slice(counts, *ends)


def _countable(arr: Any) -> Tensor:
    given = tensor(arr)
    if not given.dtype.is_integer:
        given = cast(given, dtypes.int32)
    x = as_int64_shape(given)
    if isinstance(x, EagerTensor) and (x.view() < 0).any():
        raise InvalidArgumentError(
            f"Input arr must be non-negative! Got {int(x.view().min())}.", op="DenseBincount"
        )
    return refused_if_negative(x, Refusal.COUNTED)


def _bins(x: Tensor, minlength: Any, maxlength: Any) -> Tensor:
    """The number of bins as a vector of one element."""
    least = int64_constant([0]) if minlength is None else as_vector(tensor(minlength))
    most = None
    if maxlength is not None:
        most = as_vector(counted(maxlength, "maxlength", "DenseBincount"))
        known, enough = static_ints(most), static_ints(least)
        if known is not None and enough is not None and enough >= known:
            return most  # whatever the numbers are
    # Of none, -1.
    if isinstance(x, EagerTensor):
        end = int64_constant([int(x.view().max(initial=-1)) + 1])
        bins = ox.Max(end, least)
        return bins if most is None else ox.Min(bins, most)
    flat = x if rank_of(x) == 1 else ox.Reshape(x, int64_constant([-1]))
    largest = ox.ReduceMax(concat_shape(flat, int64_constant([-1])), keepdims=1)
    bins = ox.Max(ox.Add(largest, int64_constant([1])), least)
    return bins if most is None else ox.Min(bins, most)
