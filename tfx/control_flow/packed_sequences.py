"""A sequence of tensors of any shapes taken apart, into rows of elements and shapes, and back.

Rows can be joined to one tensor, and so be kept for each iteration of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.control_flow import sequences
from tfx.core import dtypes
from tfx.core.refusals import Refusal
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import FuncGraph, graph_under_construction
from tfx.framework.tensor import Tensor
from tfx.graph.ir import Attributes, Graph, RawShape, Value

# Names of the bodies of the ``SequenceMap`` nodes that have gradients.
FLAT, FORMED = "sequence_flat", "sequence_formed"
_FORMS = "sequence_forms"
_INT64 = dtypes.int64.onnx


def add_parts(owner: FuncGraph, graph: Graph, sequence: Value) -> tuple[Value, Value]:
    """Append to a graph what takes a sequence apart.

    Args:
        owner: The function that the graph belongs to.
        graph: The graph.
        sequence: The sequence.

    Returns:
        Two sequences: the elements, each in a row, and their shapes.
    """
    code = sequence.dtype - dtypes.SEQUENCE
    row = owner.constant(np.array([-1]), _INT64)
    flat = _body(FLAT, graph, (code,), "Reshape", {}, code, (row,))
    forms = _body(_FORMS, graph, (code,), "Shape", {}, _INT64)
    made = [
        graph.add_node(
            "SequenceMap", (sequence,), {"body": body}, [(dtypes.SEQUENCE + kind, None)]
        ).outputs[0]
        for body, kind in ((flat, code), (forms, _INT64))
    ]
    return made[0], made[1]


def flat(sequence: Tensor) -> Tensor:
    """The elements of a sequence, each in a row."""
    graph, code = graph_under_construction(), sequence.dtype.onnx
    row = graph.value_of(int64_constant([-1]))
    body = _body(FLAT, graph.graph, (code,), "Reshape", {}, code, (row,))
    return sequences.mapped(graph, (sequence,), body, code)


def forms(sequence: Tensor) -> Tensor:
    """The shapes of the elements of a sequence."""
    graph, code = graph_under_construction(), sequence.dtype.onnx
    body = _body(_FORMS, graph.graph, (code,), "Shape", {}, _INT64)
    return sequences.mapped(graph, (sequence,), body, _INT64)


def formed(rows: Tensor, shapes: Tensor) -> Tensor:
    """The sequence of elements in rows and their shapes."""
    graph, code = graph_under_construction(), rows.dtype.onnx
    attrs: Attributes = {"allowzero": 1}
    body = _body(FORMED, graph.graph, (code, _INT64), "Reshape", attrs, code)
    return sequences.mapped(graph, (rows, shapes), body, code)


def stacked_alike(sequence: Tensor) -> Tensor:
    """The elements along a new first axis; refused, when it runs, if their shapes differ.

    ONNX Runtime 1.31 leaves out elements that are empty, and what the memory held is in their
    places.
    """
    graph = graph_under_construction()
    body = Graph(_FORMS, graph.graph)
    item = body.add_input("item", sequence.dtype.onnx, None)
    shape = body.add_node("Shape", (item,), {}, [(_INT64, (None,))])
    more = graph.value_of(int64_constant([1]))  # there must be something to be stacked
    made = body.add_node("Concat", (*shape.outputs, more), {"axis": 0}, [(_INT64, (None,))])
    body.outputs = [made.outputs[0]]
    sizes = sequences.stacked(sequences.mapped(graph, (sequence,), body, _INT64))
    most, least = (
        apply(op, (sizes, int64_constant([0])), {"keepdims": 0})
        for op in ("ReduceMax", "ReduceMin")
    )
    # A dimension that is not right becomes impossible.
    wrong = int64_constant(Refusal.STACKED.dimension)
    alike = ox.Where(ox.Equal(most, least), most, wrong)
    kept = ox.Slice(alike, int64_constant([0]), int64_constant([-1]))
    count = ox.Reshape(sequences.length(sequence), int64_constant([1]))
    stacked = sequences.stacked(sequence)
    target = ox.Concat(count, kept, axis=0)
    return ox.Reshape(stacked, target, allowzero=1)


def _body(
    name: str,
    parent: Graph,
    items: Sequence[int],
    op: str,
    attrs: Attributes,
    code: int,
    others: Sequence[Value] = (),
) -> Graph:
    """The body of a ``SequenceMap`` that is one operator."""
    body = Graph(name, parent)
    given = [body.add_input(f"item{i}", kind, None) for i, kind in enumerate(items)]
    kinds: list[tuple[int, RawShape]] = [(code, None if name == FORMED else (None,))]
    made = body.add_node(op, (*given, *others), attrs, kinds)
    body.outputs = [made.outputs[0]]
    return body
