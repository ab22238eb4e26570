"""Tangents of what a branch or a loop's body computes, computed in the body itself.

Nothing is copied: the operations that compute tangents are appended to the body, and the nodes are
put into an order afterwards in which everything is made before it is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tfx.autodiff.jvp import push
from tfx.control_flow import sequences
from tfx.control_flow.control_nodes import CONTROL_OPS, ControlSite, control_inputs
from tfx.framework.body_graph import BodyGraph
from tfx.framework.context import current, using
from tfx.framework.func_graph import FuncGraph
from tfx.framework.rules import EXTENDED_CONTROL, ExtendedControl, OpRecord
from tfx.framework.tensor import SymbolicTensor, Tensor, graph_of, symbol_of
from tfx.function.gradients.body_gradient import BodyTensors
from tfx.function.gradients.node_records import records_of
from tfx.graph.ir import CALL, Graph, Node, Value
from tfx.graph.passes.dead_code import used_values
from tfx.graph.tags import Mark

# Attribute of a call's record: the node, which may be made to compute tangents itself.
IN_PLACE = "in place"


class BodyTangents(BodyTensors):
    """The tangents in one body.

    Args:
        body: The branch or loop body; nodes are added to it.
        owner: The graph that has the ``If`` or ``Loop``.
        outside: By the ``id`` of a value from outside, the tensor that it is known by.
        leaves: By the ``id`` of a variable that is assigned inside, what it is known by.
        tangents: By the ``id`` of such a tensor or leaf, its tangent.
        store: By the ``id`` of an ``If`` or ``Loop``, what was added to it.
    """

    def __init__(
        self,
        body: Graph,
        owner: FuncGraph,
        outside: Mapping[int, Tensor],
        leaves: Mapping[int, Any],
        tangents: Mapping[int, Tensor],
        store: dict[int, Any],
    ) -> None:
        super().__init__(BodyGraph(body.name, owner), owner, outside, leaves)
        self.body = self.graph.graph = body
        self._store = store
        self._tangents = dict(tangents)
        # Tensors that only the records know, kept so that their ids stay theirs.
        self._kept: list[Any] = []
        self._done: set[int] = set()

    def is_inside(self, value: Value) -> bool:
        """True if one of the body's nodes makes it, or it is an input of the body."""
        if value.const is not None:
            return False
        return any(value is v for v in self.body.inputs) or any(
            value is v for node in self.body.nodes for v in node.outputs
        )

    def records(self) -> list[OpRecord]:
        """The operations without tangents yet, for finding out what depends on what."""
        found = [
            record
            for node in list(self.body.nodes)
            if id(node) not in self._done
            for record in self._records_of(node)
        ]
        for record in found:
            for x in record.inputs:
                self._tangent_of(x)
        return found

    def _records_of(self, node: Node) -> list[OpRecord]:
        return list(
            records_of(node, self.body, self.graph, self.tensor, self.leaf, watched=self._watched)
        )

    def set_tangent(self, value: Value, tangent: Tensor) -> None:
        """Give a value of the body a tangent."""
        self._tangents[id(self.tensor(value))] = tangent

    def known(self) -> set[int]:
        """Return by ``id`` the tensors that have a tangent so far."""
        return set(self._tangents)

    def tangent(self, value: Value) -> Tensor | None:
        """The tangent of a value, once ``run`` is done."""
        return self._tangent_of(self.tensor(value))

    def _tangent_of(self, x: Any) -> Tensor | None:
        known = self._tangents.get(id(x))
        if known is None and isinstance(x, SymbolicTensor):
            # A result that a node here got later on, for a gradient.
            widened = self._store.get(id(x._symbol.node))
            if widened is not None and self._tensors.get(id(x._symbol)) is x:
                known = widened.tangent_of(x._symbol)
                if known is not None:
                    self._tangents[id(x)] = known
        return known

    def output(self, value: Value) -> Value:
        """The tangent of a value as a value of the body: zeros if there is none."""
        with using(graph=self.graph, tapes=()):
            tangent = self.tangent(value)
            if tangent is None:
                tangent = sequences.zeros_like(self.tensor(value))
            result = self.graph.value_of(tangent)
        self._done.update(map(id, self.body.nodes))
        return result

    def run(self) -> None:
        """Append the tangents of all operations that have none yet."""
        with using(graph=self.graph, tapes=()):
            for node in list(self.body.nodes):
                if id(node) not in self._done and node.tag is not Mark.STOP_GRADIENT:
                    self._run_node(node)
        self._done.update(map(id, self.body.nodes))

    def _run_node(self, node: Node) -> None:
        for record in self._records_of(node):
            tangents = [self._tangent_of(x) for x in record.inputs]
            if not any(t is not None for t in tangents):
                continue
            if record.op in CONTROL_OPS:
                record.attrs = {**record.attrs, EXTENDED_CONTROL: self._store}
            elif record.op == CALL:
                record.attrs = {**record.attrs, IN_PLACE: node}
            self._kept.append(record)
            for y, tangent in zip(record.outputs, push(record, tangents), strict=True):
                if tangent is not None:
                    self._tangents[id(y)] = tangent

    def finish(self) -> None:
        """Put the nodes into an order in which everything is made before it is used."""
        self.body.nodes[:] = in_order(self.body.nodes)


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """The nodes in their order, but each after those whose results it uses."""
    makers = {id(v): node for node in nodes for v in node.outputs}
    placed: set[int] = set()
    result: list[Node] = []
    for first in nodes:
        stack = [(first, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in placed:
                continue
            if ready:
                placed.add(id(node))
                result.append(node)
                continue
            stack.append((node, True))
            before = [makers.get(id(v)) for v in used_values(node)]
            stack += [(n, False) for n in reversed(before) if n is not None and id(n) not in placed]
    return result


class NodeTangents(ABC):
    """The tangents that forward mode adds to one ``If`` or ``Loop``.

    Args:
        op: The node's record.
        tangents: Of the record's inputs.
        store: By the ``id`` of an ``If`` or ``Loop``, its ``NodeTangents``.
    """

    def __init__(
        self, op: OpRecord, tangents: Sequence[Tensor | None], store: dict[int, Any]
    ) -> None:
        control: ControlSite = op.attrs["control"]
        self.control = control
        self.node = control.node
        self.owner: FuncGraph = graph_of(op.outputs[0])
        self.first = first = len(op.inputs) - len(control.free) - len(control.leaves)
        self.given: list[Any] = list(op.inputs[:first])
        end = first + len(control.free)
        self.outside = {id(v): x for v, x in zip(control.free, op.inputs[first:end], strict=True)}
        self.leaves = dict(zip(control.leaves, op.inputs[end:], strict=True))
        self.known = {id(x): t for x, t in zip(op.inputs, tangents, strict=True) if t is not None}
        self.store = store
        # By the ``id`` of a result: its tangent, or that there is none.
        self.found: dict[int, SymbolicTensor | None] = {}
        self.new: list[SymbolicTensor] = []

    def body(self, graph: Graph) -> BodyTangents:
        """The tangents of one of the node's bodies."""
        return BodyTangents(graph, self.owner, self.outside, self.leaves, self.known, self.store)

    @property
    @abstractmethod
    def bodies(self) -> Sequence[BodyTangents]:
        """The tangents of the node's bodies."""

    @classmethod
    def extended(cls, op: OpRecord, tangents: Sequence[Tensor | None]) -> ExtendedControl:
        """The tangents of a record's results, and the record for those around.

        Args:
            op: The node's record.
            tangents: Of its inputs.
        """
        store: dict[int, Any] = op.attrs[EXTENDED_CONTROL]
        node = op.attrs["control"].node
        added: NodeTangents | None = store.get(id(node))
        if added is None:
            added = store[id(node)] = cls(op, tangents, store)
        found = [added.tangent_of(symbol_of(y)) for y in op.outputs]
        attrs = {k: v for k, v in op.attrs.items() if k != EXTENDED_CONTROL}
        return ExtendedControl(found, *added.described(attrs, op.outputs))

    @abstractmethod
    def tangent_of(self, value: Value) -> SymbolicTensor | None:
        """The tangent of a result, which the node is made to compute if it does not yet."""

    def is_floating(self, value: Value) -> bool:
        """True if a result can have a tangent."""
        return SymbolicTensor(value, self.owner).dtype.has_gradients

    def add_tangents(self) -> None:
        """Put everything into order again: in the bodies, and around the node."""
        for body in self.bodies:
            body.finish()
        nodes = self.control.home.nodes
        place = next(i for i, n in enumerate(nodes) if n is self.node)
        nodes[place:] = in_order(nodes[place:])

    def give(self, tensor: Tensor) -> Value:
        """Add an input to the node and to its record, and return its value."""
        self._complete_given()
        self.given.append(tensor)
        return self.owner.value_of(tensor)

    def _complete_given(self) -> None:
        """The inputs that gradients gave the node meanwhile are inputs of its record too."""
        for value in self.node.inputs[len(self.given) :]:
            self.given.append(None if value is None else SymbolicTensor(value, self.owner))

    def described(
        self, attrs: dict[str, Any], outputs: Sequence[Any]
    ) -> tuple[dict[str, Any], list[Any], list[Any]]:
        """Attributes, inputs and results of a record of the node as it is now."""
        tapes = current().tapes
        new, self.new = self.new, []
        self._complete_given()
        if not tapes:
            return attrs, [], []
        outer = {key: x for body in self.bodies for key, (_, x) in body.graph.outer.items()}
        known = {**outer, **self.outside}
        watched = frozenset(
            key
            for key, x in known.items()
            if not isinstance(x, SymbolicTensor)
            or (x._symbol.const is not None and any(t.depends(x) for t in tapes))
        )

        def tensor_of(value: Value) -> Tensor:
            x = known.get(id(value))
            return SymbolicTensor(value, self.owner) if x is None else x

        made, inputs = control_inputs(
            self.node,
            self.control.home,
            self.given,
            tensor_of,
            lambda state: self.leaves.get(id(state.ref())),
            watched,
        )
        made["control"].kept = self.control.kept
        return made, inputs, [*outputs, *new]
