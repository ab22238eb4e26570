"""Biases and ``Relu`` behind our convolutions, as parts of their kernel: for CPU plans alone.

A block of results is in registers when the convolution is done with it; each of both operators is a
pass over memory otherwise.
"""

from __future__ import annotations

from tfx.graph.ir import CHANNELS_LAST_CONV, Graph, Node, Value
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs


def end_convolutions(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, with fewer nodes behind convolutions."""
    graphs = (graph, *graph.subgraphs())
    if not any(node.op == CHANNELS_LAST_CONV for g in graphs for node in g.nodes):
        return graph
    return _Ends().run(graph)


class _Ends(PatternRewriter):
    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        found = None
        if node.op == "Relu":
            before = self._alone(node.inputs[0])
            found = self._biased(before) or self._plain(before)
        elif node.op == "Add":
            found = self._biased(node)
        if found is None or found[0].attrs.get("positive", 0):
            super().rewrite(node, inputs, out)
            return
        convolution, bias = found
        given = (*convolution.inputs, *([] if bias is None else [bias]))
        attrs = {**convolution.attrs, "positive": int(node.op == "Relu")}
        values = tuple(None if value is None else self.value(value) for value in given)
        out.nodes.append(
            Node(CHANNELS_LAST_CONV, values, attrs, node.name, node.source, node.outputs)
        )

    def _alone(self, value: Value | None) -> Node | None:
        """The node that makes a value which nothing else uses."""
        return self.made.any(value) if self.has_one_user(value) else None

    def _plain(self, node: Node | None) -> tuple[Node, Value | None] | None:
        return None if node is None or node.op != CHANNELS_LAST_CONV else (node, None)

    def _biased(self, node: Node | None) -> tuple[Node, Value | None] | None:
        """A convolution and what a sum adds to its channels."""
        if node is None or node.op != "Add" or node.tag is not None:
            return None
        for value, bias in (node.inputs, node.inputs[::-1]):
            made = self._plain(self._alone(value))
            if made is not None and len(made[0].inputs) == 2 and _is_bias(bias, value):
                return made[0], bias
        return None


def _is_bias(bias: Value | None, image: Value | None) -> bool:
    """True if a value has one number for each channel, and nothing makes it a larger tensor."""
    if bias is None or image is None or bias.shape is None or not image.shape:
        return False
    channels = image.shape[-1]
    ones = [1] * (len(bias.shape) - 1)
    return isinstance(channels, int) and list(bias.shape) == [*ones, channels] and len(ones) < 4
