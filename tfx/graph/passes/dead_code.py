"""Remove nodes whose results nobody uses. Every node of a graph is pure, so this is always safe."""

from __future__ import annotations

from tfx.graph.ir import CALL, Graph, Node, Value, free_values


def remove_dead_nodes(graph: Graph) -> Graph:
    """A copy of the graph without dead nodes and constants; inputs stay as they are."""
    live = {id(v) for v in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(id(v) in live for v in node.outputs):
            kept.append(node)
            live.update(id(v) for v in used_values(node))
    result = graph.copy()
    result.nodes = kept[::-1]
    result.constants = [v for v in graph.constants if id(v) in live]
    return result


def used_values(node: Node) -> list[Value]:
    """Everything a node reads, values used inside its bodies included."""
    used = [v for v in node.inputs if v is not None]
    if node.op != CALL:
        for body in node.bodies():
            used += free_values(body)
    return used
