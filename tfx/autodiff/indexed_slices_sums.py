"""Sums of gradients that may be ``IndexedSlices``.

A tensor with only a few used rows has a gradient of few rows. Several such gradients are
concatenated, once, when the sum is needed; a dense gradient among them makes the sum dense.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.indexed_slices_rules import SliceRule, slices_gradient
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.framework.variable import READ_VARIABLE
from tfx.ops.array.indexed_slices import added_to, joined_slices

Gradient: TypeAlias = "Tensor | IndexedSlices"


class SliceSum:
    """Slices of one gradient, in the order in which they were found."""

    __slots__ = ("parts",)

    def __init__(self, *parts: IndexedSlices) -> None:
        self.parts = list(parts)


def plus(known: Any, dx: Any) -> Any:
    """The sum of a known gradient (or ``SliceSum``) and another one; one of them is slices."""
    if known is None:
        return SliceSum(dx)
    if type(known) is SliceSum:
        if type(dx) is IndexedSlices:
            known.parts.append(dx)
            return known
        return added_to(dx, joined_slices(known.parts))
    return added_to(known, dx)


def total(gradient: Any) -> Any:
    """A sum as a gradient."""
    return joined_slices(gradient.parts) if type(gradient) is SliceSum else gradient


def through(rule: SliceRule, record: OpRecord, needs: tuple[bool, ...], dys: Sequence[Any]) -> Any:
    """Return the result of a slices rule; ``NotImplemented`` leaves it to the dense rule."""
    op = OpRecord(record.op, record.attrs, record.inputs, record.outputs)
    op.needs = needs
    return rule(op, *dys)


@slices_gradient(READ_VARIABLE)
def _read(op: OpRecord, *dys: Any) -> Any:
    """A variable's gradient is that of what was read."""
    return dys
