"""The gradient of ``Loop``: a ``Loop`` over the iterations from the last to the first.

The forward loop is told to collect, as scan outputs, those values of each iteration that the
backward body uses; values whose shape changes are collected in a sequence. The backward loop
carries the gradients of the forward loop's carried values, and the sums over all iterations of the
gradients of what the body uses from outside. A slice ``x[i]`` that each iteration takes of a tensor
from outside has its gradients collected as a scan output again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfx.autodiff.backprop import reachable
from tfx.control_flow import sequences
from tfx.control_flow.control_nodes import ControlSite, add_control_node
from tfx.control_flow.induction_variables import counts_up, start_of
from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import Assigned, FuncGraph
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import SymbolicTensor, Tensor, graph_of, symbol_of
from tfx.function.gradients.body_gradient import BodyGradient
from tfx.function.gradients.deferred_sums import DeferredSum, late_product, late_row_sum
from tfx.function.gradients.loop_residuals import LoopResiduals
from tfx.graph.control import Loop, loop_types
from tfx.graph.copy_body import uses
from tfx.graph.formulas.shapes import reversed_along
from tfx.graph.ir import Node, Value
from tfx.graph.symbolic_shapes import elements
from tfx.graph.tags import Mark

_INT64, _BOOL = dtypes.int64.onnx, dtypes.bool.onnx
_HALF = (dtypes.float16.onnx, dtypes.bfloat16.onnx)


@gradient("Loop")
def _loop_grad(op: OpRecord, *dys: Tensor | None) -> list[Tensor | None]:
    """Gradients of the initial values and of what the body uses."""
    return LoopGradient(op, dys).gradients()


class LoopGradient:
    """The backward ``Loop`` under construction.

    Args:
        op: The record of the forward one.
        dys: The gradients of its results.
    """

    def __init__(self, op: OpRecord, dys: tuple[Tensor | None, ...]) -> None:
        control: ControlSite = op.attrs["control"]
        graph = current().graph
        assert graph is not None
        self._op = op
        node = control.node
        self._loop = Loop(node)
        self._graph = graph
        self._owner: FuncGraph = graph_of(op.outputs[0])
        first = len(op.inputs) - len(control.free) - len(control.leaves)
        self._first_free = first
        free = op.inputs[first : first + len(control.free)]
        known = {id(v): t for v, t in zip(control.free, free, strict=True)}
        leaves = dict(zip(control.leaves, op.inputs[first + len(control.free) :], strict=True))
        self._back = BodyGradient(self._loop.body, self._owner, graph, known, leaves)
        self._states: dict[int, int] = {}
        if isinstance(node.tag, Assigned):
            self._states = {k: id(s.ref()) for k, s in node.tag.outputs.items()}
        self._leaves = leaves
        places = {id(v): i for i, v in enumerate(node.outputs)}
        self._dys: dict[int, Tensor] = {}
        for y, dy in zip(op.outputs, dys, strict=True):
            place = places[id(symbol_of(y))]
            if dy is not None and place not in self._states:
                self._dys[place] = dy
        unique = self._back.graph.graph.unique_name
        self._step = Value(unique("step"), _INT64, ())
        # The number of the forward iteration, and the last one's, known when the rest is there.
        self._time = Value(unique("time"), _INT64, ())
        # Never false: the loop runs as often as the forward one did.
        self._going = Value(unique("going"), _BOOL, ())
        self._back.placeholders |= {id(self._step), id(self._going), id(self._time)}
        self._sums: dict[int, SymbolicTensor] = {}
        # By ``id``, slices that the forward loop takes from the last to the first.
        self._ascending: set[int] = set()

    def gradients(self) -> list[Tensor | None]:
        """Add the node; its results are the gradients of the forward node's inputs."""
        op, back, loop = self._op, self._back, self._loop
        wanted = [x for x, n in zip(op.inputs, op.needs, strict=True) if n]
        outside = {id(x): x for x, n in zip(op.inputs, op.needs, strict=True) if n}
        frees = {id(x): x for x in op.inputs[self._first_free :] if id(x) in outside}
        records = back.records()
        slots = self._take_slices(records, frees)
        entering = dict(enumerate(map(back.tensor, loop.before)))
        active = self._active(records, entering, frees, slots)
        if not wanted or not (active or frees):
            return [None] * len(op.inputs)
        inside = [loop.before[k] for k in active]
        carried = [Value(self._named("grad"), v.dtype, v.shape) for v in inside]
        back.placeholders.update(map(id, carried))
        seeds = self._seeds(active, carried)
        states = {
            k: entering[k] for k, i in self._states.items() if i in self._wanted_leaves(frees)
        }
        sources = [
            *(entering[k] for k in active),
            *states.values(),
            *frees.values(),
            *(slot for slot, _ in slots),
        ]
        for key, x in frees.items():
            if sequences.is_sequence(x):  # its gradient begins with what is there already
                seeds[key] = self._sum_of(x)
        found = dict(
            zip(map(id, sources), back.backpropagate(records, seeds, sources), strict=True)
        )
        return self._emit(active, carried, states, frees, slots, found)

    def _named(self, name: str) -> str:
        return self._back.graph.graph.unique_name(name)

    def _wanted_leaves(self, frees: dict[int, Any]) -> set[int]:
        return {key for key, leaf in self._leaves.items() if id(leaf) in frees}

    def _sum_of(self, x: Any) -> SymbolicTensor:
        """The gradient, summed over the iterations so far, of what the body uses."""
        known = self._sums.get(id(x))
        if known is None:
            value = Value(self._named("sum"), _wide(_code_of(x)), x.shape.symbolic)
            self._back.placeholders.add(id(value))
            known = self._sums[id(x)] = SymbolicTensor(value, self._back.graph)
        return known

    # What there is to do

    def _take_slices(
        self, records: list[OpRecord], frees: dict[int, Any]
    ) -> list[tuple[SymbolicTensor, Any]]:
        """Put a tensor of its own in place of what iteration ``i`` reads at ``x[i]``.

        Returns:
            The tensors, and what they are slices of.
        """
        starts = self._starts()
        slots: list[tuple[SymbolicTensor, Any]] = []
        for number, record in enumerate(records):
            if record.op != "Gather" or record.attrs.get("axis", 0) != 0:
                continue
            data, index = record.inputs
            if id(data) not in frees or index.shape.rank != 0:
                continue
            forwards = _goes_up(index._symbol, starts)
            if forwards is not None:
                (y,) = record.outputs
                whole = symbol_of(y)
                value = Value(self._named("slice"), whole.dtype, whole.shape)
                slot = SymbolicTensor(value, self._back.graph)
                slots.append((slot, data))
                if not forwards:
                    self._ascending.add(id(slot))
                records[number] = OpRecord("Identity", {}, (slot,), (y,))
        return slots

    def _starts(self) -> dict[int, int]:
        """The carried integers that count iterations, with their first values."""
        starts = {id(self._loop.iteration): 0}
        for initial, before, after, _ in self._loop.carried:
            if initial is not None and counts_up(before, after):
                known = elements(initial)
                if known is not None and len(known) == 1 and isinstance(known[0], int):
                    starts[id(before)] = known[0]
        return starts

    def _active(
        self,
        records: list[OpRecord],
        entering: dict[int, Tensor],
        frees: dict[int, Any],
        slots: list[tuple[SymbolicTensor, Any]],
    ) -> list[int]:
        """The carried values through which a gradient flows."""
        op, loop = self._op, self._loop
        leaving = {k: id(self._back.tensor(v)) for k, v in enumerate(loop.after)}
        floating = [
            k for k, x in entering.items() if x.dtype.has_gradients and k not in self._states
        ]
        depends = {k: reachable(records, [id(entering[k])]) for k in floating}
        start = {*frees, *(id(slot) for slot, _ in slots)}
        start |= {id(entering[k]) for k in self._states}
        first = reachable(records, start)
        forward = {
            k
            for k in floating
            if (2 + k < self._first_free and op.needs[2 + k]) or leaving[k] in first
        }
        self._spread(forward, lambda k, j: leaving[k] in depends[j], floating)
        rows = {
            id(self._back.tensor(v))
            for place, v in enumerate(loop.each, loop.carried_count)
            if place in self._dys
        }
        backward = {k for k in floating if k in self._dys or (rows & depends[k])}
        self._spread(backward, lambda k, j: leaving[j] in depends[k], floating)
        return [k for k in floating if k in forward and k in backward]

    @staticmethod
    def _spread(found: set[int], follows: Any, candidates: list[int]) -> None:
        """Add every candidate that follows from one that was found, until none does."""
        changed = True
        while changed:
            changed = False
            for k in candidates:
                if k not in found and any(follows(k, j) for j in found):
                    found.add(k)
                    changed = True

    def _seeds(self, active: list[int], carried: list[Value]) -> dict[int, Tensor]:
        back, loop = self._back, self._loop
        seeds: dict[int, Tensor] = {}

        def add(value: Value, dy: Tensor) -> None:
            key = id(back.tensor(value))
            seeds[key] = dy if key not in seeds else back.sum(seeds[key], dy)

        for k, value in zip(active, carried, strict=True):
            add(loop.after[k], SymbolicTensor(value, back.graph))
        time = SymbolicTensor(self._time, back.graph)
        for place, each in enumerate(loop.each, loop.carried_count):
            if place in self._dys:
                with using(graph=back.graph, tapes=()):
                    row = ox.Gather(self._dys[place], time)
                add(each, row)
        return seeds

    # The node

    def _emit(
        self,
        active: list[int],
        carried: list[Value],
        states: dict[int, Tensor],
        frees: dict[int, Any],
        slots: list[tuple[SymbolicTensor, Any]],
        found: dict[int, Tensor | None],
    ) -> list[Tensor | None]:
        back, op = self._back, self._op
        entering = [back.tensor(self._loop.before[k]) for k in active]
        parts = self._parts(states, frees, found)
        late = self._late_sums(frees, parts)
        sums = [self._summed(frees[key], added) for key, added in parts.items()]
        taken = [(slot, x) for slot, x in slots if found[id(slot)] is not None]
        outputs = [self._going]
        outputs += [back.value(found[id(x)], x) for x in entering]
        outputs += [after for _, _, after in sums]
        # By ``id``, the number of the result that has a value of all iterations.
        places: dict[int, int] = {}
        for slot, _ in taken:
            value = back.value(found[id(slot)], slot)
            places.setdefault(id(value), len(outputs) - 1)
            outputs.append(value)
        kept = {id(v): v for _, item in late for v in item.values if id(v) not in places}
        saving = LoopResiduals(op, back, self._time, self._owner)
        back.resolve_captures([*outputs, *kept.values()], self._given(), saving.save)
        ready = self._collected_before(list(kept), len(outputs))
        left = [key for key in kept if key not in ready]
        places |= {key: len(outputs) - 1 + i for i, key in enumerate(left)}
        count = saving.trip_count()
        self._number_iterations(count)
        saving.tell_tapes()
        results = self._add_loop(active, carried, sums, count)
        # A result that is turned costs nothing where the loop runs as a ``Scan``.
        ready |= {
            k: reversed_along(ox, results[i]) if ready else results[i] for k, i in places.items()
        }
        total: dict[int, Tensor] = {
            id(x): item.total([ready[id(v)] for v in item.values]) for x, item in late
        }
        for (x, _, _), y in zip(sums, results[len(active) :], strict=False):
            total[id(x)] = _cast(y, _code_of(x))
        return self._collect(active, taken, results[: len(results) - len(left)], total, count)

    def _collected_before(self, keys: list[int], first: int) -> dict[int, Tensor]:
        """Return values that the backward loop only collects again, as results of the forward loop.

        Args:
            keys: Of the body's outputs from ``first`` on; those that are found here are removed.
            first: How many outputs come before.
        """
        graph, control = self._back.graph.graph, self._op.attrs["control"]
        values = graph.outputs[first:]
        del graph.outputs[first:]
        found: dict[int, Tensor] = {}
        for key, value in zip(keys, values, strict=True):
            node = value.node
            source = node.inputs[0] if node is not None and node.op == "Gather" else None
            if node is None or source is None or source.node is not self._loop.node:
                graph.outputs.append(value)
                continue
            assert node.inputs[1] is self._time
            found[key] = control.tensor_of(source, self._op.outputs, self._owner)
            if not uses(graph, value):
                graph.nodes.remove(node)
        return found

    def _parts(
        self, states: dict[int, Tensor], frees: dict[int, Any], found: dict[int, Tensor | None]
    ) -> dict[int, list[Tensor]]:
        """Return an iteration's contributions to the gradient of each value that the body uses."""
        parts: dict[int, list[Tensor]] = {}
        for key in frees:
            dx = found[key]
            if dx is not None and dx is not self._sums.get(key):
                parts[key] = [dx]
        for k, x in states.items():
            dx = found[id(x)]
            if dx is not None:
                parts.setdefault(id(self._leaves[self._states[k]]), []).append(dx)
        return parts

    def _late_sums(
        self, frees: dict[int, Any], parts: dict[int, list[Tensor]]
    ) -> list[tuple[Any, DeferredSum]]:
        """Take out of the parts what is better summed after the loop."""
        back = self._back
        inside = {id(v) for node in back.graph.graph.nodes for v in node.outputs}
        late: list[tuple[Any, DeferredSum]] = []

        def changes(value: Value) -> bool:
            known = id(value) in inside or back.is_inside(value)
            return known and value.shape is not None and None not in value.shape

        def kept(value: Value) -> bool:
            return any(value is v for _, item in late for v in item.values)

        for find, test in ((late_product, changes), (late_row_sum, kept)):
            for key in [k for k, added in parts.items() if len(added) == 1]:
                if not sequences.is_sequence(frees[key]):
                    item = find(back.graph.value_of(parts[key][0]), test)
                    if item is not None:
                        late.append((frees[key], item))
                        del parts[key]
        return late

    def _summed(self, x: Any, added: list[Tensor]) -> tuple[Any, Value, Value]:
        """The sum over the iterations before, and with this one."""
        before = self._sum_of(x)
        # That of a sequence contains the sum so far already.
        total, left = (added[0], added[1:]) if sequences.is_sequence(x) else (before, added)
        for part in left:
            with using(graph=self._back.graph, tapes=()):
                wide = _cast(part, before._symbol.dtype)
            total = self._back.sum(total, wide)
        return x, before._symbol, self._back.graph.value_of(total)

    def _add_loop(
        self,
        active: list[int],
        carried: list[Value],
        sums: list[tuple[Any, Value, Value]],
        count: Tensor,
    ) -> list[SymbolicTensor]:
        graph = self._back.graph.graph
        graph.inputs = [self._step, self._going, *carried, *(before for _, before, _ in sums)]
        starts = [self._start(k) for k in active]
        starts += [_cast(sequences.zeros_like(x), before.dtype) for x, before, _ in sums]
        return add_control_node(
            self._graph,
            "Loop",
            (count, None, *starts),
            {"body": graph},
            loop_types(graph),
            [self._back.graph],
            name="Loop_gradient",
        )

    def _start(self, k: int) -> Tensor:
        """The gradient of a carried value after the last iteration."""
        dy = self._dys.get(k)
        if dy is not None:
            return dy
        return sequences.zeros_like(SymbolicTensor(self._loop.final[k], self._owner))

    def _collect(
        self,
        active: list[int],
        taken: list[tuple[SymbolicTensor, Any]],
        results: list[SymbolicTensor],
        total: dict[int, Tensor],
        count: Tensor,
    ) -> list[Tensor | None]:
        """The gradient of each input of the record, of what the backward loop returned."""
        for (slot, x), rows in zip(taken, results[len(results) - len(taken) :], strict=True):
            part = self._in_order(rows, x, count, turn=id(slot) not in self._ascending)
            known = total.get(id(x))
            total[id(x)] = part if known is None else ox.Add(known, part)
        result: list[Tensor | None] = [None] * len(self._op.inputs)
        for k, y in zip(active, results, strict=False):
            if 2 + k < self._first_free:
                result[2 + k] = y
        for i in range(self._first_free, len(result)):
            result[i] = total.pop(id(self._op.inputs[i]), None)
        return result

    def _in_order(self, rows: Tensor, x: Tensor, count: Tensor, *, turn: bool) -> Tensor:
        """Gradients of slices as a gradient of the whole; ``turn``: the last one comes first."""
        turned = reversed_along(ox, rows) if turn else rows
        known = x.shape[1:] if x.shape.rank else None
        if self._covers(x):
            if known is not None and known.is_fully_defined():
                return turned
            return ox.Reshape(turned, ox.Shape(x), allowzero=1)  # sizes of rows, as below
        shape = ox.Shape(x)
        length = ox.Slice(shape, int64_constant([0]), int64_constant([1]))
        rest = ox.Slice(shape, int64_constant([1]), int64_constant([2**62]))
        done = ox.Reshape(count, int64_constant([1]))
        behind = ox.Sub(length, done)
        target = ox.Concat(behind, rest, axis=0)
        # Without an iteration the rows have no shape yet, and 0 for every size that is not known.
        if known is not None and known.is_fully_defined() and known.num_elements():
            turned = ox.Reshape(turned, ox.Concat(int64_constant([-1]), rest, axis=0))
        elif known is not None:
            turned = ox.Reshape(turned, ox.Concat(done, rest, axis=0), allowzero=1)
        return ox.Concat(turned, sequences.zeros_of_shape(x.dtype, target), axis=0)

    def _covers(self, x: Tensor) -> bool:
        """True if the loop is known to run once for each slice."""
        limit, condition = self._loop.limit, self._loop.condition
        if limit is None or condition is not None or not x.shape.rank:
            return False
        known, raw = elements(limit), x.shape.symbolic
        return known is not None and raw is not None and raw[0] is not None and known == (raw[0],)

    # What the forward loop is asked for

    def _given(self) -> dict[int, Callable[[], Value]]:
        """Return replacements of the iteration's number and of carried iteration counters."""
        found: dict[int, Callable[[], Value]] = {}
        kinds = {id(v): v.dtype for v in self._loop.body.inputs}
        for key, start in self._starts().items():
            found[key] = functools.partial(self._number, start, kinds[key])
        return found

    def _number(self, start: int, dtype: int) -> Value:
        """The number of the iteration, counted from ``start``."""
        number: Tensor = SymbolicTensor(self._time, self._back.graph)
        with using(graph=self._back.graph, tapes=()):
            if start:
                number = ox.Add(number, int64_constant(start))
            if dtype != _INT64:
                number = ox.Cast(number, to=dtype)
        return self._back.graph.value_of(number)

    def _number_iterations(self, count: Tensor) -> None:
        """Compute the forward iteration's number first of all."""
        back = self._back.graph
        last = ox.Sub(count, int64_constant(1))
        node = Node(
            "Sub",
            (back.value_of(last), self._step),
            {},
            self._named("time_of_step"),
            None,
            outputs=(self._time,),
            tag=Mark.COUNTS_DOWN,
        )
        self._time.node = node
        back.graph.nodes.insert(0, node)


def _goes_up(value: Value | None, starts: dict[int, int]) -> bool | None:
    """Return whether a value is the iteration's number (True) or counts down (False); else None.

    What counts down in a backward loop counts up again in the backward loop of that one.
    """
    if value is None:
        return None
    if start_of(value, starts) == 0:
        return True
    node = value.node
    while node is not None and node.op in ("Cast", "Identity") and node.inputs[0] is not None:
        node = node.inputs[0].node
    if node is None or node.tag is not Mark.COUNTS_DOWN:
        return None
    other = _goes_up(node.inputs[1], starts)
    return None if other is None else not other


def _wide(code: int) -> int:
    """The type in which many gradients are summed: half the digits would be lost in a few steps."""
    return dtypes.float32.onnx if code in _HALF else code


def _cast(x: Tensor, code: int) -> Tensor:
    if code not in (*_HALF, dtypes.float32.onnx) or x.dtype.onnx == code:
        return x
    return ox.Cast(x, to=code)


def _code_of(x: Any) -> int:
    """The type of a tensor, a sequence or a variable."""
    return x._symbol.dtype if isinstance(x, SymbolicTensor) else x.dtype.onnx
