"""Explanations of gradients that are None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.autodiff.straight_through import dependent
from tfx.core.source import SourceLocation, bracketed
from tfx.framework.rules import OpRecord, is_differentiable, status_of
from tfx.framework.tensor import SymbolicTensor
from tfx.framework.variable import Variable

_MOST = 5


def source_of(record: OpRecord) -> SourceLocation | None:
    """The user's line of an operation, as far as it is known."""
    y = record.outputs[0] if record.outputs else None
    if isinstance(y, SymbolicTensor) and y._symbol.node is not None:
        return y._symbol.node.source
    return record.source


def why_none(
    source: Any, targets: Sequence[Any], records: Sequence[OpRecord], watched: bool
) -> str:
    """One sentence on why the targets have no gradient with respect to a source.

    Args:
        source: Tensor or variable.
        targets: Tensors and variables.
        records: What the tape recorded.
        watched: Whether it watched the source.
    """
    name = source.name if isinstance(source, Variable) else f"a tensor of shape {source.shape}"
    head = f"The gradient with respect to {name} is None:"
    if not source.dtype.has_gradients:
        return f"{head} its dtype is {source.dtype.name}, which has no derivative."
    other = [t.dtype.name for t in targets if not t.dtype.has_gradients]
    if other and len(other) == len(targets):
        return f"{head} the target's dtype is {other[0]}, which has no derivative."
    if not watched:
        return (
            f"{head} the tape did not watch it; call tape.watch, or use a trainable variable, "
            "before it is used."
        )
    ends = _dead_ends(source, records)
    if not ends:
        return f"{head} no recorded operation leads from it to the target."
    return (
        f"{head} no differentiable way leads from it to the target; gradients end at "
        f"{', '.join(ends[:_MOST])}."
    )


def _dead_ends(source: Any, records: Sequence[OpRecord]) -> list[str]:
    """The operators without a gradient that were applied to what depends on the source."""
    reached, ends = {id(source)}, []
    for record in records:
        if not any(id(x) in reached for x in record.inputs):
            continue
        if is_differentiable(record.op):
            reached.update(id(y) for y in record.outputs if y.dtype.has_gradients)
            reached.update(map(id, dependent(record.op, record.inputs, record.outputs, reached)))
        if not is_differentiable(record.op) or not any(id(y) in reached for y in record.outputs):
            why = status_of(record.op)
            because = f" ({why})" if why and why != "rule" else ""
            ends.append(f"{record.op}{because}{bracketed(source_of(record))}")
    return ends
