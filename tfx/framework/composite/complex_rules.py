"""What operators make of complex numbers: a table, filled by ``ops.complex_numbers``.

No kernel takes complex tensors. ``apply`` asks this table for an operator that has one among its
inputs, or that makes one; the rule computes the result from pairs of real numbers with other
operators. So eager programs, traced ones and gradients know no complex operators at all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, UnimplementedError
from tfx.core.source import user_frame
from tfx.framework.composite.complex_pairs import parts
from tfx.framework.tensor import Tensor
from tfx.graph.traits import traits


class ComplexOp:
    """An operator to be applied to complex numbers.

    Attributes:
        op: ONNX operator type.
        inputs: Its inputs, of which some are complex.
        attrs: Its attributes.
        outputs: How many results are wanted; None: as many as it always has.
    """

    __slots__ = ("attrs", "inputs", "op", "outputs")

    def __init__(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        attrs: Mapping[str, Any],
        outputs: int | None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.outputs = outputs

    def given(self, number: int) -> Tensor | None:
        """An input, None if it is left out."""
        return None if number >= len(self.inputs) else self.inputs[number]

    def input(self, number: int = 0) -> Tensor:
        """An input that is there."""
        x = self.inputs[number]
        assert x is not None
        return x

    def pairs(self, number: int = 0) -> Tensor:
        """The parts of an input."""
        return parts(self.input(number))


ComplexRule: TypeAlias = "Callable[[ComplexOp], Tensor | Sequence[Tensor]]"

_rules: dict[str, ComplexRule] = {}
_COMPLEX = frozenset((dtypes.complex64.onnx, dtypes.complex128.onnx))
# The modules that have them, known by name alone, and imported when one is first asked for.
_elsewhere = ["moving", "arithmetic", "products", "functions", "inverse_functions"]


def complex_rule(*ops: str) -> Callable[[ComplexRule], ComplexRule]:
    """Register the decorated function as what operators do with complex numbers."""

    def register(rule: ComplexRule) -> ComplexRule:
        for op in ops:
            if op in _rules:
                raise ValueError(f"{op} already has a rule for complex numbers.")
            _rules[op] = rule
        return rule

    return register


def complex_rule_of(op: str) -> ComplexRule | None:
    """The rule of an operator; None: it takes no complex numbers."""
    if _elsewhere:
        for name in tuple(_elsewhere):
            importlib.import_module(f"tfx.ops.complex_numbers.{name}")
        _elsewhere.clear()  # afterwards: another thread waits for the same imports
    return _rules.get(op)


def of_complex(
    op: str, inputs: Sequence[Tensor | None], attrs: Mapping[str, Any], outputs: int | None
) -> tuple[Tensor, ...] | None:
    """The results of an operator that has to do with complex numbers; None: it has not.

    Raises:
        UnimplementedError: there is no rule for it, though it means something.
        InvalidArgumentError: it means nothing for complex numbers.
    """
    for x in inputs:
        if x is not None and x.dtype.is_complex:
            break
    else:
        if op != "Cast" or attrs.get("to") not in _COMPLEX:
            return None
    rule = complex_rule_of(op)
    if rule is None:
        _refuse(op)
    found = rule(ComplexOp(op, inputs, attrs, outputs))
    return (found,) if isinstance(found, Tensor) else tuple(found)


def _refuse(op: str) -> NoReturn:
    source = user_frame()
    parted = (
        "Compute with the real and imaginary parts as two float tensors: tfx.math.real, "
        f"tfx.math.imag, tfx.complex. [{source.text()}]"
    )
    if traits(op).ordered:
        raise DTypeMismatchError(
            f"Value for attr 'T' of a complex dtype is not allowed by {op}, which means nothing "
            f"for complex numbers. {parted}",
            op=op,
            source=source,
        )
    raise UnimplementedError(
        f"{op} takes no complex numbers: ONNX Runtime does not compute with them, and tfx has no "
        f"formula of real operators for it. {parted}",
        op=op,
        source=source,
    )
