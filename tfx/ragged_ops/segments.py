"""Segments of rows: rows of a ragged tensor that are added, or otherwise put together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.math.segments import unsorted_segment_max
from tfx.ragged_ops import partition
from tfx.ragged_ops.elementwise import same_tensor
from tfx.ragged_ops.factories import joined
from tfx.ragged_ops.ragged_tensor import RaggedTensor


def of_rows(plain: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on segments, such as ``unsorted_segment_sum``, of rows of a ragged tensor.

    A row of the result is as long as the longest row of its segment, and its elements are what the
    operation makes of those that have the same place in their rows. Numbers that are ragged like
    the data say the segment of each element: then the result is a tensor.
    """
    signature = inspect.signature(plain)

    def segments(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        data, ids, count = (given[n] for n in ("data", "segment_ids", "num_segments"))
        return _any_segments(plain, data, ids, partition.wide(tensor(count)))

    return segments


def _any_segments(plain: Callable[..., Any], data: Any, ids: Any, count: Tensor) -> Any:
    if isinstance(ids, RaggedTensor):
        return _of_elements(plain, data, ids, count)
    if isinstance(data, RaggedTensor):
        return _segments(plain, data, partition.wide(tensor(ids)), count)
    return plain(data, ids, count)


def _of_elements(plain: Callable[..., Any], x: Any, ids: RaggedTensor, count: Tensor) -> Any:
    inner, numbers = x, ids.flat_values
    for splits in ids.nested_row_splits:
        if not isinstance(inner, RaggedTensor):
            raise ValueError(
                f"{plain.__name__}: data can be a RaggedTensor, with a number for each of its "
                f"rows or of its elements; got data={x!r} and segment_ids={ids!r}."
            )
        if not same_tensor(inner.row_splits, splits):
            same = ox.Equal(partition.wide(inner.row_splits), partition.wide(splits))
            message = f"{plain.__name__}: the rows of data and segment_ids differ in length."
            numbers = partition.required(same, numbers, Refusal.ROW_LENGTHS, message)
        inner = inner.values
    return _any_segments(plain, inner, numbers, count)


def _segments(plain: Callable[..., Any], x: RaggedTensor, ids: Tensor, count: Tensor) -> Any:
    splits = partition.wide(x.row_splits)
    longest = unsorted_segment_max(partition.lengths_of(splits), ids, count)
    ends = partition.splits_of(ox.Max(longest, int64_constant(0)))  # of no rows it is the least
    rows = partition.row_ids(splits)
    starts = ox.Gather(ends, ox.Gather(ids, rows, axis=0), axis=0)
    places = ox.Add(starts, partition.positions(splits, rows))
    total = ox.Gather(ends, int64_constant(-1), axis=0)
    values: Any = x.values
    if isinstance(values, RaggedTensor):
        made = _segments(plain, values, places, total)
    else:
        made = plain(values, places, total)
    return joined(made, cast_to(ends, x.row_splits.dtype))
