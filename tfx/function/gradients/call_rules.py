"""Rules of calls: the gradient of a call that a tape saw, and those of a ``Call`` in a graph.

A call that a tape saw has saved what its backward graph reads; a ``Call`` of a graph computes the
called graph again, but for what it drew. Forward mode extends a call in place where it can.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from tfx.autodiff.record_placeholders import StandIn
from tfx.control_flow.sequence_gradients import is_write, write_forward, write_gradient
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import current
from tfx.framework.func_graph import TracedVariable
from tfx.framework.indexed_slices_rules import slices_gradient
from tfx.framework.rules import OpRecord, forward, gradient
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.gradients.body_tangents import IN_PLACE
from tfx.function.gradients.pure_function import FUNCTION_CALL, Backward, Pair, PureFunction
from tfx.function.recompute.hoist_random import RETURNING, Returning
from tfx.graph.control import add_result, extend_call
from tfx.graph.ir import CALL, Graph, Node, Value
from tfx.ops.array.creation import zeros
from tfx.ops.array.indexed_slices import dense, dense_shape_of
from tfx.ops.common.traced_once import slope_gradients, slope_tangents


def _put_together(
    found: Sequence[Tensor], present: Sequence[int], inputs: Sequence[Any]
) -> list[Any]:
    """Gradients of inputs of what a function returned."""
    remaining = iter(found)
    gradients: list[Any] = []
    for count, x in zip(present, inputs, strict=True):
        parts = [next(remaining) for _ in range(count)]
        if len(parts) == 2:
            values, indices = parts
            gradients.append(IndexedSlices(values, indices, dense_shape_of(x)))
        else:
            gradients.append(parts[0] if parts else None)
    return gradients


@gradient(FUNCTION_CALL)
def _function_call_grad(op: OpRecord, *dys: Tensor | None) -> list[Tensor | None]:
    """Gradient of a call, dense."""
    return [dense(g) for g in _function_call_slices(op, *dys)]


@slices_gradient(FUNCTION_CALL)
def _function_call_slices(op: OpRecord, *given_dys: Any) -> list[Any]:
    """Gradient of a call: the backward graph over saved values, or everything again."""
    dys = [dense(dy) for dy in given_dys]
    pair: Pair = op.attrs["pair"]
    count = len(pair.base.graph.outputs)
    inputs, outputs = op.inputs, op.outputs
    seeds = [dy for dy in dys if dy is not None]
    backward = None
    if all(dy is None for dy in dys[count:]):
        backward = pair.backward(tuple(dy is not None for dy in dys[:count]))
    given = None if backward is None else _given_to(backward, op)
    if backward is not None and given is not None:
        found = backward.function([*given, *seeds])
        present = backward.present
    else:
        vjp = pair.forward.vjp(tuple(dy is not None for dy in dys), pair.needs)
        if any(type(x) is StandIn for x in inputs):
            return _by_all_results(op, dys, (vjp if backward is None else backward).present)
        found = vjp([*inputs, *(outputs[i] for i in pair.forward.drawn), *seeds])
        present = vjp.present
    return _of_arguments(op, found, present)


def _of_arguments(op: OpRecord, found: Sequence[Tensor], present: Sequence[int]) -> list[Any]:
    """Return a backward function's results as one gradient for each argument of a call."""
    needs = op.attrs["pair"].needs
    wanted = [x for x, n in zip(op.inputs, needs, strict=True) if n]
    values = iter(_put_together(found, present, wanted))
    return [next(values) if n else None for n in needs]


def _given_to(backward: Backward, op: OpRecord) -> list[Tensor] | None:
    """Return the tensors of a call that a backward function reads; None if one was freed."""
    given = [op.inputs[i] if kind == "argument" else op.outputs[i] for kind, i in backward.origins]
    return None if any(type(x) is StandIn for x in given) else given


def _by_all_results(op: OpRecord, dys: list[Any], present: Sequence[int]) -> list[Any]:
    """The gradient of a call that has let go of arguments: that by all of its results.

    It reads what is kept in any case. Results that nothing depends on get zeros.

    Args:
        op: The call.
        dys: Gradients of its results.
        present: Arguments that depend on these results; the others have no gradient.

    Raises:
        RuntimeError: it is a second derivative, which needs the arguments.
    """
    pair: Pair = op.attrs["pair"]
    backward = pair.backward(pair.mask)
    given = None if backward is None else _given_to(backward, op)
    if backward is None or given is None or any(dy is not None for dy in dys[len(pair.mask) :]):
        raise RuntimeError(
            f"The second derivative of {pair.base.graph.name!r} computes it again, from arguments "
            "that the tape let go when its `with` block ended. Compute the gradient that is "
            "differentiated again inside the block in which the function was called, or keep the "
            "arguments."
        )
    seeds = [
        zeros(y.shape, y.dtype) if dy is None else dy
        for y, dy, m in zip(op.outputs, dys, pair.mask, strict=False)
        if m
    ]
    found = _of_arguments(op, backward.function([*given, *seeds]), backward.present)
    there = iter(present)
    return [g if n and next(there) else None for g, n in zip(found, pair.needs, strict=True)]


