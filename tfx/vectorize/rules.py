"""Batching rules: a table keyed by ONNX operator, filled by the ``rules_*`` files beside this one.

A rule gets one operation of the function of a single element, with some inputs that have the
batch as one more axis in front, and computes the results of all elements, with the batch in front
too. It uses ordinary operations, so tapes record it and a trace gets nodes. An operator without a
rule runs in a loop over the elements, with one warning that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tfx.control_flow.sequences import is_sequence
from tfx.core import dtypes
from tfx.framework.apply import apply_n
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import graph_under_construction
from tfx.framework.rules import formula_of
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.ir import Graph
from tfx.graph.traits import traits

Results: TypeAlias = "Tensor | Sequence[Tensor]"
Rule: TypeAlias = "Callable[[BatchedOp], Results]"


class CannotBatchError(Exception):
    """A rule does not cover a case (an unknown rank, say): the operator runs in a loop instead."""


class BatchedOp:
    """One operation to be carried out for all elements.

    Attributes:
        op: ONNX operator type.
        attrs: Its attributes.
        inputs: What it is applied to (None: an optional input left out). Those that differ between
            elements have the batch as axis 0; at least one does.
        batched: For each input, whether it does.
        size: Number of elements, an int64 scalar.
        static_size: The same where it is known now, else None.
        outputs: How many results are wanted.
        shapes: For each result what is known of the shape of one element: numbers, None for other
            dimensions; None: not even the rank.
    """

    __slots__ = ("attrs", "batched", "inputs", "op", "outputs", "shapes", "size", "static_size")

    def __init__(
        self,
        op: str,
        attrs: dict[str, Any],
        inputs: Sequence[Tensor | None],
        batched: Sequence[bool],
        size: Tensor,
        static_size: int | None,
        outputs: int,
        shapes: Sequence[tuple[int | None, ...] | None] = (),
    ) -> None:
        self.op = op
        self.attrs = attrs
        self.inputs = list(inputs)
        self.batched = tuple(batched)
        self.size = size
        self.static_size = static_size
        self.outputs = outputs
        self.shapes = list(shapes) or [None] * outputs

    def given(self, i: int) -> bool:
        """True if input ``i`` is there."""
        return i < len(self.inputs) and self.inputs[i] is not None

    def input(self, i: int) -> Tensor:
        """Input ``i``, which must be there, with the batch in front if it is batched."""
        x = self.inputs[i]
        assert x is not None
        return x

    def rank(self, i: int) -> int:
        """Rank of one element of input ``i``.

        Raises:
            CannotBatchError: it is not known.
        """
        rank = self.input(i).shape.rank
        if rank is None:
            raise CannotBatchError(f"the rank of input {i} is unknown")
        return rank - 1 if self.batched[i] else rank

    def full(self, i: int) -> Tensor:
        """Input ``i`` with the batch in front, repeated if it is the same for all elements."""
        x = self.input(i)
        return x if self.batched[i] else tiled(x, self.size)

    def aligned(self, i: int, rank: int) -> Tensor:
        """Input ``i`` as it broadcasts against elements of ``rank`` axes."""
        return aligned(self.input(i), rank) if self.batched[i] else self.input(i)

    def only(self, *numbers: int) -> None:
        """State which inputs this rule allows to differ between elements.

        Raises:
            CannotBatchError: another one does.
        """
        for i, batched in enumerate(self.batched):
            if batched and i not in numbers:
                raise CannotBatchError(f"input {i} differs between the elements")

    def static_shape(self, i: int = 0) -> list[int] | None:
        """The shape of one element of result ``i`` if it is fully known."""
        shape = self.shapes[i]
        if shape is None or None in shape:
            return None
        return [d for d in shape if d is not None]

    def lead(self) -> Tensor:
        """The number of elements as a vector of length 1, to begin a shape with."""
        if self.static_size is not None:
            return int64_constant([self.static_size])
        return ox.Unsqueeze(self.size, int64_constant([0]))

    def apply(
        self,
        inputs: Sequence[Tensor | None],
        attrs: dict[str, Any] | None = None,
        *,
        op: str | None = None,
    ) -> tuple[Tensor, ...]:
        """Apply the operator (or another with as many results) to other inputs.

        Args:
            inputs: Its inputs.
            attrs: Its attributes; None: those that it has.
            op: The operator; None: this one.
        """
        given = self.attrs if attrs is None else attrs
        return apply_n(op or self.op, inputs, given, self.outputs)

    def merged(self, i: int) -> Tensor:
        """Input ``i`` with the elements' first axis joined to the batch: ``[size * d0, d1, ...]``.

        For operators that treat the slices along that axis alike (convolutions, pools, norms).
        """
        x = self.full(i)
        rest = ox.Shape(x, start=2)
        # Not -1, which means nothing where another size is 0.
        sizes = ox.Shape(x, start=0, end=2)
        whole = ox.ReduceProd(sizes, keepdims=1)
        return ox.Reshape(x, concat_shapes(whole, rest), allowzero=1)

    def split(self, y: Tensor) -> Tensor:
        """The reverse of ``merged``: ``[size * d0, ...]`` to ``[size, d0, ...]``."""
        rest = ox.Shape(y, start=1)
        shape = concat_shapes(self.lead(), self._first(y), rest)
        return ox.Reshape(y, shape, allowzero=1)

    def _first(self, y: Tensor) -> Tensor:
        """The size of the elements' first axis; not -1, which an empty batch leaves open."""
        shape = y.shape
        if shape.rank and shape[0] is not None and self.static_size:
            return int64_constant([shape[0] // self.static_size])
        whole = ox.Shape(y, start=0, end=1)
        return ox.Div(whole, ox.Max(self.lead(), int64_constant([1])))

    def __repr__(self) -> str:
        return f"BatchedOp({self.op}, batched={self.batched})"


def concat_shapes(*parts: Tensor) -> Tensor:
    """Shapes one after the other."""
    return parts[0] if len(parts) == 1 else ox.Concat(*parts, axis=0)


def tiled(x: Tensor, size: Tensor) -> Tensor:
    """``x`` repeated along a new first axis; of a sequence each item is."""
    lead = ox.Unsqueeze(size, int64_constant([0]))
    if is_sequence(x):
        return _tiled_items(x, lead)
    return ox.Expand(x, concat_shapes(lead, ox.Shape(x)))


def _tiled_items(sequence: Tensor, lead: Tensor) -> Tensor:
    graph, code = graph_under_construction(), sequence.dtype.onnx
    if sequence._value.node is not None and sequence._value.node.op == "SequenceEmpty":  # type: ignore[attr-defined]
        return sequence
    body = Graph("for_all_elements", graph.graph)
    item = body.add_input("item", code, None)
    shape = body.add_node("Shape", (item,), {}, [(dtypes.int64.onnx, (None,))])
    parts = (graph.value_of(lead), shape.outputs[0])
    joined = body.add_node("Concat", parts, {"axis": 0}, [(dtypes.int64.onnx, (None,))])
    made = body.add_node("Expand", (item, joined.outputs[0]), {}, [(code, None)])
    body.outputs = [made.outputs[0]]
    values = (graph.value_of(sequence),)
    kinds = [(dtypes.SEQUENCE + code, None)]
    node = graph.graph.add_node("SequenceMap", values, {"body": body}, kinds)
    return SymbolicTensor(node.outputs[0], graph)


def aligned(x: Tensor, rank: int) -> Tensor:
    """A batched tensor with axes of size 1 behind the batch, so that elements have ``rank`` axes.

    That is how elements of different ranks broadcast. An element of more axes stays as it is.

    Raises:
        CannotBatchError: the rank of ``x`` is not known.
    """
    have = x.shape.rank
    if have is None:
        raise CannotBatchError("the rank of an input is unknown")
    missing = rank - (have - 1)
    if missing <= 0:
        return x
    return ox.Unsqueeze(x, int64_constant(range(1, 1 + missing)))


_rules: dict[str, Rule] = {}


def batching(*ops: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the batching rule of one or several operators.

    The rule takes a ``BatchedOp`` and returns its result, or all of them in order, each with the
    batch as axis 0. It is not called when no input is batched: then the operator is applied once.

    Raises:
        ValueError: an operator has a rule already.
    """

    def register(rule: Rule) -> Rule:
        for op in ops:
            if op in _rules:
                raise ValueError(f"{op} already has a batching rule.")
            _rules[op] = rule
        return rule

    return register


def rule_of(op: str) -> Rule | None:
    """The operator's batching rule, None if it has none."""
    return _rules.get(op)


def operators() -> list[str]:
    """The operators that have a rule, sorted."""
    return sorted(_rules)


def status_of(op: str) -> str:
    """How an operator is batched, for documentation.

    Returns:
        ``"rule"``; ``"body"``: its bodies are converted; ``"shape"``: the result is the same for
        all elements; ``"formula"``: by the operations that it consists of; ``"loop"``: for one
        element after another, with a warning.
    """
    if op in _rules:
        return "rule"
    if op in ("If", "Loop", "Scan", "SequenceMap"):
        return "body"
    if traits(op).shape_only or op in ("Constant", "SequenceEmpty"):
        return "shape"
    return "loop" if formula_of(op) is None else "formula"
