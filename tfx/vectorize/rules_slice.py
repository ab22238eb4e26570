"""Batching rule of ``Slice``: the same part of each element, or a part of its own.

Parts of their own must be equally large, which they are where the function of one element knows
their shape; then they are places to gather from.
"""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import static_ints
from tfx.vectorize.rules import BatchedOp, CannotBatchError, Results, batching
from tfx.vectorize.rules_axes import shifted_axes
from tfx.vectorize.rules_index import as_int64, gathered


@batching("Slice")
def _slice(op: BatchedOp) -> Results:
    """The same axes, one further back; they are the first ones where none are named."""
    if any(op.batched[1:]):
        return _parts_of_their_own(op)
    x, starts, ends, *_ = op.inputs
    steps = op.inputs[4] if op.given(4) else None
    first = range(1, 1 if op.given(3) else _count(op) + 1)
    axes = shifted_axes(op.input(3)) if op.given(3) else int64_constant(first)
    if axes.dtype is not op.input(1).dtype:
        axes = ox.Cast(axes, to=op.input(1).dtype.onnx)
    return op.apply((x, starts, ends, axes, *([] if steps is None else [steps])))


def _count(op: BatchedOp) -> int:
    """How many axes are cut."""
    shape = op.input(1).shape
    count: int | None = shape[-1] if shape.rank else None
    if count is None:
        raise CannotBatchError("the number of axes is known at run time only")
    return count


def _parts_of_their_own(op: BatchedOp) -> Tensor:
    sizes = op.static_shape()
    if sizes is None:
        raise CannotBatchError("the size of the slice is known at run time only")
    op.only(0, 1, 2)
    count, rank = _count(op), op.rank(0)
    axes = static_ints(op.input(3)) if op.given(3) else list(range(count))
    steps = static_ints(op.input(4)) if op.given(4) else [1] * count
    if axes is None or steps is None:
        raise CannotBatchError("axes or steps are known at run time only")
    starts = as_int64(op.full(1))
    x, batched = op.input(0), op.batched[0]
    for number, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        at = axis % rank
        column = ox.Gather(starts, int64_constant([number]), axis=1)
        places = _places(x, at + batched, column, step, sizes[at])
        x, batched = gathered(x, places, at, (batched, True), rank, 1), True
    return x


def _places(x: Tensor, axis: int, starts: Tensor, step: int, size: int) -> Tensor:
    """``[batch, size]``: what a slice from ``starts``, ``[batch, 1]``, takes along an axis."""
    length = ox.Shape(x, start=axis, end=axis + 1)
    zero, last = int64_constant([0]), ox.Sub(length, int64_constant([1]))
    below = ox.Less(starts, zero)
    first = ox.Where(below, ox.Add(starts, length), starts)
    # A start beyond the end means the end; there are no places then, or it is the last one.
    first = ox.Max(ox.Min(first, length if step > 0 else last), zero)
    places = ox.Add(first, int64_constant([step * i for i in range(size)]))
    return ox.Max(ox.Min(places, last), zero)
