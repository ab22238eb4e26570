"""One operation in forward mode: from tangents of its inputs to tangents of its results.

The operator's own forward rule is taken if there is one. A linear operator is applied to the
tangents; an elementwise one has the gradient rule for its forward rule; one that is given by a
formula has the formula's tangents. For any other, and where the forward rule says
``NotImplemented``, the gradient rule is applied twice: gradients are linear in what they start
from, and the gradient of that linear map is the tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tfx.autodiff.backprop import input_gradients, narrow
from tfx.autodiff.tape import GradientTape
from tfx.control_flow import sequences
from tfx.core.errors import InternalError
from tfx.framework.apply import apply, apply_n
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.rules import (
    ExtendedControl,
    OpRecord,
    Tangents,
    formula_of,
    forward_rule_of,
    is_elementwise,
    is_linear,
    linear_inputs,
    rule_of,
)
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE

Found: TypeAlias = "Sequence[Tensor | None]"


def push(record: OpRecord, tangents: Sequence[Tensor | None]) -> Found:
    """The tangents of the results, None where they are zero.

    Args:
        record: The operation.
        tangents: A tangent for each input, None where it is zero.

    Raises:
        NotFoundError: the operator has neither a forward rule nor a gradient rule.
    """
    if record.op == READ_VARIABLE:
        return tangents
    if not any(_differentiable(y) for y in record.outputs):
        return (None,) * len(record.outputs)
    device = _device_of(record)
    if device is None:
        found = _by_rule(record, tangents)
    else:
        with using(device=device):
            found = _by_rule(record, tangents)
    if isinstance(found, ExtendedControl):
        return found.tangents
    results: Found = (found,) if isinstance(found, Tensor) or found is None else found
    if len(results) > len(record.outputs):
        raise InternalError(
            f"The forward rule of {record.op} returned {len(results)} tangents for "
            f"{len(record.outputs)} results."
        )
    results = [*results, *[None] * (len(record.outputs) - len(results))]
    for i, y in enumerate(record.outputs):
        tangent = results[i]
        if tangent is None:
            continue
        if not _differentiable(y):
            results[i] = None
            continue
        if any(tangent is t for t in tangents):
            continue
        narrow(tangent, y)
    return results


def _differentiable(x: Any) -> bool:
    return bool(x.dtype.has_gradients)


def _device_of(record: OpRecord) -> str | None:
    """Return the device of an operation in a graph, on which its tangents are computed too."""
    y = record.outputs[0]
    if isinstance(y, SymbolicTensor) and y._symbol.node is not None:
        return y._symbol.node.device
    return None


def _by_rule(record: OpRecord, tangents: Sequence[Tensor | None]) -> Tangents:
    rule = forward_rule_of(record.op)
    if rule is not None:
        found = rule(record, *tangents)
        return twice_transposed(record, tangents) if found is NotImplemented else found
    if is_linear(record.op):
        return _linear(record, tangents)
    if is_elementwise(record.op):
        return transposed(record, tangents)
    formula = formula_of(record.op)
    if formula is not None:
        return _by_formula(formula, record, tangents)
    if rule_of(record.op) is None:
        return None
    return twice_transposed(record, tangents)


def _linear(record: OpRecord, tangents: Sequence[Tensor | None]) -> Found:
    """The operator applied to the tangents, with zeros for those that there are not."""
    places = linear_inputs(record.op)
    given = list(record.inputs)
    if places is None:
        places = tuple(i for i, x in enumerate(given) if x is not None and x.dtype.has_gradients)
    if all(i >= len(given) or tangents[i] is None for i in places):
        return (None,) * len(record.outputs)
    for i in places:
        if i < len(given) and given[i] is not None:
            given[i] = tangent_or_zeros(tangents[i], given[i])
    if len(record.outputs) == 1:
        return (apply(record.op, given, record.attrs),)
    return apply_n(record.op, given, record.attrs, len(record.outputs))


def tangent_or_zeros(tangent: Tensor | None, x: Tensor) -> Tensor:
    """A tangent of ``x`` that exists."""
    return sequences.zeros_like(x) if tangent is None else tangent


def transposed(record: OpRecord, tangents: Sequence[Tensor | None]) -> Tensor | None:
    """The gradient rule applied to the first input's tangent: its derivative is symmetric."""
    (tangent, *others) = tangents
    total = None
    if tangent is not None:
        needs = (True, *(False for _ in others))
        total = input_gradients(record, needs, [tangent])[0]
    if any(t is not None for t in others):
        # Parameters of the operator: seldom differentiated by.
        rest = twice_transposed(record, [None, *others])[0]
        total = rest if total is None or rest is None else ox.Add(total, rest)
    return total


# Makes a forward accumulator that has some tangents; accumulators push tangents through this file.
_accumulator_over: Callable[[list[tuple[Any, Tensor]]], Any] | None = None


def accumulate_with(make: Callable[[list[tuple[Any, Tensor]]], Any]) -> None:
    """Say how to accumulate tangents over the operations of a formula."""
    global _accumulator_over
    _accumulator_over = make


def _by_formula(
    formula: Any, record: OpRecord, tangents: Sequence[Tensor | None]
) -> Sequence[Tensor | None]:
    """The tangents of the operations that compute the same."""
    known = [(x, t) for x, t in zip(record.inputs, tangents, strict=True) if t is not None]
    assert _accumulator_over is not None
    inner = _accumulator_over(known)
    again = OpRecord(record.op, record.attrs, record.inputs, record.outputs)
    again.needs = tuple(t is not None for t in tangents)
    with inner:
        found = formula(again)
    results = (found,) if isinstance(found, Tensor) else found
    return [inner.tangent_of(y) for y in results]


def twice_transposed(
    record: OpRecord, tangents: Sequence[Tensor | None]
) -> Sequence[Tensor | None]:
    """Tangents by the gradient rule alone: the gradient of its gradients by what they start from.

    Gradients are linear in that, so the stand-ins' contents do not matter and nothing needs them.
    """
    needs = tuple(t is not None for t in tangents)
    stand_ins = {i: _alias(y) for i, y in enumerate(record.outputs) if _differentiable(y)}
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(list(stand_ins.values()))
        gradients = input_gradients(
            record, needs, [stand_ins.get(i) for i in range(len(record.outputs))]
        )
    pairs = [
        (g, t) for g, t in zip(gradients, tangents, strict=True) if g is not None and t is not None
    ]
    if not pairs:
        return (None,) * len(record.outputs)
    found = tape.gradient(
        [g for g, _ in pairs],
        list(stand_ins.values()),
        output_gradients=[t for _, t in pairs],
    )
    by_place = dict(zip(stand_ins, found, strict=True))
    return [by_place.get(i) for i in range(len(record.outputs))]


def _alias(y: Tensor) -> Tensor:
    """Another tensor with the same contents, which no recorder knows."""
    if isinstance(y, EagerTensor):
        return EagerTensor(y._raw, y._dtype)
    assert isinstance(y, SymbolicTensor)
    return SymbolicTensor(y._symbol, y._graph)
