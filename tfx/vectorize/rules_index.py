"""Batching rules of operators that read and write at places."""

from __future__ import annotations

from collections.abc import Sequence

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.vectorize.rules import BatchedOp, Results, batching, concat_shapes
from tfx.vectorize.rules_axes import shifted


@batching("Gather")
def _gather(op: BatchedOp) -> Results:
    """By what differs: the table, the places, or both."""
    axis = op.attrs.get("axis", 0)
    if not op.batched[1]:
        return op.apply(op.inputs, {"axis": shifted(axis)})
    rank = op.rank(0)
    return gathered(op.input(0), op.input(1), axis % rank, op.batched, rank, op.rank(1))


def gathered(
    x: Tensor, index: Tensor, axis: int, batched: Sequence[bool], rank: int, places: int
) -> Tensor:
    """What is at places that differ between elements.

    Args:
        x: The table.
        index: The places, with the batch in front.
        axis: The axis of one element's table, not negative.
        batched: Whether there is a table for each element.
        rank: Rank of one element's table.
        places: Rank of one element's places.
    """
    if batched[0]:
        return _gathered_both(x, index, axis, rank, places)
    found = ox.Gather(x, index, axis=axis)
    if axis == 0:
        return found
    whole = rank + places
    return ox.Transpose(found, perm=(axis, *(i for i in range(whole) if i != axis)))


def _gathered_both(x: Tensor, index: Tensor, axis: int, rank: int, places: int) -> Tensor:
    """Places of its own in a table of its own for each element."""
    if axis:
        order = (0, axis + 1, *(i for i in range(1, rank + 1) if i != axis + 1))
        x = ox.Transpose(x, perm=order)
    where = ox.Unsqueeze(as_int64(index), int64_constant([-1]))
    found = ox.GatherND(x, where, batch_dims=1)
    if axis == 0:
        return found
    # [batch, places, axes before, axes behind] -> places between the others
    before = range(1 + places, 1 + places + axis)
    behind = range(1 + places + axis, places + rank)
    return ox.Transpose(found, perm=(0, *before, *range(1, 1 + places), *behind))


def as_int64(x: Tensor) -> Tensor:
    """Indices as int64."""
    return x if x.dtype.onnx == 7 else ox.Cast(x, to=7)


@batching("GatherElements")
def _gather_elements(op: BatchedOp) -> Results:
    axis = shifted(op.attrs.get("axis", 0))
    return op.apply((op.full(0), op.full(1)), {"axis": axis})


@batching("ScatterElements")
def _scatter_elements(op: BatchedOp) -> Results:
    attrs = {**op.attrs, "axis": shifted(op.attrs.get("axis", 0))}
    return op.apply([op.full(i) for i in range(3)], attrs)


@batching("GatherND")
def _gather_nd(op: BatchedOp) -> Results:
    """The batch is one more axis that tables and places share."""
    shared = op.attrs.get("batch_dims", 0)
    if not op.batched[0] and shared == 0:
        return op.apply(op.inputs)
    return op.apply((op.full(0), op.full(1)), {"batch_dims": shared + 1})


@batching("ScatterND")
def _scatter_nd(op: BatchedOp) -> Results:
    """Places begin with the number of the element."""
    index = op.full(1)
    rank = op.rank(1)
    numbers = ox.Range(int64_constant(0), op.size, int64_constant(1))
    column = ox.Reshape(numbers, int64_constant([-1] + [1] * rank))
    if op.static_size == 0:
        column = ox.Reshape(numbers, int64_constant([0] + [1] * rank), allowzero=1)
    shape = concat_shapes(ox.Shape(index, start=0, end=rank), int64_constant([1]))
    where = ox.Concat(ox.Expand(column, shape), index, axis=-1)
    return op.apply((op.full(0), where, op.full(2)))


@batching("Compress")
def _compress(op: BatchedOp) -> Results:
    """How many are left must not depend on the element. Without an axis elements are flat."""
    op.only(0)
    x, axis = op.input(0), op.attrs.get("axis")
    if axis is None:
        shape = concat_shapes(op.lead(), int64_constant([-1]))
        return op.apply((ox.Reshape(x, shape), op.input(1)), {"axis": 1})
    return op.apply(op.inputs, {"axis": shifted(axis)})
