"""Batching rules of operators that work element by element, with or without broadcasting."""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.traits import operators
from tfx.vectorize.rules import BatchedOp, Results, batching, concat_shapes


@batching(*operators(lambda t: t.elementwise == "unary"))
def _unary(op: BatchedOp) -> Results:
    """The operator itself: it does not see where elements begin."""
    return op.apply(op.inputs)


@batching(*operators(lambda t: t.elementwise == "broadcast"))
def _broadcasting(op: BatchedOp) -> Results:
    """Elements of fewer axes get some behind the batch, so that axes meet from the right."""
    return op.apply(broadcast(op))


def broadcast(op: BatchedOp) -> list[Tensor]:
    """All inputs such that they broadcast with the batch as axis 0."""
    count = len(op.inputs)
    if any(op.input(i).shape.rank is None for i in range(count)):
        return _broadcast_later(op)
    batched_ranks = {op.rank(i) for i in range(count) if op.batched[i]}
    rank = max(op.rank(i) for i in range(count))
    if batched_ranks == {rank}:
        return [op.input(i) for i in range(count)]
    return [op.aligned(i, rank) for i in range(count)]


def _broadcast_later(op: BatchedOp) -> list[Tensor]:
    """The same where ranks are known at run time only."""
    shapes = [
        ox.Shape(op.input(i), start=1 if batched else 0) for i, batched in enumerate(op.batched)
    ]
    ranks = [ox.Shape(s) for s in shapes]
    most = ox.Max(*ranks)
    inputs = []
    for i, batched in enumerate(op.batched):
        x = op.input(i)
        if batched:
            ones = ox.Expand(int64_constant([1]), ox.Sub(most, ranks[i]))
            lead = ox.Shape(x, start=0, end=1)
            shape = concat_shapes(lead, ones, shapes[i])
            x = ox.Reshape(x, shape, allowzero=1)
        inputs.append(x)
    return inputs


@batching("CastLike")
def _cast_like(op: BatchedOp) -> Results:
    """Of the second input only the type counts."""
    return op.apply((op.full(0), op.input(1)))


@batching("Clip")
def _clip(op: BatchedOp) -> Results:
    """With bounds of their own elements need the operators that it is made of."""
    if not any(op.batched[1:]):
        return op.apply(op.inputs)
    rank = op.rank(0)
    x = op.aligned(0, rank)
    if op.given(1):
        x = ox.Max(x, op.aligned(1, rank))
    if op.given(2):
        x = ox.Min(x, op.aligned(2, rank))
    return x


@batching("PRelu")
def _prelu(op: BatchedOp) -> Results:
    """The slope broadcasts to the input, never the other way round."""
    if op.batched[1]:
        return op.apply((op.full(0), op.aligned(1, op.rank(0))))
    return op.apply(op.inputs)


@batching("QuantizeLinear", "DequantizeLinear")
def _quantize(op: BatchedOp) -> Results:
    """Scales of one axis stay with it, those of blocks have all axes."""
    axis = op.attrs.get("axis", 1)
    if op.attrs.get("block_size"):
        full = [op.full(i) if op.given(i) else None for i in range(len(op.inputs))]
        return op.apply(full, {**op.attrs, "axis": axis + 1 if axis >= 0 else axis})
    op.only(0)
    attrs = dict(op.attrs)
    if op.rank(1):
        attrs["axis"] = axis + 1 if axis >= 0 else axis
    return op.apply(op.inputs, attrs)
