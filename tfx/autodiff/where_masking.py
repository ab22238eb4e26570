"""Gradients that were masked: a branch of ``where`` that was not taken has none, whatever it did.

The gradient of what was not chosen is 0. Further back it meets slopes, and at the points that a
``where`` is there to avoid they are infinite or NaN: ``where(x > 0, log(x), 0)`` would have the
gradient ``0 / 0`` at 0. So behind an operator that chooses, an operator with such points gets other
values in their place where the gradient is 0 already. This is exact: nothing depends on them there.

It is only done on the way from a choice through operators that keep elements apart. A product of
matrices ends it; everything else costs what it did.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.graph.traits import operators, traits
from tfx.ops.common.arguments import scalar_like, unbroadcast

# Operators that take one of several values, or keep values within limits.
MASKING = frozenset(operators(lambda t: t.masks))
# Inside the domain of every operator above, with a finite slope.
_HARMLESS = 0.5


_seeds_are_masked: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "seeds_are_masked", default=False
)


@contextlib.contextmanager
def masked_seeds() -> Iterator[None]:
    """Count the gradients that walks begin with as masked: their origin is unknown."""
    token = _seeds_are_masked.set(True)
    try:
        yield
    finally:
        _seeds_are_masked.reset(token)


class Masks:
    """The masked gradients of a reverse walk; values are known by their ``id``.

    Args:
        seeds: Those that it begins with.

    Attributes:
        active: False as long as nothing was masked.
    """

    def __init__(self, seeds: Iterable[int]) -> None:
        self._chosen: set[int] = set(seeds) if _seeds_are_masked.get() else set()
        self._limited: set[int] = set()
        self.active = bool(self._chosen)

    def after(self, record: OpRecord) -> tuple[bool, bool]:
        """Return whether a record's input gradients are masked by a choice, and by a limit."""
        if traits(record.op).masks == "choose":
            return True, False
        if not (self._chosen or self._limited):
            return False, traits(record.op).masks == "limit"
        facts = traits(record.op)
        kept = bool(facts.singular) or facts.local_gradient
        chosen = kept and any(id(y) in self._chosen for y in record.outputs)
        limited = kept and any(id(y) in self._limited for y in record.outputs)
        return chosen, limited or traits(record.op).masks == "limit"

    def note(self, x: Any, masked: tuple[bool, bool], first: bool) -> None:
        """Note whether a value's gradient is masked; a sum with an unmasked part is not."""
        if not (masked[0] or masked[1] or self._chosen or self._limited):
            return
        for known, is_masked in zip((self._chosen, self._limited), masked, strict=True):
            if not is_masked:
                known.discard(id(x))
            elif first:
                self.active = True
                known.add(id(x))

    def shields(self, record: OpRecord) -> bool:
        """True if the rule of a record must be kept from the points without a finite slope."""
        if not (self._chosen or self._limited) or len(record.outputs) != 1:
            return False
        y = id(record.outputs[0])
        facts = traits(record.op)
        if not facts.singular:
            return False
        if facts.elementwise == "unary":
            return y in self._chosen or y in self._limited
        return y in self._chosen and not _by_one_number(record)


def _by_one_number(record: OpRecord) -> bool:
    """True if a factor or divisor is a single number, which is not what a choice avoids."""
    x, y = record.inputs
    return (
        y.shape.rank == 0
        if record.op == "Div"
        else record.op == "Mul" and 0 in (x.shape.rank, y.shape.rank)
    )


def mask_singular(rule: Callable[..., Any], op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """The gradients of an operation's inputs; 0 where ``dy`` is 0 and the slope is not finite.

    Args:
        rule: The operator's rule.
        op: The operation, with ``needs``.
        dy: The gradient of its result.
    """
    unused = ox.And(ox.Equal(dy, scalar_like(0, dy)), _is_singular(op))
    harmless = scalar_like(_HARMLESS, dy)
    inputs = [  # an exponent may be of another dtype
        ox.Where(unused, harmless, x) if x.dtype is dy.dtype else x for x in op.inputs
    ]
    outputs = [ox.Where(unused, harmless, y) for y in op.outputs]
    other = OpRecord(op.op, op.attrs, inputs, outputs)
    other.needs = op.needs
    found = rule(other, dy)
    grads = (found,) if isinstance(found, Tensor) or found is None else found
    return [None if g is None else unbroadcast(g, x) for g, x in zip(grads, op.inputs, strict=True)]


def _is_singular(op: OpRecord) -> Tensor:
    """Return a mask of the elements whose slope may not be finite."""
    x, y = op.inputs[0], op.outputs[0]
    infinite = scalar_like(float("inf"), y)
    singular = ox.Not(ox.Less(ox.Abs(y), infinite))
    if traits(op.op).singular == "zero":
        return ox.Or(singular, ox.Equal(x, scalar_like(0, x)))
    if traits(op.op).singular == "one":
        one = scalar_like(1, x)
        return ox.Or(singular, ox.Equal(ox.Abs(x), one))
    return singular
