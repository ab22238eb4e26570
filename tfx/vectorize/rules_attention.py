"""Batching rules of attention and of what goes with it.

These operators have a batch axis of their own, in front: the elements' batches become one.
"""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.vectorize.rules import (
    BatchedOp,
    Results,
    aligned,
    batching,
    concat_shapes,
)

_MASK = 3


@batching("Attention")
def _attention(op: BatchedOp) -> Results:
    inputs: list[Tensor | None] = [
        None if x is None else _mask(op) if i == _MASK else op.merged(i)
        for i, x in enumerate(op.inputs)
    ]
    return [op.split(y) for y in op.apply(inputs)]


def _mask(op: BatchedOp) -> Tensor:
    """A mask that tells the elements' batches apart, if it has to."""
    x = op.input(_MASK)
    rank = op.rank(_MASK)
    if not op.batched[_MASK] and (rank < 4 or x.shape[0] == 1):
        return x
    whole = aligned(op.full(_MASK), 4)  # [size, batch, heads, queries, keys]
    queries = op.input(0)
    first = 1 if op.batched[0] else 0
    batch = ox.Shape(queries, start=first, end=first + 1)
    rest = ox.Shape(whole, start=2)
    whole = ox.Expand(whole, concat_shapes(op.lead(), batch, rest))
    return ox.Reshape(whole, concat_shapes(int64_constant([-1]), rest))


@batching("RotaryEmbedding")
def _rotary(op: BatchedOp) -> Results:
    """Tables are the same for all elements, or what is at the positions is looked up first."""
    positions = op.given(3)
    if positions and not (op.batched[1] or op.batched[2]):
        tables = [op.input(1), op.input(2), op.merged(3)]
    elif positions:
        tables = [_at_positions(op, i) for i in (1, 2)]
    else:
        tables = [op.merged(i) for i in (1, 2)]
    return op.split(op.apply([op.merged(0), *tables])[0])


def _at_positions(op: BatchedOp, i: int) -> Tensor:
    """``[size * batch, positions, half]`` from a table for each element."""
    where = ox.Unsqueeze(op.full(3), int64_constant([-1]))
    found = ox.GatherND(op.full(i), where, batch_dims=1)
    rest = ox.Shape(found, start=2)
    return ox.Reshape(found, concat_shapes(int64_constant([-1]), rest))


@batching("TensorScatter")
def _tensor_scatter(op: BatchedOp) -> Results:
    inputs = [None if x is None else op.merged(i) for i, x in enumerate(op.inputs)]
    return op.split(op.apply(inputs)[0])
