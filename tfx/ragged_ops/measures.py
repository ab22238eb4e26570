"""How large ragged tensors are: row lengths, bounding shapes, sizes."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.gather import gather
from tfx.ops.common.arguments import cast_to, required_int
from tfx.ops.common.shapes import concat_shape, shape_vector
from tfx.ragged_ops import partition
from tfx.ragged_ops.ragged_tensor import RaggedTensor


def rank_of(x: Any, op: str) -> int:
    """The number of axes, which must be known.

    Raises:
        ValueError: it is not.
    """
    rank = x.shape.rank
    if rank is None:
        raise InvalidArgumentError(
            f"{op} needs a ragged tensor of known rank while a function is traced; got {x!r}. Give "
            "the shape in the RaggedTensorSpec."
        )
    found: int = rank
    return found


def axis_of(axis: Any, x: Any, op: str) -> int:
    """An axis as a number from 0 on.

    Raises:
        ValueError: there is no such axis, or the number is not known.
    """
    index = required_int(axis, f"axis of {op}")
    if index >= 0 and x.shape.rank is None:
        return index
    rank = rank_of(x, op)
    if not -rank <= index < rank:
        raise InvalidArgumentError(f"axis={index} out of bounds: expected {-rank}<=axis<{rank}")
    return index % rank


def row_lengths(x: RaggedTensor, axis: int) -> Any:
    """See ``RaggedTensor.row_lengths``."""
    index = axis_of(axis, x, "row_lengths")
    if index == 0:
        return x.nrows()
    if index == 1:
        return partition.lengths_of(x.row_splits)
    inner = x.values
    if isinstance(inner, RaggedTensor):
        return x.with_values(row_lengths(inner, index - 1))
    size = cast_to(shape_vector(inner, index - 1, index), x.row_splits.dtype)
    return x.with_values(ox.Expand(size, shape_vector(inner, 0, index - 1)))


def bounding_shape(x: RaggedTensor, axis: Any = None, out_type: DTypeLike | None = None) -> Tensor:
    """See ``RaggedTensor.bounding_shape``."""
    kind: DType = x.row_splits.dtype if out_type is None else as_dtype(out_type)
    rows = ox.Unsqueeze(partition.row_count(x.row_splits), int64_constant([0]))
    longest = [ox.Unsqueeze(partition.longest(s), int64_constant([0])) for s in x.nested_row_splits]
    whole = cast_to(concat_shape(rows, *longest, shape_vector(x.flat_values, 1)), kind)
    return whole if axis is None else gather(whole, axis)


def size(x: RaggedTensor, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """The number of innermost values."""
    return cast_to(ox.Size(x.flat_values), as_dtype(out_type))
