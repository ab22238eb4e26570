"""Remove nodes whose results nobody uses: all are pure, but for what Python does."""

from __future__ import annotations

from tfx.graph.ir import CALL, HOST, Graph, HostCall, Node, Value, free_values
from tfx.graph.traits import traits


def remove_dead_nodes(graph: Graph, *, keep_effects: bool = True) -> Graph:
    """A copy of the graph without dead nodes and constants; inputs stay as they are.

    Args:
        graph: The graph.
        keep_effects: Keep host calls that have effects, and what holds them, though nothing uses
            what they return. False where only the outputs are wanted.
    """
    return _without_dead_nodes(graph, keep_effects, {})


def _without_dead_nodes(graph: Graph, keep_effects: bool, known: dict[int, bool]) -> Graph:
    live = {id(v) for v in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        for v in node.outputs:
            if id(v) in live:
                break
        else:
            if not keep_effects or not traits(node.op).bodies or not _acts(node, known):
                continue
        if traits(node.op).bodies:
            node = _with_live_bodies(node, keep_effects, known)
            live.update(map(id, used_values(node)))
        else:
            live.update(map(id, node.inputs))
        kept.append(node)
    result = graph.copy()
    result.nodes = kept[::-1]
    result.constants = [v for v in graph.constants if id(v) in live]
    return result


def _with_live_bodies(node: Node, keep_effects: bool, known: dict[int, bool]) -> Node:
    """The node with branches or a loop body that hold no dead nodes; callees stay as they are."""
    if not node.attrs or node.op == CALL or not any(True for _ in node.bodies()):
        return node
    attrs = {
        k: _without_dead_nodes(v, keep_effects, known) if isinstance(v, Graph) else v
        for k, v in node.attrs.items()
    }
    return node.replaced(attrs=attrs)


def _acts(node: Node, known: dict[int, bool]) -> bool:
    """``acts`` with what is known of graphs by their ``id``."""
    if node.op == HOST:
        call: HostCall = node.attrs["call"]
        return call.effect
    for body in node.bodies() if node.attrs else ():
        found = known.get(id(body))
        if found is None:
            found = known[id(body)] = any(_acts(n, known) for n in body.nodes)
        if found:
            return True
    return False


def acts(node: Node) -> bool:
    """True if a node, or one in its bodies or its callee, does something besides computing."""
    return traits(node.op).bodies and _acts(node, {})


def has_effects(graph: Graph) -> bool:
    """True if a graph does something besides computing its outputs."""
    known: dict[int, bool] = {}
    return any(_acts(node, known) for node in graph.nodes)


def used_values(node: Node) -> list[Value]:
    """Everything a node reads, values used inside its bodies included."""
    used = [v for v in node.inputs if v is not None]
    if traits(node.op).bodies and node.op != CALL:
        for body in node.bodies():
            used += free_values(body)
    return used
