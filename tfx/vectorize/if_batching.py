"""``If`` for all elements.

Where the condition is the same for all elements the node stays what it is and its branches are
converted. Where it differs each branch gets just the elements that take it, so that nothing is
computed, and no derivative is taken, that would not be for one element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tfx.control_flow.cond import cond
from tfx.control_flow.control_nodes import assigned_states
from tfx.core.dims import is_static
from tfx.core.dtypes import SEQUENCE, from_onnx
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import Assigned, TracedVariable
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE, Variable
from tfx.graph.control import If
from tfx.graph.ir import Graph, Node, Value
from tfx.ops.array.creation import zeros
from tfx.ops.common.batching import concat_shapes
from tfx.ops.math.cast import stop_gradient
from tfx.vectorize.batched_value import BatchedValue, CannotConvertError
from tfx.vectorize.dependence import spread_if
from tfx.vectorize.loop_fallback import repeated

if TYPE_CHECKING:
    from tfx.vectorize.batcher import Batcher


def convert_if(batcher: Batcher, node: Node) -> list[BatchedValue]:
    """The results of an ``If``."""
    found = differing(batcher, node)
    plain = not found
    spread_if(node, found, batcher.same_draws)
    flags = [id(v) in found for v in node.outputs]
    assigns = any(True for _ in assigned_states(list(node.bodies())))
    if plain and not assigns and not any(flags):
        return repeated(batcher, node)
    choice = If(node)
    pred = batcher.batched_value(choice.condition)
    bodies = choice.branches
    if pred.batched:
        if assigns:
            refuse_assignments(node)
        return _divided(batcher, node, bodies, pred.tensor)

    def branch(body: Graph) -> Callable[[], list[Tensor]]:
        def run() -> list[Tensor]:
            inner = batcher.for_body(inside=True)
            batched_values = zip(inner.run(body), flags, strict=True)
            return [inner.full(x) if flag else x.tensor for x, flag in batched_values]

        return run

    results = cond(pred.tensor, branch(bodies[0]), branch(bodies[1]))
    batched_values = [BatchedValue(t, flag) for t, flag in zip(results, flags, strict=True)]
    return with_assignments(batcher, node, batched_values)


def differing(batcher: Batcher, node: Node) -> set[int]:
    """Return by ``id`` the values used by a node or its bodies that differ between elements."""
    return {id(v) for v in batcher.uses(node) if batcher.batched_value(v).batched}


def refuse_assignments(node: Node, states: Iterable[TracedVariable] | None = None) -> None:
    """Refuse to assign in what only some elements do.

    Args:
        node: The operation that is the reason.
        states: What is assigned; None: what is in the bodies of the node.

    Raises:
        ValueError: always.
    """
    found = assigned_states(list(node.bodies())) if states is None else states
    names = sorted({state.name for state in found})
    place = "" if node.source is None else f" [{node.source.text()}]"
    raise ValueError(
        f"The variables {names} are assigned in a branch or loop that only some elements of a "
        f"vectorized function run{place}: their values would depend on the order of the elements. "
        "Return the values and assign them outside, or use tfx.map_fn."
    )


def with_assignments(
    batcher: Batcher, node: Node, batched_values: Sequence[BatchedValue]
) -> list[BatchedValue]:
    """Assign the variables whose new values are among the results.

    Raises:
        ValueError: a new value differs between the elements.
    """
    found = list(batched_values)
    if isinstance(node.tag, Assigned):
        for number, state in node.tag.outputs.items():
            again = node.tag.again or batcher.again
            found[number] = assign(state, found[number], batcher.inside, again)
    return found


def assign(
    state: TracedVariable, batched_value: BatchedValue, inside: bool, again: bool
) -> BatchedValue:
    """Give a variable a new value; what it is read as from there on.

    Args:
        state: What the graph of one element knows of the variable.
        batched_value: The value.
        inside: Whether it is assigned in the body of an ``If`` or ``Loop``.
        again: See ``Assigned``.

    Raises:
        ValueError: the value differs between the elements.
    """
    variable = state.variable()
    if again:
        return BatchedValue(_read_again(variable, batched_value), batched_value.batched)
    if batched_value.batched:
        raise ValueError(
            f"{variable.name!r} is assigned a value that differs between the elements of a "
            "vectorized function: its value would be that of one of them. Return the values and "
            "assign what is wanted of them outside, or use tfx.map_fn."
        )
    if inside:  # there the new value is a result of the ``If`` or ``Loop``
        return BatchedValue(_read_again(variable, batched_value), False)
    variable.assign(batched_value.tensor)
    return BatchedValue(variable.stored_value(), False)


def _read_again(variable: Variable, batched_value: BatchedValue) -> Tensor:
    """Return a value assigned in a second run: no variable's value, but tapes record a read."""
    value = stop_gradient(batched_value.tensor)
    graph = current().graph
    if isinstance(value, SymbolicTensor) and value._symbol.node is not None and graph is not None:
        value._symbol.node.tag = Assigned({0: graph.state_of(variable)}, again=True)
    if not batched_value.batched and variable.trainable:
        for tape in current().tapes:
            tape.watch_variable(variable)
            tape.record(READ_VARIABLE, {}, (variable,), (value,))
    return value


