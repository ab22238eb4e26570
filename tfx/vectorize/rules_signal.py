"""Batching rules of Fourier transforms."""

from __future__ import annotations

from tfx.framework.convert import int64_constant
from tfx.vectorize.rules import BatchedOp, Results, batching
from tfx.vectorize.rules_axes import shifted_axes


@batching("DFT")
def _dft(op: BatchedOp) -> Results:
    """The same axis, one further back."""
    op.only(0)
    given = [*op.inputs[1:], None, None]
    axis = int64_constant(-2) if given[1] is None else shifted_axes(given[1])
    return op.apply((op.input(0), given[0], axis))


@batching("STFT")
def _stft(op: BatchedOp) -> Results:
    """The signals of all elements together; the window is one."""
    op.only(0)
    return op.split(op.apply((op.merged(0), *op.inputs[1:]))[0])
