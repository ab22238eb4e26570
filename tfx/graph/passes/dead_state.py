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
    return _Narrowing().without_dead_state(graph)


class _Narrowing:
    """Nodes with the results that are wanted, each made once: bodies lie in bodies."""

    def __init__(self) -> None:
        # By the id of a node and the results that are wanted; the node, so that the id stays its.
        self._made: dict[tuple[int, tuple[int, ...]], tuple[Node, Node]] = {}

    def without_dead_state(self, graph: Graph) -> Graph:
        if not any(node.op in ("If", "Loop") for node in graph.nodes):
            return graph
        live = {id(v) for v in graph.outputs}
        kept: list[Node] = []
        for node in reversed(graph.nodes):
            changed = self._narrowed(node, live)
            kept.append(changed)
            live.update(id(v) for v in used_values(changed))
        result = graph.copy()
        result.nodes = kept[::-1]
        return result

    def _narrowed(self, node: Node, live: set[int]) -> Node:
        if node.op not in ("If", "Loop"):
            return node
        wanted = [i for i, v in enumerate(node.outputs) if id(v) in live]
        if not wanted:  # a node without results is there for its effects, or will be removed
            wanted = list(range(len(node.outputs)))
        key = id(node), tuple(wanted)
        if key not in self._made:
            kept = If(node).keep(wanted) if node.op == "If" else self._loop(Loop(node), wanted)
            self._made[key] = node, self._with_live_bodies(kept)
        return self._made[key][1]

    def _loop(self, loop: Loop, wanted: list[int]) -> Node:
        state = loop.state_needed(wanted, lambda roots: self._needed(loop.body, roots))
        return loop.keep(sorted({*wanted, *state}))

    def _with_live_bodies(self, node: Node) -> Node:
        """A node with bodies of its own that hold only the nodes that their outputs need."""
        attrs = dict(node.attrs)
        for name, body in attrs.items():
            if isinstance(body, Graph):
                needed = self._needed(body, body.outputs)
                body.nodes = [n for n in body.nodes if _stays(n, needed)]
                attrs[name] = self.without_dead_state(body)
        return node.replaced(attrs=attrs)

    def _needed(self, body: Graph, roots: Iterable[Value]) -> set[int]:
        """The values, by ``id``, that the roots are computed from, and what effects use."""
        needed = {id(v) for v in roots}
        for node in reversed(body.nodes):
            if _stays(node, needed):
                needed.update(id(v) for v in used_values(self._narrowed(node, needed)))
        return needed


def _stays(node: Node, needed: set[int]) -> bool:
    return any(id(v) in needed for v in node.outputs) or _acts(node)


def _acts(node: Node) -> bool:
    single = Graph("single")
    single.nodes = [node]
    return has_effects(single)
