"""Ragged tensors from values and a row partition, in each of its forms."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import as_int64, cast_to, static_int
from tfx.ragged_ops import partition
from tfx.ragged_ops.partition import partition_tensor, wide
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor

_INVALID = "Arguments to {} do not form a valid RaggedTensor: {}"


def _values(values: Any) -> tuple[Any, DType | None]:
    """The values, and the dtype of the splits that they have already."""
    found = as_ragged_or_tensor(values)
    if isinstance(found, RaggedTensor):
        return found, found.row_splits.dtype
    if found.shape.rank == 0:
        raise InvalidArgumentError(
            "The values of a RaggedTensor must have one axis at least; got a scalar."
        )
    return found, None


def _vector(x: Tensor, name: str) -> Tensor:
    if x.shape.rank not in (None, 1):
        raise InvalidArgumentError(f"Shape {x.shape} must have rank 1: {name}.")
    return x


def value_count(values: Any) -> Tensor:
    """The number of values, a scalar int64."""
    if isinstance(values, RaggedTensor):
        return partition.row_count(values.row_splits)
    return partition.size_of(values)


def joined(values: Any, splits: Tensor, uniform: int | None = None) -> RaggedTensor:
    """A ragged tensor of values and splits of one dtype, which are not looked at."""
    if isinstance(values, RaggedTensor):
        rows = (splits, *values.nested_row_splits)
        return RaggedTensor(values.flat_values, rows, (uniform, *values._uniform))
    return RaggedTensor(values, (splits,), (uniform,))


def from_row_splits(
    values: Any, row_splits: Any, validate: bool = True, factory: str = "from_row_splits"
) -> RaggedTensor:
    """See ``RaggedTensor.from_row_splits``."""
    values, like = _values(values)
    splits = _vector(partition_tensor(row_splits, "row_splits", like), "row_splits")
    if splits.shape.rank == 1 and splits.shape[0] == 0:
        raise InvalidArgumentError("row_splits may not be empty: it begins with 0.")
    if validate:
        first = ox.Slice(splits, int64_constant([0]), int64_constant([1]))
        last = ox.Slice(splits, int64_constant([-1]), int64_constant([2**63 - 1]))
        for holds, what in (
            (ox.Equal(first, ox.like(0, splits)), "zero: row_splits must begin with 0"),
            (
                ox.GreaterOrEqual(partition.lengths_of(splits), ox.like(0, splits)),
                "monotonic: row_splits must not decrease",
            ),
            (
                ox.Equal(wide(last), value_count(values)),
                "the last of row_splits must be the number of values",
            ),
        ):
            message = f"{_INVALID.format(factory, what)}; got {splits!r}."
            splits = partition.required(holds, splits, Refusal.ROW_PARTITION, message)
    return joined(values, splits)


def from_row_lengths(values: Any, row_lengths: Any, validate: bool = True) -> RaggedTensor:
    """See ``RaggedTensor.from_row_lengths``."""
    values, like = _values(values)
    lengths = _vector(partition_tensor(row_lengths, "row_lengths", like), "row_lengths")
    splits = cast_to(partition.splits_of(lengths), lengths.dtype)
    return from_row_splits(values, splits, validate, "from_row_lengths")


def from_row_starts(values: Any, row_starts: Any, validate: bool = True) -> RaggedTensor:
    """See ``RaggedTensor.from_row_starts``."""
    values, like = _values(values)
    starts = _vector(partition_tensor(row_starts, "row_starts", like), "row_starts")
    end = ox.Unsqueeze(cast_to(value_count(values), starts.dtype), int64_constant([0]))
    splits = ox.Concat(starts, end, axis=0)
    return from_row_splits(values, splits, validate, "from_row_starts")


def from_row_limits(values: Any, row_limits: Any, validate: bool = True) -> RaggedTensor:
    """See ``RaggedTensor.from_row_limits``."""
    values, like = _values(values)
    limits = _vector(partition_tensor(row_limits, "row_limits", like), "row_limits")
    begin = cast_to(int64_constant([0]), limits.dtype)
    splits = ox.Concat(begin, limits, axis=0)
    return from_row_splits(values, splits, validate, "from_row_limits")


def from_value_rowids(
    values: Any, value_rowids: Any, nrows: Any = None, validate: bool = True
) -> RaggedTensor:
    """See ``RaggedTensor.from_value_rowids``."""
    values, like = _values(values)
    ids = _vector(partition_tensor(value_rowids, "value_rowids", like), "value_rowids")
    kind, ids = ids.dtype, wide(ids)
    if nrows is None:
        before = ox.Concat(int64_constant([-1]), ids, axis=0)
        last = ox.Slice(before, int64_constant([-1]), int64_constant([2**63 - 1]))
        count = ox.Squeeze(ox.Add(last, int64_constant(1)), int64_constant([0]))
    else:
        count = as_int64(nrows)
        known = static_int(count)
        if known is not None and known < 0:
            raise InvalidArgumentError(f"Expected nrows >= 0; got {known}")
    if validate:
        earlier = ox.Slice(ids, int64_constant([0]), int64_constant([-1]))
        later = ox.Slice(ids, int64_constant([1]), int64_constant([2**63 - 1]))
        size = ox.Unsqueeze(value_count(values), int64_constant([0]))
        for holds, what in (
            (ox.Equal(ox.Shape(ids), size), "there must be a row number for each value"),
            (ox.GreaterOrEqual(later, earlier), "value_rowids must not decrease"),
            (ox.GreaterOrEqual(ids, int64_constant(0)), "value_rowids must not be negative"),
            (ox.Less(ids, count), "value_rowids must be less than nrows"),
        ):
            message = _INVALID.format("from_value_rowids", what) + "."
            ids = partition.required(holds, ids, Refusal.ROW_PARTITION, message)
    return joined(values, cast_to(partition.splits_of_row_ids(ids, count), kind))


def from_uniform_row_length(
    values: Any, uniform_row_length: Any, nrows: Any = None, validate: bool = True
) -> RaggedTensor:
    """See ``RaggedTensor.from_uniform_row_length``."""
    values, like = _values(values)
    given = partition_tensor(uniform_row_length, "uniform_row_length", like)
    if given.shape.rank not in (None, 0):
        raise InvalidArgumentError(f"uniform_row_length must be a scalar; got shape {given.shape}.")
    length, known = wide(given), static_int(given)
    if known is not None and known < 0:
        raise InvalidArgumentError(f"uniform_row_length must be >= 0; got {known}.")
    total = value_count(values)
    if nrows is not None:
        count = as_int64(nrows)
    elif known == 0:
        count = int64_constant(0)
        if validate and (static_int(total) or 0) > 0:
            raise InvalidArgumentError(
                _INVALID.format("from_uniform_row_length", "rows of length 0 have no values.")
            )
    else:
        count = ox.Div(total, length if known else ox.Max(length, int64_constant(1)))
    ends = ox.Mul(partition.counted(ox.Add(count, int64_constant(1))), length)
    if validate:
        what = f"{known} is not the length of all rows of the values, given nrows={nrows!r}."
        message = _INVALID.format("from_uniform_row_length", what)
        holds = ox.Equal(ox.Mul(count, length), total)
        ends = partition.required(holds, ends, Refusal.ROW_PARTITION, message)
    return joined(values, cast_to(ends, given.dtype), known)


def require_same_splits_dtype(*values: Any) -> DType:
    """The dtype of the splits of several ragged tensors.

    Raises:
        ValueError: they differ.
    """
    kinds = {x.row_splits.dtype for x in values if isinstance(x, RaggedTensor)}
    if len(kinds) > 1:
        raise InvalidArgumentError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    return kinds.pop() if kinds else dtypes.int64
