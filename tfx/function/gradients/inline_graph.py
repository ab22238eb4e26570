"""Emit the nodes of a finished graph into the graph under construction, seen by its tapes.

This is how a call of a traced function under a tape becomes differentiable inside a trace, and how
the joint graph of a function's derivative is made.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tfx.control_flow.control_nodes import CONTROL_OPS, control_inputs, notify_recorders
from tfx.core.dims import sizes_alone
from tfx.core.dtypes import from_onnx
from tfx.core.errors import InternalError
from tfx.framework.composite.adapted_reads import answer
from tfx.framework.context import current, using
from tfx.framework.func_graph import Assigned, FuncGraph
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE
from tfx.function.gradients.gradient_marker import CustomGradient, mark, not_saved, record
from tfx.function.recompute.hoist_random import expand_drawing, replay_random
from tfx.function.recompute.nonrepeatable import draw_again, is_given, results_of
from tfx.graph.copy_body import copy_body
from tfx.graph.ir import CALL, HOST, Graph, Node, Value
from tfx.graph.lstm_gradient import LstmGradient
from tfx.graph.tags import Mark


def inline_nodes(
    source: Graph,
    mapping: dict[int, Tensor],
    target: FuncGraph,
    leaves: Mapping[int, Any] = MappingProxyType({}),
) -> None:
    """Append the nodes of ``source`` to ``target``.

    Args:
        source: A finished graph.
        mapping: Tensor of the target for each value of the source by ``id``; must hold the inputs,
            gets everything else. What a node drew (see ``nonrepeatable``) may be there too: it is
            not drawn again then.
        target: The graph under construction.
        leaves: Variables by ``id`` and the tensors that tapes know them by: what was read after an
            assignment depends on the variable and not on the value that it was assigned.
    """
    for value in source.constants:
        if id(value) not in mapping:
            assert value.const is not None
            constant = target.constant(value.const, value.dtype)
            mapping[id(value)] = SymbolicTensor(constant, target)
    for node in source.nodes:
        if isinstance(node.tag, CustomGradient):
            _mark_again(node.tag, node, mapping, target, leaves)
        elif is_given(node, mapping):
            draw_again(node, mapping)
        elif node.op == CALL and not _stays_whole(node):
            _inline_call(node, mapping, target, leaves)
        else:
            _emit(node, mapping, target, leaves)
    for value in source.outputs:
        if id(value) not in mapping:
            raise InternalError(f"Graph {source.name!r}: output {value!r} is never made.")


def _stays_whole(call: Node) -> bool:
    """True if a call stays one: nothing in it can be differentiated, or its rule is for the whole.

    A random operation is such a part of this library: its inputs are integers. What is computed by
    a routine, not by its nodes, is known as a call; a gradient of its own stands around it, and
    further derivatives are those of the called graph.
    """
    callee: Graph = call.attrs["graph"]
    if call.tag is Mark.ARRAY_WRITE or isinstance(call.tag, LstmGradient) or callee.slopes:
        return True
    if callee.routine is not None or callee.kernel is not None:
        return True
    return callee.library and not any(v and from_onnx(v.dtype).has_gradients for v in call.inputs)


def _inline_call(
    node: Node, mapping: dict[int, Tensor], target: FuncGraph, leaves: Mapping[int, Tensor]
) -> None:
    callee: Graph = node.attrs["graph"]
    inner: dict[int, Tensor] = {}
    for formal, actual in zip(callee.inputs, node.inputs, strict=True):
        assert actual is not None
        inner[id(formal)] = mapping[id(actual)]
    below = f"{current().scope}{node.name}/"
    with using(device=node.device or current().device, scope=below):
        inline_nodes(callee, inner, target, leaves)
    for formal, actual in zip(callee.outputs, node.outputs, strict=True):
        mapping[id(actual)] = inner[id(formal)]


def _mark_again(
    tag: CustomGradient,
    node: Node,
    mapping: dict[int, Tensor],
    target: FuncGraph,
    leaves: Mapping[int, Any],
) -> None:
    """The marker of a part that has a gradient of its own."""
    tensors = [mapping[id(v)] for v in node.inputs if v is not None]
    backward = functools.partial(run_gradient, tag, tensors, leaves=leaves)
    results = mark(
        tag, tensors, target, backward, name=current().scope + node.name, source=node.source
    )
    for old, new in zip(node.outputs, results, strict=True):
        mapping[id(old)] = new


def run_gradient(
    tag: CustomGradient,
    tensors: Sequence[Tensor],
    *dys: Tensor,
    leaves: Mapping[int, Any] = MappingProxyType({}),
) -> list[Tensor | None]:
    """Append the nodes of a marker's gradient to the graph under construction.

    Args:
        tag: The marker's tag.
        tensors: The marker's inputs.
        *dys: The gradient of each result.
        leaves: See ``inline_nodes``: of variables that the gradient assigns, doing a part again.

    Returns:
        For each input that the gradient is taken with respect to, its gradient or None.
    """
    target = current().graph
    assert target is not None
    given = [*dys, *tag.parts(tensors)[2]]
    mapping: dict[int, Tensor] = {id(v): t for v, t in zip(tag.graph.inputs, given, strict=True)}
    inline_nodes(tag.graph, mapping, target, leaves)
    found = iter([mapping[id(v)] for v in tag.graph.outputs])
    return [next(found) if present else None for present in tag.present]


def _emit(
    node: Node, mapping: dict[int, Tensor], target: FuncGraph, leaves: Mapping[int, Tensor]
) -> None:
    inputs = [None if v is None else mapping[id(v)] for v in node.inputs]
    answered = None if node.tag is not None else answer(node.op, inputs, node.attrs)
    if answered is not None:
        mapping.update((id(v), t) for v, t in zip(node.outputs, answered, strict=True))
        return
    values = [None if t is None else target.value_of(t) for t in inputs]
    attrs = node.attrs
    if node.op in (CALL, HOST) or any(True for _ in node.bodies()):
        attrs = (
            dict(attrs)
            if node.op == CALL
            else {
                k: _copied(v, mapping, target) if isinstance(v, Graph) else v
                for k, v in attrs.items()
            }
        )
        types = [(v.dtype, v.shape) for v in node.outputs]
        if isinstance(node.tag, LstmGradient):  # whose sizes have the names of another graph
            types = [(dtype, sizes_alone(shape)) for dtype, shape in types]
        made = target.graph.add_node(
            node.op, values, attrs, types, name=current().scope + node.name, source=node.source
        )
    else:
        made = target.add_op(
            node.op,
            values,
            attrs,
            results_of(node) if current().tapes else len(node.outputs),
            name=current().scope + node.name,
            source=node.source,
        )
    results = [SymbolicTensor(v, target) for v in made.outputs]
    given = {id(v) for v in node.outputs if id(v) in mapping} if made.op in CONTROL_OPS else ()
    if given:
        replay_random(node, made, {key: mapping[key] for key in given}, target)
    for old, new in zip(node.outputs, results, strict=False):
        if id(old) not in given:
            mapping[id(old)] = new
    made.tag = node.tag
    if node.device is not None:
        made.device = node.device
    if node.tag is Mark.STOP_GRADIENT:
        return
    if node.tag is Mark.GRADIENT_NOT_SAVED:
        record(not_saved(made), [x for x in inputs if x is not None], results)
    elif made.op in CONTROL_OPS:
        _record_control(made, inputs, results, mapping, target, leaves)
    elif not isinstance(node.tag, Assigned):
        for tape in current().tapes:
            tape.record(node.op, attrs, inputs, results)
    if isinstance(node.tag, Assigned):
        _record_reads(node.tag, results, leaves)


def _record_control(
    node: Node,
    inputs: Sequence[Tensor | None],
    results: Sequence[SymbolicTensor],
    mapping: Mapping[int, Tensor],
    target: FuncGraph,
    leaves: Mapping[int, Tensor],
) -> None:
    """Tell the tapes of an ``If`` or ``Loop``; what it assigns is none of its results for them."""
    known: dict[int, Tensor] = {}
    tapes = current().tapes
    # Constants of the function being traced that a tape was told to watch.
    watched: set[int] = set()
    for tensor in mapping.values():
        if isinstance(tensor, SymbolicTensor):
            known.setdefault(id(tensor._symbol), tensor)
        elif any(tape.depends(tensor) for tape in tapes):
            key = id(target.value_of(tensor))
            watched.add(key)
            known.setdefault(key, tensor)

    def tensor_of(value: Value) -> Tensor:
        tensor = known.get(id(value))
        return SymbolicTensor(value, target) if tensor is None else tensor

    attrs, given = control_inputs(
        node,
        target.graph,
        inputs,
        tensor_of,
        lambda state: leaves.get(id(state.ref())),
        frozenset(watched),
    )
    assigned = node.tag.outputs if isinstance(node.tag, Assigned) else {}
    outputs = [
        SymbolicTensor(t._symbol, target) if i in assigned else t for i, t in enumerate(results)
    ]
    notify_recorders(node.op, attrs, given, outputs)


def _record_reads(
    assigned: Assigned, results: Sequence[Tensor], leaves: Mapping[int, Tensor]
) -> None:
    """Let what is computed from an assigned variable depend on the variable."""
    for number, state in assigned.outputs.items():
        leaf = leaves.get(id(state.ref()))
        if leaf is not None:
            for tape in current().tapes:
                tape.record(READ_VARIABLE, {}, (leaf,), (results[number],))


def _copied(body: Graph, mapping: Mapping[int, Tensor], target: FuncGraph) -> Graph:
    """A branch or loop body with the values of the enclosing graph replaced."""

    def outer(value: Value) -> Value:
        tensor = mapping.get(id(value))
        if tensor is None:
            assert value.const is not None
            return target.constant(value.const, value.dtype)
        return target.value_of(tensor)

    def constant(value: Value) -> Value:
        assert value.const is not None
        return target.constant(value.const, value.dtype)

    copied = copy_body(body, target.graph, outer, constant)
    expand_drawing(copied, constant)
    return copied