@gradient(CALL)
def _call_grad(op: OpRecord, *dys: Tensor | None) -> list[Tensor | None]:
    """The derivative of the called graph, dense."""
    if op.attrs["graph"].slopes:
        return slope_gradients(op, *dys)
    if is_write(op.attrs["graph"]):
        return write_gradient(op, *dys)  # type: ignore[arg-type]
    found = _call_slices(op, *dys)
    return [dense(g) for g in found]


@slices_gradient(CALL)
def _call_slices(op: OpRecord, *given_dys: Any) -> Any:
    """The derivative of the called graph, which computes it again but for what it drew."""
    if is_write(op.attrs["graph"]) or op.attrs["graph"].slopes:
        return NotImplemented
    dys = [dense(dy) for dy in given_dys]
    called = _with_leaves(op.attrs["graph"], op.attrs.get("states", ()))
    returning: Returning | None = op.attrs.get(RETURNING)
    if returning is not None:
        called.drawn = returning.places
    product = called.vjp(tuple(dy is not None for dy in dys), op.needs)
    given = [x if isinstance(x, Tensor) else x.stored_value() for x in op.inputs]
    given += [op.outputs[i] for i in called.drawn]
    found = product([*given, *(dy for dy in dys if dy is not None)])
    wanted = [x for x, n in zip(op.inputs, op.needs, strict=True) if n]
    marked = iter(_put_together(found, product.present, wanted))
    return [next(marked) if needed else None for needed in op.needs]


@forward(CALL)
def _call_forward(op: OpRecord, *tangents: Tensor | None) -> Sequence[Tensor | None]:
    """The called graph with tangents is called: in place of it where that can be."""
    graph, states = op.attrs["graph"], op.attrs.get("states", ())
    if graph.slopes:
        return [slope_tangents(op, *tangents)]
    if is_write(graph):
        return [write_forward(op, *tangents)]
    mask = tuple(t is not None for t in tangents)
    known = [t for t in tangents if t is not None]
    node: Node | None = op.attrs.get(IN_PLACE)
    if states or node is None:
        product = _with_leaves(graph, states).jvp(mask)
        given = [x if isinstance(x, Tensor) else x.stored_value() for x in op.inputs]
        found = iter(product([*given, *known])[len(graph.outputs) :])
    else:
        product = _function_of(graph).jvp(mask)
        found = iter(_widened_call(node, product, known))
    return [next(found) if present else None for present in product.present]


_functions: weakref.WeakKeyDictionary[Graph, PureFunction] = weakref.WeakKeyDictionary()


def _function_of(graph: Graph) -> PureFunction:
    """A called graph as a function that keeps its derivatives."""
    known = _functions.get(graph)
    if known is None:
        # A copy: the value of an entry must not keep its key alive.
        known = _functions[graph] = PureFunction(graph.copy())
    return known


def _widened_call(node: Node, product: PureFunction, tangents: list[Tensor]) -> list[Tensor]:
    """Let a node call a graph that also computes tangents; the tangents."""
    graph = current().graph
    assert graph is not None
    extend_call(node, product.graph, [graph.value_of(t) for t in tangents])
    found: list[Tensor] = []
    for y, present in zip(node.outputs, product.present, strict=True):
        if present:
            value = Value(graph.graph.unique_name(f"t_{y.name}"), y.dtype, y.shape)
            found.append(SymbolicTensor(add_result(node, value), graph))
    return found


def _with_leaves(graph: Graph, states: Sequence[TracedVariable]) -> PureFunction:
    """A called graph with one more input for each variable that it assigns: see ``leaves``."""
    if not states:
        return PureFunction(graph)
    graph = graph.copy()
    leaves = []
    for state in states:
        variable = state.variable()
        leaves.append((state, len(graph.inputs)))
        graph.add_input(state.name, variable.dtype.onnx, variable.shape.symbolic)
    return PureFunction(graph, leaves=leaves)
