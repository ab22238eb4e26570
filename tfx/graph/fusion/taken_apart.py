"""What programs of loops have no instructions for, as several nodes that they have some for.

In the body of a loop everything is worth a step, as one operator of another kind leaves the whole
loop to ONNX Runtime: a softmax is extremes, exponentials, sums and quotients; a branch, both sides
and a choice between them, if they are cheap, and if nothing in them can fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tfx.graph.control import ELSE, THEN
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder

_INT64 = 7
_FLOATS = (1, 11)
# Numbers that both sides of a branch make, beyond which one of them is cheaper.
_MOST_IN_BRANCHES = 1 << 13


def taken_apart(node: Node, body: Graph) -> list[Node]:
    """A node of a loop's body, or those that do the same.

    Args:
        node: The node.
        body: Where it is; it stays as it is, but for names and constants.
    """
    if node.op == "Split":
        return _parts(node)
    if node.op == "If":
        return _both_sides(node, body)
    write = _WRITERS.get(node.op)
    if write is None:
        return [node]
    before = len(body.nodes)
    builder = ReplacementBuilder(body, node)
    found = write(builder, node) and builder.finish()
    made = body.nodes[before:]
    del body.nodes[before:]
    return made if found else [node]


def _parts(node: Node) -> list[Node]:
    """A slice for each result of a node that splits a tensor of known sizes."""
    x = node.inputs[0]
    if x is None or x.shape is None:
        return [node]
    axis, begin = node.attrs.get("axis", 0), 0
    slices = []
    for part in node.outputs:
        length = None if part.shape is None else part.shape[axis]
        if not isinstance(length, int):
            return [node]
        bounds = [_ints(part.name, number) for number in (begin, begin + length, axis)]
        slices.append(Node("Slice", (x, *bounds), {}, part.name, node.source, (part,)))
        begin += length
    return slices


def _ints(name: str, number: int) -> Value:
    return Value(f"{name}_bound", _INT64, (1,), const=np.array([number], np.int64))


def _both_sides(node: Node, body: Graph) -> list[Node]:
    """What both branches do, and for each result which one counts."""
    (condition,) = node.inputs
    sides = [node.attrs[name] for name in (THEN, ELSE)]
    nodes = [each for side in sides for inner in side.nodes for each in taken_apart(inner, body)]
    if condition is None or condition.shape not in ((), (1,)) or any(map(_may_fail, nodes)):
        return [node]
    if sum(_elements(v) for each in nodes for v in each.outputs) > _MOST_IN_BRANCHES:
        return [node]
    for made, one, other in zip(node.outputs, *(side.outputs for side in sides), strict=True):
        if one.shape != other.shape or one.shape is None or len(condition.shape) > len(one.shape):
            return [node]
        chosen = (condition, one, other)
        nodes.append(Node("Where", chosen, {}, made.name, node.source, (made,)))
    known = set(map(id, body.constants))
    body.constants += [v for side in sides for v in side.constants if id(v) not in known]
    return nodes


def _may_fail(node: Node) -> bool:
    """True if a node refuses some numbers: a branch may be there to keep these away."""
    second = node.inputs[1] if len(node.inputs) > 1 else None
    if node.op in ("Div", "Mod") and node.outputs[0].dtype not in _FLOATS:
        return second is None or second.const is None or not second.const.all()
    return node.op == "Gather" and (second is None or second.const is None)


def _elements(value: Value) -> float:
    if value.shape is None:
        return math.inf
    return math.prod([size if isinstance(size, int) else math.inf for size in value.shape])


def _reduced(
    write: ReplacementBuilder, op: str, node: Node, x: Value, *, keeps: bool = False
) -> Value:
    """A reduction over the axes of a node."""
    attrs = {**node.attrs, "keepdims": 1} if keeps else node.attrs
    return write.apply(op, [x, *node.inputs[1:]], attrs)


def _squares(write: ReplacementBuilder, node: Node) -> bool:
    (x, *_) = node.inputs
    if x is not None:
        total = _reduced(write, "ReduceSum", node, write.Mul(x, x))
        if node.op == "ReduceL2":
            write.Sqrt(total)
    return x is not None


def _sizes(write: ReplacementBuilder, node: Node) -> bool:
    (x, *_) = node.inputs
    if x is not None:
        _reduced(write, "ReduceSum", node, write.Abs(x))
    return x is not None


def _log_sum_exp(write: ReplacementBuilder, node: Node) -> bool:
    """Less the largest number, if that is finite, as ONNX Runtime has it."""
    (x, *_) = node.inputs
    if x is None or x.dtype not in _FLOATS:
        return False

    def largest(*, keeps: bool) -> Value:
        most = _reduced(write, "ReduceMax", node, x, keeps=keeps)
        return write.Where(write.IsInf(most), write.like(0, most), most)

    total = _reduced(write, "ReduceSum", node, write.Exp(write.Sub(x, largest(keeps=True))))
    write.Add(write.Log(total), largest(keeps=False))
    return True


def _softmax(write: ReplacementBuilder, node: Node) -> bool:
    (x,) = node.inputs
    if x is None or x.dtype not in _FLOATS:
        return False
    axes = write.ints([node.attrs.get("axis", -1)])
    difference = write.Sub(x, write.ReduceMax(x, axes, keepdims=1))
    raised = write.Exp(difference)
    total = write.ReduceSum(raised, axes, keepdims=1)
    if node.op == "Softmax":
        write.Div(raised, total)
    else:
        write.Sub(difference, write.Log(total))
    return True


_WRITERS: dict[str, Callable[[ReplacementBuilder, Node], bool]] = {
    "ReduceSumSquare": _squares,
    "ReduceL2": _squares,
    "ReduceL1": _sizes,
    "ReduceLogSumExp": _log_sum_exp,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
}
