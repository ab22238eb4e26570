"""Use a value itself instead of its ``Identity``.

While tracing, an assignment is an ``Identity`` so that gradients see it. ONNX Runtime keeps those
whose input has other uses and whose output leaves the graph, which is every new value of a slot
variable: a copy of it in each step. What must be a copy (an input that is also an output, one value
under two output names) gets its ``Identity`` back when the graph is serialized.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.graph.custom_gradients import CustomGradient
from tfx.graph.ir import CALL, Graph, Node, Value


def remove_copies(
    graph: Graph, *, keep_marked: bool = False, keep_gradients: bool = False
) -> Graph:
    """A copy of the graph, bodies and callees included, without ``Identity`` nodes.

    Args:
        graph: The graph.
        keep_marked: Keep those that mean something: to differentiation (their tag is text), or to
            the user, who gave a value this name.
        keep_gradients: Keep the markers of custom gradients.
    """
    return _Forwarder(keep_marked, keep_gradients).run(graph)


class _Forwarder:
    def __init__(self, keep_marked: bool, keep_gradients: bool) -> None:
        self._keep_marked = keep_marked
        self._keep_gradients = keep_gradients
        # id of a value made by an Identity -> what it is a copy of; bodies see outer values too.
        self._sources: dict[int, Value] = {}
        self._callees: dict[int, Graph] = {}

    def run(self, graph: Graph) -> Graph:
        result = graph.copy()
        result.nodes = []
        for node in graph.nodes:
            inputs = self._replaced(node.inputs)
            kept = self._keep_marked and _means_something(node)
            if node.op == "Identity" and inputs[0] is not None and not kept:
                (output,) = node.outputs
                if output.shape == inputs[0].shape:
                    self._sources[id(output)] = inputs[0]
                    continue
            if node.op == CALL and self._does_nothing(node):
                self._forward_call(node, inputs)
                continue
            result.nodes.append(self._rewired(node, tuple(inputs)))
        result.outputs = [v for v in self._replaced(graph.outputs) if v is not None]
        return result

    def _does_nothing(self, call: Node) -> bool:
        """Whether a called graph only returns inputs (the marker of a custom gradient does)."""
        if self._keep_gradients and isinstance(call.tag, CustomGradient):
            return False
        callee = call.attrs["graph"]
        known = {id(v) for v in callee.inputs}
        same = [x.shape == y.shape for x, y in zip(callee.outputs, call.outputs, strict=True)]
        return not callee.nodes and all(id(v) in known for v in callee.outputs) and all(same)

    def _forward_call(self, call: Node, inputs: Sequence[Value | None]) -> None:
        callee = call.attrs["graph"]
        given = {id(x): v for x, v in zip(callee.inputs, inputs, strict=True) if v is not None}
        for result, output in zip(callee.outputs, call.outputs, strict=True):
            self._sources[id(output)] = given[id(result)]

    def _replaced(self, values: Sequence[Value | None]) -> list[Value | None]:
        return [None if v is None else self._sources.get(id(v), v) for v in values]

    def _rewired(self, node: Node, inputs: tuple[Value | None, ...]) -> Node:
        bodies = {k: v for k, v in node.attrs.items() if isinstance(v, Graph)}
        if not bodies and inputs == node.inputs:
            return node
        attrs = dict(node.attrs)
        for name, body in bodies.items():
            attrs[name] = self._callee(body) if node.op == CALL else self.run(body)
        return node.replaced(inputs, attrs)

    def _callee(self, graph: Graph) -> Graph:
        """A called graph, rewritten once: its calls must go on sharing one function."""
        known = self._callees.get(id(graph))
        if known is None:
            known = self._callees[id(graph)] = self.run(graph)
        return known


def _means_something(node: Node) -> bool:
    """Whether an ``Identity`` is there for more than its value."""
    named = node.tag is None and not node.name.rpartition("/")[2].startswith(("Identity", "Assign"))
    return named or isinstance(node.tag, str)
