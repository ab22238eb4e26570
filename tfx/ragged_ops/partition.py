"""Row partitions: which rows a vector of values is cut into, as tensors of numbers.

Owns the arithmetic of splits, lengths and positions. It must not know what the values are. The one
decision: all of it is ONNX operators on int64, eagerly and in graphs, so that what is made of it
can be saved; only the splits that a ragged tensor keeps may be int32.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.tile import repeated_places
from tfx.ops.common.arguments import cast_to, is_tensor_like
from tfx.ops.common.shapes import dimension, filled

_KINDS = (dtypes.int32, dtypes.int64)
_LARGEST = 2**63 - 1


def partition_tensor(value: Any, name: str, like: DType | None = None) -> Tensor:
    """Splits, lengths or row numbers as a tensor of int32 or int64.

    Args:
        value: What a user gave; Python numbers become int64.
        name: Its name, for errors.
        like: The dtype of the splits of the values, which Python numbers get instead.

    Raises:
        ValueError: another dtype, or one that differs from that of the values' splits.
    """
    if not is_tensor_like(value) and like is not None:
        return cast_to(convert_to_tensor(value, dtype_hint=dtypes.int64), like)
    found = convert_to_tensor(value, dtype_hint=dtypes.int64)
    if found.dtype not in _KINDS:
        raise InvalidArgumentError(
            f"{name} must have dtype int32 or int64, got {found.dtype.name}."
        )
    if like is not None and found.dtype is not like:
        raise InvalidArgumentError(
            f"dtype mismatch: {name} ({found.dtype.name}) vs values.row_splits ({like.name}); use "
            "with_row_splits_dtype, or cast one of them."
        )
    return found


def wide(x: Tensor) -> Tensor:
    """Numbers as int64."""
    return cast_to(x, dtypes.int64)


def starts_of(splits: Tensor) -> Tensor:
    """Where each row begins."""
    return ox.Slice(splits, int64_constant([0]), int64_constant([-1]))


def limits_of(splits: Tensor) -> Tensor:
    """Where each row ends."""
    return ox.Slice(splits, int64_constant([1]), int64_constant([_LARGEST]))


def lengths_of(splits: Tensor) -> Tensor:
    """How many values each row has."""
    return ox.Sub(limits_of(splits), starts_of(splits))


def splits_of(lengths: Tensor) -> Tensor:
    """The splits of rows of these lengths; int64."""
    ends = ox.CumSum(wide(lengths), int64_constant(0))
    return ox.Concat(int64_constant([0]), ends, axis=0)


def row_count(splits: Tensor) -> Tensor:
    """The number of rows, a scalar int64."""
    return ox.Squeeze(ox.Sub(ox.Shape(splits), int64_constant([1])), int64_constant([0]))


def counted(count: Tensor) -> Tensor:
    """The numbers from 0 up to a scalar."""
    return ox.Range(int64_constant(0), count, int64_constant(1))


def size_of(x: Tensor) -> Tensor:
    """The length of the first axis, a scalar int64."""
    return ox.Squeeze(dimension(x, 0), int64_constant([0]))


def row_ids(splits: Tensor) -> Tensor:
    """The number of the row that each value is in; int64."""
    return repeated_places(wide(lengths_of(splits)))


def positions(splits: Tensor, ids: Tensor | None = None) -> Tensor:
    """The place of each value in its row; int64."""
    ids = row_ids(splits) if ids is None else ids
    return ox.Sub(counted(size_of(ids)), ox.Gather(wide(splits), ids, axis=0))


def spans(starts: Tensor, lengths: Tensor, step: int | Tensor = 1) -> tuple[Tensor, Tensor]:
    """Numbers in steps from each start on.

    Returns:
        The numbers, and the splits of the rows that they are; int64.
    """
    splits = splits_of(lengths)
    ids = row_ids(splits)
    offsets = positions(splits, ids)
    if isinstance(step, Tensor):
        offsets = ox.Mul(offsets, ox.Gather(step, ids, axis=0) if step.shape.rank else step)
    elif step != 1:
        offsets = ox.Mul(offsets, int64_constant(step))
    return ox.Add(ox.Gather(wide(starts), ids, axis=0), offsets), splits


def splits_of_row_ids(ids: Tensor, count: Tensor) -> Tensor:
    """The splits of ``count`` rows from the row that each value is in; int64."""
    room = ox.Unsqueeze(count, int64_constant([0]))
    ones = ox.Expand(int64_constant(1), ox.Shape(ids))
    none = filled(room, 0, dtypes.int64)
    return splits_of(ox.ScatterElements(none, wide(ids), ones, axis=0, reduction="add"))


def longest(splits: Tensor) -> Tensor:
    """The length of the longest row, 0 without rows; a scalar int64."""
    lengths = ox.Concat(wide(lengths_of(splits)), int64_constant([0]), axis=0)
    return ox.ReduceMax(lengths, keepdims=0)


def required(holds: Tensor, x: Tensor, reason: Refusal, message: str) -> Tensor:
    """``x`` if all of a condition holds: at once, or whenever the graph runs.

    Raises:
        InvalidArgumentError: it does not; ``message`` says why.
    """
    if isinstance(holds, EagerTensor):
        if not holds.view().all():
            raise InvalidArgumentError(message)
        return x
    return refused_unless(holds, x, reason)
