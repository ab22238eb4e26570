"""Products and convolutions of float32 in half precision, with what stands between them.

TensorFlow's ``auto_mixed_precision`` for plans, never for what is saved. Which operators gain from
half precision is a column of ``graph.traits``. Those that follow are computed in it where they
stand between two of these: operands come from one, and results reach another through operators of
the list alone. So the updates of optimizers stay in float32, and so does everything that a loss is
made of: sums, means, exponentials. Values that cross the boundary are cast; graphs that nodes hold,
and called ones, get and return float32.
"""

from __future__ import annotations

from tfx.core import dtypes
from tfx.graph import schema
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.traits import traits

_FLOAT = 1


def use_half_precision(graph: Graph, dtype: int) -> Graph:
    """A copy of the graph with products and convolutions in another dtype.

    Args:
        graph: The graph.
        dtype: ONNX element type of float16 or bfloat16.
    """
    return _HalfPrecision(dtype).run(graph)


class _HalfPrecision(Rewriter):
    def __init__(self, dtype: int) -> None:
        super().__init__()
        self._dtype = dtype
        self._name = dtypes.from_onnx(dtype).name
        # By the ``id`` of float32 values of the result, the same in half precision: those that are
        # seen where the walk is. The values are kept, else others could get their ``id``.
        self._half: dict[int, tuple[Value, Value]] = {}
        # Of those, what was computed so, and not cast for a use.
        self._computed: set[int] = set()
        self._wanted: set[int] = set()

    def run(self, graph: Graph) -> Graph:
        """See ``Rewriter``."""
        half, wanted = self._half, self._wanted
        self._half, self._wanted = dict(half), self._reaching(graph)
        try:
            return super().run(graph)
        finally:
            self._half, self._wanted = half, wanted

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        """See ``Rewriter``."""
        if not self._takes(node, inputs):
            super().rewrite(node, inputs, out)
            return
        b = ReplacementBuilder(out, node)
        results = b.apply_n(
            node.op, [self._cast(v, b) for v in inputs], node.attrs, len(node.outputs)
        )
        for old, new in zip(node.outputs, results, strict=True):
            if new.dtype != self._dtype:
                self.use(old, new)
                continue
            new.shape = old.shape
            back = b.Cast(new, to=_FLOAT)
            back.shape = old.shape
            self._half[id(back)] = back, new
            self._computed.add(id(back))
            self.use(old, back)

    def _takes(self, node: Node, inputs: Inputs) -> bool:
        if not self._may(node):
            return False
        if traits(node.op).half == "gains":
            return True
        if not any(id(v) in self._wanted for v in node.outputs):
            return False
        return any(v is not None and id(v) in self._computed for v in inputs)

    def _may(self, node: Node) -> bool:
        """True if a node can be computed in half precision; the standard has to have it, too."""
        return (
            node.tag is None
            and bool(node.outputs)
            and node.outputs[0].dtype == _FLOAT
            and traits(node.op).half != ""
            and (node.op == "Where" or schema.takes(node.op, self._name))
        )

    def _reaching(self, graph: Graph) -> set[int]:
        """The ``id`` of values that reach a product through nodes that may be in half precision."""
        found: set[int] = set()
        for node in reversed(graph.nodes):
            gains = traits(node.op).half == "gains"
            if self._may(node) and (gains or any(id(v) in found for v in node.outputs)):
                found.update(id(v) for v in node.inputs if v is not None and v.dtype == _FLOAT)
        return found

    def _cast(self, value: Value | None, b: ReplacementBuilder) -> Value | None:
        if value is None or value.dtype != _FLOAT:
            return value
        known = self._half.get(id(value))
        if known is None:
            made = b.Cast(value, to=self._dtype)
            made.shape = value.shape
            known = self._half[id(value)] = value, made
        return known[1]
