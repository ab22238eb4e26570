"""Loops that run a number of times which is known before they begin.

``while i < n`` with ``i += 1`` in its body is one. It needs no condition, and its counters need not
be carried: they are functions of the iteration's number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.control_flow.induction_variables import Counter, InductionVariables
from tfx.control_flow.loop_variables import LoopVariable, TensorSlot
from tfx.core import dtypes
from tfx.framework.body_graph import LoopGraph
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.copy_body import uses
from tfx.graph.ir import CALL, HOST, Node, Value
from tfx.ops.common.arguments import as_int64, cast_to, static_int

# Comparisons, and what they are with the sides exchanged.
_MIRRORED = {
    "Less": "Greater",
    "Greater": "Less",
    "LessOrEqual": "GreaterOrEqual",
    "GreaterOrEqual": "LessOrEqual",
}


class Counting:
    """The counters of a loop.

    Args:
        loop: The finished body.
        iteration: Its number of the iteration.
        slots: The loop variables.
        numbers: What is known of the body's integers.
    """

    def __init__(
        self,
        loop: LoopGraph,
        iteration: Value,
        slots: Sequence[LoopVariable],
        numbers: InductionVariables,
    ) -> None:
        self._loop = loop
        self._iteration = iteration
        self._slots = slots
        self._numbers = numbers

    def trip_count(self, last: Value, first: Value) -> tuple[Tensor | None, Value | None]:
        """Return the largest number of iterations, and the rest of the condition.

        Args:
            last: The condition after an iteration.
            first: The same, computed from the initial values outside.

        Returns:
            The number, None where nothing counts; and the rest of the condition, None where the
            loop runs exactly that often.
        """
        node = last.node
        if node is None or node.op != "And":
            return self._count(last, first), None
        outside = _inputs(first, node)
        for side in (0, 1):
            count = self._count(node.inputs[side], outside[side])
            if count is not None:
                return count, node.inputs[1 - side]
        return None, None

    def _count(self, last: Value | None, first: Value | None) -> Tensor | None:
        node = last.node if last is not None else None
        if node is None or node.op not in _MIRRORED:
            return None
        op, (number, limit), outside = node.op, node.inputs, _inputs(first, node)
        counter = self._numbers.counters.get(id(number))
        outer = outside[1]
        if counter is None:
            op, limit, outer = _MIRRORED[op], number, outside[0]
            counter = self._numbers.counters.get(id(node.inputs[1]))
        if counter is None or limit is None or limit.shape != ():
            return None
        if (counter.step > 0) != op.startswith("Less"):
            return None  # it runs forever, or not at all
        found = self._invariant(limit, outer)
        if found is None:
            return None
        low, high = counter.slot.initial, SymbolicTensor(found, self._loop.parent)
        ends: tuple[Tensor, Tensor] = (low, high) if counter.step > 0 else (high, low)
        return _steps(*ends, abs(counter.step), closed=op.endswith("OrEqual"))

    def _invariant(self, inner: Value, outer: Value | None) -> Value | None:
        """A value from outside that is, in each iteration, the value of the body; or None."""
        if id(inner) not in self._numbers.inside:
            return inner
        return outer if outer is not None and self._agree(inner, outer) else None

    def _agree(self, inner: Value, outer: Value) -> bool:
        """True if the body computes a value as it was computed outside, from the same."""
        if inner is outer:
            return True
        loop = self._loop
        for value, variable in loop.entries.values():
            if inner is value:
                if any(s.variable() is variable for s in loop.written_states()):
                    return False
                return loop.parent.value_of(loop.parent.read(variable)) is outer
        one, other = inner.node, outer.node
        if one is None or other is None or not _same_operator(one, other):
            return False
        if other.outputs[one.outputs.index(inner)] is not outer:
            return False
        return all(
            a is b or (a is not None and b is not None and self._agree(a, b))
            for a, b in zip(one.inputs, other.inputs, strict=True)
        )

    def choose_form(self, count: Tensor) -> None:
        """Compute counters from the number of the iteration instead of carrying them.

        Args:
            count: How often the loop runs, exactly.
        """
        counters = [c for c in self._numbers.counters.values() if c.start is not None]
        others = [s for s in self._slots if all(s is not c.slot for c in counters)]
        if not others and not any(True for _ in self._loop.written_states()):
            return  # a loop must return something
        for counter in counters:
            self._settle(counter, count)

    def _settle(self, counter: Counter, count: Tensor) -> None:
        slot, step, start = counter
        inside, body = slot.inside, self._loop.graph
        assert inside is not None
        assert start is not None
        mark = len(body.nodes)
        with using(graph=self._loop, tapes=()):
            number: Tensor = SymbolicTensor(self._iteration, self._loop)
            number = _linear(number, step, start)
            if inside.dtype == dtypes.int64.onnx:
                ox.Identity(number)
            else:
                ox.Cast(number, to=inside.dtype)
        made = body.nodes[mark:]
        del body.nodes[mark:]
        # The variable itself is now what the last one makes.
        made[-1] = made[-1].replaced(outputs=(inside,)).make_outputs()
        body.nodes[:0] = made
        slot.last = self._end(slot, step, start, count)

    def _end(self, slot: TensorSlot, step: int, start: int, count: Tensor) -> SymbolicTensor:
        """A counter after the loop."""
        parent, dtype = self._loop.parent, slot.initial.dtype
        known = static_int(count)
        if known is not None:
            end = np.array(start + step * max(known, 0), dtype.as_numpy_dtype)
            return SymbolicTensor(parent.constant(end, dtype.onnx), parent)
        number = ox.Max(as_int64(count), int64_constant(0))
        result = cast_to(_linear(number, step, start), dtype)
        assert isinstance(result, SymbolicTensor)
        return result

    def drop(self, tested: Value) -> None:
        """Remove the nodes of counters and of the condition that nothing uses any more.

        Args:
            tested: The condition as it was traced.
        """
        body = self._loop.graph
        values = [tested]
        for counter in self._numbers.counters.values():
            values += [v for v in (counter.slot.after, counter.slot.inside) if v is not None]
        for node in [v.node for v in values if v.node is not None]:
            if node in body.nodes and not any(uses(body, v) for v in node.outputs):
                body.nodes.remove(node)


def _linear(number: Tensor, step: int, start: int) -> Tensor:
    if step != 1:
        number = ox.Mul(number, int64_constant(step))
    return ox.Add(number, int64_constant(start)) if start else number


def _inputs(value: Value | None, like: Node) -> tuple[Value | None, ...]:
    """Return a value's inputs if a node of the same operator computed it, else Nones."""
    node = value.node if value is not None else None
    if node is None or node.op != like.op or len(node.inputs) != len(like.inputs):
        return (None,) * len(like.inputs)
    return node.inputs


def _same_operator(one: Node, other: Node) -> bool:
    """True if two nodes compute the same from the same."""
    if one.op != other.op or one.op in (CALL, HOST) or one.op.startswith("Random"):
        return False
    counts = (len(one.inputs), len(one.outputs)) == (len(other.inputs), len(other.outputs))
    if not counts or one.attrs.keys() != other.attrs.keys():
        return False
    plain = (int, float, str, bytes, tuple)
    return all(isinstance(v, plain) and v == other.attrs[k] for k, v in one.attrs.items())


def _steps(low: Tensor, high: Tensor, step: int, *, closed: bool) -> Tensor:
    """Return the number of steps from `low` to `high`, which is excluded unless ``closed``."""
    first, end = static_int(low), static_int(high)
    more = step - 1 + closed
    if first is not None and end is not None:
        return int64_constant(max(0, (end - first + more) // step))
    if step == 1 and first == more:
        return high
    number = as_int64(high)
    if first is None:
        number = ox.Sub(number, as_int64(low))
        first = 0
    if more != first:
        number = ox.Add(number, int64_constant(more - first))
    return number if step == 1 else ox.Div(number, int64_constant(step))
