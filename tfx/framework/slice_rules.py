"""Gradient rules that give, or take, ``IndexedSlices``: a table beside that of ``rules``.

An operator that picks rows has a gradient of few rows; an operator whose gradient treats every row
alike hands them on. Operators that are not here get dense gradients. A rule is called like those of
``rules``; a ``dy`` may be an ``IndexedSlices``, and ``NotImplemented`` as its result means that the
dense rule has to do it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

SliceRule: TypeAlias = "Callable[..., Any]"

_rules: dict[str, SliceRule] = {}


def slices_gradient(*ops: str) -> Callable[[SliceRule], SliceRule]:
    """Register the decorated function as the rule for slices of one or several operators."""

    def register(rule: SliceRule) -> SliceRule:
        for op in ops:
            if op in _rules:
                raise ValueError(f"{op} already has a rule for slices.")
            _rules[op] = rule
        return rule

    return register


def slices_rule_of(op: str) -> SliceRule | None:
    """The operator's rule for slices, if it has one."""
    return _rules.get(op)
