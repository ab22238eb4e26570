"""The choice of forward values to keep for the backward graph, and of those to recompute.

A value that costs as much to read as to compute is not kept: sizes, comparisons, changes of type
and of shape. It is computed again from arguments, results and what is kept in any case. Where that
cannot be, what it was made from is kept in its place if that is no larger (the value before it was
expanded, the mask before it became a float), so two views of one value are kept once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tfx.core.dims import is_static
from tfx.core.dtypes import SEQUENCE, from_onnx
from tfx.graph.ir import Node, Value
from tfx.graph.passes.dead_code import used_values
from tfx.graph.tags import Mark
from tfx.graph.traits import traits

_INTEGERS = (6, 7)
# How many nodes may be repeated for one value.
_LONGEST = 16


def choose_residuals(
    nodes: Sequence[Node], outside: Sequence[Value], given: Collection[int]
) -> tuple[list[Value], list[Node]]:
    """Return the values to keep so that all needed values can be computed.

    Args:
        nodes: The backward nodes.
        outside: What they use of the forward graph.
        given: By ``id``, arguments, results and constants, which are there in any case.

    Returns:
        The values, and the backward nodes that the forward graph has to do: what they take the
        size of need not be kept then.
    """
    known = {id(v) for v in outside}
    taking = [n for n in nodes if n.op in ("Shape", "Size") and id(n.inputs[0]) in known]
    if not taking:
        return _saved(outside, given), []
    sizes = {size_key(n): n for n in taking}
    apart = {id(n) for n in taking}
    used = {id(v) for n in nodes if id(n) not in apart for v in used_values(n)}
    used |= known - {id(v) for n in nodes for v in used_values(n)}  # results
    saved = _saved([v for v in outside if id(v) in used], given)
    there = {*given, *(id(v) for v in saved)}
    moved = []
    for node in sizes.values():
        if repeated_nodes([v for v in node.inputs if v is not None], there) is None:
            moved.append(node)
            saved.append(node.outputs[0])
    return saved, moved


def size_key(node: Node) -> tuple[object, ...]:
    """Equal for nodes that take the same sizes of the same value."""
    return (node.op, id(node.inputs[0]), *sorted(node.attrs.items()))


def with_saved_sizes(
    nodes: Iterable[Node], sizes: Mapping[tuple[object, ...], Value]
) -> Iterator[Node]:
    """The nodes, with copies of the sizes that are kept in place of those that take them."""
    for node in nodes:
        size = sizes.get(size_key(node)) if node.op in ("Shape", "Size") else None
        if size is None:
            yield node
        elif size is not node.outputs[0]:
            copy = Node(
                "Identity",
                (size,),
                {},
                node.name,
                node.source,
                outputs=node.outputs,
                device=node.device,
            )
            yield copy


def _saved(needed: Sequence[Value], given: Collection[int]) -> list[Value]:
    saved: dict[int, Value] = {}
    light: list[Value] = []
    for value in needed:
        source = _cheapest_source(value, given)
        if id(source) in given:
            continue
        if source.node is not None and _is_quick(source.node):
            light.append(source)
        else:
            saved[id(source)] = source
    there = set(given) | saved.keys()
    for value in light:
        if repeated_nodes([value], there) is None:
            saved[id(value)] = value
            there.add(id(value))
    return list(saved.values())


def repeated_nodes(values: Iterable[Value], there: Collection[int]) -> list[Node] | None:
    """The forward nodes that make values again, in order.

    Args:
        values: The wanted values.
        there: The available values, by ``id``.

    Returns:
        None: something would cost too much, or comes from something else.
    """
    made: dict[int, Node] = {}
    for value in values:
        if not _repeat(value, there, made, len(made) + _LONGEST):
            return None
    return list(made.values())


def _repeat(value: Value, there: Collection[int], made: dict[int, Node], most: int) -> bool:
    node = value.node
    if id(value) in there or (node is not None and id(node) in made):
        return True
    if node is None or not _is_quick(node) or len(made) >= most:
        return False
    for x in node.inputs:
        if x is not None and x.const is None and not _repeat(x, there, made, most):
            return False
    made[id(node)] = node
    return True


def _is_quick(node: Node) -> bool:
    if node.tag is not None and node.tag is not Mark.STOP_GRADIENT:
        return False
    if traits(node.op).cost == "free":
        return all(v is None or v.dtype < SEQUENCE for v in node.inputs)
    return traits(node.op).cheap_on_shapes and all(
        v.dtype in _INTEGERS and v.shape is not None and len(v.shape) <= 1 for v in node.outputs
    )


def _cheapest_source(value: Value, given: Collection[int]) -> Value:
    """Return the value at the start of quick conversions to `value` that is no larger than it."""
    while id(value) not in given:
        node = value.node
        if node is None or not traits(node.op).form or not _is_quick(node):
            break
        source = node.inputs[0]
        if source is None or source.dtype >= SEQUENCE or not _is_no_larger(source, value):
            break
        others = [v for v in node.inputs[1:] if v is not None and v.const is None]
        # A shape may be that of the source, which is there then.
        made = {} if source.node is None else {id(source.node): source.node}
        if not all(_repeat(v, given, made, _LONGEST) for v in others):
            break
        value = source
    return value


def _is_no_larger(source: Value, value: Value) -> bool:
    one, other = from_onnx(source.dtype), from_onnx(value.dtype)
    if one.size > other.size or not one.size:
        return False
    if value.node is not None and value.node.op != "Expand":
        return True  # as many elements
    before, after = _count(source), _count(value)
    return before is None or after is None or before <= after


def _count(value: Value) -> int | None:
    if not is_static(value.shape):
        return None
    return math.prod(d for d in value.shape if isinstance(d, int))
