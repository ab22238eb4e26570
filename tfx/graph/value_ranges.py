"""Between which numbers the elements of a value are, as far as its operators tell.

Gates are between 0 and 1 whatever goes in. Elements that are NaN are left aside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from tfx.graph.control import Loop
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.traits import traits

Limits: TypeAlias = tuple[float, float]

_OF_RESULTS: dict[str, Limits] = {
    "HardSigmoid": (0.0, 1.0),
    "Sigmoid": (0.0, 1.0),
    "Softmax": (0.0, 1.0),
    "Softsign": (-1.0, 1.0),
    "Tanh": (-1.0, 1.0),
}
_LARGEST_POWER = 709.0
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "Add": lambda x, y: x + y,
    "Mul": lambda x, y: x * y,
    "Sub": lambda x, y: x - y,
}
# How many operators are looked through.
_DEPTH = 12


def value_range(value: Value | None, depth: int = _DEPTH) -> Limits | None:
    """The least and the largest number that an element can be; None: anything.

    Args:
        value: The value.
        depth: How many operators before it are looked at.
    """
    if value is None or not depth:
        return None
    if value.const is not None:
        return _of_number(value)
    node = value.node
    if node is None:
        return None
    if node.op in _OF_RESULTS:
        return _OF_RESULTS[node.op]
    if traits(node.op).moves == "first":
        return value_range(node.inputs[0], depth - 1)
    if node.op in ("Loop", "Scan"):
        return value_range(_collected(node, value), depth - 1)
    if node.op == "Exp":
        low, high = value_range(node.inputs[0], depth - 1) or (-math.inf, math.inf)
        return _exp(low), _exp(high)
    if node.op == "Div" and _is_share(node, depth):
        return 0.0, 1.0
    if node.op == "Clip":
        return _clipped(node, depth)
    combine = _ARITHMETIC.get(node.op)
    if combine is None:
        return None
    x, y = (value_range(v, depth - 1) for v in node.inputs)
    if x is None or y is None:
        return None
    if node.op == "Mul" and node.inputs[0] is node.inputs[1]:
        return 0.0, max(x[0] * x[0], x[1] * x[1])
    corners = [combine(a, b) for a in x for b in y]
    if any(math.isnan(c) for c in corners):  # infinity times 0, or less infinity
        return None
    return min(corners), max(corners)


def _exp(x: float) -> float:
    return math.inf if x > _LARGEST_POWER else math.exp(x)


def _is_share(node: Node, depth: int) -> bool:
    """True if it is ``e / (e + 1)`` of what is not negative, as a sigmoid is when it runs."""
    part, whole = node.inputs
    if part is None or whole is None or whole.node is None or whole.node.op != "Add":
        return False
    other = [v for v in whole.node.inputs if v is not part]
    limits = value_range(part, depth - 1)
    if limits is None or limits[0] < 0 or len(other) != 1 or other[0] is None:
        return False
    return _of_number(other[0]) == (1.0, 1.0)


def _clipped(node: Node, depth: int) -> Limits:
    x, low, high = (*node.inputs, None, None)[:3]
    below, above = value_range(x, depth - 1) or (-math.inf, math.inf)
    least, most = value_range(low, depth - 1), value_range(high, depth - 1)
    if least is not None:
        below, above = max(below, least[0]), max(above, least[1])
    if most is not None:
        below, above = min(below, most[0]), min(above, most[1])
    return below, above


def _of_number(value: Value) -> Limits | None:
    const = value.const
    if const is None or const.size != 1 or const.dtype.kind != "f":
        return None
    number = float(const.reshape(-1)[0])
    return number, number


def _collected(node: Node, value: Value) -> Value | None:
    """Return the per-iteration value of a stacked result of a loop; None for any other result."""
    if node.op == "Loop":
        return next((found.each for found in Loop(node).scanned if found.rows is value), None)
    body = node.attrs.get("body")
    if not isinstance(body, Graph):
        return None
    place = next((i for i, v in enumerate(node.outputs) if v is value), None)
    carried = len(node.inputs) - int(node.attrs["num_scan_inputs"])
    if place is None or place < carried or place >= len(body.outputs):
        return None
    return body.outputs[place]
