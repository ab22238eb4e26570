"""``PatternRewriter``: replaces nodes by what makes their operands and by who uses them."""

from __future__ import annotations

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.makers import Makers
from tfx.graph.passes.dead_code import used_values
from tfx.graph.rewrite import Rewriter


class PatternRewriter(Rewriter):
    """A rewriter that knows the nodes around each node, as they were before it."""

    def __init__(self) -> None:
        super().__init__()
        self.made = Makers()
        self._uses: dict[int, int] = {}

    def is_user(self, node: Node) -> bool:
        """True if a node counts among the users of its operands."""
        return True

    def enter(self, graph: Graph, out: Graph) -> None:
        """See ``Rewriter``."""
        self.made.enter(graph.nodes)
        users = filter(self.is_user, graph.nodes)
        for used in (graph.outputs, *map(used_values, users)):
            for key in {id(value) for value in used}:
                self._uses[key] = self._uses.get(key, 0) + 1

    def has_one_user(self, value: Value | None) -> bool:
        """True if one node, or one result of a graph, is all that uses a value."""
        return self._uses.get(id(value), 0) == 1
