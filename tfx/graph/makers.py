"""Which nodes make the values of a graph: patterns are found by going from a value to its maker."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from tfx.graph.ir import CALL, HOST, Node, Value
from tfx.graph.traits import traits


class Makers:
    """The nodes that make values, as a graph has them now: a value may remember an older one."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}

    def enter(self, nodes: Iterable[Node]) -> None:
        """Take note of the nodes of a graph, or of a body."""
        self._nodes.update((id(value), node) for node in nodes for value in node.outputs)

    def any(self, value: Value | None) -> Node | None:
        """The node that makes a value; None of an input or a constant."""
        return self._nodes.get(id(value))

    def by(self, value: Value | None, op: str, **attrs: Any) -> Node | None:
        """The node that makes a value, if it is of that operator and has those attributes."""
        node = self.any(value)
        if node is None or node.op != op or node.tag is not None:
            return None
        right = all(node.attrs.get(name) == wanted for name, wanted in attrs.items())
        return node if right else None


def grow_constants(constants: set[int], nodes: Iterable[Node]) -> None:
    """Add the values that are the same in every run, since they are made of such alone.

    Args:
        constants: ``id`` of inputs that never change, and of values around; grows.
        nodes: Of a graph, in program order. What has bodies, calls or draws is left out.
    """
    for node in nodes:
        if node.op in (CALL, HOST) or traits(node.op).random or not node.inputs:
            continue
        given = [v for v in node.inputs if v is not None]
        if all(is_constant(v, constants) for v in given) and not any(True for _ in node.bodies()):
            constants.update(map(id, node.outputs))


def is_constant(value: Value | None, constants: Collection[int]) -> bool:
    """True if a value is a constant, or among those that ``grow_constants`` found."""
    return value is not None and (value.const is not None or id(value) in constants)


def constant_integers(value: Value | None) -> list[int] | None:
    """The numbers of a constant, such as axes or sizes; None of any other value."""
    if value is None or value.const is None:
        return None
    return [int(number) for number in value.const.reshape(-1)]
