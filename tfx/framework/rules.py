"""Gradient rules: a table keyed by ONNX operator, filled by ``ops``, read by ``autodiff``.

Every operator has a rule or is declared to have no gradient with the reason; a third state does
not exist. A rule is a function ``rule(op: OpRecord, *dy) -> gradients``, one per input in order
(None: no gradient), a single one may stand alone for an operator with one input. ``dy`` of an
output that nothing depends on is None, which only rules of operators with several outputs meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tfx.core.errors import NotFoundError
from tfx.framework.tensor import Tensor

Gradients: TypeAlias = "Tensor | Sequence[Tensor | None] | None"
Rule: TypeAlias = "Callable[..., Gradients]"


class OpRecord:
    """An operation that was applied.

    Attributes:
        op: ONNX operator type.
        attrs: Its attributes.
        inputs: What it was applied to (None: an optional input left out).
        outputs: Its results.
        needs: For each input, whether its gradient is wanted; rules may skip the others.
    """

    __slots__ = ("attrs", "inputs", "needs", "op", "outputs")

    def __init__(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        self.op = op
        self.attrs = attrs
        self.inputs = inputs
        self.outputs = outputs
        self.needs: tuple[bool, ...] = ()


_rules: dict[str, Rule] = {}
_without: dict[str, str] = {}


def gradient(*ops: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the gradient rule of one or several operators."""

    def register(rule: Rule) -> Rule:
        for op in ops:
            if op in _rules or op in _without:
                raise ValueError(f"{op} already has a gradient rule or a declaration.")
            _rules[op] = rule
        return rule

    return register


def no_gradient(*ops: str, why: str) -> None:
    """Declare that operators are not differentiable (their gradient is None), and why."""
    for op in ops:
        if op in _rules or op in _without:
            raise ValueError(f"{op} already has a gradient rule or a declaration.")
        _without[op] = why


def rule_of(op: str) -> Rule | None:
    """The operator's gradient rule; None if it is declared to have none.

    Raises:
        NotFoundError: neither a rule nor a declaration exists.
    """
    rule = _rules.get(op)
    if rule is None and op not in _without:
        raise NotFoundError(
            f"No gradient defined for operator {op!r}. Wrap the computation in "
            "tfx.stop_gradient or give it a tfx.custom_gradient.",
            op=op,
        )
    return rule


def status_of(op: str) -> str | None:
    """``"rule"``, the reason for having none, or None where nothing is declared."""
    return "rule" if op in _rules else _without.get(op)
