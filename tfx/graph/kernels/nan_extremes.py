"""Extremes of floating numbers that lose NaN.

Seen in ONNX Runtime 1.31: ``ReduceMax``, ``ReduceMin`` and ``ReduceLogSumExp`` pass NaN on or not,
by where it stands; ``ArgMax`` and ``ArgMin`` take a NaN for the extreme where it comes first and
only there; ``LogSoftmax`` of float64 gives finite numbers beside a NaN. Here a NaN makes the
extreme NaN, and is never what ``ArgMax`` finds.

What costs least is a sum, which is NaN wherever an element is. It also is where infinities of both
signs meet or sums overflow, so where it is NaN, and only there, the input is looked at once more:
of all other inputs one element along one axis is. Small inputs are squared and summed instead,
which is slower for each element and needs no second look: squares do not cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark, Tag


@dataclass(frozen=True)
class Clean(Tag):
    """The tag of such an extreme that has another tag besides."""

    tag: Tag


_FLOAT, _INT32, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 6, 10, 11, 16
_FLOATING = frozenset((_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16))
_FAR = 2**31 - 1
# Up to so many elements squares are faster than a second look.
_SMALL = 1 << 14


def _reduced(out: Graph, node: Node) -> bool:
    """An extreme over axes, or NaN."""
    x = node.inputs[0]
    if x is None or x.dtype not in _FLOATING or _is_clean(node) or _has_none(x):
        return False
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    if axes is not None and axes.const is not None and not axes.const.size:
        axes = None
        if node.attrs.get("noop_with_empty_axes"):
            return False
    write = ReplacementBuilder(out, node)
    wide = x if x.dtype in (_FLOAT, _DOUBLE) else write.Cast(x, to=_FLOAT)
    over = (wide,) if axes is None else (wide, axes)
    extreme = of_numbers(write.apply(node.op, over, node.attrs))
    if node.tag is not None:
        assert extreme.node is not None
        extreme.node.tag = Clean(node.tag)
    # The axes may be none at run time, which means to do nothing.
    uncertain = axes is not None and axes.const is None and node.attrs.get("noop_with_empty_axes")
    if _is_small(x) or uncertain:
        squares = _asked(write.ReduceSumSquare(*over, **node.attrs))
    else:
        suspect = write.IsNaN(_asked(write.ReduceSum(*over, **node.attrs)))
        if axes is None:
            looked = write.Reshape(wide, write.ints([-1]))
            looked = _if_suspect(write, looked, suspect, _numbers(write, [0]))
            squares = _asked(write.ReduceSumSquare(looked, keepdims=0))
        else:
            looked = _if_suspect(write, wide, suspect, _first(write, axes))
            squares = _asked(write.ReduceSumSquare(looked, axes, **node.attrs))
    result = write.Where(write.IsNaN(squares), squares, extreme)
    if wide is not x:
        write.Cast(result, to=x.dtype)
    return write.finish()


def _position(out: Graph, node: Node) -> bool:
    """The index of an extreme among the numbers."""
    (x,) = node.inputs
    if x is None or x.dtype not in _FLOATING or node.tag is Mark.WITHOUT_NAN or _has_none(x):
        return False
    axis = node.attrs.get("axis", 0)
    if x.shape is not None and (not x.shape or x.shape[axis] == 0):
        return False
    write = ReplacementBuilder(out, node)
    wide = x if x.dtype in (_FLOAT, _DOUBLE) else write.Cast(x, to=_FLOAT)
    keepdims = {"keepdims": node.attrs.get("keepdims", 1)}
    lowest = -math.inf if node.op == "ArgMax" else math.inf
    worst = write.Cast(write.number(lowest), to=wide.dtype)

    def among_numbers(values: Value) -> Value:
        numbers = write.Where(write.IsNaN(values), worst, values)
        return of_numbers(write.apply(node.op, (numbers,), node.attrs))

    if _is_small(x):
        among_numbers(wide)
        return write.finish()
    found = of_numbers(write.apply(node.op, (wide,), node.attrs))
    suspect = write.IsNaN(_asked(write.ReduceSum(wide, write.ints([axis]), **keepdims)))
    looked = _if_suspect(write, wide, suspect, _numbers(write, [axis]))
    write.Where(suspect, among_numbers(looked), found)
    return write.finish()


def _log_softmax(out: Graph, node: Node) -> bool:
    """``LogSoftmax`` of float64, whose kernel gives finite numbers beside a NaN."""
    (x,) = node.inputs
    if x is None or x.dtype != _DOUBLE:
        return False
    write = ReplacementBuilder(out, node)
    axis = write.ints([node.attrs.get("axis", -1)])
    most = of_numbers(write.ReduceMax(x, axis, keepdims=1))
    below = write.Sub(x, most)
    total = write.ReduceSum(write.Exp(below), axis, keepdims=1)
    write.Sub(below, write.Log(total))
    return write.finish()


def of_numbers(extreme: Value) -> Value:
    """Declare that an extreme's values are not NaN, or that NaN does not matter."""
    assert extreme.node is not None
    extreme.node.tag = Mark.WITHOUT_NAN
    return extreme


def _asked(total: Value) -> Value:
    """Declare that of a sum nothing counts but whether it is NaN, so that it needs no care."""
    assert total.node is not None
    total.node.tag = Mark.PART_OF_SUM
    return total


def _is_clean(node: Node) -> bool:
    return node.tag is Mark.WITHOUT_NAN or isinstance(node.tag, Clean)


def _has_none(x: Value) -> bool:
    """True if NaN was just replaced: ``where(is_nan(x), number, x)``."""
    if x.node is None or x.node.op != "Where":
        return False
    condition, number, rest = x.node.inputs
    asked = None if condition is None else condition.node
    if asked is None or asked.op != "IsNaN" or number is None or number.const is None:
        return False
    return asked.inputs[0] is rest and not np.isnan(number.const).any()


def _is_small(x: Value) -> bool:
    shape = x.shape
    if shape is None:
        return False
    known = [d for d in shape if isinstance(d, int)]
    return len(known) == len(shape) and math.prod(known) <= _SMALL


def _numbers(write: ReplacementBuilder, values: list[int]) -> Value:
    return write.Cast(write.ints(values), to=_INT32)


def _first(write: ReplacementBuilder, axes: Value) -> Value:
    """One of the axes; 0 where none is given and all are meant."""
    if axes.const is not None:
        return _numbers(write, [int(axes.const.reshape(-1)[0])])
    given = write.Cast(write.Concat(axes, write.ints([0]), axis=0), to=_INT32)
    return write.Gather(given, write.ints([0]))


def _if_suspect(write: ReplacementBuilder, x: Value, suspect: Value, axis: Value) -> Value:
    """All of ``x`` if something is suspect, otherwise its last element along an axis."""
    all_of_it, last = write.constant(-_FAR, _INT32), write.constant(-1, _INT32)
    starts = write.Reshape(write.Where(suspect, all_of_it, last), write.ints([-1]))
    start = write.ReduceMin(starts, keepdims=1)
    return write.Slice(x, start, _numbers(write, [_FAR]), axis)


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {
    **dict.fromkeys(("ReduceLogSumExp", "ReduceMax", "ReduceMin"), _reduced),
    **dict.fromkeys(("ArgMax", "ArgMin"), _position),
    "LogSoftmax": _log_softmax,
}
