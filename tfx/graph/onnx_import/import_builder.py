"""Nodes in place of a node of another opset: what the rules of ``opset_upgrades`` write with.

An old operator is rewritten where its inputs have types already, so rules know ranks and contents
and need no guesses. The table of rules is here, the rules are in ``opset_upgrades``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.core.source import SourceLocation
from tfx.graph import schema
from tfx.graph.formulas.fused_operators import Given
from tfx.graph.infer import Types, infer, refusal
from tfx.graph.ir import Attributes, Graph, Value
from tfx.graph.onnx_import.fold_shapes import folded
from tfx.graph.ops import Ops
from tfx.graph.symbolic_shapes import propagate

_NONE: Attributes = {}


@dataclass(frozen=True, slots=True)
class Old(Given[Value]):
    """A node as the model has it.

    Attributes:
        op: Its operator.
        inputs: What it is applied to; None: left out.
        attrs: Its attributes.
        outputs: How many results are used.
        opset: The version of its domain.
    """

    op: str
    inputs: Sequence[Value | None]
    attrs: dict[str, Any]
    outputs: int
    opset: int


class ImportBuilder(Ops[Value]):
    """Appends nodes to a graph, named after the node that they stand for.

    Small constants are folded, and inputs that an operator needs must be there.
    """

    def __init__(self, graph: Graph, name: str, source: SourceLocation | None) -> None:
        self.graph = graph
        self.name = name
        self.source = source

    def apply(self, op: str, inputs: Sequence[Value | None], attrs: Attributes = _NONE) -> Value:
        """See ``Ops``."""
        return self.apply_n(op, inputs, attrs)[0]

    def apply_n(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Attributes = _NONE,
        outputs: int | None = None,
    ) -> tuple[Value, ...]:
        """See ``Ops``."""
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        if op == "CastLike" and len(given) == 2 and given[0] is not None and given[1] is not None:
            return (self._cast_like(given[0], given[1], attrs),)
        array = folded(op, given, attrs) if outputs in (None, 1) else None
        if array is not None:
            dtype = dtypes.as_dtype(array.dtype).onnx
            return (self.graph.add_constant(array, dtype, self.name),)
        check_left_out(op, given)
        types = infer(op, given, attrs, outputs)
        types = _possible(op, given, types, in_body=self.graph.parent is not None)
        node = self.graph.add_node(op, given, attrs, types, name=self.name, source=self.source)
        propagate(node)
        return node.outputs

    def _cast_like(self, value: Value, model: Value, attrs: Attributes) -> Value:
        """A cast to a dtype that is known here, or nothing, so that constants stay constants.

        ONNX Runtime folds no ``CastLike``, and what a constant stands behind one for is not fused.
        """
        if value.dtype == model.dtype:
            return value
        return self.apply("Cast", (value,), {**attrs, "to": model.dtype})

    def number(self, value: float) -> Value:
        """A constant of float64."""
        return self.graph.add_constant(np.asarray(value, np.float64), dtypes.float64.onnx)

    def ints(self, values: Sequence[int] | int) -> Value:
        """An int64 vector, or a scalar."""
        return self.graph.add_constant(np.asarray(values, np.int64), dtypes.int64.onnx)

    def like(self, value: Any, model: Value) -> Value:
        """A constant of the dtype that another value has."""
        dtype = dtypes.from_onnx(model.dtype)
        return self.graph.add_constant(np.asarray(value, dtype.as_numpy_dtype), dtype.onnx)


def check_left_out(op: str, given: Sequence[Value | None]) -> None:
    """Refuse a node without an input that is not optional; ONNX Runtime ends the process on some.

    Raises:
        InvalidArgumentError: naming the input.
    """
    if None not in given:
        return
    parameters = schema.operator(op).schema.inputs
    for i, value in enumerate(given):
        parameter = parameters[min(i, len(parameters) - 1)] if parameters else None
        optional = parameter is not None and parameter.option.name == "Optional"
        if value is None and not optional:
            name = parameter.name if parameter is not None else "of no name"
            raise InvalidArgumentError(f"{op} needs its input {i} ({name}), which is left out.")


def _possible(op: str, given: Sequence[Value | None], types: Types, *, in_body: bool) -> Types:
    """Types of results without sizes that cannot be, which onnx's inference lets pass.

    In a body they are unknown sizes: it may be of a branch that is never taken.

    Raises:
        InvalidArgumentError: a result would have a negative size, or the kernel would crash.
    """
    if op == "ConvTranspose" and given[0] is not None and 0 in (given[0].shape or ()):
        # ONNX Runtime 1.31 ends the process.
        raise InvalidArgumentError(refusal(op, given, "there are no elements"))
    if not any(_is_negative(d) for _, shape in types for d in shape or ()):
        return types
    if not in_body:
        shown = ", ".join(str(shape) for _, shape in types)
        raise InvalidArgumentError(refusal(op, given, f"the result would be of shape {shown}"))
    return [
        (code, shape and tuple(None if _is_negative(d) else d for d in shape))
        for code, shape in types
    ]


def _is_negative(dim: int | str | None) -> bool:
    return isinstance(dim, int) and dim < 0


Rule: TypeAlias = "Callable[[ImportBuilder, Old], Value | Sequence[Value | None]]"
_rules: dict[tuple[str, str], list[tuple[int, Rule]]] = {}


def upgrade(*ops: str, until: int, domain: str = "") -> Callable[[Rule], Rule]:
    """Register a rule for operators of opsets up to ``until``; the lowest that fits is taken."""

    def register(rule: Rule) -> Rule:
        for op in ops:
            rules = _rules.setdefault((domain, op), [])
            rules.append((until, rule))
            rules.sort(key=lambda pair: pair[0])
        return rule

    return register


def rule_for(domain: str, op: str, opset: int) -> Rule | None:
    """The rule that rewrites an operator of an opset, if it needs one."""
    for until, rule in _rules.get((domain, op), ()):
        if opset <= until:
            return rule
    return None


def rank_of(value: Value, op: str) -> int:
    """The rank of a value.

    Raises:
        UnimplementedError: it is unknown.
    """
    if value.shape is None:
        raise UnimplementedError(
            f"the rank of {value.name!r} is unknown, and this version of {op} cannot be rewritten "
            "without it; give the shapes of the model's inputs with input_shapes"
        )
    return len(value.shape)


def const_of(value: Value, op: str, what: str) -> np.ndarray[Any, Any]:
    """The contents of a constant.

    Raises:
        UnimplementedError: it is computed.
    """
    if value.const is None:
        raise UnimplementedError(
            f"{what} of this version of {op} is computed by the model, expected a constant"
        )
    return value.const
