"""Axes that only a run tells, such as ``tf.rank(x) - 1`` of a tensor of unknown rank.

ONNX has the axis of most operators as an attribute. A tensor is therefore brought to rank 3, the
axis in the middle and what stands before and behind it merged; there the axis is 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import (
    INT64_MAX,
    cast_to,
    is_tensor_like,
    require_dtype,
    required_int,
    static_int,
    tensor,
)
from tfx.ops.common.shapes import concat_shape, product, rank_of, reshape_to, shape_vector


def late_axis(axis: Any, op: str) -> Tensor | None:
    """An axis as an int64 vector of length 1 if only a run tells it; None if it is known."""
    if not is_tensor_like(axis):
        return None
    given = tensor(axis)
    if static_int(given) is not None:
        return None
    require_dtype(given, given.dtype.is_integer, f"axis of {op}", "an integer dtype")
    return ox.Reshape(cast_to(given, dtypes.int64), int64_constant([1]))


def found_axis(axis: Any, x: Tensor, op: str) -> Tensor | None:
    """``late_axis``, or any axis of a tensor whose rank only a run tells."""
    late = late_axis(axis, op)
    if late is not None or rank_of(x) is not None:
        return late
    return int64_constant([required_int(axis, f"axis of {op}")])


class Folded(NamedTuple):
    """A tensor around one of its axes.

    Attributes:
        x: The tensor with rank 3, the axis in the middle.
        before: The dimensions in front of the axis.
        size: The length of the axis, as a vector.
        after: The dimensions behind it.
        rank: Of the whole tensor, None if that is not known.
    """

    x: Tensor
    before: Tensor
    size: Tensor
    after: Tensor
    rank: int | None

    def unfolded(self, y: Tensor, *sizes: Tensor, axes: int | None = 1) -> Tensor:
        """Return a result computed from the folded ``x`` with all dimensions restored.

        Args:
            y: Of the shape ``[before, ..., after]``.
            *sizes: What stands in place of the axis, as vectors.
            axes: How many dimensions that are, None if it is not known.
        """
        result = reshape_to(y, concat_shape(self.before, *sizes, self.after))
        if self.rank is not None and axes is not None:
            result.set_shape([None] * (self.rank - 1 + axes))
        return result


def folded(x: Tensor, axis: Tensor) -> Folded:
    """A tensor around an axis of ``late_axis``; the run refuses one that the tensor does not have.

    Args:
        x: The tensor.
        axis: The axis; negative ones count from the end.
    """
    shape = shape_vector(x)
    rank = ox.Shape(shape)
    zero, one = int64_constant([0]), int64_constant([1])
    place = ox.Where(ox.Less(axis, zero), ox.Add(axis, rank), axis)
    # ``Gather`` would count a negative one from the end once more.
    place = ox.Where(ox.Less(place, zero), rank, place)
    size = ox.Gather(shape, place)
    before = ox.Slice(shape, zero, place)
    after = ox.Slice(shape, ox.Add(place, one), int64_constant([INT64_MAX]))
    merged = concat_shape(product(before), size, product(after))
    return Folded(reshape_to(x, merged), before, size, after, rank_of(x))
