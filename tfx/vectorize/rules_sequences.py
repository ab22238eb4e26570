"""Batching rules of sequences: an item of the sequence is that item of all elements."""

from __future__ import annotations

from tfx.vectorize.rules import BatchedOp, Results, batching
from tfx.vectorize.rules_axes import shifted


@batching("SequenceConstruct")
def _construct(op: BatchedOp) -> Results:
    return op.apply([op.full(i) for i in range(len(op.inputs))])


@batching("SequenceInsert")
def _insert(op: BatchedOp) -> Results:
    """The place is one for all elements."""
    op.only(0, 1)
    return op.apply((op.full(0), op.full(1), *op.inputs[2:]))


@batching("SequenceAt", "SequenceErase")
def _at(op: BatchedOp) -> Results:
    op.only(0)
    return op.apply(op.inputs)


@batching("Optional", "OptionalGetElement")
def _optional(op: BatchedOp) -> Results:
    """What is wrapped stays what it is."""
    return op.apply(op.inputs)


@batching("ConcatFromSequence", "SplitToSequence")
def _along(op: BatchedOp) -> Results:
    """The same axis, one further back."""
    op.only(0)
    return op.apply(op.inputs, {**op.attrs, "axis": shifted(op.attrs.get("axis", 0))})
