"""``boolean_mask``: the values of a ragged tensor at which a mask is true."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.ops.common.arguments import cast_to
from tfx.ragged_ops import partition
from tfx.ragged_ops.conversion import ragged_of
from tfx.ragged_ops.factories import joined
from tfx.ragged_ops.measures import rank_of
from tfx.ragged_ops.ragged_tensor import as_ragged_or_tensor
from tfx.ragged_ops.rows import gather_rows
from tfx.sparse_ops.positions import where_true


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The values at which a mask is true, in the rows that they were in.

    Args:
        data: A ragged tensor or a tensor.
        mask: Booleans of the shape that the first axes of ``data`` have.
        name: Accepted for compatibility.

    Returns:
        A ragged tensor; a tensor where the mask is a vector and ``data`` a tensor.

    Raises:
        ValueError: a mask that is no tensor of booleans, or a scalar.
        InvalidArgumentError: rows of the mask that differ in length from those of ``data``.

    Example:
        >>> import tfx as tf
        >>> tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])
        <tf.RaggedTensor [[1], [3, 4]]>
    """
    values, chosen = as_ragged_or_tensor(data), as_ragged_or_tensor(mask)
    if chosen.dtype is not dtypes.bool:
        raise InvalidArgumentError(
            f"Argument `mask` must be of dtype bool; got {chosen.dtype.name}."
        )
    rank = rank_of(chosen, "boolean_mask")
    if rank == 0:
        raise InvalidArgumentError("mask cannot be scalar.")
    have = values.shape.rank
    if have is not None and have < rank:
        raise InvalidArgumentError(f"The mask has {rank} axes, more than the data with {have}.")
    return _masked(values, chosen, rank)


def _masked(data: Any, mask: Any, rank: int) -> Any:
    if rank == 1:
        return gather_rows(data, where_true(mask))
    data, mask = ragged_of(data, 1), ragged_of(mask, 1)
    fine = ox.Equal(
        partition.lengths_of(partition.wide(data.row_splits)),
        partition.lengths_of(partition.wide(mask.row_splits)),
    )
    message = "boolean_mask: the rows of the mask differ in length from those of the data."
    splits = partition.required(fine, data.row_splits, Refusal.ROW_LENGTHS, message)
    values = _masked(data.values, mask.values, rank - 1)
    if rank > 2:
        return joined(values, splits, data._uniform[0])
    chosen = cast_to(mask.values, dtypes.int64)
    before = ox.Concat(int64_constant([0]), ox.CumSum(chosen, int64_constant(0)), axis=0)
    made = cast_to(ox.Gather(before, partition.wide(splits), axis=0), splits.dtype)
    return joined(values, made)
