"""``RNN``, ``GRU`` and ``LSTM`` with the batch first or in float64, which have no kernels.

Seen in ONNX Runtime 1.31: "Batchwise recurrent operations (layout == 1) are not supported". Nor is
float64 in ``GRU`` and ``LSTM``, though their kernels claim it: "does not support double yet".
"""

from __future__ import annotations

from collections.abc import Callable

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.passes.writer import Writer

_STATES = (5, 6)  # initial_h and initial_c
_FLOAT, _DOUBLE = 1, 11


def _correct(out: Graph, node: Node) -> bool:
    return _time_first(out, node) or _in_single(out, node)


def _in_single(out: Graph, node: Node) -> bool:
    """float64 between casts to float32."""
    if node.inputs[0] is None or node.inputs[0].dtype != _DOUBLE:
        return False
    write = Writer(out, node)
    inputs = [x and (write.cast(x, _FLOAT) if x.dtype == _DOUBLE else x) for x in node.inputs]
    inner = Node(node.op, tuple(inputs), node.attrs, node.name, node.source)
    inner.outputs = tuple(
        Value(out.unique_name(f"{y.name}_single"), _FLOAT, y.shape, inner) for y in node.outputs
    )
    inner.tag = node.tag
    out.nodes.append(inner)
    for y, made in zip(node.outputs, inner.outputs, strict=True):
        name = out.unique_name(f"{node.name}_back")
        back = Node("Cast", (made,), {"to": _DOUBLE}, name, node.source)
        back.outputs = (y,)
        out.nodes.append(back)
    return True


def _time_first(out: Graph, node: Node) -> bool:
    """Everything that has a batch is transposed; False: time is first already."""
    if not node.attrs.get("layout"):
        return False
    write = Writer(out, node)

    def swapped(x: Value | None) -> Value | None:
        return x and write.add("Transpose", (x,), {"perm": (1, 0, 2)})

    inputs = [swapped(x) if i == 0 or i in _STATES else x for i, x in enumerate(node.inputs)]
    attrs = {k: v for k, v in node.attrs.items() if k != "layout"}
    inner = Node(node.op, tuple(inputs), attrs, node.name, node.source)
    perms = [(2, 0, 1, 3), (1, 0, 2), (1, 0, 2)][: len(node.outputs)]
    inner.outputs = tuple(
        Value(out.unique_name(f"{y.name}_turned"), y.dtype, _back(y, perm), inner)
        for y, perm in zip(node.outputs, perms, strict=True)
    )
    inner.tag = node.tag
    out.nodes.append(inner)
    for y, made, perm in zip(node.outputs, inner.outputs, perms, strict=True):
        name = out.unique_name(f"{node.name}_turn")
        turn = Node("Transpose", (made,), {"perm": perm}, name, node.source)
        turn.outputs = (y,)
        out.nodes.append(turn)
    return True


def _back(y: Value, perm: tuple[int, ...]) -> tuple[int | str | None, ...] | None:
    """The shape before a transposition."""
    if y.shape is None:
        return None
    return tuple(y.shape[perm.index(i)] for i in range(len(perm)))


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = dict.fromkeys(
    ("GRU", "LSTM", "RNN"), _correct
)
