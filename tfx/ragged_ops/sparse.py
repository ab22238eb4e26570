"""Ragged tensors to sparse ones, and back."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.where import where
from tfx.ops.common.arguments import cast_to
from tfx.ragged_ops import partition
from tfx.ragged_ops.conversion import to_tensor
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import SparseTensor, made, require_sparse


def from_sparse(st_input: Any, row_splits_dtype: DTypeLike = dtypes.int64) -> RaggedTensor:
    """See ``RaggedTensor.from_sparse``."""
    x = require_sparse(st_input, "RaggedTensor.from_sparse")
    if x.rank is None:
        raise InvalidArgumentError("rank(st_input) must be 2.")
    if x.rank != 2:
        raise InvalidArgumentError(f"rank(st_input) must be 2, got {x.rank}.")
    rows, columns = positions.column(x.indices, 0), positions.column(x.indices, 1)
    count = ox.Squeeze(positions.axis_size(x.dense_shape, 0), int64_constant([0]))
    splits = partition.splits_of_row_ids(rows, count)
    starts = ox.Gather(splits, rows, axis=0)
    values = _right_ragged(x, rows, ox.Sub(partition.counted(ox.Size(rows)), starts), columns)
    return RaggedTensor(values, (cast_to(splits, as_dtype(row_splits_dtype)),))


def _right_ragged(x: SparseTensor, rows: Tensor, places: Tensor, columns: Tensor) -> Tensor:
    """The values, where each row is filled from its beginning and rows are in order."""
    after = ox.Slice(rows, int64_constant([1]), int64_constant([2**63 - 1]))
    before = ox.Slice(rows, int64_constant([0]), int64_constant([-1]))
    in_order = ox.LessOrEqual(before, after)
    fits = ox.Equal(places, columns)
    values: Tensor = x.values
    if not isinstance(fits, EagerTensor) or not isinstance(in_order, EagerTensor):
        values = refused_unless(in_order, values, Refusal.SPARSE_RIGHT_RAGGED)
        return refused_unless(fits, values, Refusal.SPARSE_RIGHT_RAGGED)
    if not fits.view().all() or not in_order.view().all():
        raise InvalidArgumentError(
            "SparseTensor is not right-ragged: each row must be filled from its first column on. "
            f"SparseTensor.indices = {x.indices.numpy().tolist()}",
            op="RaggedFromSparse",
        )
    return values


def to_sparse(x: RaggedTensor) -> SparseTensor:
    """See ``RaggedTensor.to_sparse``."""
    # Where there are values is where a tensor of ones, filled up with zeros, has its ones.
    flat = x.flat_values
    ones = x.with_flat_values(ox.Expand(int64_constant(1), ox.Shape(flat)))
    dense = to_tensor(ones)
    indices = cast_to(where(ox.Greater(dense, int64_constant(0))), dtypes.int64)
    values = ox.Reshape(flat, int64_constant([-1]))
    return made(indices, values, ox.Shape(dense))
