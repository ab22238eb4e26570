"""Rows taken out of ragged and dense values."""

from __future__ import annotations

from typing import Any

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ragged_ops import partition
from tfx.ragged_ops.factories import joined
from tfx.ragged_ops.ragged_tensor import RaggedTensor


def gather_rows(x: Any, places: Tensor) -> Any:
    """The rows of a tensor, or of a ragged one, at places from 0 on; int64, a vector."""
    if not isinstance(x, RaggedTensor):
        return ox.Gather(x, places, axis=0)
    splits = partition.wide(x.row_splits)
    starts = ox.Gather(partition.starts_of(splits), places, axis=0)
    lengths = ox.Gather(partition.lengths_of(splits), places, axis=0)
    inside, made = partition.spans(starts, lengths)
    values = gather_rows(x.values, inside)
    return joined(values, cast_to(made, x.row_splits.dtype), x._uniform[0])


def rows_between(x: Any, start: Tensor, limit: Tensor, size: int | None = None) -> Any:
    """The rows from one place up to another; int64 vectors of one number."""
    if not isinstance(x, RaggedTensor):
        found = ox.Slice(x, start, limit)
        if size is not None and found.shape.rank is not None:
            found.set_shape([size, *found.shape[1:]])
        return found
    splits = partition.wide(x.row_splits)
    part = ox.Slice(splits, start, ox.Add(limit, int64_constant(1)))
    begin = ox.Slice(part, int64_constant([0]), int64_constant([1]))
    end = ox.Slice(part, int64_constant([-1]), int64_constant([2**63 - 1]))
    made = cast_to(ox.Sub(part, begin), x.row_splits.dtype)
    if size is not None:
        made.set_shape([size + 1])
    return joined(rows_between(x.values, begin, end), made, x._uniform[0])
