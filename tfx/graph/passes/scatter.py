"""``ScatterND`` with a reduction, written so that repeated indices are counted right.

ONNX Runtime's CPU kernel spreads the updates over threads without a lock: where two of them meet at
one place, one is lost now and then. ``ScatterElements`` runs in one thread, so such a node becomes
one along the rows of a matrix. Nothing is assumed of the shapes: a compiled operator knows none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.graph.ir import Attributes, Graph, Node, Value

_FLOAT, _UINT8, _INT64, _BOOL, _FLOAT16, _BFLOAT16 = 1, 2, 7, 9, 10, 16
# The kernel says that it takes these, and refuses them when it is to reduce.
_REDUCED_AS = {_FLOAT16: _FLOAT, _BFLOAT16: _FLOAT, _BOOL: _UINT8}
_FAR = 1 << 40  # added to the row of an invalid index, so that the kernel refuses it


def ordered_scatter(out: Graph, node: Node) -> bool:
    """Replace a ``ScatterND`` that reduces; False: the node is fine as it is."""
    if node.attrs.get("reduction", "none") == "none":
        return False
    data, indices, updates = node.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    write = _Writer(out, node)
    shape = write("Shape", data)
    depth = write("Shape", indices, start=-1)
    leading = write("Slice", shape, write.constant([0]), depth)
    rest = write("Slice", shape, depth, write.constant([2**62]))
    width = write("ReduceProd", rest, keepdims=1)
    rows = _rows(write, indices, leading)
    size = write("Concat", write("Shape", rows, end=1), width, axis=0)
    matrix = write("Concat", write("ReduceProd", leading, keepdims=1), width, axis=0)
    scattered = write(
        "ScatterElements",
        write("Reshape", data, matrix, dtype=data.dtype, allowzero=1),
        write("Expand", rows, size),
        write("Reshape", updates, size, dtype=data.dtype, allowzero=1),
        dtype=data.dtype,
        axis=0,
        reduction=node.attrs["reduction"],
    )
    last = Node("Reshape", (scattered, shape), {"allowzero": 1}, node.name, node.source)
    last.outputs, last.tag = node.outputs, node.tag
    out.nodes.append(last)
    return True


def refused_types(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Types to compute a reducing ``ScatterElements`` with; None: its own will do."""
    data, indices, _ = node.inputs
    assert data is not None
    assert indices is not None
    wide = _REDUCED_AS.get(data.dtype)
    if wide is None or node.attrs.get("reduction", "none") == "none":
        return None
    return (wide, indices.dtype, wide), (wide,)


def _rows(write: _Writer, indices: Value, leading: Value) -> Value:
    """``[..., depth]`` indices into the leading axes as a column of row numbers."""
    column = write.constant([-1, 1])
    if indices.shape is not None and indices.shape[-1] == 1:
        return write("Reshape", indices, column)
    zero, one = write.constant(0), write.constant(1)
    behind = write("Less", indices, zero, dtype=_BOOL)
    places = write("Where", behind, write("Add", indices, leading), indices)
    inside = write(
        "And",
        write("GreaterOrEqual", places, zero, dtype=_BOOL),
        write("Less", places, leading, dtype=_BOOL),
        dtype=_BOOL,
    )
    penalty = write("Where", inside, zero, write.constant(_FAR))
    # How many rows one step along an axis passes: the product of the leading axes behind it.
    depth = write("Shape", leading)
    square = write("Expand", leading, write("Concat", depth, depth, axis=0))
    behind_it = write("Max", write("Trilu", square, one, upper=1), one)
    strides = write("ReduceProd", behind_it, write.constant([1]), keepdims=0)
    steps = write("Add", write("Mul", places, strides), penalty)
    total = write("ReduceSum", steps, write.constant([-1]), keepdims=0)
    return write("Reshape", total, column)


class _Writer:
    """Appends int64 helper nodes of unknown shape."""

    def __init__(self, out: Graph, node: Node) -> None:
        self._out = out
        self._node = node

    def __call__(self, op: str, *inputs: Value, dtype: int = _INT64, **attrs: object) -> Value:
        kept: Attributes = dict(attrs)
        made = self._out.add_node(
            op, inputs, kept, [(dtype, None)],
            name=f"{self._node.name}_{op.lower()}", source=self._node.source,
        )
        return made.outputs[0]

    def constant(self, items: Sequence[int] | int) -> Value:
        return self._out.add_constant(np.array(items, np.int64), _INT64)
