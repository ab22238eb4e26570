"""``PatternRewriter``: replaces nodes by what makes their operands and by who uses them."""

from __future__ import annotations

from collections.abc import Collection

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.makers import Makers, grow_constants, is_constant
from tfx.graph.passes.dead_code import used_values
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.traits import traits


class PatternRewriter(Rewriter):
    """A rewriter that knows the nodes around each node, as they were before it.

    Attributes:
        counts_shapes: Whether who asks for a shape alone counts among the users of a value. Most do
            on behalf of others, who may go away.

    Args:
        known: Inputs that never change.
    """

    counts_shapes = True

    def __init__(self, known: Collection[Value] = ()) -> None:
        super().__init__()
        self.made = Makers()
        self._uses: dict[int, int] = {}
        # What is the same in every run, by ``id``.
        self._constants = set(map(id, known))

    def is_constant(self, value: Value | None) -> bool:
        """True of what is made of constants and known inputs alone, which is computed once."""
        return is_constant(value, self._constants)

    def is_user(self, node: Node) -> bool:
        """True if a node counts among the users of its operands."""
        return self.counts_shapes or not traits(node.op).shape_only

    def enter(self, graph: Graph, out: Graph) -> None:
        """See ``Rewriter``."""
        self.made.enter(graph.nodes)
        grow_constants(self._constants, graph.nodes)
        users = filter(self.is_user, graph.nodes)
        for used in (graph.outputs, *map(used_values, users)):
            for key in {id(value) for value in used}:
                self._uses[key] = self._uses.get(key, 0) + 1

    def has_one_user(self, value: Value | None) -> bool:
        """True if one node, or one result of a graph, is all that uses a value."""
        return self._uses.get(id(value), 0) == 1

    def with_source_of_shape(self, node: Node, inputs: Inputs) -> Inputs:
        """Operands of a node which, if it asks for a shape alone, does so of an earlier value.

        That is the first of a chain of element-wise nodes, which need not be there for it.
        """
        if not traits(node.op).shape_only or len(node.inputs) != 1:
            return inputs
        x = node.inputs[0]
        made = self.made.any(x)
        while x is not None and made is not None and traits(made.op).elementwise:
            known = x.shape is not None and None not in x.shape
            # Of one type: there are types whose sizes ONNX Runtime does not tell.
            like = [v for v in made.inputs if known and v is not None and v.dtype == x.dtype]
            same = [v for v in like if v.shape == x.shape and v.const is None]
            if not same:
                break
            x, made = same[0], self.made.any(same[0])
        return (None if x is None else self.value(x),)
