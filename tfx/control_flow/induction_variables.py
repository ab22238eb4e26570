"""Detection of the integers in a loop's body that count its iterations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tfx.control_flow.loop_variables import LoopVariable, TensorSlot
from tfx.core import dtypes
from tfx.framework.body_graph import LoopGraph
from tfx.framework.indices import masked
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.ir import Graph, Value
from tfx.graph.symbolic_shapes import elements
from tfx.ops.common.arguments import static_int

_INTEGERS = (dtypes.int32.onnx, dtypes.int64.onnx)


class Counter(NamedTuple):
    """A loop variable that grows by the same number in each iteration.

    Attributes:
        slot: The variable.
        step: By how much.
        start: Its first value, if it is known.
    """

    slot: TensorSlot
    step: int
    start: int | None


class InductionVariables:
    """The integers of a loop's body that count the iterations.

    Args:
        loop: The finished body.
        iteration: Its number of the iteration.
        slots: The loop variables.

    Attributes:
        counters: The loop variables that grow evenly, by the ``id`` of their values after an
            iteration.
        inside: By ``id``, the values that are made in each iteration.
    """

    def __init__(self, loop: LoopGraph, iteration: Value, slots: Sequence[LoopVariable]) -> None:
        self._starts: dict[int, int] = {id(iteration): 0}
        self.inside = {id(iteration)}
        self.inside.update(id(v) for node in loop.graph.nodes for v in node.outputs)
        self.inside.update(id(value) for value, _ in loop.entries.values())
        self.inside.update(id(s.inside) for s in slots if isinstance(s, TensorSlot))
        self.counters: dict[int, Counter] = {}
        for slot in slots:
            if isinstance(slot, TensorSlot) and slot.inside is not None and slot.after is not None:
                step, start = step_of(slot.inside, slot.after), _start(slot)
                if step is not None:
                    self.counters[id(slot.after)] = Counter(slot, step, start)
                if step == 1 and start is not None:
                    self._starts[id(slot.inside)] = start

    def start_of(self, value: Value | None) -> int | None:
        """The value in the first iteration, if it is one more in each; None otherwise."""
        return start_of(value, self._starts)

    def trust(self, body: Graph) -> None:
        """Let indices pass unchecked that count iterations from 0 or more.

        Args:
            body: The loop's body, under construction.
        """
        for i, node in enumerate(body.nodes):
            index = masked(node)
            start = None if index is None else self.start_of(index)
            if start is not None and start >= 0:
                body.nodes[i] = node.replaced((index,), op="Identity").make_outputs()

    def falls_from_end(self, index: Value | None, size: Tensor) -> bool:
        """True if an index is ``size - 1`` in the first iteration and one less in each."""
        if index is None or not isinstance(size, SymbolicTensor):
            return False
        place, count = self._linear(index), self._linear(size._symbol)
        if place is None or count is None or count.step != 0:
            return False
        return place.step == -1 and place.base is count.base and place.number == count.number - 1

    def _linear(self, value: Value) -> _Linear | None:
        """An integer as ``step * iteration + number + base``; None: it is something else."""
        start, known = self._starts.get(id(value)), elements(value)
        if start is not None:
            return _Linear(1, start, None)
        if known is not None and len(known) == 1 and isinstance(known[0], int):
            return _Linear(0, known[0], None)
        node = value.node
        if node is not None and value.dtype in _INTEGERS:
            parts = [None if v is None or v.dtype not in _INTEGERS else v for v in node.inputs]
            first = parts[0] if parts else None
            if node.op in ("Cast", "Identity") and first is not None:
                return self._linear(first)
            if node.op in ("Add", "Sub") and first is not None and parts[1] is not None:
                a, b = self._linear(first), self._linear(parts[1])
                return None if a is None or b is None else a.combined(b, node.op)
        return None if id(value) in self.inside else _Linear(0, 0, value)


class _Linear(NamedTuple):
    """``step * iteration + number + base``, with a value from outside of the loop or none."""

    step: int
    number: int
    base: Value | None

    def combined(self, other: _Linear, op: str) -> _Linear | None:
        """The sum or difference."""
        if op == "Add":
            if self.base is not None and other.base is not None:
                return None
            base = other.base if self.base is None else self.base
            return _Linear(self.step + other.step, self.number + other.number, base)
        if other.base is not None and other.base is not self.base:
            return None
        base = None if other.base is not None else self.base
        return _Linear(self.step - other.step, self.number - other.number, base)


def start_of(value: Value | None, starts: dict[int, int]) -> int | None:
    """``value`` in the first iteration, if it counts iterations; ``starts`` knows some that do."""
    if value is None:
        return None
    known = starts.get(id(value))
    if known is not None or value.node is None:
        return known
    node = value.node
    if node.op in ("Identity", "Cast") and value.dtype in _INTEGERS:
        source = node.inputs[0]
        return (
            start_of(source, starts) if source is not None and source.dtype in _INTEGERS else None
        )
    if node.op in ("Add", "Sub"):
        first, second = start_of(node.inputs[0], starts), elements(node.inputs[1])
        if first is not None and second is not None and len(second) == 1:
            step = second[0]
            if isinstance(step, int):
                return first + step if node.op == "Add" else first - step
    return None


def counts_up(inside: Value, after: Value) -> bool:
    """True if a carried integer becomes one more in each iteration."""
    return step_of(inside, after) == 1


def step_of(inside: Value, after: Value) -> int | None:
    """Return the increment of a carried integer in each iteration; None if it is not constant."""
    node = after.node
    if node is None or node.op not in ("Add", "Sub") or inside.dtype not in _INTEGERS:
        return None
    first, second = node.inputs
    if node.op == "Add" and second is inside:
        first, second = second, first
    step = elements(second)
    if first is not inside or inside.shape != () or step is None or len(step) != 1:
        return None
    if not isinstance(step[0], int) or not step[0]:
        return None
    return step[0] if node.op == "Add" else -step[0]


def _start(slot: TensorSlot) -> int | None:
    initial = slot.initial
    return static_int(initial) if initial.dtype.is_integer and initial.shape.rank == 0 else None
