"""Keep chains of calls shorter than what ONNX Runtime takes.

Since release 1.32 it refuses a model in which local functions call each other more than 100 deep.
Of a longer chain some calls are expanded, evenly, so that what is left is a chain again and most of
the sharing stays.
"""

from __future__ import annotations

from tfx.graph.ir import CALL, Graph, Node
from tfx.graph.passes.inline_calls import expand_calls

# Below 100: a bundle's functions may stand in a model that calls them.
LIMIT = 64


def limit_call_depth(graph: Graph, limit: int = LIMIT) -> Graph:
    """The graph with at most ``limit`` calls inside each other; itself where that is so already.

    Args:
        graph: The graph. Calls inside of branches and loops count and stay as they are.
        limit: At least 1.
    """
    if sum(1 for _ in graph.subgraphs()) <= limit:
        return graph
    heights = _heights(graph)
    if heights[id(graph)] <= limit:
        return graph
    return _Shortener(heights, -(-heights[id(graph)] // limit)).run(graph)


def _heights(graph: Graph) -> dict[int, int]:
    """Return the depth of nested calls in a graph and in each graph below it, by ``id``."""
    heights: dict[int, int] = {}
    stack = [graph]
    while stack:
        top = stack[-1]
        unknown = [b for n in top.nodes for b in n.bodies() if id(b) not in heights]
        if unknown:
            stack += unknown
            continue
        below = (heights[id(b)] + (n.op == CALL) for n in top.nodes for b in n.bodies())
        heights[id(top)] = max(below, default=0)
        stack.pop()
    return heights


class _Shortener:
    """Expands calls of all but every ``stride``-th graph of a chain."""

    def __init__(self, heights: dict[int, int], stride: int) -> None:
        self._heights = heights
        self._stride = stride
        self._callees: dict[int, Graph] = {}

    def run(self, graph: Graph) -> Graph:
        return self._with_short_callees(expand_calls(graph, self._is_expanded))

    def _is_expanded(self, call: Node) -> bool:
        return self._heights[id(call.attrs["graph"])] % self._stride != 0

    def _with_short_callees(self, graph: Graph) -> Graph:
        result = graph.copy()
        result.nodes = [self._changed(node) for node in graph.nodes]
        return result

    def _changed(self, node: Node) -> Node:
        change = self._callee if node.op == CALL else self._with_short_callees
        inner = {k: change(v) for k, v in node.attrs.items() if isinstance(v, Graph)}
        return node.replaced(attrs={**node.attrs, **inner}) if inner else node

    def _callee(self, graph: Graph) -> Graph:
        if id(graph) not in self._callees:
            self._callees[id(graph)] = self.run(graph)
        return self._callees[id(graph)]