def _divided(
    batcher: Batcher, node: Node, bodies: Sequence[Graph], pred: Tensor
) -> list[BatchedValue]:
    """Run each branch for the elements that take it; return results in the elements' order."""
    if any(v.dtype > SEQUENCE for v in node.outputs):
        raise CannotConvertError(node, "it gives a sequence, by a condition that differs")
    places = [_true_at(pred), _true_at(ox.Not(pred))]
    parts = [_part(batcher, b, p) for b, p in zip(bodies, places, strict=True)]
    order = ox.Concat(*places, axis=0)
    lead = ox.Shape(order)
    _, inverse = ox.TopK(order, lead, axis=0, largest=0)
    batched_values = []
    for a, b, *values in zip(*parts, *(body.outputs for body in bodies), strict=True):
        if _is_stub(*values):
            a = _zeros_like(b, places[0])
        elif _is_stub(*reversed(values)):
            b = _zeros_like(a, places[1])
        joined = ox.Concat(a, b, axis=0)
        batched_values.append(BatchedValue(ox.Gather(joined, inverse, axis=0), True))
    return batched_values


def _is_stub(value: Value, other: Value) -> bool:
    """True if a branch gives nothing where the other gives something.

    So do the branches of which a gradient keeps different values.
    """
    return value.shape != other.shape and value.shape is not None and 0 in value.shape


def _zeros_like(x: Tensor, places: Tensor) -> Tensor:
    """Zeros of the shape of the elements of ``x``, as many as there are places."""
    shape = concat_shapes(ox.Shape(places), ox.Shape(x, start=1))
    zero = ox.Cast(int64_constant(0), to=x.dtype.onnx)
    return ox.Expand(zero, shape)


def _true_at(pred: Tensor) -> Tensor:
    return ox.Reshape(ox.NonZero(pred), int64_constant([-1]))


def _part(batcher: Batcher, body: Graph, places: Tensor) -> list[Tensor]:
    """A branch's results for the elements at ``places``; none are computed if there are none."""
    count = ox.Size(places)

    def run() -> list[Tensor]:
        def view(batched_value: BatchedValue) -> BatchedValue:
            if not batched_value.batched:
                return batched_value
            return BatchedValue(ox.Gather(batched_value.tensor, places, axis=0), True)

        inner = batcher.within(body, count, None, view)
        return [inner.full(x) for x in inner.run(body)]

    shapes = [v.shape for v in body.outputs]
    static = [s for s in shapes if is_static(s)]
    if len(static) < len(shapes) or not shapes:
        return run()

    def nothing() -> list[Tensor]:
        return [
            zeros([0, *s], from_onnx(v.dtype)) for s, v in zip(static, body.outputs, strict=True)
        ]

    some = ox.Greater(count, int64_constant(0))
    found: list[Tensor] = cond(some, run, nothing)
    return found
