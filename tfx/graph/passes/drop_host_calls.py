"""Leave out of a graph what only Python can do, so that it can be saved."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import numpy as np

from tfx.core.dtypes import from_onnx
from tfx.core.errors import InvalidArgumentError
from tfx.core.source import bracketed
from tfx.graph.complex_pairs import PairCall
from tfx.graph.ir import HOST, Graph, HostCall, Node, Value
from tfx.graph.passes.join_pairs import join_pairs

_log = logging.getLogger("tfx")


def drop_host_calls(graph: Graph) -> tuple[Graph, list[Node]]:
    """A copy of the graph, bodies and callees included, of ONNX operators alone.

    Args:
        graph: The graph.

    Returns:
        The graph, and the nodes that were left out.

    Raises:
        InvalidArgumentError: a node calls Python code that the results depend on.
    """
    graph = join_pairs(graph)
    if not has_host_calls(graph):
        return graph, []
    dropper = _Dropper()
    return dropper.run(graph), dropper.dropped


def warn_dropped(name: str, dropped: Iterable[Node]) -> None:
    """One warning for everything that a saved function will not do."""
    seen = {f"{n.attrs['call']}{bracketed(n.source)}" for n in dropped}
    if seen:
        _log.warning(
            "Function %r is saved without what only Python can do: %s.",
            name,
            "; ".join(sorted(seen)),
        )


def has_host_calls(graph: Graph, chosen: Callable[[HostCall], bool] = lambda _: True) -> bool:
    """True if Python does something in a graph, its bodies and callees included.

    Args:
        graph: The graph.
        chosen: Tells which host calls count.
    """
    return _has_host_calls(graph, chosen, set())


def _has_host_calls(graph: Graph, chosen: Callable[[HostCall], bool], seen: set[int]) -> bool:
    if id(graph) in seen:
        return False
    seen.add(id(graph))
    return any(
        (node.op == HOST and chosen(node.attrs["call"]))
        or any(_has_host_calls(body, chosen, seen) for body in node.bodies())
        for node in graph.nodes
    )


class _Dropper:
    def __init__(self) -> None:
        self.dropped: list[Node] = []
        self._bodies: dict[int, Graph] = {}

    def run(self, graph: Graph) -> Graph:
        known = self._bodies.get(id(graph))
        if known is not None:
            return known
        result = self._bodies[id(graph)] = graph.copy()
        result.nodes = []
        for node in graph.nodes:
            if node.op == HOST:
                self._drop(graph, node)
                result.nodes += [_zero(result, node, output) for output in node.outputs]
            elif any(True for _ in node.bodies()):
                attrs = {
                    k: self.run(v) if isinstance(v, Graph) else v for k, v in node.attrs.items()
                }
                result.nodes.append(node.replaced(attrs=attrs))
            else:
                result.nodes.append(node)
        return result

    def _drop(self, graph: Graph, node: Node) -> None:
        call: HostCall = node.attrs["call"]
        if isinstance(call, PairCall):
            raise InvalidArgumentError(
                f"Function {graph.name!r} takes, returns or keeps in variables complex numbers"
                f"{bracketed(node.source)}, which ONNX Runtime does not have, and cannot be saved. "
                "Give it, and let it return, real and imaginary parts: tfx.complex, tfx.math.real "
                "and tfx.math.imag.",
                op=call.kind,
                node=node.name,
                source=node.source,
            )
        if not call.portable or any(output.shape != () for output in node.outputs):
            raise InvalidArgumentError(
                f"Function {graph.name!r} calls {call}{bracketed(node.source)}: Python code cannot "
                "be saved. Write it with operations, or save a function without it.",
                op=call.kind,
                node=node.name,
                source=node.source,
            )
        self.dropped.append(node)


def _zero(graph: Graph, node: Node, output: Value) -> Node:
    """Return a node for an output of a removed call: False, that is "nothing was written"."""
    zero = np.zeros((), from_onnx(output.dtype).as_numpy_dtype)
    value = graph.add_constant(zero, output.dtype)
    stand_in = Node("Identity", (value,), {}, node.name, node.source, outputs=(output,))
    return stand_in
