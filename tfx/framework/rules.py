"""Gradient rules: a table keyed by ONNX operator, filled by ``ops``, read by ``autodiff``.

Every operator has a rule or is declared to have no gradient with the reason; a third state does
not exist. A rule is a function ``rule(op: OpRecord, *dy) -> gradients``, one per input in order
(None: no gradient), a single one may stand alone for an operator with one input. ``dy`` of an
output that nothing depends on is None, which only rules of operators with several outputs meet.

Forward mode has tables of its own, filled by ``ops`` too: a rule, or the word that an operator is
linear or elementwise. Where there is none, the gradient rule is applied twice.

Users of the tables have imported ``ops``. The rules of operators with bodies, of calls and of
recurrent layers need packages above the walks themselves; they are imported at the first look-up of
such an operator, so that no look-up depends on what was imported before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tfx.core.errors import NotFoundError
from tfx.core.source import SourceLocation
from tfx.framework.tensor import Tensor
from tfx.graph.schema import is_other
from tfx.graph.traits import traits

Gradients: TypeAlias = "Tensor | Sequence[Tensor | None] | None"
Rule: TypeAlias = "Callable[..., Gradients]"
Formula: TypeAlias = "Callable[[OpRecord], Tensor | Sequence[Tensor]]"
Tangents: TypeAlias = "Tensor | Sequence[Tensor | None] | ExtendedControl | None"
ForwardRule: TypeAlias = "Callable[..., Tangents]"


class OpRecord:
    """An operation that was applied.

    Attributes:
        op: ONNX operator type.
        attrs: Its attributes.
        inputs: What it was applied to (None: an optional input left out).
        outputs: Its results.
        needs: For each input, whether its gradient is wanted; rules may skip the others.
        source: The user's line, where a message will need it.
    """

    __slots__ = ("attrs", "inputs", "needs", "op", "outputs", "source")

    def __init__(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        self.op = op
        self.attrs = attrs
        self.inputs = inputs
        self.outputs = outputs
        self.needs: tuple[bool, ...] = ()
        self.source: SourceLocation | None = None

    def given(self, number: int) -> Tensor | None:
        """An input, None if it is left out."""
        found: Tensor | None = self.inputs[number] if number < len(self.inputs) else None
        return found


# Attribute of a record: by the ``id`` of an ``If`` or ``Loop``, what was added to it for tangents.
EXTENDED_CONTROL = "widened"


class ExtendedControl:
    """The result of forward rules of ``If`` and ``Loop``, which extend the node by tangents.

    Attributes:
        tangents: Of the record's results.
        attrs: The attributes of the record that describes the node as it is now.
        inputs: Its inputs.
        outputs: The results that it describes, with the tangents that are new.
    """

    __slots__ = ("attrs", "inputs", "outputs", "tangents")

    def __init__(
        self,
        tangents: Sequence[Tensor | None],
        attrs: dict[str, Any],
        inputs: Sequence[Any],
        outputs: Sequence[Tensor],
    ) -> None:
        self.tangents = tangents
        self.attrs = attrs
        self.inputs = inputs
        self.outputs = outputs


_rules: dict[str, Rule] = {}
_without: dict[str, str] = {}
# Operators whose gradient is that of other operations that compute the same.
_formulas: dict[str, Formula] = {}
_forward: dict[str, ForwardRule] = {}
# Linear operators: the numbers of the inputs that they are linear in, all of them together.
_linear: dict[str, tuple[int, ...] | None] = {}
_elementwise: set[str] = set()

# Operators whose rules stand in packages above ``autodiff``, and the modules that have them. They
# are known by name alone: nothing here imports a package above while it is being imported itself.
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "If": ("tfx.function.gradients.if_gradient", "tfx.function.gradients.if_tangents"),
    "Loop": ("tfx.function.gradients.loop_gradient", "tfx.function.gradients.loop_tangents"),
    "Call": ("tfx.function.gradients.call_rules",),
    "FunctionCall": ("tfx.function.gradients.call_rules",),
    "CustomGradient": ("tfx.function.gradients.gradient_marker",),
    "GRU": ("tfx.function.gradients.recurrent_rules",),
    "LSTM": ("tfx.function.gradients.recurrent_rules",),
    "RNN": ("tfx.function.gradients.recurrent_rules",),
}
# Those whose modules were not imported by ``fetch`` yet.
_elsewhere = dict(ELSEWHERE)


def fetch(op: str) -> None:
    """Import the rules of an operator that no import has brought yet."""
    # Taken out afterwards: another thread that asks meanwhile waits for the same imports.
    if op in _elsewhere:
        for module in _elsewhere[op]:
            importlib.import_module(module)
        _elsewhere.pop(op, None)


def gradient(*ops: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the gradient rule of one or several operators."""

    def register(rule: Rule) -> Rule:
        for op in ops:
            if op in _rules or op in _without or op in _formulas:
                raise ValueError(f"{op} already has a gradient rule or a declaration.")
            _rules[op] = rule
        return rule

    return register


def no_gradient(*ops: str, why: str) -> None:
    """Declare that operators are not differentiable (their gradient is None), and why."""
    for op in ops:
        if op in _rules or op in _without or op in _formulas:
            raise ValueError(f"{op} already has a gradient rule or a declaration.")
        _without[op] = why


