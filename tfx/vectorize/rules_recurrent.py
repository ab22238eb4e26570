"""Batching rules of ``RNN``, ``GRU`` and ``LSTM``: all elements' sequences are more sequences.

Weights that differ between the elements take a loop: the operators have one set.
"""

from __future__ import annotations

from tfx.framework.tensor import Tensor
from tfx.vectorize.merged_axes import folded, unfolded
from tfx.vectorize.rules import BatchedOp, Results, batching

_LENGTHS, _STATES = 4, (5, 6)


@batching("GRU", "LSTM", "RNN")
def _recurrent(op: BatchedOp) -> Results:
    """The batch of each input and result grows."""
    op.only(0, _LENGTHS, *_STATES)
    first = bool(op.attrs.get("layout"))
    axis = 0 if first else 1
    given: list[Tensor | None] = []
    for i, x in enumerate(op.inputs):
        if x is None or i not in (0, _LENGTHS, *_STATES):
            given.append(x)
        else:
            given.append(folded(op.full(i), 0 if i == _LENGTHS else axis))
    results = op.apply(given)
    axes = (0, 0, 0) if first else (2, 1, 1)
    return [unfolded(op, y, at) for y, at in zip(results, axes, strict=False)]
