"""A real inverse ``DFT`` of a length that its input does not have exactly.

Seen in ONNX Runtime 1.31: with ``inverse``, ``onesided`` and a ``dft_length`` of ``n``, frequencies
beyond ``n // 2`` are not left out and missing ones are not zeros; with just ``n // 2 + 1`` of them
the result is right.
"""

from __future__ import annotations

from collections.abc import Callable

from tfx.graph.ir import Graph, Node
from tfx.graph.replacement_builder import ReplacementBuilder

_INT64 = 7


def _fitted(out: Graph, node: Node) -> bool:
    """The frequencies cut, or filled up with zeros."""
    x, length, *rest = (*node.inputs, None)
    if not (node.attrs.get("inverse") and node.attrs.get("onesided")) or length is None:
        return False
    assert x is not None
    if isinstance(x.node, Node) and x.node.op == "Pad" and x.node.name.startswith(node.name):
        return False
    write = ReplacementBuilder(out, node)
    axis = write.ints([-2]) if not rest or rest[0] is None else rest[0]
    axis = write.Reshape(write.Cast(axis, to=_INT64), write.ints([1]))
    size = write.Reshape(write.Cast(length, to=_INT64), write.ints([1]))
    half = write.Add(write.Div(size, write.ints([2])), write.ints([1]))
    have = write.Gather(write.Shape(x), axis)
    pads = write.Concat(write.ints([0]), write.Sub(half, have), axis=0)
    given = write.Pad(x, pads, None, axis)
    write.DFT(given, *node.inputs[1:], **node.attrs)
    return write.finish()


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {"DFT": _fitted}
