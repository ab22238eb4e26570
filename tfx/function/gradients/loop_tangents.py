"""The forward rule of ``Loop``: the loop carries the tangents of what it carries.

A carried value has a tangent if it starts with one, or if it comes to depend on something that has
one in some iteration; the others are left alone. Scan outputs get a scan output of tangents beside
them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.autodiff.backprop import reachable
from tfx.control_flow import sequences
from tfx.framework.context import using
from tfx.framework.func_graph import Assigned
from tfx.framework.rules import ExtendedControl, OpRecord, forward
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.gradients.body_tangents import BodyTangents, NodeTangents
from tfx.graph.control import Loop
from tfx.graph.ir import Value


@forward("Loop")
def _loop_forward(op: OpRecord, *tangents: Tensor | None) -> ExtendedControl:
    """Tangents of the last values, and of what was collected."""
    return LoopTangents.extended(op, tangents)


class LoopTangents(NodeTangents):
    """The tangents that forward mode adds to a ``Loop``."""

    def __init__(
        self, op: OpRecord, tangents: Sequence[Tensor | None], store: dict[int, NodeTangents]
    ) -> None:
        super().__init__(op, tangents, store)
        self._loop = Loop(self.node)
        self._body = self.body(self._loop.body)
        # By the ``id`` of the input that a carried value enters the body by.
        self._carried: dict[int, SymbolicTensor] = {}
        # By the ``id`` of that input, tangents to start from.
        starts = zip(self._loop.before, tangents[2 : self.first], strict=False)
        self._starts = {id(before): t for before, t in starts if t is not None}
        if isinstance(self.node.tag, Assigned):
            for place, state in self.node.tag.outputs.items():
                leaf = self.leaves.get(id(state.ref()))
                tangent = self.known.get(id(leaf))
                if tangent is not None:
                    # What is read after an assignment depends on the variable.
                    self._body.set_tangent(self._loop.before[place], tangent)

    @property
    def bodies(self) -> Sequence[BodyTangents]:
        """See ``NodeTangents``."""
        return [self._body]

    def tangent_of(self, value: Value) -> SymbolicTensor | None:
        """The tangent of a result."""
        if id(value) not in self.found:
            self._carry()
            if id(value) not in self.found:
                self.found[id(value)] = self._collect(value)
            self.add_tangents()
        return self.found[id(value)]

    def _assigned(self, place: int) -> bool:
        tag = self.node.tag
        return isinstance(tag, Assigned) and place in tag.outputs

    def _carry(self) -> None:
        """Carry the tangents of all carried values that have one and have none yet."""
        body, loop = self._body, self._loop
        records = body.records()
        added = {id(t._symbol) for t in self._carried.values()}
        places = [
            k
            for k, before in enumerate(loop.before)
            if body.tensor(before).dtype.has_gradients
            and id(before) not in added
            and id(before) not in self._carried
            and not self._assigned(k)
        ]
        active = [loop.carried[k] for k in self._active(places, records)]
        for before in [carried.before for carried in active]:
            name = loop.body.unique_name(f"t_{before.name}")
            inside = Value(name, before.dtype, before.shape)
            tangent = SymbolicTensor(inside, body.graph)
            self._carried[id(before)] = tangent
            body.set_tangent(before, tangent)
        body.run()
        for initial, before, after, final in active:
            assert initial is not None
            start = self.give(self._start(before, initial))
            inside = self._carried[id(before)]._symbol
            name = f"t_{final.name}"
            new = loop.carry(start, inside, body.output(after), name, like=final)
            self.found[id(final)] = tensor = SymbolicTensor(new, self.owner)
            self.new.append(tensor)

    def _active(self, places: list[int], records: list[OpRecord]) -> list[int]:
        """The carried values that have a tangent in some iteration."""
        body, carried = self._body, self._loop.carried
        entering = {k: id(body.tensor(carried[k].before)) for k in places}
        leaving = {k: id(body.tensor(carried[k].after)) for k in places}
        active = {k for k in places if id(carried[k].before) in self._starts}
        always = body.known()
        while True:
            found = reachable(records, {*always, *(entering[k] for k in active)})
            more = {k for k in places if leaving[k] in found and k not in active}
            if not more:
                return sorted(active)
            active |= more

    def _start(self, before: Value, initial: Value) -> Tensor:
        """The tangent before the first iteration."""
        known = self._starts.get(id(before))
        if known is not None:
            return known
        first = SymbolicTensor(initial, self.owner)
        if initial.node is not None and initial.node.op == "SequenceEmpty":
            return first
        with using(graph=self.owner):
            return sequences.zeros_like(first)

    def _collect(self, value: Value) -> SymbolicTensor | None:
        """The tangents of a scan output, as one more."""
        each = next((found.each for found in self._loop.scanned if found.rows is value), None)
        if each is None or not self.is_floating(value) or self._body.tangent(each) is None:
            return None
        new = self._loop.collect(self._body.output(each), f"t_{value.name}", like=value)
        tensor = SymbolicTensor(new, self.owner)
        self.new.append(tensor)
        return tensor
