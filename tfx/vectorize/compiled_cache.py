"""Functions that were compiled for one eager call and serve the next one like it.

A function of one element is traced again in each eager call, since it may do something else. What
comes of it is mostly the same graph, and its session takes longer to make than all the rest. Calls
on different lines have graphs of their own, since errors name the line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator

from tfx.function.gradients.pure_function import PureFunction
from tfx.graph.ir import HOST, Graph
from tfx.graph.serialization.serialize import to_model
from tfx.graph.tags import Mark

# Graphs with more constants than this are not compared, in bytes.
_MOST = 1 << 16
_LIMIT = 64
_functions: dict[Hashable, PureFunction] = {}


def function_of(graph: Graph) -> PureFunction:
    """A function for a graph that assigns nothing: a known one if there is one like it.

    Args:
        graph: The graph, without dead nodes.
    """
    key = _key(graph)
    if key is None:
        return PureFunction(graph)
    known = _functions.get(key)
    if known is None:
        if len(_functions) >= _LIMIT:
            _functions.clear()
        known = _functions[key] = PureFunction(graph)
    return known


def _key(graph: Graph) -> Hashable | None:
    """Return a key that is equal for graphs equal in all respects; None if there is none."""
    facts: list[Hashable] = []
    size = 0
    for inner in _graphs(graph):
        if inner.library:
            return None
        for node in inner.nodes:
            if node.op == HOST or node.tag not in (None, Mark.STOP_GRADIENT, Mark.BARRIER):
                return None
            results = [(v.dtype, v.shape, v.dims) for v in node.outputs]
            facts.append((node.tag, node.device, *results))
        for value in inner.constants:
            if value.const is None or value.const.dtype.hasobject:
                return None
            size += value.const.nbytes
    if size > _MOST:
        return None
    facts += [(v.name, v.dtype, v.shape, v.dims) for v in (*graph.inputs, *graph.outputs)]
    model = to_model(graph, sources=True).SerializeToString(deterministic=True)
    return hashlib.sha256(model).digest(), tuple(facts)


def _graphs(graph: Graph) -> Iterator[Graph]:
    """A graph with all that are in it, callees included."""
    yield graph
    for node in graph.nodes:
        for body in node.bodies():
            yield from _graphs(body)
