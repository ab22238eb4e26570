"""Rules of operators on sequences. Gradient and tangent of a sequence are sequences of its length.

Zeros like a whole sequence are avoided: in the backward body of a loop the forward sequences are
not there. The gradient of one element is a ``Part``, which is added to what is known already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfx.control_flow import packed_sequences, sequences
from tfx.control_flow.control_nodes import add_control_node
from tfx.core import dtypes
from tfx.framework.body_graph import LoopGraph
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import graph_under_construction
from tfx.framework.rules import OpRecord, forward, gradient, linear, no_gradient
from tfx.framework.tensor import Tensor
from tfx.graph import ir
from tfx.graph.ir import Graph
from tfx.ops.array.creation import zeros_like
from tfx.ops.common.batching import (
    BatchedOp,
    Results,
    along_axis,
    batching,
    unchanged_first,
)


@gradient("SequenceMap")
def _map_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """Return the gradient of a sum or of a change of the elements' form; other bodies have none."""
    name = op.attrs["body"].name
    if name == packed_sequences.FLAT:
        return [packed_sequences.formed(dy, packed_sequences.forms(op.inputs[0]))]
    if name == packed_sequences.FORMED:
        return [packed_sequences.flat(dy), None]
    return [dy if name == sequences.SUM else None] * len(op.inputs)


@forward("SequenceMap")
def _map_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    """Only sums have a tangent, of all that is made here."""
    if op.attrs["body"].name != sequences.SUM:
        return None
    a, b = tangents
    if a is None or b is None:
        return b if a is None else a
    return sequences.add(a, b)


class Part:
    """Return the gradient of a sequence with only one used element.

    Args:
        sequence: The sequence.
        index: The number of the element.
        dy: The element's gradient.
    """

    def __init__(self, sequence: Tensor, index: Tensor, dy: Tensor) -> None:
        self._sequence = sequence
        self._index = index
        self._dy = dy

    def added_to(self, known: Tensor | None) -> Tensor:
        """The whole gradient, given what is known of it already."""
        place = sequences.in_int64(self._index)
        if known is None:
            return sequences.write(sequences.zeros(self._sequence), place, self._dy, grows=False)
        total = ox.Add(sequences.at(known, place), self._dy)
        return sequences.write(known, place, total, grows=False)


class Whole:
    """The gradient of a sequence that has in it what was known of it before.

    Args:
        total: The gradient.
    """

    def __init__(self, total: Tensor) -> None:
        self._total = total

    def added_to(self, known: Tensor | None) -> Tensor:
        """The whole gradient."""
        return self._total


# Attribute of a record: what is known of the gradients of sequences, by the sequences' ``id``.
KNOWN = "known gradients"


def with_known(record: OpRecord, gradients: Mapping[int, Tensor]) -> OpRecord:
    """The record with what is known of its sequences' gradients, for rules that go on from there.

    So no rule needs zeros like the sequence, which may not be there any more.
    """
    known = {
        id(x): gradients[id(x)]
        for x in record.inputs
        if sequences.is_sequence(x) and id(x) in gradients
    }
    if not known:
        return record
    return OpRecord(record.op, {**record.attrs, KNOWN: known}, record.inputs, record.outputs)


@gradient("SequenceAt")
def _at_grad(op: OpRecord, dy: Tensor) -> list[Any]:
    """The gradient in its place, zeros elsewhere."""
    sequence, index = op.inputs
    return [Part(sequence, index, dy), None]


def is_write(callee: Graph) -> bool:
    """True if a called graph writes an element of a sequence."""
    return (
        callee.name.startswith(sequences.WRITER)
        and len(callee.inputs) == 3
        and callee.inputs[0].dtype > dtypes.SEQUENCE
    )


