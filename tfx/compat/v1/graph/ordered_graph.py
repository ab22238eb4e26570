"""``OrderedGraph``: an ``ir.Graph`` that notes what must have run before each node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tfx.core.source import SourceLocation
from tfx.graph.ir import Attributes, Graph, Node, RawShape, Value
from tfx.graph.passes.dead_code import used_values
from tfx.graph.tags import Tag


class OrderedGraph(Graph):
    """A graph with edges between nodes that carry no value.

    Attributes:
        control: The nodes that must run before a node, by the node's id.
        companions: The nodes that must run whenever a node runs, after it, by the node's id.
        finalized: Nothing may be added any more.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.control: dict[int, tuple[Node, ...]] = {}
        self.companions: dict[int, list[Node]] = {}
        self.finalized = False
        self._active: tuple[Node, ...] = ()

    def check_open(self) -> None:
        """Refuse changes of a finalized graph.

        Raises:
            RuntimeError: the graph was finalized.
        """
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def add_node(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Attributes,
        types: Sequence[tuple[int, RawShape]],
        *,
        name: str | None = None,
        source: SourceLocation | None = None,
        device: str | None = None,
        tag: Tag | None = None,
    ) -> Node:
        """Append a node that comes after those of the scopes around it."""
        self.check_open()
        node = super().add_node(
            op, inputs, attrs, types, name=name, source=source, device=device, tag=tag
        )
        if self._active:
            self.control[id(node)] = self._active
        return node

    def add_constant(self, array: np.ndarray[Any, Any], dtype: int, name: str = "const") -> Value:
        """A constant that an operation needs; ``add_named_constant`` adds those of the program."""
        return super().add_constant(array, dtype, "const")

    def add_named_constant(self, array: np.ndarray[Any, Any], dtype: int, name: str) -> Value:
        """A constant with a name."""
        self.check_open()
        return super().add_constant(array, dtype, name)

    @property
    def active(self) -> tuple[Node, ...]:
        """Return the nodes that the next added node has control dependencies on."""
        return self._active

    @contextmanager
    def after(self, nodes: Sequence[Node] | None) -> Iterator[None]:
        """Let what is added inside come after ``nodes``; None: after nothing at all."""
        before = self._active
        if nodes is None:
            self._active = ()
        else:
            known = {id(n) for n in before}
            self._active = (*before, *(n for n in nodes if id(n) not in known))
        try:
            yield
        finally:
            self._active = before

    def accompany(self, node: Node, companion: Node) -> None:
        """Let ``companion`` run whenever ``node`` does."""
        self.companions.setdefault(id(node), []).append(companion)

    def closure(
        self, fetches: Iterable[Value], targets: Iterable[Node], fed: dict[int, Value]
    ) -> list[Node]:
        """The nodes that must run, in the graph's order."""
        found: dict[int, Node] = {}
        stack = list(targets)

        def need(value: Value | None) -> None:
            if value is not None and value.node is not None and id(value) not in fed:
                stack.append(value.node)

        for value in fetches:
            need(value)
        while stack:
            node = stack.pop()
            if id(node) in found:
                continue
            found[id(node)] = node
            for used in used_values(node):
                need(used)
            stack += self.control.get(id(node), ())
            stack += self.companions.get(id(node), ())
        # Gradients put nodes before those that need them: the graph's order counts, not the order
        # in which they were made.
        return [node for node in self.nodes if id(node) in found]
