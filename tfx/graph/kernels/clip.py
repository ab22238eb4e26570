"""``Clip`` behind ``Relu`` of float64 numbers, as ``Max`` and ``Min``.

Seen in ONNX Runtime 1.31: its optimizer makes one operator of the two, knows float32 and float16
alone, and refuses the whole model where there is another type.
"""

from __future__ import annotations

from collections.abc import Callable

from tfx.graph.ir import Graph, Node
from tfx.graph.replacement_builder import ReplacementBuilder

_FUSED = (1, 10)


def _behind_relu(out: Graph, node: Node) -> bool:
    x, low, high = (*node.inputs, None, None)[:3]
    if x is None or x.node is None or x.node.op != "Relu" or x.dtype in _FUSED:
        return False
    if low is None and high is None:
        return False
    write = ReplacementBuilder(out, node)
    y = x if low is None else write.Max(x, low)
    if high is not None:
        write.Min(y, high)
    return write.finish()


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {"Clip": _behind_relu}
