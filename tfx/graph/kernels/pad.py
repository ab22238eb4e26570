"""``Pad`` of some axes as ``Pad`` of all.

Seen in ONNX Runtime 1.31: its optimizer moves transpositions past a ``Pad`` and permutes the
amounts as if there were some for every axis, so with ``axes`` it fails, or pads other ones. Where
the rank is not known (a compiled operator alone, which has no transposition beside it) nothing is
done.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder

_INT64 = 7


def _of_all_axes(out: Graph, node: Node) -> bool:
    given: list[Value | None] = [*node.inputs, None, None]
    data, pads, value, axes = given[:4]
    if axes is None or data is None or pads is None or data.shape is None:
        return False
    rank = len(data.shape)
    write = ReplacementBuilder(out, node)
    full = (
        _known(write, pads, axes, rank)
        if axes.const is not None
        else _later(write, pads, axes, rank)
    )
    inputs = (data, full) if value is None else (data, full, value)
    write.Pad(*inputs, **node.attrs)
    return write.finish()


def _known(write: ReplacementBuilder, pads: Value, axes: Value, rank: int) -> Value:
    """The amounts of axes that are known, which may be known themselves."""
    assert axes.const is not None
    places = [int(a) % rank for a in axes.const.reshape(-1)]
    count = len(places)
    # Behind the amounts stands a zero for the other axes.
    order = [2 * count] * (2 * rank)
    for i, axis in enumerate(places):
        order[axis], order[rank + axis] = i, count + i
    if pads.const is not None:
        amounts = [*(int(p) for p in pads.const.reshape(-1)), 0]
        return write.ints([amounts[i] for i in order])
    extended = write.Concat(pads, write.ints([0]), axis=0)
    return write.Gather(extended, write.ints(order))


def _later(write: ReplacementBuilder, pads: Value, axes: Value, rank: int) -> Value:
    """The amounts of axes that are known at run time only."""
    size = write.constant(rank, _INT64)
    places = write.Mod(write.Add(write.Cast(axes, to=_INT64), size), size)
    both = write.Concat(places, write.Add(places, size), axis=0)
    zeros = write.ints(np.zeros(2 * rank, np.int64).tolist())
    return write.ScatterElements(zeros, both, pads, axis=0)


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {"Pad": _of_all_axes}