def write_gradient(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """Gradients of a write: zeros for the element that was there before."""
    sequence, index, _ = op.inputs
    element = sequences.at(dy, index)
    blank = sequences.zeros_of_shape(dy.dtype, ox.Shape(element))
    rest = sequences.write(dy, index, blank, grows=False)
    if _is_growing(op):
        rest = _cut(rest, ox.Sub(sequences.length(rest), sequences.length(sequence)))
    return [rest, None, element]


def write_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor:
    """Tangent of a write: the same write of the tangent."""
    sequence, index, value = op.inputs
    ts, _, tv = tangents
    return sequences.write(
        sequences.zeros_like(sequence) if ts is None else ts,
        index,
        zeros_like(value) if tv is None else tv,
        grows=_is_growing(op),
    )


def _is_growing(op: OpRecord) -> bool:
    """True for a write that may be behind the last element."""
    return bool(op.attrs["graph"].name.startswith(f"{sequences.WRITER}_growing"))


def _cut(sequence: Tensor, count: Tensor) -> Tensor:
    """A sequence without its last elements."""
    graph = graph_under_construction()
    loop = LoopGraph("cut", graph)
    kind: tuple[int, ir.RawShape] = (dtypes.SEQUENCE + sequence.dtype.onnx, None)
    body = loop.graph
    body.add_input("iteration", dtypes.int64.onnx, ())
    going = body.add_input("going", dtypes.bool.onnx, ())
    before = body.add_input("sequence", *kind)
    made = body.add_node("SequenceErase", (before,), {}, [kind])
    body.outputs = [going, made.outputs[0]]
    inputs = (count, None, sequence)
    return add_control_node(graph, "Loop", inputs, {"body": body}, [kind], [loop], name="cut")[0]


@gradient("SequenceInsert")
def _insert_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """Give the element the gradient at its place, and the sequence the other ones."""
    if len(op.inputs) == 2:
        return [ox.SequenceErase(dy), sequences.at(dy, int64_constant(-1))]
    count = sequences.length(op.inputs[0])
    place = sequences.from_front(sequences.in_int64(op.inputs[2]), count)
    return [ox.SequenceErase(dy, place), sequences.at(dy, place), None]


@forward("SequenceInsert")
def _insert_forward(
    op: OpRecord, sequence: Tensor | None, element: Tensor | None, *_: None
) -> Tensor:
    before, x, *place = op.inputs
    left = sequences.zeros_like(before) if sequence is None else sequence
    right = zeros_like(x) if element is None else element
    return ox.SequenceInsert(left, right, *place)


@gradient("SequenceErase")
def _erase_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """Zeros for the element that is gone."""
    last = len(op.inputs) == 1
    place = int64_constant(-1) if last else sequences.in_int64(op.inputs[1])
    gap = sequences.zeros_of_shape(dy.dtype, ox.Shape(sequences.at(op.inputs[0], place)))
    if last:
        return [ox.SequenceInsert(dy, gap)]
    place = sequences.from_front(place, sequences.length(op.inputs[0]))
    return [ox.SequenceInsert(dy, gap, place), None]


@gradient("SequenceConstruct")
def _construct_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """Give each input the gradient of its element."""
    return [sequences.at(dy, int64_constant(i)) for i in range(len(op.inputs))]


@gradient("ConcatFromSequence")
def _concat_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """Cut again where the elements meet."""
    axis = op.attrs["axis"]
    if op.attrs.get("new_axis", 0):
        if axis == 0:
            return sequences.split(dy)
        return ox.SplitToSequence(dy, axis=axis, keepdims=0)
    lengths = sequences.lengths(op.inputs[0], axis)
    return ox.SplitToSequence(dy, lengths, axis=axis, keepdims=1)


@gradient("SplitToSequence")
def _split_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """The slices' gradients together."""
    squeezed = len(op.inputs) == 1 and not op.attrs.get("keepdims", 1)
    attrs = {"axis": op.attrs.get("axis", 0), "new_axis": int(squeezed)}
    return [ox.ConcatFromSequence(dy, **attrs), None][: len(op.inputs)]


linear("SequenceConstruct")
linear("SequenceAt", "SequenceErase", "ConcatFromSequence", "SplitToSequence", inputs=(0,))

no_gradient("SequenceEmpty", why="it has no inputs")
no_gradient("SequenceLength", why="its result is an integer")


@batching("SequenceConstruct")
def _construct_batching(op: BatchedOp) -> Results:
    return op.apply([op.full(i) for i in range(len(op.inputs))])


@batching("SequenceInsert")
def _insert_batching(op: BatchedOp) -> Results:
    """The place is one for all elements."""
    op.only(0, 1)
    return op.apply((op.full(0), op.full(1), *op.inputs[2:]))


batching("SequenceAt", "SequenceErase")(unchanged_first)


batching("ConcatFromSequence", "SplitToSequence")(along_axis(0))
