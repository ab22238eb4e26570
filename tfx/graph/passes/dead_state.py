"""Remove from branches and loops what nobody uses: results, collected values, carried state.

ONNX Runtime removes nodes that nobody uses, in bodies too, but it keeps every result of a body and
everything that a ``Loop`` carries. Derivatives leave such things behind: a gradient may need the
values of each iteration and not the last one.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfx.graph.control import If, Loop
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.passes.dead_code import has_effects, used_values


def remove_dead_state(graph: Graph) -> Graph:
    """The graph, or a copy, whose ``If`` and ``Loop`` nodes make nothing that is not used."""
    if not any(node.op in ("If", "Loop") for node in graph.nodes):
        return graph
    live = {id(v) for v in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        changed = _narrowed(node, live) if node.op in ("If", "Loop") else node
        kept.append(changed)
        live.update(id(v) for v in used_values(changed))
    result = graph.copy()
    result.nodes = kept[::-1]
    return result


def _narrowed(node: Node, live: set[int]) -> Node:
    if node.op == "If":
        return _narrow_if(node, live)
    return _narrow_loop(node, live)


def _narrow_if(node: Node, live: set[int]) -> Node:
    wanted = [i for i, v in enumerate(node.outputs) if id(v) in live]
    if not wanted:  # a node without results is there for its effects, or will be removed
        wanted = list(range(len(node.outputs)))
    return _with_live_bodies(If(node).keep(wanted))


def _narrow_loop(node: Node, live: set[int]) -> Node:
    loop = Loop(node)
    wanted = [i for i, v in enumerate(node.outputs) if id(v) in live]
    if not wanted:
        wanted = list(range(len(node.outputs)))
    state = loop.state_needed(wanted, lambda roots: _needed(loop.body, roots))
    return _with_live_bodies(loop.keep(sorted({*wanted, *state})))


def _with_live_bodies(node: Node) -> Node:
    """A node with bodies of its own that hold only the nodes that their outputs need."""
    attrs = dict(node.attrs)
    for name, body in attrs.items():
        if isinstance(body, Graph):
            needed = _needed(body, body.outputs)
            body.nodes = [n for n in body.nodes if _stays(n, needed)]
            attrs[name] = remove_dead_state(body)
    return node.replaced(attrs=attrs)


def _needed(body: Graph, roots: Iterable[Value]) -> set[int]:
    """The values, by ``id``, that the roots are computed from, and what effects use."""
    needed = {id(v) for v in roots}
    for node in reversed(body.nodes):
        if _stays(node, needed):
            changed = _narrowed(node, needed) if node.op in ("If", "Loop") else node
            needed.update(id(v) for v in used_values(changed))
    return needed


def _stays(node: Node, needed: set[int]) -> bool:
    return any(id(v) in needed for v in node.outputs) or _acts(node)


def _acts(node: Node) -> bool:
    single = Graph("single")
    single.nodes = [node]
    return has_effects(single)
