"""Reductions along an axis that is counted from the end.

Seen in ONNX Runtime 1.31: of an input without elements they return the input's shape, as if nothing
had been reduced. Counted from the front the axes are right.
"""

from __future__ import annotations

from collections.abc import Callable

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.traits import operators


def _from_the_front(out: Graph, node: Node) -> bool:
    x, axes = (*node.inputs, None)[:2]
    if x is None or axes is None:
        return False
    write = ReplacementBuilder(out, node)
    found = _positive(write, x, axes)
    if found is None:
        return False
    write.apply(node.op, (x, found), node.attrs)
    return write.finish()


def _extreme_place(out: Graph, node: Node) -> bool:
    """The axis of ``ArgMax`` and ``ArgMin`` is an attribute."""
    x, axis = node.inputs[0], node.attrs.get("axis", 0)
    if x is None or x.shape is None or axis >= 0:
        return False
    write = ReplacementBuilder(out, node)
    write.apply(node.op, (x,), {**node.attrs, "axis": axis + len(x.shape)})
    return write.finish()


def _positive(write: ReplacementBuilder, x: Value, axes: Value) -> Value | None:
    """The axes; None: they are fine, or it is a compiled operator alone, for any rank."""
    rank = None if x.shape is None else len(x.shape)
    if axes.const is not None:
        given = [int(a) for a in axes.const.reshape(-1)]
        if not any(a < 0 for a in given):
            return None
        if rank is not None:
            return write.ints([a % rank if a < 0 else a for a in given])
        count = write.Size(write.Shape(x))
        return write.Mod(write.Add(axes, count), count)
    if rank is None or not rank or _is_positive(axes):
        return None
    count = write.ints([rank])
    return write.Mod(write.Add(axes, count), count)


def _is_positive(axes: Value) -> bool:
    """True if they come from this correction, or from what gives no negative numbers."""
    return isinstance(axes.node, Node) and axes.node.op in ("Mod", "NonZero", "Range")


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {
    **dict.fromkeys(operators(lambda t: t.reduction), _from_the_front),
    "ArgMax": _extreme_place,
    "ArgMin": _extreme_place,
}
