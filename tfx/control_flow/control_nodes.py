"""``If`` and ``Loop`` nodes: adding them to a graph and telling the tapes.

A tape cannot see into a body. For it such a node is one operation on the node's inputs, on every
enclosing value that its bodies use, and on the variables that are assigned inside: a read after an
assignment depends on the variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfx.core.source import user_frame
from tfx.framework.body_graph import BodyGraph
from tfx.framework.context import current
from tfx.framework.func_graph import Assigned, FuncGraph, TracedVariable
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.copy_body import captured_values
from tfx.graph.ir import (
    CALL,
    Attributes,
    Graph,
    Node,
    RawShape,
    Value,
    free_values,
)
from tfx.graph.traits import traits

CONTROL_OPS = frozenset(("If", "Loop"))

TensorOf = Callable[[Value], Tensor]
LeafOf = Callable[[TracedVariable], Any]


class ControlSite:
    """The data that gradient rules of ``If`` and ``Loop`` find in a record's attributes.

    Attributes:
        node: The node.
        home: The graph that the node is in.
        free: The values from outside that its bodies use.
        leaves: The ``id`` of each variable assigned inside.
        kept: By the ``id`` of the value, results that gradients added to the node: tapes know them
            by just these tensors.
    """

    __slots__ = ("free", "home", "kept", "leaves", "node")

    def __init__(self, node: Node, home: Graph, free: list[Value], leaves: list[int]) -> None:
        self.node = node
        self.home = home
        self.free = free
        self.leaves = leaves
        self.kept: dict[int, SymbolicTensor] = {}

    def tensor_of(
        self, value: Value, outputs: Sequence[Tensor], owner: FuncGraph
    ) -> SymbolicTensor:
        """The tensor by which tapes know a result of the node.

        Args:
            value: The result.
            outputs: The results that the record has.
            owner: The graph that they belong to.
        """
        for tensor in outputs:
            if isinstance(tensor, SymbolicTensor) and tensor._symbol is value:
                return tensor
        known = self.kept.get(id(value))
        if known is None:
            known = self.kept[id(value)] = SymbolicTensor(value, owner)
        return known


def control_inputs(
    node: Node,
    home: Graph,
    inputs: Sequence[Tensor | None],
    tensor_of: TensorOf,
    leaf_of: LeafOf,
    watched: frozenset[int] = frozenset(),
) -> tuple[dict[str, Any], list[Any]]:
    """Attributes and inputs of the record of an ``If`` or ``Loop``.

    Args:
        node: The node.
        home: The graph that it is in.
        inputs: The tensors that it is applied to.
        tensor_of: The tensor by which tapes know a value that the bodies use.
        leaf_of: What tapes know a variable by; None: nothing.
        watched: By ``id``, constants that tapes may know.
    """
    bodies = list(node.bodies())
    free = captured_values(bodies)
    if watched:
        known = {id(v): v for body in bodies for v in free_values(body)}
        free += [v for key, v in known.items() if key in watched]
    leaves: dict[int, Any] = {}
    for state in assigned_states(bodies):
        leaf = leaf_of(state)
        if leaf is not None:
            leaves.setdefault(id(state.ref()), leaf)
    record = ControlSite(node, home, free, list(leaves))
    return {"control": record}, [*inputs, *map(tensor_of, free), *leaves.values()]


def assigned_states(bodies: Sequence[Graph]) -> Iterator[TracedVariable]:
    """The variables assigned in bodies, at any depth."""
    for body in bodies:
        for node in body.nodes:
            if isinstance(node.tag, Assigned):
                yield from node.tag.outputs.values()
            elif traits(node.op).bodies and node.op != CALL:
                yield from assigned_states(list(node.bodies()))


def add_control_node(
    graph: FuncGraph,
    op: str,
    inputs: Sequence[Tensor | None],
    attrs: Attributes,
    types: Sequence[tuple[int, RawShape]],
    bodies: Sequence[BodyGraph],
    *,
    assigned: dict[int, TracedVariable] | None = None,
    name: str,
) -> list[SymbolicTensor]:
    """Append an ``If`` or ``Loop`` and tell the tapes.

    Args:
        graph: The graph under construction.
        op: The operator.
        inputs: What it is applied to; None: left out.
        attrs: Its attributes, the bodies among them.
        types: Types of the results.
        bodies: The bodies as they were traced.
        assigned: By the number of the result, the variables whose new values are results.
        name: Name of the node.
    """
    context = current()
    values = [None if t is None else graph.value_of(t) for t in inputs]
    node = graph.graph.add_node(
        op, values, attrs, types, name=context.scope + name, source=user_frame(context.layer)
    )
    if assigned:
        node.tag = Assigned(assigned)
    results = [SymbolicTensor(v, graph) for v in node.outputs]
    if context.tapes:
        _tell_tapes(graph, node, inputs, results, bodies)
    for number, state in (assigned or {}).items():
        state.current = node.outputs[number]
        state.written = True
    return results


def _tell_tapes(
    graph: FuncGraph,
    node: Node,
    inputs: Sequence[Tensor | None],
    results: Sequence[SymbolicTensor],
    bodies: Sequence[BodyGraph],
) -> None:
    tapes = current().tapes
    variables = {key: v for body in bodies for key, (_, v) in body.outer_variables.items()}
    known = {key: t for body in bodies for key, (_, t) in body.outer.items()}

    def tensor_of(value: Value) -> Tensor:
        variable = variables.get(id(value))
        if variable is not None:
            return variable.stored_value()  # the same value, watched and recorded
        tensor = known.get(id(value))
        return SymbolicTensor(value, graph) if tensor is None else tensor

    def leaf_of(state: TracedVariable) -> Any:
        variable = state.ref()
        if variable is not None and variable.trainable:
            for tape in tapes:
                tape.watch_variable(variable)
        return variable

    watched = frozenset(
        key
        for key, t in known.items()
        if not isinstance(t, SymbolicTensor)
        or (t._symbol.const is not None and any(tape.depends(t) for tape in tapes))
    )
    attrs, given = control_inputs(node, graph.graph, inputs, tensor_of, leaf_of, watched)
    assigned = node.tag.outputs if isinstance(node.tag, Assigned) else {}
    # What is behind an assignment depends on the variable and not on what was assigned.
    outputs = [
        SymbolicTensor(t._symbol, graph) if i in assigned else t for i, t in enumerate(results)
    ]
    notify_recorders(node.op, attrs, given, outputs)


def notify_recorders(
    op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[SymbolicTensor]
) -> None:
    """Notify the recorders of an ``If`` or ``Loop``, or of results added to one later.

    The innermost one is first: a forward accumulator adds tangents to the node itself, which is
    another operation then for those around it.

    Args:
        op: The operator.
        attrs: The record's attributes; see ``control_inputs``.
        inputs: Its inputs.
        outputs: The results, or those that are new.
    """
    tapes = current().tapes
    for i in reversed(range(len(tapes))):
        extend_control = getattr(tapes[i], "extend_control", None)
        if extend_control is None:
            tapes[i].record(op, attrs, inputs, outputs)
        else:
            attrs, inputs, outputs = extend_control(tapes[:i], op, attrs, inputs, outputs)
