"""Treatment of custom gradient markers in a graph that is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from tfx.graph.custom_gradients import CustomGradient
from tfx.graph.ir import CALL, Graph, Node, Value, bodies_below
from tfx.graph.passes.hoist_constants import hoist_constants, is_large
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.tags import Mark

Transform: TypeAlias = Callable[[Graph], Graph | None]


def rewrite_gradients(graph: Graph, transform: Transform, nbytes: int) -> Graph:
    """A copy of the graph, bodies and callees included, with other gradients in its markers.

    Args:
        graph: The graph.
        transform: The graph to take in place of a gradient; None: the marker becomes copies whose
            tag says that there was a gradient which is gone.
        nbytes: Constants of gradients that have so many bytes become inputs of the marker, since
            local functions hold theirs as text of the model.
    """
    return _MarkerRewriter(transform, nbytes).run(graph)


def forget_gradients(graph: Graph) -> Graph:
    """A copy of the graph whose markers are copies that nothing can be differentiated through."""
    return rewrite_gradients(graph, lambda gradient: None, 0)


class _MarkerRewriter(Rewriter):
    def __init__(self, transform: Transform, nbytes: int) -> None:
        super().__init__()
        self._transform = transform
        self._nbytes = nbytes
        self._gradients: dict[int, Graph | None] = {}

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if isinstance(node.tag, CustomGradient):
            out.nodes += self._marker(out, node, node.tag)
        else:
            out.nodes.append(self.rewired(node, inputs))

    def _transformed(self, gradient: Graph) -> Graph | None:
        if id(gradient) not in self._gradients:
            self._gradients[id(gradient)] = self._transform(gradient)
        return self._gradients[id(gradient)]

    def _marker(self, graph: Graph, node: Node, tag: CustomGradient) -> Iterator[Node]:
        gradient = None if tag.deferred else self._transformed(tag.graph)
        if gradient is None:
            yield from _copies(graph, node)
            return
        gradient, large = _without_large(gradient, self._nbytes)
        known = {id(v) for v in graph.constants}
        graph.constants += [v for v in large if id(v) not in known]
        callee = node.attrs["graph"].copy()
        for value in large:
            callee.add_input(value.name, value.dtype, value.shape)
        made = Node(
            CALL,
            (*node.inputs, *large),
            {"graph": callee},
            node.name,
            node.source,
            outputs=node.outputs,
            device=node.device,
            tag=CustomGradient(gradient, tag.present, tag.results),
        )
        yield made


def _copies(graph: Graph, node: Node) -> Iterator[Node]:
    for i, output in enumerate(node.outputs):
        name = node.name if i == 0 else graph.unique_name(node.name)
        copy = Node(
            "Identity",
            (node.inputs[i],),
            {},
            name,
            node.source,
            outputs=(output,),
            tag=Mark.GRADIENT_NOT_SAVED,
            device=node.device,
        )
        yield copy


def _without_large(graph: Graph, nbytes: int) -> tuple[Graph, list[Value]]:
    """The graph with its large constants as further inputs, and these constants."""
    result = hoist_constants(graph, nbytes)
    large = {
        id(v): v
        for part in (result, *bodies_below(result))
        for v in part.constants
        if is_large(v, nbytes)
    }
    for part in (result, *bodies_below(result)):
        part.constants = [v for v in part.constants if id(v) not in large]
    result.inputs = [*result.inputs, *large.values()]
    return result, list(large.values())
