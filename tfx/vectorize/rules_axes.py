"""Batching rules of operators along axes: reductions, softmax, sorting, cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.traits import operators
from tfx.ops.common.arguments import cast_to, scalar_like, static_ints
from tfx.vectorize.rules import BatchedOp, CannotBatchError, Results, batching

# Operators with an attribute "axis" and its default.
ALONG_AXIS = {
    "ArgMax": 0,
    "ArgMin": 0,
    "Hardmax": -1,
    "LogSoftmax": -1,
    "LpNormalization": -1,
    "Softmax": -1,
    "TopK": -1,
}


def shifted(axis: int) -> int:
    """An axis of one element where the batch is in front: negative ones count from the end."""
    return axis + 1 if axis >= 0 else axis


def shifted_axes(axes: Tensor) -> Tensor:
    """The same of axes in a tensor, which may be known at run time only."""
    known = static_ints(axes)
    if known is not None:
        moved = [shifted(a) for a in known]
        wanted = int64_constant(moved if axes.shape.rank else moved[0])
        return cast_to(wanted, axes.dtype)
    later = ox.Add(axes, scalar_like(1, axes))
    return ox.Where(ox.Less(axes, scalar_like(0, axes)), axes, later)


@batching(*ALONG_AXIS)
def _along_axis(op: BatchedOp) -> Results:
    """The same axis, one further back."""
    op.only(0)
    axis = op.attrs.get("axis", ALONG_AXIS[op.op])
    return op.apply(op.inputs, {**op.attrs, "axis": shifted(axis)})


@batching(*operators(lambda t: t.reduction))
def _reduce(op: BatchedOp) -> Results:
    """The same axes; all axes of an element are all but the first."""
    op.only(0)
    x = op.input(0)
    keepdims = op.attrs.get("keepdims", 1)
    axes = static_ints(op.input(1)) if op.given(1) else []
    noop = op.attrs.get("noop_with_empty_axes", 0)
    if axes is None:
        if not noop and op.input(1).shape.num_elements() in (None, 0):
            raise CannotBatchError("whether there are axes is known at run time only")
        return op.apply((x, shifted_axes(op.input(1))))
    if not axes and noop:
        return op.apply(op.inputs)
    rank = op.rank(0)
    if rank == 0:
        x = ox.Unsqueeze(x, int64_constant([1]))
        rank, keepdims = 1, 0
    moved: Sequence[int] = [shifted(a) for a in axes] or range(1, rank + 1)
    return op.apply((x, int64_constant(moved)), {"keepdims": keepdims})


@batching("CumSum", "CumProd")
def _cumulative(op: BatchedOp) -> Results:
    """The axis is an input here."""
    op.only(0)
    return op.apply((op.input(0), shifted_axes(op.input(1))))


@batching("ReverseSequence")
def _reverse_sequence(op: BatchedOp) -> Results:
    """The rows of all elements together, rows first."""
    rank = op.rank(0)
    swapped = op.attrs.get("batch_axis", 1) == 1
    swap = (0, 2, 1, *range(3, rank + 1))
    x = op.full(0)
    if swapped:
        x = ox.Transpose(x, perm=swap)
    shape = ox.Shape(x)
    rest = ox.Shape(x, start=2)
    merged = ox.Concat(int64_constant([-1]), rest, axis=0)
    rows = ox.Reshape(x, merged)
    lengths = ox.Reshape(op.full(1), int64_constant([-1]))
    found = op.apply((rows, lengths), {"batch_axis": 0, "time_axis": 1})[0]
    found = ox.Reshape(found, shape)
    return ox.Transpose(found, perm=swap) if swapped else found
