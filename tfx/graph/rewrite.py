"""``Rewriter``, the base of passes: it walks a graph, and subclasses replace nodes.

A pass never changes what it is given. One map of values serves a graph and all below it, since
bodies see the values of the enclosing graphs; a called graph is rewritten once, since its calls
must go on sharing one function.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.graph.ir import CALL, Graph, Node, Value

Inputs = tuple[Value | None, ...]


class Rewriter:
    """Copies a graph in program order, bodies where they stand. Override ``rewrite``."""

    def __init__(self) -> None:
        self._same: dict[int, Value] = {}
        # With what was made of it, and kept: else another graph could get the same ``id``.
        self._callees: dict[int, tuple[Graph, Graph]] = {}

    def run(self, graph: Graph) -> Graph:
        """A rewritten copy of a graph."""
        result = graph.copy()
        result.nodes = []
        self.enter(graph, result)
        for node in graph.nodes:
            self.rewrite(node, self.replaced(node.inputs), result)
        result.outputs = [self.value(v) for v in graph.outputs]
        self.leave(result)
        return result

    def enter(self, graph: Graph, out: Graph) -> None:
        """Called before the nodes of a graph, or of a body."""

    def leave(self, out: Graph) -> None:
        """Called after the nodes of a graph, or of a body."""

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        """Append the replacement of a node to ``out``.

        Args:
            node: As it was.
            inputs: Its inputs as they are now.
            out: The graph under construction.
        """
        out.nodes.append(self.rewired(node, inputs))

    def rewired(self, node: Node, inputs: Inputs) -> Node:
        """A node with the inputs, bodies and callee as they are now; itself if nothing changed."""
        attrs = node.attrs
        for name, body in node.attrs.items():
            if isinstance(body, Graph):
                made = self.body(body, node)
                if made is not body:
                    attrs = {**attrs, name: made}
        if attrs is node.attrs and inputs == node.inputs:
            return node
        return node.replaced(inputs, attrs)

    def body(self, graph: Graph, node: Node) -> Graph:
        """Return the rewritten form of a graph that a node holds."""
        return self.callee(graph) if node.op == CALL else self.run(graph)

    def callee(self, graph: Graph) -> Graph:
        """Return the rewritten form of a called graph; each is rewritten once."""
        known = self._callees.get(id(graph))
        if known is None:
            made = self.run(graph)
            # It computes what it did, so what is known of that still holds.
            made.library, made.slopes = graph.library, graph.slopes
            made.routine, made.routine_from = graph.routine, graph.routine_from
            made.kernel = graph.kernel
            known = self._callees[id(graph)] = graph, made
        return known[1]

    def use(self, old: Value, new: Value) -> None:
        """Let a value take the place of another one from now on."""
        self._same[id(old)] = new

    def value(self, v: Value) -> Value:
        """Return the replacement of a value, or the value itself."""
        return self._same.get(id(v), v)

    def replaced(self, inputs: Sequence[Value | None]) -> Inputs:
        """Return inputs with replaced values substituted."""
        same = self._same
        if not same or not any(id(v) in same for v in inputs):
            return tuple(inputs)
        return tuple([None if v is None else same.get(id(v), v) for v in inputs])
