"""Gradients of operators that are given by a formula: see ``framework.rules.formula``.

The formula's operations are computed again under a recorder, and the reverse walk goes over its
records. They are ordinary operations, so the gradient can be differentiated too. Operations that
the gradient does not need are removed from a graph as dead nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.rules import Formula, OpRecord
from tfx.framework.tensor import Tensor

Walk = Callable[[Sequence[OpRecord], dict[int, Tensor], Sequence[Any]], list[Tensor | None]]


class Recorder:
    """Keeps the operations that depend on some tensors.

    Args:
        sources: The tensors.
    """

    def __init__(self, sources: Sequence[Tensor]) -> None:
        self.records: list[OpRecord] = []
        # The tensors too, so that no other one gets the ``id`` of one of them.
        self._known: dict[int, Any] = {id(x): x for x in sources}

    def record(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        """Keep an operation if it depends on a source."""
        if any(id(x) in self._known for x in inputs):
            self._known.update((id(y), y) for y in outputs if y.dtype.has_gradients)
            self.records.append(OpRecord(op, attrs, tuple(inputs), tuple(outputs)))

    def watch_variable(self, variable: Any) -> None:
        """Formulas read no variables."""

    def depends(self, x: Any) -> bool:
        """True if an operation on ``x`` would be kept."""
        return id(x) in self._known


def gradients_of(
    formula: Formula, op: OpRecord, dys: Sequence[Tensor | None], walk: Walk
) -> list[Tensor | None]:
    """The gradients of an operation's inputs.

    Args:
        formula: Computes the results from the inputs.
        op: The operation.
        dys: The gradients of its results.
        walk: Goes backwards over records: ``backprop.backpropagate``.
    """
    inputs = list(op.inputs)
    for i, x in enumerate(inputs):
        # A tensor that is given twice has a gradient in each place.
        if op.needs[i] and any(x is other for other in inputs[:i]):
            inputs[i] = ox.Identity(x)
    again = OpRecord(op.op, op.attrs, inputs, op.outputs)
    again.needs = op.needs
    sources = [x for x, needed in zip(inputs, op.needs, strict=True) if needed]
    recorder = Recorder(sources)
    with using(tapes=(*current().tapes, recorder)):
        found = formula(again)
    results = (found,) if isinstance(found, Tensor) else found
    seeds = {id(y): dy for y, dy in zip(results, dys, strict=False) if dy is not None}
    gradients = iter(walk(recorder.records, seeds, sources))
    return [next(gradients) if needed else None for needed in op.needs]
