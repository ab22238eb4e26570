"""``Scan`` as ``Loop``: what is differentiated and batched then is one kind of loop.

A scan's inputs are brought into the order in which a loop reads them, ``x[i]`` along the first axis
from the first on, and what it collects into the order that the scan returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import UnimplementedError
from tfx.graph.formulas.shapes import reversed_along
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.onnx_import.import_builder import ImportBuilder
from tfx.graph.onnx_import.types import body_types

_INT64, _BOOL = dtypes.int64.onnx, dtypes.bool.onnx


def scan_as_loop(
    emitter: ImportBuilder, inputs: Sequence[Value | None], attrs: dict[str, Any]
) -> Sequence[Value]:
    """Append a ``Loop`` that does what a ``Scan`` does.

    Args:
        emitter: Appends to the graph that gets it.
        inputs: The scan's initial states and inputs.
        attrs: Its attributes; the body is used up.
    """
    body: Graph = attrs["body"]
    scanned = int(attrs["num_scan_inputs"])
    count = len(inputs) - scanned
    types = body_types("Scan", [body], attrs, inputs)
    states = inputs[:count]
    rows = []
    for i, x in enumerate(inputs[count:]):
        assert x is not None
        axis, direction = (_item(attrs, f"scan_input_{name}", i) for name in ("axes", "directions"))
        rows.append(_in_order(emitter, x, axis, direction))
    looped = _looped(body, count, rows)
    length = emitter.Shape(rows[0], start=0, end=1)
    trips = emitter.Squeeze(length, emitter.ints([0]))
    node = emitter.graph.add_node(
        "Loop",
        (trips, None, *states),
        {"body": looped},
        types,
        name=emitter.name,
        source=emitter.source,
    )
    results = list(node.outputs[:count])
    for i, y in enumerate(node.outputs[count:]):
        axis = _item(attrs, "scan_output_axes", i)
        direction = _item(attrs, "scan_output_directions", i)
        results.append(_placed(emitter, y, axis, direction))
    return results


def _item(attrs: dict[str, Any], name: str, i: int) -> int:
    given = attrs.get(name)
    return int(given[i]) if given else 0


def _in_order(emitter: ImportBuilder, x: Value, axis: int, direction: int) -> Value:
    """The scanned axis first, the first slice to be read in front."""
    if axis:
        rank = _rank(x)
        axis %= rank
        x = emitter.Transpose(x, perm=(axis, *(i for i in range(rank) if i != axis)))
    return reversed_along(emitter, x) if direction else x


def _placed(emitter: ImportBuilder, y: Value, axis: int, direction: int) -> Value:
    """The reverse for what was collected."""
    if direction:
        y = reversed_along(emitter, y)
    if axis:
        rank = _rank(y)
        axis %= rank
        rest = list(range(1, rank))
        y = emitter.Transpose(y, perm=(*rest[:axis], 0, *rest[axis:]))
    return y


def _rank(x: Value) -> int:
    if x.shape is None:
        raise UnimplementedError(
            f"the rank of {x.name!r}, which a Scan reads along an axis other than the first, is "
            "unknown; give the shapes of the model's inputs with input_shapes"
        )
    return len(x.shape)


def _looped(body: Graph, count: int, rows: Sequence[Value]) -> Graph:
    """A scan's body as that of a loop, which takes its slices itself."""
    looped = body.copy()
    number = Value(body.unique_name("iteration"), _INT64, ())
    going = Value(body.unique_name("going"), _BOOL, ())
    slices = []
    for value, x in zip(body.inputs[count:], rows, strict=True):
        name = body.unique_name(f"{value.name}_slice")
        if value.shape is None and x.shape is not None:
            value.shape = x.shape[1:]
        node = Node("Gather", (x, number), {"axis": 0}, name, None, outputs=(value,))
        slices.append(node.make_outputs())
    looped.inputs = [number, going, *body.inputs[:count]]
    looped.nodes[:0] = slices
    looped.outputs = [going, *body.outputs]
    return looped
