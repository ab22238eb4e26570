"""Batching rules: a table keyed by ONNX operator, filled by the families of operations.

A rule gets one operation of the function of a single element, with some inputs that have the
batch as one more axis in front, and computes the results of all elements, with the batch in front
too. It uses ordinary operations, so tapes record it and a trace gets nodes. An operator without a
rule runs in a loop over the elements, with one warning that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tfx.core import dtypes
from tfx.framework.apply import apply_n
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import graph_under_construction
from tfx.framework.rules import exact_formula_of
from tfx.framework.tensor import SymbolicTensor, Tensor, is_sequence, symbol_of
from tfx.graph import traits as operator_traits
from tfx.graph.ir import Graph
from tfx.graph.traits import traits
from tfx.ops.common.arguments import cast_to, scalar_like, static_ints
from tfx.ops.common.shapes import concat_shape, reshape_to, shape_vector

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
    maker = symbol_of(sequence).node
    if maker is not None and maker.op == "SequenceEmpty":
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
    """Return how an operator is batched, for documentation.

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
    return "loop" if exact_formula_of(op) is None else "formula"


def shifted(axis: int) -> int:
    """An axis of one element where the batch is in front: negative ones count from the end."""
    return axis + 1 if axis >= 0 else axis


def shifted_axes(axes: Tensor) -> Tensor:
    """The same of axes in a tensor, which may be known at run time only."""
    known = static_ints(axes)
    if known is not None:
        moved = [shifted(a) for a in known]
        wanted = int64_constant(moved if axes.shape.rank else moved[0])
        return cast_to(wanted, axes.dtype)
    later = ox.Add(axes, scalar_like(1, axes))
    return ox.Where(ox.Less(axes, scalar_like(0, axes)), axes, later)


# Rules of several operators: ``batching("Softmax", "LogSoftmax")(along_axis(-1))``


def unchanged(op: BatchedOp) -> Results:
    """Rule of an operator that does not see where elements begin."""
    return op.apply(op.inputs)


batching(*operator_traits.operators(lambda t: t.elementwise == "unary"))(unchanged)


def unchanged_first(op: BatchedOp) -> Results:
    """The same; the inputs after the first are parameters, one for all elements."""
    op.only(0)
    return op.apply(op.inputs)


def along_axis(default: int) -> Rule:
    """Rule of operators along an axis that is an attribute: the same axis, one further back.

    Args:
        default: The axis where the attribute is left out.
    """

    def rule(op: BatchedOp) -> Results:
        op.only(0)
        return op.apply(op.inputs, {**op.attrs, "axis": shifted(op.attrs.get("axis", default))})

    return rule


def along_axes(op: BatchedOp) -> Results:
    """Rule of operators along axes that are the second input."""
    op.only(0)
    return op.apply((op.input(0), shifted_axes(op.input(1))))


def as_one_batch(op: BatchedOp) -> Results:
    """Rule of operators on images, signals or rows: those of all elements are one batch."""
    op.only(0)
    return op.split(op.apply((op.merged(0), *op.inputs[1:]))[0])


def broadcast(op: BatchedOp) -> list[Tensor]:
    """All inputs such that they broadcast with the batch as axis 0."""
    count = len(op.inputs)
    if any(op.input(i).shape.rank is None for i in range(count)):
        return _broadcast_later(op)
    batched_ranks = {op.rank(i) for i in range(count) if op.batched[i]}
    rank = max(op.rank(i) for i in range(count))
    if batched_ranks == {rank}:
        return [op.input(i) for i in range(count)]
    return [op.aligned(i, rank) for i in range(count)]


def _broadcast_later(op: BatchedOp) -> list[Tensor]:
    """The same where ranks are known at run time only."""
    shapes = [
        ox.Shape(op.input(i), start=1 if batched else 0) for i, batched in enumerate(op.batched)
    ]
    ranks = [ox.Shape(s) for s in shapes]
    most = ox.Max(*ranks)
    inputs = []
    for i, batched in enumerate(op.batched):
        x = op.input(i)
        if batched:
            ones = ox.Expand(int64_constant([1]), ox.Sub(most, ranks[i]))
            lead = ox.Shape(x, start=0, end=1)
            shape = concat_shapes(lead, ones, shapes[i])
            x = ox.Reshape(x, shape, allowzero=1)
        inputs.append(x)
    return inputs


@batching(*operator_traits.operators(lambda t: t.elementwise == "broadcast"))
def _broadcasting_batching(op: BatchedOp) -> Results:
    """Elements of fewer axes get some behind the batch, so that axes meet from the right."""
    return op.apply(broadcast(op))


def as_int64(x: Tensor) -> Tensor:
    """Indices as int64."""
    return x if x.dtype.onnx == 7 else ox.Cast(x, to=7)


def folded(x: Tensor, axis: int, groups: int = 1) -> Tensor:
    """The batch (axis 0) joined to an axis of the elements.

    Args:
        x: ``[size, *element]``.
        axis: Which axis of an element.
        groups: The axis falls into so many groups, each of which gets all elements: the result
            counts groups, then elements, then what is in a group.

    Returns:
        The shape of one element, with ``size`` times as much along the axis.
    """
    rank = known_rank(x)
    if groups > 1:
        shape = concat_shape(
            shape_vector(x, 0, axis + 1),
            int64_constant([groups, -1]),
            shape_vector(x, axis + 2),
        )
        x, rank, moved = reshape_to(x, shape), rank + 1, axis + 1
    else:
        moved = axis
    perm = (*range(1, moved + 1), 0, *range(moved + 1, rank))
    if perm != tuple(range(rank)):
        x = ox.Transpose(x, perm=perm)
    last = 3 if groups > 1 else 2
    target = concat_shape(
        shape_vector(x, 0, axis), int64_constant([-1]), shape_vector(x, axis + last)
    )
    return ox.Reshape(x, target)


def unfolded(op: BatchedOp, y: Tensor, axis: int, groups: int = 1) -> Tensor:
    """The reverse of ``folded`` for a result: ``[size, *element]``."""
    rank = known_rank(y)
    parts = [shape_vector(y, 0, axis)]
    if groups > 1:
        parts.append(int64_constant([groups]))
    shape = concat_shape(*parts, op.lead(), int64_constant([-1]), shape_vector(y, axis + 1))
    apart = ox.Reshape(y, shape)
    at = axis + (1 if groups > 1 else 0)
    total = rank + (2 if groups > 1 else 1)
    perm = (at, *(i for i in range(total) if i != at))
    front = apart if at == 0 else ox.Transpose(apart, perm=perm)
    if groups == 1:
        return front
    whole = concat_shape(
        shape_vector(front, 0, axis + 1), int64_constant([-1]), shape_vector(y, axis + 1)
    )
    return ox.Reshape(front, whole)


def known_rank(x: Tensor) -> int:
    """The number of axes.

    Raises:
        CannotBatchError: unknown.
    """
    rank = x.shape.rank
    if rank is None:
        raise CannotBatchError("the rank of an input is unknown")
    return rank


def known_size(op: BatchedOp) -> int:
    """The number of elements, for attributes.

    Raises:
        CannotBatchError: unknown.
    """
    if op.static_size is None:
        raise CannotBatchError("the number of elements is known at run time only")
    return op.static_size


def per_channel(x: Tensor, rank: int, axis: int = 1) -> Tensor:
    """Batched vectors ``[size, channels]`` to go with batched elements of some rank."""
    after = [1] * (rank - 1 - axis)
    shape = concat_shape(shape_vector(x, 0, 1), int64_constant([*([1] * axis), -1, *after]))
    return ox.Reshape(x, shape)