# Formulas whose results are not rounded as those of the operator are: for gradients alone.
_rounded: set[str] = set()


def rounded_formula(*ops: str) -> Callable[[Formula], Formula]:
    """Like ``formula``, for operators that round: it computes what they do before they round.

    The gradient is that of a straight-through estimate. Batches do not come from it.
    """
    _rounded.update(ops)
    return formula(*ops)


def formula(*ops: str) -> Callable[[Formula], Formula]:
    """Register the decorated function as what one or several operators compute.

    It takes an ``OpRecord`` and computes the record's results (or the first few of them) from its
    inputs with other operations. The operator's gradient is that of these operations. ``outputs``
    of the record may be used for their shapes alone.
    """

    def register(rule: Formula) -> Formula:
        for op in ops:
            if op in _rules or op in _without or op in _formulas:
                raise ValueError(f"{op} already has a gradient rule or a declaration.")
            _formulas[op] = rule
        return rule

    return register


def formula_of(op: str) -> Formula | None:
    """The operations that compute what an operator does, if its gradient is made from them."""
    return _formulas.get(op)


def exact_formula_of(op: str) -> Formula | None:
    """The operations that compute exactly what an operator does, if they are known."""
    return None if op in _rounded else _formulas.get(op)


def rule_of(op: str) -> Rule | None:
    """The operator's gradient rule; None if it is declared to have none.

    Raises:
        NotFoundError: neither a rule nor a declaration exists.
    """
    if op in _elsewhere:
        fetch(op)
    rule = _rules.get(op)
    if rule is None and op not in _without and not is_other(op):
        raise NotFoundError(
            f"No gradient defined for operator {op!r}. Wrap the computation in "
            "tfx.stop_gradient or give it a tfx.custom_gradient.",
            op=op,
        )
    return rule


def known() -> list[str]:
    """The operators that have a gradient by a rule or a formula, as far as they were imported."""
    return [*_rules, *_formulas]


def status_of(op: str) -> str | None:
    """``"rule"``, the reason for having none, or None where nothing is declared."""
    fetch(op)
    return "rule" if op in _rules or op in _formulas else _reason(op)


def _reason(op: str) -> str | None:
    """The reason for which an operator has no gradient; those of other domains need not say."""
    return _without.get(op, "no gradient of this operator is known" if is_other(op) else None)


def is_differentiable(op: str) -> bool:
    """True if gradients pass an operator at all."""
    return op in _rules or op in _formulas or op in _elsewhere or op == "ReadVariable"


def forward(*ops: str) -> Callable[[ForwardRule], ForwardRule]:
    """Register the decorated function as the forward rule of one or several operators.

    The rule is ``rule(op: OpRecord, *tangents) -> tangents of the results``: a tangent for each
    input in order, None where it is zero; at least one is not. A single tangent may stand alone
    for an operator with one result, None means zero. ``NotImplemented``: apply the gradient rule
    twice, as for an operator without a forward rule.
    """

    def register(rule: ForwardRule) -> ForwardRule:
        for op in ops:
            _check_forward(op)
            _forward[op] = rule
        return rule

    return register


def linear(*ops: str, inputs: tuple[int, ...] | None = None) -> None:
    """Declare that the tangent of the result is the operator applied to the tangents.

    Args:
        *ops: Operators.
        inputs: The inputs that they are linear in, taken together; the others stay as they are.
            None: all floating ones.
    """
    for op in ops:
        _check_forward(op)
        _linear[op] = inputs


def elementwise(*ops: str) -> None:
    """Declare that the derivative is its own transpose: the gradient rule is the forward rule too.

    Of operators that ``graph.traits`` has as unary this is known.
    """
    for op in ops:
        _check_forward(op)
        _elementwise.add(op)


def _check_forward(op: str) -> None:
    if op in _forward or op in _linear or op in _elementwise:
        raise ValueError(f"{op} already has a forward rule.")


def forward_rule_of(op: str) -> ForwardRule | None:
    """The operator's own forward rule, if it has one."""
    if op in _elsewhere:
        fetch(op)
    return _forward.get(op)


def is_elementwise(op: str) -> bool:
    """True if the gradient rule is the forward rule too."""
    if op in _elementwise:
        return True
    unary = traits(op).elementwise == "unary"
    return unary and op in _rules and op not in _forward and op not in _linear


def is_linear(op: str) -> bool:
    """True if the operator is linear in (some of) its inputs."""
    return op in _linear


def linear_inputs(op: str) -> tuple[int, ...] | None:
    """The inputs that a linear operator is linear in; None: all floating ones."""
    return _linear[op]


def forward_status_of(op: str) -> str | None:
    """Return how forward mode differentiates an operator.

    Returns:
        ``"rule"``, ``"linear"``, ``"elementwise"``, ``"formula"``, ``"double reverse"`` (the
        gradient rule applied twice), the reason for which it has no derivative, or None where
        nothing is declared.
    """
    fetch(op)
    if op in _forward:
        return "rule"
    if op in _linear:
        return "linear"
    if is_elementwise(op):
        return "elementwise"
    if op in _formulas:
        return "formula"
    return "double reverse" if op in _rules or op in _formulas else _reason(op)
