"""Finds what ``kernels.accurate_sums`` writes in the place of a long sum, in one of two forms.

A graph that was loaded has them where the one that was saved had a reduction: who replaces sums by
something quicker looks for both, and both then give the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.makers import Makers, constant_integers
from tfx.graph.tags import Mark

_FLOAT, _DOUBLE = 1, 11
# By whether they divide.
_MEANS = {"ReduceSum": False, "ReduceMean": True}


class LongSum(NamedTuple):
    """A sum over axes.

    Attributes:
        x: What is added up.
        axes: Along which axes; they may be counted from the end.
        keeps: Whether these stay as axes of length 1.
        mean: Whether the sum is divided by how many numbers there are.
    """

    x: Value
    axes: Sequence[int]
    keeps: bool
    mean: bool


def long_sum(node: Node, made: Makers) -> LongSum | None:
    """The sum or mean that a node is, or that it ends in stages; None of any other."""
    return _reduction(node) if node.op in _MEANS else staged_sum(node, made)


def staged_sum(node: Node, made: Makers) -> LongSum | None:
    """The sum or mean that a node ends in stages."""
    return _branch(node) if node.op == "If" else _stages(node, made)


def _reduction(node: Node) -> LongSum | None:
    x, axes = (*node.inputs, None)[:2]
    if x is None or x.shape is None:
        return None
    given = [] if axes is None else constant_integers(axes)
    if given is None or (not given and node.attrs.get("noop_with_empty_axes")):
        return None
    along = given or range(len(x.shape))
    return LongSum(x, along, bool(node.attrs.get("keepdims", 1)), _MEANS[node.op])


def _branch(node: Node) -> LongSum | None:
    """A sum of unknown length, in stages if it is a long one."""
    if node.tag is not Mark.PART_OF_SUM or len(node.outputs) != 1:
        return None
    short: Graph = node.attrs["else_branch"]
    if len(short.nodes) != 1 or short.nodes[0].op not in _MEANS:
        return None
    return _reduction(short.nodes[0])


def _stages(node: Node, made: Makers) -> LongSum | None:
    """Sums of blocks, and their sum in float64."""
    if node.op != "Cast" or node.outputs[0].dtype != _FLOAT:
        return None
    divided = made.by(node.inputs[0], "Div")
    total = _part(divided.inputs[0] if divided is not None else node.inputs[0], made)
    wide = None if total is None else made.by(total.inputs[0], "Cast", to=_DOUBLE)
    blocks = None if wide is None else _part(wide.inputs[0], made)
    cut = None if blocks is None else made.by(blocks.inputs[0], "Reshape")
    if total is None or cut is None or cut.inputs[0] is None:
        return None
    axes = constant_integers(total.inputs[1])
    if axes is None:
        return None
    if divided is not None and not _counts(divided.inputs[1], cut.inputs[0], axes):
        return None
    return LongSum(cut.inputs[0], axes, bool(total.attrs["keepdims"]), divided is not None)


def _part(value: Value | None, made: Makers) -> Node | None:
    node = made.any(value)
    is_part = node is not None and node.op == "ReduceSum" and node.tag is Mark.PART_OF_SUM
    return node if is_part else None


def _counts(divisor: Value | None, x: Value, axes: Sequence[int]) -> bool:
    """True if a divisor is how many numbers become one."""
    if divisor is None or divisor.const is None or x.shape is None or divisor.const.size != 1:
        return False
    count = 1
    for axis in axes:
        size = x.shape[axis]
        if not isinstance(size, int):
            return False
        count *= size
    return float(divisor.const.reshape(-1)[0]) == count
