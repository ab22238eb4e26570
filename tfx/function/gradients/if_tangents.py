"""The forward rule of ``If``: each branch also returns the tangents of what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.framework.func_graph import Assigned
from tfx.framework.rules import EXTENDED_CONTROL, ExtendedControl, OpRecord, forward
from tfx.framework.tensor import SymbolicTensor, Tensor, symbol_of
from tfx.function.gradients.body_tangents import NodeTangents
from tfx.graph.control import If
from tfx.graph.ir import Value


@forward("If")
def _if_forward(op: OpRecord, *tangents: Tensor | None) -> ExtendedControl:
    """Tangents of the results by the branch that is taken."""
    store: dict[int, Any] = op.attrs[EXTENDED_CONTROL]
    node = op.attrs["control"].node
    widened: IfTangents | None = store.get(id(node))
    if widened is None:
        widened = store[id(node)] = IfTangents(op, tangents, store)
    return widened.record(op)


class IfTangents(NodeTangents):
    """The tangents that forward mode adds to an ``If``."""

    def __init__(
        self, op: OpRecord, tangents: Sequence[Tensor | None], store: dict[int, NodeTangents]
    ) -> None:
        super().__init__(op, tangents, store)
        self._choice = If(self.node)
        self._bodies = [self.body(branch) for branch in self._choice.branches]

    def record(self, op: OpRecord) -> ExtendedControl:
        """The tangents of a record's results, and the record for those around."""
        found = [self.tangent_of(symbol_of(y)) for y in op.outputs]
        attrs = {k: v for k, v in op.attrs.items() if k != EXTENDED_CONTROL}
        return ExtendedControl(found, *self.described(attrs, op.outputs, self._bodies))

    def tangent_of(self, value: Value) -> SymbolicTensor | None:
        """The tangent of a result: one more result if some branch has it."""
        if id(value) not in self.found:
            self.found[id(value)] = self._find(value)
            self.add_tangents(self._bodies)
        return self.found[id(value)]

    def _find(self, value: Value) -> SymbolicTensor | None:
        node = self.node
        place = next(i for i, v in enumerate(node.outputs) if v is value)
        if isinstance(node.tag, Assigned) and place in node.tag.outputs:
            return None
        if not self.is_floating(value):
            return None
        for body in self._bodies:
            body.run()
        inside = [branch.outputs[place] for branch in self._choice.branches]
        if all(b.tangent(v) is None for b, v in zip(self._bodies, inside, strict=True)):
            return None
        then, otherwise = (b.output(v) for b, v in zip(self._bodies, inside, strict=True))
        result = self._choice.add(then, otherwise, f"t_{value.name}", value.shape)
        new = SymbolicTensor(result, self.owner)
        self.new.append(new)
        return new
