"""The gradient of ``If``: an ``If`` on the same condition, of the branches' gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tfx.control_flow.control_nodes import ControlSite, add_control_node, notify_recorders
from tfx.control_flow.sequence_gradients import KNOWN, Whole
from tfx.core import dtypes
from tfx.framework.context import current
from tfx.framework.func_graph import Assigned, FuncGraph
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import SymbolicTensor, Tensor, graph_of, symbol_of
from tfx.function.gradients.body_gradient import BodyGradient
from tfx.graph.control import ELSE, THEN, If
from tfx.graph.ir import Graph, RawShape, Value


@gradient("If")
def _if_grad(op: OpRecord, *dys: Tensor | None) -> list[Any]:
    """Gradients of what the branches use, by the branch that was taken."""
    return IfGradient(op, dys).gradients()


class IfGradient:
    """The backward ``If`` under construction.

    Args:
        op: The record of the forward one.
        dys: The gradients of its results.
    """

    def __init__(self, op: OpRecord, dys: tuple[Tensor | None, ...]) -> None:
        control: ControlSite = op.attrs["control"]
        graph = current().graph
        assert graph is not None
        self._op = op
        self._control = control
        self._node = control.node
        self._graph = graph
        self._owner: FuncGraph = graph_of(op.outputs[0])
        first = len(op.inputs) - len(control.free) - len(control.leaves)
        free = op.inputs[first : first + len(control.free)]
        known = {id(v): t for v, t in zip(control.free, free, strict=True)}
        leaves = dict(zip(control.leaves, op.inputs[first + len(control.free) :], strict=True))
        self._choice = If(control.node)
        self._branches = self._choice.branches
        self._bodies = [BodyGradient(b, self._owner, graph, known, leaves) for b in self._branches]
        places = {id(v): i for i, v in enumerate(self._node.outputs)}
        self._assigned = self._node.tag.outputs if isinstance(self._node.tag, Assigned) else {}
        self._dys: dict[int, Tensor] = {}
        for y, dy in zip(op.outputs, dys, strict=True):
            place = places[id(symbol_of(y))]
            if dy is not None and place not in self._assigned:
                self._dys[place] = dy
        self._saved: list[SymbolicTensor] = []
        # By ``id``, sequences whose gradient is more than what the branches add.
        self._known: set[int] = set()

    def gradients(self) -> list[Any]:
        """Add the node; its results are the gradients of the forward node's inputs."""
        op = self._op
        wanted = [i for i, needed in enumerate(op.needs) if needed and i > 0]
        sources = list({id(op.inputs[i]): op.inputs[i] for i in wanted}.values())
        found = [self._walk(i, sources) for i in range(2)]
        kept = [i for i in range(len(sources)) if any(column[i] is not None for column in found)]
        result: dict[int, Any] = {}
        if kept:
            outputs = self._emit(sources, found, kept)
            result = {id(sources[i]): y for i, y in zip(kept, outputs, strict=True)}
            result.update((key, Whole(result[key])) for key in self._known & result.keys())
        # A tensor that is there twice has its gradient once.
        return [result.pop(id(x), None) if x is not None else None for x in op.inputs]

    def _walk(self, number: int, sources: list[Any]) -> list[Tensor | None]:
        body, branch = self._bodies[number], self._branches[number]
        records = body.records()
        known: dict[int, Tensor] = self._op.attrs.get(KNOWN, {})
        seeds = {id(x): known[id(x)] for x in sources if id(x) in known}
        self._known = set(seeds)
        for place, dy in self._dys.items():
            key = id(body.tensor(branch.outputs[place]))
            seeds[key] = dy if key not in seeds else body.sum(seeds[key], dy)
        return body.backpropagate(records, seeds, sources)

    def _emit(
        self, sources: list[Any], found: list[list[Tensor | None]], kept: list[int]
    ) -> list[SymbolicTensor]:
        columns = []
        for number, body in enumerate(self._bodies):
            outputs = [body.value(found[number][i], sources[i]) for i in kept]
            body.resolve_captures(outputs, {}, partial(self._save, number))
            columns.append(body.graph.graph.outputs)
        if self._saved:
            notify_recorders(self._op.op, self._op.attrs, self._op.inputs, self._saved)
        attrs = {
            THEN: self._bodies[0].graph.graph,
            ELSE: self._bodies[1].graph.graph,
        }
        types = [(v.dtype, _form_of(sources[i])) for v, i in zip(columns[0], kept, strict=True)]
        bodies = [b.graph for b in self._bodies]
        pred = self._op.inputs[0]
        return add_control_node(
            self._graph, "If", (pred,), attrs, types, bodies, name="If_gradient"
        )

    def _save(self, number: int, value: Value) -> Value:
        """Make a value of a branch a result of the ``If``; the other branch gives nothing."""
        node, branch, other = self._node, self._branches[number], self._branches[1 - number]
        tensor: SymbolicTensor | None = None
        for place, (output, made) in enumerate(zip(node.outputs, branch.outputs, strict=True)):
            # A result that is a variable's new value depends, to tapes, on the variable.
            if made is value and place not in self._assigned:
                tensor = self._control.tensor_of(output, self._op.outputs, self._owner)
        if tensor is None:
            nothing = self._nothing(value, other)
            new = self._choice.add_of_branch(branch, value, nothing, f"{value.name}_saved")
            tensor = self._control.tensor_of(new, (), self._owner)
            self._saved.append(tensor)
        return self._bodies[number].graph.value_of(tensor)

    def _nothing(self, value: Value, other: Graph) -> Value:
        """An empty tensor (or sequence) of the same dtype and rank."""
        if value.dtype > dtypes.SEQUENCE:
            attrs = {"dtype": value.dtype - dtypes.SEQUENCE}
            return other.add_node("SequenceEmpty", (), attrs, [(value.dtype, None)]).outputs[0]
        rank = 1 if value.shape is None else len(value.shape)
        empty = np.zeros((0,) * rank, dtypes.from_onnx(value.dtype).as_numpy_dtype)
        return self._owner.constant(empty, value.dtype)


def _form_of(source: Any) -> RawShape:
    """Return the certain part of a source's shape: 0 may mean a branch that was not taken."""
    shape: RawShape = source.shape.symbolic
    return None if shape is None else tuple(None if d == 0 else d for d in shape)
