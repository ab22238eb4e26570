"""Bodies of ``If``, ``Loop`` and ``Scan``: copied into another graph, and with values replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfx.core.dims import is_static, sizes_alone
from tfx.graph.ir import CALL, Graph, Node, Value, free_values
from tfx.graph.traits import traits

Lookup = Callable[[Value], Value]


def forget_sizes(graph: Graph) -> None:
    """Let a body, in a place where names of sizes may stand for others, know numbers only.

    Args:
        graph: Changed in place, with the bodies in it.
    """
    for value in (*graph.inputs, *(v for node in graph.nodes for v in node.outputs)):
        value.shape = sizes_alone(value.shape)
        if not is_static(value.dims):
            value.dims = None
    for node in graph.nodes:
        if node.op != CALL:
            for body in node.bodies():
                forget_sizes(body)


def without_names_of_sizes(graph: Graph) -> tuple[Graph, Lookup]:
    """A copy of a graph that knows numbers only, and what became of each value.

    Args:
        graph: The graph, which owns its inputs: they are those of the copy.
    """
    copied = Graph(graph.name)
    copied.inputs, copied.constants = graph.inputs, list(graph.constants)
    known: dict[int, Value] = {}

    def lookup(value: Value) -> Value:
        return known.get(id(value), value)

    def constant(value: Value) -> Value:
        copied.constants.append(value)
        return value

    for node in graph.nodes:
        made = copy_node(node, copied, lookup, constant)
        known.update((id(v), new) for v, new in zip(node.outputs, made.outputs, strict=True))
    copied.outputs = [lookup(v) for v in graph.outputs]
    forget_sizes(copied)
    return copied, lookup


def copy_body(body: Graph, parent: Graph, outer: Lookup, constant: Lookup) -> Graph:
    """A body in another graph: new nodes and values, with the same tags and source lines.

    Args:
        body: A branch or loop body.
        parent: The graph that gets it.
        outer: The parent's value for each value from outside of the body.
        constant: The parent's value for each of the body's own constants.
    """
    copied = Graph(body.name, parent)
    known: dict[int, Value] = {}

    def lookup(value: Value) -> Value:
        found = known.get(id(value))
        return outer(value) if found is None else found

    for value in body.inputs:
        known[id(value)] = copied.add_input(value.name, value.dtype, value.shape)
    for value in body.constants:
        known[id(value)] = constant(value)
    for node in body.nodes:
        made = copy_node(node, copied, lookup, constant)
        for old, new in zip(node.outputs, made.outputs, strict=True):
            known[id(old)] = new
    copied.outputs = [lookup(v) for v in body.outputs]
    return copied


def copy_node(node: Node, target: Graph, lookup: Lookup, constant: Lookup) -> Node:
    """Append the same node, bodies included; a called graph is shared."""
    attrs: dict[str, Any] = dict(node.attrs)
    if node.op != CALL:
        for name, value in attrs.items():
            if isinstance(value, Graph):
                attrs[name] = copy_body(value, target, lookup, constant)
    made = target.add_another(
        node,
        [None if v is None else lookup(v) for v in node.inputs],
        attrs,
        [(v.dtype, v.shape) for v in node.outputs],
    )
    for old, new in zip(node.outputs, made.outputs, strict=True):
        new.dims = old.dims
    return made


def snapshot(nodes: Iterable[Node]) -> list[Node]:
    """The nodes as they are now: gradients add results to an ``If`` or ``Loop`` later on."""
    return [_unchanging(node) if traits(node.op).bodies else node for node in nodes]


def _unchanging(node: Node) -> Node:
    if node.op == CALL or not any(True for _ in node.bodies()):
        return node
    attrs: dict[str, Any] = dict(node.attrs)
    for name, value in attrs.items():
        if isinstance(value, Graph):
            attrs[name] = value.copy()
            attrs[name].nodes = snapshot(value.nodes)
    return node.replaced(attrs=attrs)


def replace_values(graph: Graph, replacements: Mapping[int, Value]) -> None:
    """Let a body under construction, and the bodies in it, use other values.

    Args:
        graph: Changed in place.
        replacements: The new value by the ``id`` of the old one.
    """
    if not replacements:
        return
    for i, node in enumerate(graph.nodes):
        if any(v is not None and id(v) in replacements for v in node.inputs):
            inputs = [None if v is None else replacements.get(id(v), v) for v in node.inputs]
            graph.nodes[i] = node.replaced(inputs).make_outputs()
        if node.op != CALL:
            for body in node.bodies():
                replace_values(body, replacements)
    graph.outputs = [replacements.get(id(v), v) for v in graph.outputs]


def captured_values(bodies: Iterable[Graph]) -> list[Value]:
    """Values of the enclosing graphs that the bodies use, constants left out, each once."""
    found: dict[int, Value] = {}
    for body in bodies:
        for value in free_values(body):
            if value.const is None:
                found.setdefault(id(value), value)
    return list(found.values())


def uses(graph: Graph, value: Value) -> int:
    """Return the number of uses of a value in a graph, including the bodies in it."""
    count = sum(v is value for v in graph.outputs)
    for node in graph.nodes:
        count += sum(v is value for v in node.inputs)
        if node.op != CALL:
            count += sum(uses(body, value) for body in node.bodies())
    return count
