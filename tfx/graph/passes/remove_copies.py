"""Use a value itself instead of its ``Identity``.

While tracing, an assignment is an ``Identity`` so that gradients see it. ONNX Runtime keeps those
whose input has other uses and whose output leaves the graph, which is every new value of a slot
variable: a copy of it in each step. What must be a copy (an input that is also an output, one value
under two output names) gets its ``Identity`` back when the graph is serialized.
"""

from __future__ import annotations

from tfx.graph.custom_gradients import CustomGradient
from tfx.graph.ir import CALL, Graph, Node
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.tags import Mark


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
    return _CopyRemover(keep_marked, keep_gradients).run(graph)


class _CopyRemover(Rewriter):
    def __init__(self, keep_marked: bool, keep_gradients: bool) -> None:
        super().__init__()
        self._keep_marked = keep_marked
        self._keep_gradients = keep_gradients

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        kept = self._keep_marked and _means_something(node)
        if node.op == "Identity" and inputs[0] is not None and not kept:
            (output,) = node.outputs
            if output.shape == inputs[0].shape:
                self.use(output, inputs[0])
                return
        if node.op == CALL and self._does_nothing(node):
            self._forward_call(node, inputs)
            return
        out.nodes.append(self.rewired(node, inputs))

    def _does_nothing(self, call: Node) -> bool:
        """True if a called graph only returns inputs (the marker of a custom gradient does)."""
        if self._keep_gradients and isinstance(call.tag, CustomGradient):
            return False
        callee = call.attrs["graph"]
        known = {id(v) for v in callee.inputs}
        same = [x.shape == y.shape for x, y in zip(callee.outputs, call.outputs, strict=True)]
        return not callee.nodes and all(id(v) in known for v in callee.outputs) and all(same)

    def _forward_call(self, call: Node, inputs: Inputs) -> None:
        callee = call.attrs["graph"]
        given = {id(x): v for x, v in zip(callee.inputs, inputs, strict=True) if v is not None}
        for result, output in zip(callee.outputs, call.outputs, strict=True):
            self.use(output, given[id(result)])


def _means_something(node: Node) -> bool:
    """True if an ``Identity`` is there for more than its value."""
    named = node.tag is None and not node.name.rpartition("/")[2].startswith(("Identity", "Assign"))
    return named or isinstance(node.tag, Mark)
