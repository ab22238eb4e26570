"""Compute for all rows at once what each iteration of a ``Scan`` computes from its rows alone.

The slopes of an LSTM's gates are of that kind: the backward loop has them of the forward one. An
elementwise operator costs about a microsecond beside its work in each iteration, and once outside.
The numbers are the same, but for a product of several factors: those of the rows are multiplied
first, where one of them is at most 1 and nothing can overflow that did not before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.passes.dead_code import used_values
from tfx.graph.traits import traits
from tfx.graph.value_ranges import value_range

_FLOATS = (1, 11)
_BOOL = 9
# Elements of a row up to which the work is small beside the rest, and of all rows together.
_MOST_IN_ROW, _MOST = 8192, 1 << 22


class Row(NamedTuple):
    """A row that a ``Scan`` reads in each iteration.

    Attributes:
        value: The row, in the body.
        data: All rows.
        backwards: Whether the last one comes first.
    """

    value: Value
    data: Value
    backwards: bool


def compute_for_all(home: Graph, scan: Graph, rows: Sequence[Row], count: int) -> list[Row]:
    """Move nodes from a body to the enclosing graph; the rows that the body takes then.

    Args:
        home: Gets the nodes, at its end.
        scan: The body under construction.
        rows: What it goes through.
        count: How many rows there are.
    """
    known = {id(row.value): row for row in rows}
    inner = {id(v) for v in scan.inputs} | {id(v) for n in scan.nodes for v in n.outputs}
    kept: list[Node] = []
    for node in scan.nodes:
        if _is_of_rows(node, known, inner, count):
            _move(node, home, scan, known, count)
        else:
            kept.append(node)
    uses = Counter(id(v) for node in kept for v in used_values(node))
    uses.update(id(v) for v in scan.outputs)
    products = {id(n.outputs[0]): n for n in kept if n.op == "Mul" and uses[id(n.outputs[0])] == 1}
    taken: set[int] = set()
    for i, node in enumerate(kept):
        found = _factors(node, products, known)
        if found is None:
            continue
        inner_product, carried, one, other = found
        name = f"{node.name}_factors"
        factors = Value(scan.unique_name(name), one.dtype, one.shape)
        both = Node("Mul", (one, other), {}, name, node.source, (factors,), node.device)
        both.make_outputs()
        if _is_of_rows(both, known, inner, count):
            _move(both, home, scan, known, count)
            taken.add(id(inner_product))
            kept[i] = node.replaced((carried, both.outputs[0]))
            if id(node.outputs[0]) in products:
                products[id(node.outputs[0])] = kept[i]
    scan.nodes = [node for node in kept if id(node) not in taken]
    return list(known.values())


def _move(node: Node, home: Graph, scan: Graph, known: dict[int, Row], count: int) -> None:
    """Compute a node's result for all rows, in the enclosing graph."""
    for v in node.inputs:
        if v is not None and v.const is not None and any(v is c for c in scan.constants):
            scan.constants = [c for c in scan.constants if c is not v]
            home.constants.append(v)  # where the body sees it, too
    given = [v and (known[id(v)].data if id(v) in known else v) for v in node.inputs]
    (y,) = node.outputs
    assert y.shape is not None
    every = Value(home.unique_name(f"{y.name}_all"), y.dtype, (count, *y.shape))
    home.nodes.append(node.replaced(given, outputs=(every,)).make_outputs())
    first = next(known[id(v)] for v in node.inputs if id(v) in known)
    known[id(y)] = Row(y, every, first.backwards)


def _factors(
    node: Node, products: Mapping[int, Node], known: Mapping[int, Row]
) -> tuple[Node, Value, Value, Value] | None:
    """Return the inner of two nested products, its factor that is no row, and the two rows."""
    if node.op != "Mul" or node.tag is not None:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        before = products.get(id(x))
        if before is None or other is None or id(other) not in known or before.tag is not None:
            continue
        for carried, one in (before.inputs, before.inputs[::-1]):
            if carried is None or one is None or id(carried) in known or id(one) not in known:
                continue
            same = carried.shape == one.shape == other.shape == node.outputs[0].shape
            if same and any(_is_small(known[id(v)].data) for v in (one, other)):
                return before, carried, one, other
    return None


def _is_small(value: Value) -> bool:
    limits = value_range(value)
    return limits is not None and limits[0] >= -1 and limits[1] <= 1


def _is_of_rows(node: Node, known: dict[int, Row], inner: Collection[int], count: int) -> bool:
    """True if a node computes each element of its result from rows and what does not change."""
    if (
        not (traits(node.op).elementwise or node.op == "Clip")
        or node.tag is not None
        or len(node.outputs) != 1
    ):
        return False
    (y,) = node.outputs
    if y.dtype not in (*_FLOATS, _BOOL) or y.shape is None:
        return False
    size = math.prod(d if isinstance(d, int) else _MOST for d in y.shape)
    if size > _MOST_IN_ROW or size * count > _MOST:
        return False
    directions = set()
    if any(id(v) in known for v in node.inputs[1:]) and node.op == "Clip":
        return False  # its limits must be single numbers
    for v in node.inputs:
        if v is None:
            continue
        if v.dtype not in (*_FLOATS, _BOOL) or v.shape is None:
            return False
        if id(v) in known:
            if v.shape != y.shape:
                return False
            directions.add(known[id(v)].backwards)
        elif id(v) in inner or len(v.shape) > len(y.shape):
            return False
    return len(directions) == 1
