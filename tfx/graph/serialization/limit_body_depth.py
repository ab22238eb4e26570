"""Keep bodies from lying in each other deeper than a file can hold.

A protobuf message holds a hundred others inside each other, which some thirty branches or loops
are: a chain of ``elif`` is one branch in the other. What lies deeper becomes a local function,
which ONNX Runtime puts in the place of its call; it takes a hundred in all.
"""

from __future__ import annotations

from tfx.graph.ir import CALL, Graph, Node, Value, free_values
from tfx.graph.rewrite import Inputs, Rewriter

# Bodies inside each other in one function; each takes three messages.
LIMIT = 16
# Constants up to this size are those of the function, too: axes and shapes stay known there.
_OWN_BYTES = 1024


def limit_body_depth(graph: Graph, limit: int = LIMIT) -> Graph:
    """The graph with at most ``limit`` bodies inside each other; itself where that is so already.

    Args:
        graph: The graph.
        limit: At least 1.
    """
    heights: dict[int, int] = {}
    if _height(graph, heights) <= limit and all(h <= limit for h in heights.values()):
        return graph
    return _Outliner(heights, limit).run(graph)


def _height(graph: Graph, heights: dict[int, int]) -> int:
    """How many bodies lie inside each other in a graph; ``heights`` gets those of all below it."""
    known = heights.get(id(graph))
    if known is None:
        known = 0
        for node in graph.nodes:
            for body in node.bodies():
                below = _height(body, heights)
                known = max(known, 0 if node.op == CALL else below + 1)
        heights[id(graph)] = known
    return known


class _Outliner(Rewriter):
    def __init__(self, heights: dict[int, int], limit: int) -> None:
        super().__init__()
        self._heights = heights
        self._limit = limit
        self._depth = 0

    def body(self, graph: Graph, node: Node) -> Graph:
        around = self._depth
        self._depth = 0 if node.op == CALL else around + 1
        made = super().body(graph, node)
        self._depth = around
        return made

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        made = self.rewired(node, inputs)
        height = 0
        if node.op != CALL:
            height = max((self._heights[id(body)] + 1 for body in node.bodies()), default=0)
        # Of a body alone: what stands in a function is as deep as that allows.
        if self._depth and height and height % self._limit == 0:
            made = _called(made, out)
        out.nodes.append(made)


def _called(node: Node, out: Graph) -> Node:
    """A call of a function that does what a node with bodies does."""
    callee = Graph(out.unique_name(f"{out.name}_inner"))
    outer: dict[int, Value] = {id(v): v for v in node.inputs if v is not None}
    for body in node.bodies():
        outer.update((id(v), v) for v in free_values(body))
    given: list[Value] = []
    moved = Rewriter()  # with the function's inputs in the place of outer values
    for value in outer.values():
        const = value.const
        if const is not None and not const.dtype.hasobject and const.nbytes <= _OWN_BYTES:
            moved.use(value, callee.add_constant(const, value.dtype))
        else:
            given.append(value)
            moved.use(value, callee.add_input(f"in{len(given)}", value.dtype, value.shape))
    whole = Graph(callee.name)
    whole.nodes = [node]
    (inner,) = moved.run(whole).nodes
    results = tuple(
        Value(callee.unique_name(f"out{i}"), v.dtype, v.shape) for i, v in enumerate(node.outputs)
    )
    callee.nodes = [inner.replaced(outputs=results).make_outputs()]
    callee.outputs = list(results)
    call = node.replaced(tuple(given), {"graph": callee}, op=CALL, tag=None)
    return call.make_outputs()
