"""Gradient rules that give, or take, ``IndexedSlices``: a table beside that of ``rules``.

An operator that picks rows has a gradient of few rows; an operator whose gradient treats every row
alike hands them on. Operators that are not here get dense gradients. A rule is called like those of
``rules``; a ``dy`` may be an ``IndexedSlices``, and ``NotImplemented`` as its result means that the
dense rule has to do it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tfx.framework.rules import fetch

SliceRule: TypeAlias = "Callable[..., Any]"

SLICE_RULES: dict[str, SliceRule] = {}
_handing_on: set[str] = set()


def slices_gradient(*ops: str, hands_on: bool = False) -> Callable[[SliceRule], SliceRule]:
    """Register the decorated function as the rule for slices of one or several operators.

    Args:
        *ops: Operators.
        hands_on: Whether it has nothing to say where no ``dy`` is slices.
    """

    def register(rule: SliceRule) -> SliceRule:
        for op in ops:
            if op in SLICE_RULES:
                raise ValueError(f"{op} already has a rule for slices.")
            SLICE_RULES[op] = rule
            if hands_on:
                _handing_on.add(op)
        return rule

    return register


def makes_slices(op: str) -> bool:
    """True if an operator has a rule that may give slices where it got none."""
    fetch(op)
    return op in SLICE_RULES and op not in _handing_on
