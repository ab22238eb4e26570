"""The backward body of a branch or of a loop's body.

The nodes of the forward body are walked backwards into a new body. What that uses of the forward
body's values is then made available: computed again where that is cheap, else as one more result of
the forward node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tfx.autodiff.backprop import backpropagate
from tfx.control_flow import sequences
from tfx.core import dtypes
from tfx.framework.body_graph import BodyGraph
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph, TracedVariable
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.gradients.node_records import records_of
from tfx.function.recompute.hoist_random import expand_drawing
from tfx.graph.copy_body import copy_node, replace_values
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.passes.dead_code import remove_dead_nodes, used_values
from tfx.graph.tags import Mark
from tfx.graph.traits import traits

_MOST_AGAIN = 16
Given: TypeAlias = dict[int, Callable[[], Value]]


class BodyTensors(ABC):
    """The tensors by which records know the values of a body. Subclasses say what is in it.

    Args:
        graph: The graph of what is inside.
        owner: The graph that the tensors of everything else belong to.
        known: By ``id``, the tensors of values from outside.
        leaves: By ``id``, what variables are known by.
    """

    def __init__(
        self,
        graph: BodyGraph,
        owner: FuncGraph,
        known: Mapping[int, Tensor],
        leaves: Mapping[int, Any],
    ) -> None:
        self.graph = graph
        self._owner = owner
        self._tensors = dict(known)
        # By ``id``, constants that tapes know.
        self._watched = watched_constants(known)
        self._leaves = leaves

    def tensor(self, value: Value) -> Tensor:
        """The tensor by which the records know a value."""
        found = self._tensors.get(id(value))
        if found is None:
            owner = self.graph if self.is_inside(value) else self._owner
            found = self._tensors[id(value)] = SymbolicTensor(value, owner)
        return found

    def leaf(self, state: TracedVariable) -> Any:
        """What a variable is known by."""
        return self._leaves.get(id(state.ref()))

    @abstractmethod
    def is_inside(self, value: Value) -> bool:
        """True if a value belongs to the body."""


class BodyGradient(BodyTensors):
    """A backward body under construction.

    Args:
        body: The forward body.
        owner: The graph that the forward node's tensors belong to.
        parent: The graph that gets the backward node.
        known: By ``id``, the tensors of values from outside of the forward body.
        leaves: By ``id``, what variables are known by.
    """

    def __init__(
        self,
        body: Graph,
        owner: FuncGraph,
        parent: FuncGraph,
        known: dict[int, Tensor],
        leaves: dict[int, Any],
    ) -> None:
        super().__init__(BodyGraph(f"{body.name}_gradient", parent), owner, known, leaves)
        self.forward = body
        expand_drawing(body, owner.same_constant)
        self._inside = {id(v) for v in body.inputs}
        self._inside.update(id(v) for node in body.nodes for v in node.outputs)
        self._again: dict[int, Value] = {}
        # By ``id``, the backward body's inputs and what else no node of it makes.
        self.placeholders: set[int] = set()

    def is_inside(self, value: Value) -> bool:
        """True for the forward body's, taken for the backward body's until that is complete."""
        return id(value) in self._inside

    def records(self) -> list[OpRecord]:
        """The forward body's operations."""
        return [
            record
            for node in list(self.forward.nodes)
            for record in records_of(
                node,
                self.forward,
                self.graph,
                self.tensor,
                self.leaf,
                watched=self._watched,
            )
        ]

    def backpropagate(
        self, records: Sequence[OpRecord], seeds: dict[int, Tensor], sources: Sequence[Any]
    ) -> list[Tensor | None]:
        """Append the nodes that compute the sources' gradients."""
        with using(graph=self.graph, tapes=()):
            return backpropagate(records, seeds, sources)

    def sum(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the sum of two gradients of one tensor, computed in the body."""
        with using(graph=self.graph, tapes=()):
            return sequences.add(a, b) if sequences.is_sequence(a) else ox.Add(a, b)

    def value(self, found: Tensor | None, source: Any) -> Value:
        """A gradient as a value of the body: zeros where nothing depends on the source."""
        with using(graph=self.graph, tapes=()):
            tensor = sequences.zeros_like(source) if found is None else found
            return self.graph.value_of(tensor)

    def resolve_captures(
        self,
        outputs: Sequence[Value],
        given: Given,
        save: Callable[[Value], Value],
    ) -> None:
        """Let the body use nothing of the forward body but what is available.

        Args:
            outputs: The body's outputs.
            given: By ``id``, what makes stand-ins for values of the forward body.
            save: Makes a value of the forward body a result of the forward node; called while the
                body is being built, to get it from there.
        """
        graph = self.graph.graph
        graph.outputs = list(outputs)
        graph.nodes = remove_dead_nodes(graph).nodes
        self._inside.update(id(v) for node in self.forward.nodes for v in node.outputs)
        self._sink_forms()
        wanted = self._used()
        mark = len(graph.nodes)
        replacements = {id(v): self._residual_or_recompute(v, given, save) for v in wanted}
        made = graph.nodes[mark:]
        del graph.nodes[mark:]
        replace_values(graph, replacements)
        graph.nodes[:0] = made
        self._lift_lengths()

    def _lift_lengths(self) -> None:
        """Ask for the lengths of sequences from outside of the body before it.

        The sequence may be one of a loop around: its length can be kept for each iteration.
        """
        graph = self.graph.graph
        made = {id(v) for node in graph.nodes for v in node.outputs} | self.placeholders
        made.update(id(v) for v in graph.inputs)
        for node in [n for n in graph.nodes if n.op == "SequenceLength"]:
            (sequence,) = node.inputs
            if sequence is None or id(sequence) in made:
                continue
            with using(graph=self.graph.parent, tapes=()):
                length = sequences.length(SymbolicTensor(sequence, self.graph.parent))
            replace_values(graph, {id(node.outputs[0]): self.graph.value_of(length)})
            graph.nodes.remove(node)

    def _used(self) -> list[Value]:
        """The forward body's values that the body uses."""
        graph = self.graph.graph
        found: dict[int, Value] = {}
        for v in [v for node in graph.nodes for v in used_values(node)] + graph.outputs:
            if id(v) in self._inside:
                found.setdefault(id(v), v)
        return list(found.values())

    def _sink_forms(self) -> None:
        """Move what needs a forward value only for its form to the forward body.

        So ``Shape`` of a tensor that is used for nothing else, and all that is done with a
        sequence: sequences cannot be kept for each iteration.
        """
        graph = self.graph.graph
        others: set[int] = {id(v) for v in graph.outputs}
        for node in graph.nodes:
            if not _is_of_form(node):
                others.update(id(v) for v in used_values(node) if v.dtype < dtypes.SEQUENCE)
        made = {id(v) for node in graph.nodes for v in node.outputs}
        moved: list[Node] = []
        for node in graph.nodes:
            inner = [v for v in node.inputs if v is not None and id(v) in self._inside]
            if not _is_of_form(node) or not inner or not self._ready(node, made):
                continue
            if all(id(v) not in others or v.dtype > dtypes.SEQUENCE for v in inner):
                moved.append(node)
                made.difference_update(id(v) for v in node.outputs)
                self._inside.update(id(v) for v in node.outputs)
        if moved:
            gone = {id(node) for node in moved}
            graph.nodes = [node for node in graph.nodes if id(node) not in gone]
            self.forward.nodes.extend(moved)

    def _ready(self, node: Node, made: set[int]) -> bool:
        """True if a node uses nothing that the backward body makes."""
        own = self.placeholders
        return all(v is None or (id(v) not in made and id(v) not in own) for v in node.inputs)

    def _residual_or_recompute(
        self, value: Value, given: Given, save: Callable[[Value], Value]
    ) -> Value:
        if id(value) in given:
            return self._stand_in(value, given)
        nodes = self._cheap(value, given)
        if nodes is None:
            return save(value)
        for node in nodes:
            if id(node.outputs[0]) not in self._again:
                made = copy_node(node, self.graph.graph, lambda v: self._repeated(v, given), _same)
                for old, new in zip(node.outputs, made.outputs, strict=True):
                    self._again[id(old)] = new
        return self._again[id(value)]

    def _stand_in(self, value: Value, given: Given) -> Value:
        if id(value) not in self._again:
            self._again[id(value)] = given[id(value)]()
        return self._again[id(value)]

    def _repeated(self, value: Value, given: Given) -> Value:
        if id(value) in given:
            return self._stand_in(value, given)
        if id(value) in self._again:
            return self._again[id(value)]
        if value.const is not None and id(value) not in self._watched:
            return value
        return self.graph.value_of(self.tensor(value))

    def _cheap(self, value: Value, given: Given) -> list[Node] | None:
        """The nodes that compute a value again from what is available, if they are cheap."""
        order: list[Node] = []
        seen: set[int] = set()

        def visit(v: Value) -> bool:
            if id(v) not in self._inside or id(v) in given:
                return True
            node = v.node
            if (
                node is None
                or traits(node.op).cost == "real"
                or not isinstance(node.tag, Mark | None)
            ):
                return False
            if id(node) in seen:
                return True
            seen.add(id(node))
            if len(seen) > _MOST_AGAIN:
                return False
            if not all(visit(x) for x in node.inputs if x is not None):
                return False
            order.append(node)
            return True

        return order if visit(value) else None


def _is_of_form(node: Node) -> bool:
    """True if a node needs a tensor's form only, so that the tensor need not be kept."""
    return traits(node.op).shape_only or node.op == "SequenceAt"


def watched_constants(known: Mapping[int, Any]) -> frozenset[int]:
    """Return by ``id`` the constants among the values whose tensors the tapes know."""
    return frozenset(
        key
        for key, x in known.items()
        if not isinstance(x, SymbolicTensor) or x._symbol.const is not None
    )


def _same(value: Value) -> Value:
    return value
