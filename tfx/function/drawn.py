"""What computing it again would not give again: random numbers, and what Python returned.

A second derivative may need a forward part once more. What it drew the first time is kept then,
as a result of the forward graph, and stands in the second computation as an argument.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tfx.framework.context import current
from tfx.framework.tensor import Tensor
from tfx.graph.ir import HOST, Graph, Node, Value
from tfx.graph.random_ops import RANDOM_OPS
from tfx.ops.imported_layout import dropped

DROPOUT = "Dropout"


def draws(node: Node) -> bool:
    """Whether a node may give something else when it runs again."""
    if node.op == HOST:
        return bool(node.outputs)
    if node.op == DROPOUT:
        return _trains(node)
    return node.op in RANDOM_OPS


def _trains(node: Node) -> bool:
    """Whether a dropout may drop anything: not where it is known to be idle."""
    training = node.inputs[2] if len(node.inputs) > 2 else None
    if training is None:
        return False
    return training.const is None or bool(training.const.any())


def results_of(node: Node) -> int:
    """How many results a node has when tapes look on: a dropout also tells what it dropped."""
    count = len(node.outputs)
    return 2 if count == 1 and node.op == DROPOUT and _trains(node) else count


def drawn_values(graph: Graph) -> list[Value]:
    """What the nodes of a graph drew, bodies left out. Of a dropout that is its mask."""
    return [
        v
        for node in graph.nodes
        if draws(node)
        for v in (node.outputs[1:2] if node.op == DROPOUT else node.outputs)
    ]


def is_given(node: Node, known: Collection[int]) -> bool:
    """Whether what a node drew is known already, by the ``id`` of values."""
    if not draws(node):
        return False
    if node.op == DROPOUT:
        return len(node.outputs) > 1 and id(node.outputs[1]) in known
    return all(id(v) in known for v in node.outputs)


def draw_again(node: Node, mapping: dict[int, Tensor]) -> None:
    """Put what a node drew in the place of the node, and tell the tapes.

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
    results = _aliases(node, mapping)
    for tape in current().tapes:
        tape.record(node.op, node.attrs, inputs, results)


def _aliases(node: Node, mapping: Mapping[int, Tensor]) -> list[Tensor]:
    return [mapping[id(v)] for v in node.outputs]
