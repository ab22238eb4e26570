"""The reverse walk: from gradients of results to gradients of sources, one rule per operation.

Works on any sequence of ``OpRecord`` in program order. Gradients are computed with ordinary
operations, so an outer tape records them and a function under construction gets them as nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tfx.control_flow import sequences
from tfx.control_flow.sequence_gradients import Part, Whole, with_known
from tfx.core.errors import InternalError
from tfx.framework.apply import apply
from tfx.framework.context import using
from tfx.framework.rules import OpRecord, rule_of
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE

# Importing the families fills the rule table.
from tfx.ops import families as families


def reachable(records: Iterable[OpRecord], sources: Iterable[int]) -> set[int]:
    """Ids of everything that depends on the sources (given by id), sources included."""
    found = set(sources)
    for record in records:
        for x in record.inputs:
            if id(x) in found:
                found.update(id(y) for y in record.outputs if _differentiable(y))
                break
    return found


def _differentiable(x: Any) -> bool:
    return bool(x.dtype.is_floating)


def backpropagate(
    records: Sequence[OpRecord], gradients: dict[int, Tensor], sources: Sequence[Any]
) -> list[Tensor | None]:
    """Gradients of the sources.

    Args:
        records: Operations in program order.
        gradients: Gradient of each result by the result's id; consumed.
        sources: Tensors and variables.

    Returns:
        For each source its gradient, or None where nothing depends on it.

    Raises:
        NotFoundError: an operator on the way has no rule.
    """
    source_ids = {id(s) for s in sources}
    relevant = reachable(records, source_ids)
    for record in reversed(records):
        dys = [gradients.get(id(y)) for y in record.outputs]
        if all(dy is None for dy in dys):
            continue
        needs = tuple(x is not None and id(x) in relevant for x in record.inputs)
        if not any(needs):
            continue
        for y in record.outputs:
            if id(y) not in source_ids:
                gradients.pop(id(y), None)
        if record.op == "If":
            record = with_known(record, gradients)
        for x, dx in zip(record.inputs, _input_gradients(record, needs, dys), strict=True):
            if dx is not None and x is not None and id(x) in relevant:
                known = gradients.get(id(x))
                if isinstance(dx, Part | Whole):
                    gradients[id(x)] = dx.added_to(known)
                    continue
                _narrow(dx, x)
                gradients[id(x)] = dx if known is None else _sum(known, dx)
    return [gradients.get(id(s)) for s in sources]


def _sum(a: Tensor, b: Tensor) -> Tensor:
    return sequences.add(a, b) if sequences.is_sequence(a) else apply("Add", (a, b))


def _narrow(dx: Tensor, x: Any) -> None:
    """Tell a gradient in a graph what is known of its shape: it is that of what it belongs to.

    Rules work with shapes that are known at run time only, and inference cannot see through that.
    """
    if not isinstance(dx, SymbolicTensor) or dx._value.node is None:
        return
    have, known = dx._value.shape, x.shape.symbolic
    if known is None or (have is not None and None not in have):
        return
    if have is None:
        have = (None,) * len(known)
    if len(have) == len(known):
        dx._value.shape = tuple(b if a is None else a for a, b in zip(have, known, strict=True))
        dx._shape = None


def _device_of(record: OpRecord) -> str | None:
    """Where an operation of a graph was placed: its gradient is computed there too."""
    y = record.outputs[0] if record.outputs else None
    if isinstance(y, SymbolicTensor) and y._value.node is not None:
        return y._value.node.device
    return None


def _input_gradients(
    record: OpRecord, needs: tuple[bool, ...], dys: list[Tensor | None]
) -> Sequence[Tensor | None]:
    if record.op == READ_VARIABLE:
        return dys
    rule = rule_of(record.op)
    if rule is None:
        return (None,) * len(record.inputs)
    # A record of its own: rules of different gradient computations must not share ``needs``.
    op = OpRecord(record.op, record.attrs, record.inputs, record.outputs)
    op.needs = needs
    device = _device_of(record)
    if device is None:
        result = rule(op, *dys)
    else:
        with using(device=device):
            result = rule(op, *dys)
    if isinstance(result, Tensor) or result is None:
        result = (result,)
    if len(result) != len(record.inputs):
        raise InternalError(
            f"The gradient rule of {record.op} returned {len(result)} gradients for "
            f"{len(record.inputs)} inputs."
        )
    return result
