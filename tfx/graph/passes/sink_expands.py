"""Let elementwise operators broadcast instead of expanding their operands for them.

The gradient of a sum is one number for many elements. Rules say so with an ``Expand``, and what
comes next multiplies it, element by element, with a tensor of the full size, which broadcasts
anyway. Where all operands are expanded the operator is applied to what there was before, and its
result is expanded: in this way an ``Expand`` moves down until nothing needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tfx.graph.ir import Graph, Node, RawShape, Value
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.traits import traits


def sink_expands(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, that expands as late as possible.

    Args:
        graph: The graph. An ``Expand`` that nothing uses any more stays: dead code is another
            pass's business.
    """
    if not any(n.op == "Expand" for n in graph.all_nodes()):
        return graph
    return _Narrower().run(graph)


class _Expanded(NamedTuple):
    """The value before an expansion, and the vector that holds the expanded shape."""

    before: Value
    shape: Value


class _Narrower(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        # By id of the expanded value; bodies see outer values too.
        self._expanded: dict[int, _Expanded] = {}

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if node.op == "Expand":
            self._note(node)
        elif traits(node.op).elementwise and any(id(v) in self._expanded for v in inputs):
            out.nodes += self._narrowed(node, out)
            return
        out.nodes.append(self.rewired(node, inputs))

    def _note(self, node: Node) -> None:
        value, shape = node.inputs
        assert value is not None
        assert shape is not None
        before = self._before(value)
        if _known(before.shape) and _known(node.outputs[0].shape):
            self._expanded[id(node.outputs[0])] = _Expanded(before, shape)

    def _before(self, value: Value) -> Value:
        found = self._expanded.get(id(value))
        return value if found is None else found.before

    def _narrowed(self, node: Node, graph: Graph) -> list[Node]:
        """The node with operands as they were before they were expanded."""
        (output,) = node.outputs
        given = [v for v in node.inputs if v is not None]
        inputs = [self._before(v) for v in given]
        shape = _broadcast(v.shape for v in inputs)
        if len(given) != len(node.inputs) or shape is None or not _known(output.shape):
            return [node]
        if shape == output.shape:
            return [node.replaced(inputs)]
        vector = self._shape_vector(given, output.shape)
        if vector is None or node.tag is not None:
            return [node]
        return self._sunk(node, inputs, shape, vector, graph)

    def _shape_vector(self, given: Sequence[Value], shape: RawShape) -> Value | None:
        for v in given:
            found = self._expanded.get(id(v))
            if found is not None and v.shape == shape:
                return found.shape
        return None

    def _sunk(
        self, node: Node, inputs: Sequence[Value], shape: RawShape, vector: Value, graph: Graph
    ) -> list[Node]:
        """The operator on small operands, and its result expanded."""
        (output,) = node.outputs
        value = Value(graph.unique_name(f"{output.name}_narrow"), output.dtype, shape)
        small = node.replaced(inputs, outputs=(value,)).make_outputs()
        name = graph.unique_name(f"{node.name}/Expand")
        expand = Node(
            "Expand",
            (value, vector),
            {},
            name,
            node.source,
            outputs=node.outputs,
            device=node.device,
        )
        self._expanded[id(output)] = _Expanded(value, vector)
        return [small, expand]


def _known(shape: RawShape) -> bool:
    return shape is not None and None not in shape


def _broadcast(shapes: Iterable[RawShape]) -> RawShape:
    """The shape that operands broadcast to; None where that is not known."""
    result: list[int | str] = []
    for shape in shapes:
        if shape is None:
            return None
        dims = [1] * (len(result) - len(shape)) + list(shape)
        result[:0] = [1] * (len(dims) - len(result))
        for i, dim in enumerate(dims):
            if dim is None or (dim != result[i] and 1 not in (dim, result[i])):
                return None
            if dim != 1:
                result[i] = dim
    return tuple(result)
