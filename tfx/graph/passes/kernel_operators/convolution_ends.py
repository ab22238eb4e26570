"""What stands behind convolutions and pools without passes over images: for CPU plans alone.

Biases and ``Relu`` become parts of our convolutions' kernel: a block of results is in registers
when it is done. The gradient of a ``Relu`` in front of a pool of maxima is taken of what is pooled,
before the pool's own: a maximum has the sign of the pixel that it is, and all others have no
gradient.
"""

from __future__ import annotations

import functools

from tfx.graph.ir import (
    CHANNELS_LAST_CONV,
    CHANNELS_LAST_MAX_POOL_GRADIENT,
    Graph,
    Node,
    Value,
)
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs

_ENDED = (CHANNELS_LAST_CONV, CHANNELS_LAST_MAX_POOL_GRADIENT)


def end_convolutions(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, with fewer nodes behind convolutions."""
    if not any(node.op in _ENDED for node in graph.all_nodes()):
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
        elif node.op == "Mul" and self._signed(node, out):
            return
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

    def _signed(self, node: Node, out: Graph) -> bool:
        """The gradient of a pool, times the signs of its pixels."""
        for value, signs in (node.inputs, node.inputs[::-1]):
            pool, sign = self._alone(value), self.made.by(signs, "Sign")
            if pool is None or sign is None or pool.op != CHANNELS_LAST_MAX_POOL_GRADIENT:
                continue
            image, maxima, dy = pool.inputs
            if sign.inputs[0] is not image or maxima is None or dy is None:
                continue
            types = [(maxima.dtype, maxima.shape)]
            write = functools.partial(out.add_node, source=node.source, device=node.device)
            signs_of = write("Sign", (self.value(maxima),), {}, types, name=sign.name).outputs[0]
            given = (self.value(dy), signs_of)
            slopes = write("Mul", given, {}, types, name=f"{node.name}_pooled").outputs[0]
            operands = (None if image is None else self.value(image), self.value(maxima), slopes)
            out.nodes.append(pool.replaced(operands, name=node.name, outputs=node.outputs))
            return True
        return False

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
