"""Segments of rows: rows of a ragged tensor that are added, or otherwise put together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.math.segments import unsorted_segment_max
from tfx.ragged_ops import partition
from tfx.ragged_ops.factories import joined
from tfx.ragged_ops.ragged_tensor import RaggedTensor


def of_rows(plain: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on segments, such as ``unsorted_segment_sum``, of rows of a ragged tensor.

    A row of the result is as long as the longest row of its segment, and its elements are what the
    operation makes of those that have the same place in their rows.
    """
    signature = inspect.signature(plain)

    def segments(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        data, ids, count = (given[n] for n in ("data", "segment_ids", "num_segments"))
        if not isinstance(data, RaggedTensor) or isinstance(ids, RaggedTensor):
            raise TypeError(
                f"{plain.__name__}: data can be a RaggedTensor, with a number for each of its "
                f"rows; got data={data!r} and segment_ids={ids!r}."
            )
        return _segments(plain, data, partition.wide(tensor(ids)), partition.wide(tensor(count)))

    return segments


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
