"""``SequenceMap`` as ``Loop``: what is differentiated and batched then is one kind of loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.graph.ir import Graph, Node, RawShape, Value
from tfx.graph.onnx_import.import_builder import ImportBuilder

_INT64, _BOOL = dtypes.int64.onnx, dtypes.bool.onnx


def map_as_loop(
    emitter: ImportBuilder, inputs: Sequence[Value | None], attrs: dict[str, Any]
) -> Sequence[Value]:
    """Append a ``Loop`` that does what a ``SequenceMap`` does.

    Args:
        emitter: Appends to the graph that gets it.
        inputs: A sequence, and further ones or tensors.
        attrs: Its attributes; the body is used up.

    Raises:
        InvalidArgumentError: the body does not fit the inputs.
    """
    body: Graph = attrs["body"]
    given = [v for v in inputs if v is not None]
    if len(given) != len(body.inputs) or not given or given[0].dtype <= dtypes.SEQUENCE:
        raise InvalidArgumentError(
            f"A SequenceMap has {len(given)} inputs, its body {len(body.inputs)}; expected as "
            "many, of which the first is a sequence."
        )
    empty = [emitter.SequenceEmpty(dtype=v.dtype) for v in body.outputs]
    trips = emitter.SequenceLength(given[0])
    types: list[tuple[int, RawShape]] = [(dtypes.SEQUENCE + v.dtype, None) for v in body.outputs]
    node = emitter.graph.add_node(
        "Loop",
        (trips, None, *empty),
        {"body": _looped(body, given)},
        types,
        name=emitter.name,
        source=emitter.source,
    )
    return node.outputs


def _looped(body: Graph, given: Sequence[Value]) -> Graph:
    """The body as that of a loop, which takes its elements and appends its results itself."""
    looped = body.copy()
    number = Value(body.unique_name("iteration"), _INT64, ())
    going = Value(body.unique_name("going"), _BOOL, ())
    elements = []
    for value, x in zip(body.inputs, given, strict=True):
        inputs = (x, number) if x.dtype > dtypes.SEQUENCE else (x,)
        op = "SequenceAt" if len(inputs) == 2 else "Identity"
        if op == "Identity":
            value.shape = x.shape
        name = body.unique_name(f"{value.name}_element")
        elements.append(Node(op, inputs, {}, name, None, outputs=(value,)).make_outputs())
    states, results = [], []
    for value in body.outputs:
        kind = dtypes.SEQUENCE + value.dtype
        state = Value(body.unique_name(f"{value.name}_before"), kind, None)
        name = body.unique_name("append")
        grown = Value(body.unique_name(f"{value.name}_so_far"), kind, None)
        node = Node("SequenceInsert", (state, value), {}, name, None, outputs=(grown,))
        states.append(state)
        results.append(node.make_outputs())
    looped.inputs = [number, going, *states]
    looped.nodes[:0] = elements
    looped.nodes.extend(results)
    looped.outputs = [going, *(node.outputs[0] for node in results)]
    return looped
