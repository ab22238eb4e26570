"""``Concat`` of tensors that may have no elements: their shapes are compared.

ONNX Runtime 1.31 leaves out the empty ones and does not look at their shapes. Where those do not
fit, the result has places that nothing is written to: what the memory held. Nothing is added where
the sizes along all other axes are known to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from tfx.core import dtypes
from tfx.core.refusals import Refusal
from tfx.graph.ir import Graph, Node, RawShape
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark

_BOOL = dtypes.bool.onnx


def _concat(out: Graph, node: Node) -> bool:
    given = [v for v in node.inputs if v is not None]
    shapes = [v.shape for v in given]
    axis, known = node.attrs["axis"], _ranked(shapes)
    if node.tag is not None or known is None or len(known[0]) < 2:
        return False
    first = known[0]
    axis %= len(first)
    others = [v for v, s in zip(given[1:], known[1:], strict=True) if not _fits(first, s, axis)]
    if not others or any(v.dtype > dtypes.SEQUENCE for v in given):
        return False
    write = ReplacementBuilder(out, node)
    (result,) = node.outputs
    joined = write.Concat(*given, **node.attrs)
    joined.shape = result.shape
    assert joined.node is not None
    joined.node.tag = Mark.COMPARED
    mask = out.add_constant(np.arange(len(first)) == axis, _BOOL)
    form = write.Shape(given[0])
    right = [write.Equal(form, write.Shape(v)) for v in others]
    fits = write.Or(reduce(lambda a, b: write.And(a, b), right), mask)
    wrong = write.ints([Refusal.JOINED.dimension])
    target = write.Where(fits, write.Shape(joined), wrong)
    write.Reshape(joined, target, allowzero=1)
    return write.finish()


def _ranked(shapes: Sequence[RawShape]) -> list[tuple[int | str | None, ...]] | None:
    """The shapes if all of them have one known number of axes."""
    known = [s for s in shapes if s is not None]
    same = len(known) == len(shapes) > 1 and len({len(s) for s in known}) == 1
    return known if same else None


def _fits(a: Sequence[object], b: Sequence[object], axis: int) -> bool:
    """True if the sizes along all other axes are known to be equal, or are compared anyhow."""
    pairs = [(x, y) for i, (x, y) in enumerate(zip(a, b, strict=True)) if i != axis]
    return all(x is not None and x == y for x, y in pairs)


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {"Concat": _concat}
