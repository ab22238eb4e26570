"""Reductions of ragged tensors along any axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import ones_like
from tfx.ops.array.reshape import expand_dims as expand_dense
from tfx.ops.common.arguments import cast_to, is_tensor_like, static_ints
from tfx.ops.math import reduction, segments
from tfx.ops.math.arithmetic import multiply, subtract, truediv
from tfx.ops.math.elementwise import sqrt, square
from tfx.ragged_ops import partition
from tfx.ragged_ops.arrangement import expand_dims
from tfx.ragged_ops.elementwise import elementwise
from tfx.ragged_ops.factories import joined
from tfx.ragged_ops.measures import axis_of, rank_of
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor

# (values, the segment of each, how many there are) -> a row for each segment
_Segments = Callable[[Any, Tensor, Tensor], Tensor]


def _all_of(values: Any, ids: Any, count: Any) -> Tensor:
    wrong = cast_to(ox.Not(values), dtypes.int32)
    return ox.Equal(segments.unsorted_segment_sum(wrong, ids, count), ox.like(0, wrong))


def _any_of(values: Any, ids: Any, count: Any) -> Tensor:
    right = cast_to(values, dtypes.int32)
    return ox.Greater(segments.unsorted_segment_sum(right, ids, count), ox.like(0, right))


def _reduced(
    op: str, dense: Callable[..., Any], by_segment: _Segments, x: Any, axis: Any, keepdims: bool
) -> Any:
    x = as_ragged_or_tensor(x)
    if not isinstance(x, RaggedTensor):
        return dense(x, axis, keepdims)
    axes = _axes(axis, x, op)
    if axes is None or (x.shape.rank is not None and len(axes) == x.shape.rank):
        whole = dense(x.flat_values, None, False)
        for _ in range(rank_of(x, op) if keepdims else 0):
            whole = expand_dense(whole, 0)
        return whole
    found: Any = x
    for place in sorted(axes, reverse=True):  # the inner ones first
        found = segmented(dense, by_segment, found, place)
        if keepdims:
            ragged = isinstance(found, RaggedTensor)
            found = expand_dims(found, place) if ragged else expand_dense(found, place)
    return found


def _axes(axis: Any, x: RaggedTensor, op: str) -> list[int] | None:
    if axis is None:
        return None
    if is_tensor_like(axis):
        known = static_ints(as_ragged_or_tensor(axis))
        if known is None:
            raise InvalidArgumentError(f"axis of {op} must be known at program construction time.")
        axis = known
    if not isinstance(axis, list | tuple) and not hasattr(axis, "__len__"):
        axis = [axis]
    return list(dict.fromkeys([axis_of(a, x, op) for a in axis]))


def segmented(dense: Callable[..., Any], by_segment: _Segments, x: Any, axis: int) -> Any:
    """A reduction along one axis.

    Args:
        dense: Reduces a tensor: takes it, an axis, and whether the axis is kept.
        by_segment: Reduces the values of each segment.
        x: A ragged tensor, or a tensor.
        axis: The axis, from 0 on.
    """
    if not isinstance(x, RaggedTensor):
        return dense(x, axis, False)
    if axis == 0:
        places = partition.positions(partition.wide(x.row_splits))
        return _segmented(by_segment, x.values, places, partition.longest(x.row_splits))
    if axis == 1:
        ids = partition.row_ids(x.row_splits)
        return _segmented(by_segment, x.values, ids, partition.row_count(x.row_splits))
    return x.with_values(segmented(dense, by_segment, x.values, axis - 1))


def _segmented(by_segment: _Segments, x: Any, ids: Tensor, count: Tensor) -> Any:
    """Rows of one segment put together, value by value: the result is as long as the longest."""
    if not isinstance(x, RaggedTensor):
        return by_segment(x, ids, count)
    splits = partition.wide(x.row_splits)
    lengths = partition.lengths_of(splits)
    most = segments.unsorted_segment_max(lengths, ids, count)
    made = partition.splits_of(ox.Max(most, int64_constant(0)))
    rows = partition.row_ids(splits)
    first = ox.Gather(ox.Gather(made, ids, axis=0), rows, axis=0)
    places = ox.Add(first, partition.positions(splits, rows))
    total = ox.Squeeze(
        ox.Slice(made, int64_constant([-1]), int64_constant([2**63 - 1])), int64_constant([0])
    )
    values = _segmented(by_segment, x.values, places, total)
    return joined(values, cast_to(made, x.row_splits.dtype))


def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """The sums along axes; 0 for empty rows."""
    dense, segment = reduction.reduce_sum, segments.unsorted_segment_sum
    return _reduced("reduce_sum", dense, segment, input_tensor, axis, keepdims)


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """The products along axes; 1 for empty rows."""
    dense, segment = reduction.reduce_prod, segments.unsorted_segment_prod
    return _reduced("reduce_prod", dense, segment, input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """The least along axes; the largest number of the dtype for empty rows."""
    dense, segment = reduction.reduce_min, segments.unsorted_segment_min
    return _reduced("reduce_min", dense, segment, input_tensor, axis, keepdims)


def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """The largest along axes; the lowest number of the dtype for empty rows."""
    dense, segment = reduction.reduce_max, segments.unsorted_segment_max
    return _reduced("reduce_max", dense, segment, input_tensor, axis, keepdims)


def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """Whether all are true along axes; True for empty rows."""
    return _reduced("reduce_all", reduction.reduce_all, _all_of, input_tensor, axis, keepdims)


def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """Whether one is true along axes; False for empty rows."""
    return _reduced("reduce_any", reduction.reduce_any, _any_of, input_tensor, axis, keepdims)


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """The means along axes; not a number for empty rows."""
    x = as_ragged_or_tensor(input_tensor)
    total = reduce_sum(x, axis, keepdims)
    count = reduce_sum(x.with_flat_values(ones_like(x.flat_values)), axis, keepdims)
    if isinstance(total, RaggedTensor):
        return elementwise(truediv, total, count)
    return truediv(total, count)


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """The variances along axes."""
    x = as_ragged_or_tensor(input_tensor)
    squares = reduce_mean(x.with_flat_values(square(x.flat_values)), axis, keepdims)
    mean = reduce_mean(x, axis, keepdims)

    def difference(a: Any, b: Any) -> Tensor:
        return subtract(a, multiply(b, b))

    if isinstance(mean, RaggedTensor):
        return elementwise(difference, squares, mean)
    return difference(squares, mean)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """The standard deviations along axes."""
    found = reduce_variance(input_tensor, axis, keepdims)
    if isinstance(found, RaggedTensor):
        return found.with_flat_values(sqrt(found.flat_values))
    return sqrt(found)
