"""Nodes of a graph as the records that a tape would have kept of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfx.control_flow.control_nodes import CONTROL_OPS, assigned_states, control_inputs
from tfx.framework.func_graph import Assigned, FuncGraph, TracedVariable
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE
from tfx.function.gradients.gradient_marker import CUSTOM_GRADIENT, CustomGradient, not_saved
from tfx.function.gradients.inline_graph import run_gradient
from tfx.function.recompute.hoist_random import RETURNING, calls_drawing, widen_call
from tfx.graph.ir import CALL, Graph, Node, Value
from tfx.graph.tags import Mark


def records_of(
    node: Node,
    home: Graph,
    owner: FuncGraph,
    tensor_of: Callable[[Value], Tensor],
    leaf_of: Callable[[TracedVariable], Any],
    fixed: frozenset[int] = frozenset(),
    watched: frozenset[int] = frozenset(),
) -> Iterator[OpRecord]:
    """The records of one node.

    Args:
        node: The node.
        home: The graph that it is in.
        owner: The graph that its tensors belong to.
        tensor_of: The tensor by which the records know a value.
        leaf_of: What they know a variable by; None: nothing.
        fixed: By ``id``, values through which no gradient flows.
        watched: By ``id``, constants that tapes may know.
    """
    if node.tag is Mark.STOP_GRADIENT:
        return
    returning = widen_call(node, home) if calls_drawing(node) else None
    assigned = node.tag.outputs if isinstance(node.tag, Assigned) else {}
    inputs = [None if v is None else tensor_of(v) for v in node.inputs]
    # What is behind an assignment or a constant gets a tensor that nothing else knows.
    outputs = [
        SymbolicTensor(v, owner) if i in assigned or id(v) in fixed else tensor_of(v)
        for i, v in enumerate(node.outputs)
    ]
    if node.tag is Mark.GRADIENT_NOT_SAVED:
        yield OpRecord(CUSTOM_GRADIENT, {"backward": not_saved(node)}, inputs, outputs)
    elif isinstance(node.tag, CustomGradient):
        yield _custom(node.tag, [x for x in inputs if x is not None], outputs, leaf_of)
    elif node.op in CONTROL_OPS:
        attrs, given = control_inputs(node, home, inputs, tensor_of, leaf_of, watched)
        yield OpRecord(node.op, attrs, given, outputs)
    elif node.op == CALL:
        record = _call(node, inputs, outputs, leaf_of)
        if returning is not None:
            record.attrs = {**record.attrs, RETURNING: returning}
        yield record
    else:
        yield OpRecord(node.op, node.attrs, inputs, outputs)
    for i, state in assigned.items():
        leaf = leaf_of(state)
        if leaf is not None:
            yield OpRecord(READ_VARIABLE, {}, (leaf,), (tensor_of(node.outputs[i]),))


def _call(
    node: Node,
    inputs: Sequence[Tensor | None],
    outputs: Sequence[Tensor],
    leaf_of: Callable[[TracedVariable], Any],
) -> OpRecord:
    """A call, which depends on the variables too that the called graph reads after assigning."""
    states: dict[int, TracedVariable] = {}
    leaves: list[Any] = []
    for state in assigned_states([node.attrs["graph"]]):
        leaf = None if id(state.ref()) in states else leaf_of(state)
        if leaf is not None:
            states[id(state.ref())] = state
            leaves.append(leaf)
    return OpRecord(
        CALL, {**node.attrs, "states": list(states.values())}, [*inputs, *leaves], outputs
    )


def _custom(
    tag: CustomGradient,
    tensors: Sequence[Tensor],
    outputs: Sequence[Tensor],
    leaf_of: Callable[[TracedVariable], Any],
) -> OpRecord:
    states = [] if tag.deferred else assigned_states([tag.graph])
    leaves = {id(s.ref()): leaf_of(s) for s in states}
    known = {key: leaf for key, leaf in leaves.items() if leaf is not None}

    def backward(*dys: Tensor) -> list[Tensor | None]:
        return run_gradient(tag, tensors, *dys, leaves=known)

    return OpRecord(CUSTOM_GRADIENT, {"backward": backward}, tag.parts(tensors)[1], outputs)
