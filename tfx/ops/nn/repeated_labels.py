"""``collapse_repeated``: sequences of labels without what follows its equal."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.scatter import scatter_nd
from tfx.ops.array.tile import sequence_mask
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import concat_shape, dimension
from tfx.ops.math.reduction import reduce_sum


def collapse_repeated(
    labels: Any, seq_length: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Each row without labels that equal the one before them.

    Args:
        labels: ``[batch, longest]`` integers.
        seq_length: ``[batch]``: how many labels of a row count.
        name: Accepted for compatibility.

    Returns:
        ``[batch, longest of what is left]``, filled up with 0, and int32 ``[batch]``: how many are
        left of each row.

    Raises:
        InvalidArgumentError: no matrix of labels.

    Example:
        >>> import tfx as tf
        >>> found, lengths = tf.nn.collapse_repeated([[1, 1, 2], [3, 3, 3]], [3, 2])
        >>> found.numpy().tolist(), lengths.numpy().tolist()
        ([[1, 2], [3, 0]], [2, 1])
    """
    x = of_rank(tensor(labels), 2)
    if x.shape.rank != 2:
        raise InvalidArgumentError(
            f"collapse_repeated takes labels [batch, longest]; got shape {x.shape}."
        )
    zero, axis = int64_constant([0]), int64_constant([1])
    size = dimension(x, 1)
    earlier = ox.Slice(x, zero, ox.Sub(size, axis), axis)
    later = ox.Slice(x, axis, size, axis)
    first = ox.Equal(ox.Range(*_limits(size)), int64_constant(0))
    changes = ox.Pad(cast_to(ox.Not(ox.Equal(earlier, later)), dtypes.int32), _one_in_front())
    kept = ox.Or(first, cast_to(_cut(changes, size), dtypes.bool))
    kept = ox.And(kept, sequence_mask(seq_length, ox.Squeeze(size, zero)))
    counted = cast_to(kept, dtypes.int64)
    lengths = reduce_sum(counted, 1)
    longest = ox.ReduceMax(ox.Concat(zero, lengths, axis=0), keepdims=1)
    rows = ox.Expand(ox.Unsqueeze(ox.Range(*_limits(dimension(x, 0))), axis), ox.Shape(x))
    columns = ox.Sub(ox.CumSum(counted, int64_constant(1)), int64_constant(1))
    flags = ox.Reshape(kept, int64_constant([-1]))
    places = ox.Concat(
        *(ox.Unsqueeze(ox.Reshape(p, int64_constant([-1])), axis) for p in (rows, columns)), axis=1
    )
    values = ox.Compress(ox.Reshape(x, int64_constant([-1])), flags, axis=0)
    places = ox.Compress(places, flags, axis=0)
    found = scatter_nd(places, values, concat_shape(dimension(x, 0), longest))
    return found, cast_to(lengths, dtypes.int32)


def _limits(size: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return int64_constant(0), ox.Squeeze(size, int64_constant([0])), int64_constant(1)


def _one_in_front() -> Tensor:
    return int64_constant([0, 1, 0, 0])


def _cut(x: Tensor, size: Tensor) -> Tensor:
    """The first ``size`` columns: of rows without labels there are none."""
    return ox.Slice(x, int64_constant([0]), size, int64_constant([1]))
