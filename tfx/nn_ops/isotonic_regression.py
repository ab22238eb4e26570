"""``tf.nn.isotonic_regression``: the nearest numbers that only fall, or only rise.

Pools of adjacent violators: numbers are taken one after the other, and as long as the last pool's
mean is on the wrong side of the one before, the two become one. All rows do that side by side in
one loop of the graph. The gradient goes through the means alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.gather import gather
from tfx.ops.array.ranges import range as numbers
from tfx.ops.array.reshape import reshape
from tfx.ops.array.transpose import transpose
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.common.graph_loop import repeated
from tfx.ops.common.shapes import dimension, product, shape_vector
from tfx.ops.common.traced_once import Composite
from tfx.ops.math.segments import unsorted_segment_mean

_RESULTS = {
    dtypes.int8: dtypes.float32,
    dtypes.int16: dtypes.float32,
}


def isotonic_regression(
    inputs: Any, decreasing: bool = True, axis: int = -1
) -> tuple[Tensor, Tensor]:
    """The numbers nearest to others, by squares, that only fall (or only rise) along an axis.

    Args:
        inputs: Numbers of a known rank of 1 or more.
        decreasing: The result falls; False: it rises.
        axis: The axis.

    Returns:
        ``(output, segments)``: the numbers, floating, of the shape of ``inputs``; and int32 of the
        same shape: the number of the run of equal means, in its row, that each belongs to.

    Raises:
        InvalidArgumentError: complex numbers or strings, or an unknown rank.

    Example:
        >>> import tfx as tf
        >>> [x.numpy().tolist() for x in tf.nn.isotonic_regression([3.0, 1.0, 2.0])]
        [[3.0, 1.5, 1.5], [0, 1, 1]]
    """
    x = tensor(inputs)
    if not (x.dtype.is_floating or x.dtype.is_integer) or not x.shape.rank:
        raise InvalidArgumentError(
            "isotonic_regression takes real numbers of a known rank of 1 or more; got "
            f"{x.dtype.name} of the shape {x.shape}.",
            op="IsotonicRegression",
        )
    rank = x.shape.rank
    place = axis % rank
    if not x.dtype.is_floating:
        x = cast_to(x, _RESULTS.get(x.dtype, dtypes.float64))
    order = [*(a for a in range(rank) if a != place), place]
    moved = transpose(x, order)
    last = dimension(moved, rank - 1)
    others = product(shape_vector(moved, 0, rank - 1))
    rows = reshape(moved, ox.Concat(others, last, axis=0))
    ordered = rows if decreasing else ox.Neg(rows)
    if ordered.dtype.size < 4:
        ordered = cast_to(ordered, dtypes.float32)
    (segments,) = _SEGMENTS(ordered)
    means = _means(rows, segments)
    back = [order.index(a) for a in range(rank)]
    sizes = shape_vector(moved)
    return (
        transpose(reshape(means, sizes), back),
        cast_to(transpose(reshape(segments, sizes), back), dtypes.int32),
    )


def _sizes(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The two sizes of a matrix as scalars."""
    count, size = (ox.Squeeze(dimension(rows, i), int64_constant([0])) for i in (0, 1))
    return count, size


def _means(rows: Tensor, segments: Tensor) -> Tensor:
    """The mean of each segment in the place of its elements."""
    count, size = _sizes(rows)
    first = ox.Unsqueeze(ox.Mul(numbers(count), size), int64_constant([1]))
    flat = reshape(ox.Add(segments, first), [-1])
    means = unsorted_segment_mean(reshape(rows, [-1]), flat, ox.Mul(count, size))
    return reshape(gather(means, flat), shape_vector(rows))


def _segments(rows: Tensor) -> Sequence[Tensor]:
    """For each element of ``[rows, size]`` the number of its pool."""
    count, size = _sizes(rows)
    shape = shape_vector(rows)
    places = ox.Unsqueeze(numbers(size), int64_constant([0]))
    zeros = ox.Expand(scalar_like(0, rows), shape)
    ones = scalar_like(1, rows)
    lengths = ox.Unsqueeze(count, int64_constant([0]))
    start = ox.Expand(int64_constant(-1), lengths)

    def at(place: Tensor) -> Tensor:
        return ox.Equal(places, ox.Unsqueeze(place, int64_constant([1])))

    def picked(values: Tensor, mask: Tensor) -> Tensor:
        found = ox.Where(mask, values, scalar_like(0, values))
        return ox.ReduceSum(found, int64_constant([1]), keepdims=1)

    def step(
        _: Tensor, sums: Tensor, counts: Tensor, top: Tensor, taken: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        below = ox.Sub(top, int64_constant(1))
        last, before = at(top), at(below)
        sum_last, count_last = picked(sums, last), picked(counts, last)
        sum_before, count_before = picked(sums, before), picked(counts, before)
        wrong = ox.Less(ox.Div(sum_before, count_before), ox.Div(sum_last, count_last))
        merges = ox.And(
            ox.GreaterOrEqual(below, int64_constant(0)), ox.Squeeze(wrong, int64_constant([1]))
        )
        takes = ox.And(ox.Not(merges), ox.Less(taken, size))
        merged = ox.And(before, ox.Unsqueeze(merges, int64_constant([1])))
        sums = ox.Where(merged, ox.Add(sums, sum_last), sums)
        counts = ox.Where(merged, ox.Add(counts, count_last), counts)
        more = ox.Cast(takes, to=dtypes.int64.onnx)
        top = ox.Add(ox.Sub(top, ox.Cast(merges, to=dtypes.int64.onnx)), more)
        pushed = ox.And(at(top), ox.Unsqueeze(takes, int64_constant([1])))
        sums = ox.Where(pushed, picked(rows, at(taken)), sums)
        counts = ox.Where(pushed, ones, counts)
        active = ox.Cast(ox.Or(merges, takes), to=dtypes.int64.onnx)
        go = ox.Greater(ox.ReduceSum(active, keepdims=0), int64_constant(0))
        return go, [sums, counts, top, ox.Add(taken, more)]

    limit = ox.Mul(size, int64_constant(2))
    fresh = ox.Expand(int64_constant(0), lengths)
    _, counts, top, _ = repeated(limit, [zeros, zeros, start, fresh], step)
    pools = ox.LessOrEqual(places, ox.Unsqueeze(top, int64_constant([1])))
    ends = ox.CumSum(
        ox.Cast(ox.Where(pools, counts, zeros), to=dtypes.int64.onnx), int64_constant(1)
    )
    inner = ox.And(pools, ox.Less(ends, size))
    marks = ox.ScatterElements(
        ox.Expand(int64_constant(0), shape),
        ox.Where(inner, ends, int64_constant(0)),
        ox.Cast(inner, to=dtypes.int64.onnx),
        axis=1,
        reduction="add",
    )
    return [ox.CumSum(marks, int64_constant(1))]


_SEGMENTS = Composite(_segments, "isotonic_segments")
