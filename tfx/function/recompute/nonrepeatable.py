"""Results that a second computation would not repeat: random numbers and results of Python.

A second derivative may need a forward part once more. What it drew the first time is kept then,
as a result of the forward graph, and stands in the second computation as an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tfx.framework.context import current
from tfx.framework.host_call import host_call
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.graph.ir import HOST, HostCall, Node, Value
from tfx.graph.traits import traits
from tfx.ops.nn.dropout import dropped

DROPOUT = "Dropout"


def is_random(node: Node) -> bool:
    """True if a node may give something else when it runs again."""
    if node.op == HOST:
        return bool(node.outputs)
    if node.op == DROPOUT:
        return _trains(node)
    return traits(node.op).random


def _trains(node: Node) -> bool:
    """True if a dropout may drop anything: not where it is known to be idle."""
    training = node.inputs[2] if len(node.inputs) > 2 else None
    if training is None:
        return False
    return training.const is None or bool(training.const.any())


def results_of(node: Node) -> int:
    """Return the number of results under a tape: a dropout also returns its mask."""
    count = len(node.outputs)
    return 2 if count == 1 and node.op == DROPOUT and _trains(node) else count


def drawn_of(node: Node) -> tuple[Value, ...]:
    """Return the values that a node drew; a dropout's is its mask."""
    return node.outputs[1:2] if node.op == DROPOUT else node.outputs


def is_given(node: Node, known: Collection[int]) -> bool:
    """True if what a node drew is known already, by the ``id`` of values."""
    if not is_random(node):
        return False
    if node.op == DROPOUT:
        return len(node.outputs) > 1 and id(node.outputs[1]) in known
    return all(id(v) in known for v in node.outputs)


def draw_again(node: Node, mapping: dict[int, Tensor]) -> None:
    """Put what a node drew in place of the node, and tell the tapes.

    Args:
        node: See ``is_given``.
        mapping: By the ``id`` of a value, the tensor that it is now; gets what is missing.
    """
    inputs = [None if v is None else mapping[id(v)] for v in node.inputs]
    if node.op == DROPOUT:
        mask = mapping[id(node.outputs[1])]
        x, ratio, training = inputs
        assert x is not None
        assert training is not None
        mapping[id(node.outputs[0])] = dropped(x, ratio, training, mask)
        return
    results = [mapping[id(v)] for v in node.outputs]
    if node.op == HOST and not current().tapes:
        given = give_results(node, [x for x in inputs if x is not None], results)
        mapping.update((id(v), y) for v, y in zip(node.outputs, given, strict=True))
        return
    for tape in current().tapes:
        tape.record(node.op, node.attrs, inputs, results)


def give_results(
    node: Node, inputs: Sequence[Tensor], results: Sequence[Tensor]
) -> Sequence[Tensor]:
    """Return a host call's earlier results, with the gradient of the call.

    Args:
        node: The host call.
        inputs: What it would be applied to.
        results: What it returned; tensors of the graph under construction.
    """
    first: HostCall = node.attrs["call"]
    if first.gradient is None:
        return results
    rule, count = first.gradient, len(inputs)

    def run(given: Sequence[Any]) -> Sequence[Any]:
        return given[count:]

    def gradient(op: OpRecord, *dys: Tensor | None) -> Sequence[Tensor | None]:
        record = OpRecord(HOST, {"call": first}, op.inputs[:count], op.outputs)
        return [*rule(record, *dys), *(None for _ in results)]

    call = HostCall(
        first.kind, run, first.description, effect=False, portable=False, gradient=gradient
    )
    return host_call(call, [*inputs, *results], [(x.dtype, x.shape.symbolic) for x in results])
