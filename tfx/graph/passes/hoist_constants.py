"""Take large constants out of called graphs: the main graph holds them and passes them in.

An ONNX local function has no initializers, so a weight that a nested function closes over would be
written into each model that calls it, as text of the model. As an initializer of the main graph it
can lie outside of the file, once for all models.
"""

from __future__ import annotations

from tfx.graph.ir import CALL, Graph, Node, Value, bodies_below


def hoist_constants(graph: Graph, nbytes: int) -> Graph:
    """A copy of the graph whose called graphs have no constant of ``nbytes`` bytes or more.

    Each of those becomes a constant of ``graph`` itself, and an input of every called graph on the
    way to where it is used. Branch and loop bodies keep theirs: they see the main graph's.
    """
    hoister = _Hoister(nbytes)
    result, found = hoister.rewritten(graph)
    known = {id(v) for v in result.constants}
    result.constants += [v for v in found if id(v) not in known]
    return result


class _Hoister:
    def __init__(self, nbytes: int) -> None:
        self._nbytes = nbytes
        # Calls of one graph must go on sharing one function.
        self._callees: dict[int, tuple[Graph, list[Value]]] = {}

    def rewritten(self, graph: Graph) -> tuple[Graph, list[Value]]:
        """The graph with its calls passing constants in, and these constants in order."""
        result = graph.copy()
        result.nodes = []
        wanted: dict[int, Value] = {}
        for node in graph.nodes:
            result.nodes.append(self._node(node, wanted))
        return result, list(wanted.values())

    def _node(self, node: Node, wanted: dict[int, Value]) -> Node:
        bodies = {k: v for k, v in node.attrs.items() if isinstance(v, Graph)}
        if not bodies:
            return node
        attrs, inputs = dict(node.attrs), node.inputs
        for name, body in bodies.items():
            if node.op == CALL:
                attrs[name], found = self._callee(body)
                inputs = (*inputs, *found)
            else:
                attrs[name], found = self.rewritten(body)
            wanted.update((id(v), v) for v in found)
        return node.replaced(inputs, attrs)

    def _callee(self, graph: Graph) -> tuple[Graph, list[Value]]:
        known = self._callees.get(id(graph))
        if known is None:
            result, below = self.rewritten(graph)
            own = [v for g in (result, *bodies_below(result)) for v in self._take_large(g)]
            found = list({id(v): v for v in (*own, *below)}.values())
            result.inputs = [*result.inputs, *found]
            known = self._callees[id(graph)] = (result, found)
        return known

    def _take_large(self, graph: Graph) -> list[Value]:
        """The large constants of a graph, which are its own no more."""
        large = [v for v in graph.constants if is_large(v, self._nbytes)]
        graph.constants = [v for v in graph.constants if not is_large(v, self._nbytes)]
        return large


def is_large(value: Value, nbytes: int) -> bool:
    """True if a constant of numbers takes at least so many bytes."""
    const = value.const
    return const is not None and not const.dtype.hasobject and const.nbytes >= nbytes
