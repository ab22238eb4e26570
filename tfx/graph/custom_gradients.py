"""Parts of a graph with gradients of their own, and these gradients, which are graphs too.

The results of such a part pass through a ``Call`` of a graph without nodes, the *marker*, whose tag
is a ``CustomGradient``. This file owns the tag and the walk through the graphs that tags hold; what
derivatives make of it is in ``function.gradients.gradient_marker``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tfx.graph.ir import Graph, Node
from tfx.graph.tags import Tag

_T = TypeVar("_T")


class CustomGradient(Tag):
    """Tag of a marker: the gradient as a graph.

    The marker's inputs are the results, what the gradient is taken with respect to, and what it is
    computed from besides the gradients of the results.

    Args:
        graph: From gradients of the results, followed by what else it uses, to those gradients of
            the inputs that exist; or what makes this graph when it is asked for. No walk goes into
            one that is made so: the gradient of a function that calls itself has no end.
        present: For each input, whether ``graph`` computes its gradient.
        results: How many results there are.
    """

    __slots__ = ("_graph", "deferred", "present", "results")

    def __init__(
        self, graph: Graph | Callable[[], Graph], present: tuple[bool, ...], results: int
    ) -> None:
        self._graph = graph
        self.deferred = not isinstance(graph, Graph)
        self.present = present
        self.results = results

    @property
    def graph(self) -> Graph:
        """The gradient's graph, which is made now if it was not before."""
        made = self._graph
        if not isinstance(made, Graph):
            made = self._graph = made()
        return made

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self._graph = graph

    def parts(self, inputs: Sequence[_T]) -> tuple[Sequence[_T], Sequence[_T], Sequence[_T]]:
        """A marker's inputs: results, what is differentiated by, what else the gradient uses."""
        end = self.results + len(self.present)
        return inputs[: self.results], inputs[self.results : end], inputs[end:]


def gradient_of(node: Node) -> Graph | None:
    """The graph of the gradient if the node is a marker that has it."""
    tag = node.tag
    return tag.graph if isinstance(tag, CustomGradient) and not tag.deferred else None


def has_custom_gradients(graph: Graph, chosen: Callable[[Node], bool] = lambda _: True) -> bool:
    """True if a graph, its bodies or callees have parts with gradients of their own.

    Args:
        graph: The graph.
        chosen: Tells which of these parts count.
    """
    return any(isinstance(node.tag, CustomGradient) and chosen(node) for node in graph.all_nodes())


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """The graph, its bodies and callees, and the gradients of all these; each once."""
    seen = {id(graph)}
    stack = [graph]
    while stack:
        part = stack.pop()
        yield part
        for node in part.nodes:
            below = [*node.bodies()]
            own = gradient_of(node)
            if own is not None:
                below.append(own)
            for other in below:
                if id(other) not in seen:
                    seen.add(id(other))
                    stack.append(other)
