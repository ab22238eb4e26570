"""The forward rule of ``If``: each branch also returns the tangents of what it returns."""

from __future__ import annotations

from collections.abc import Sequence

from tfx.framework.func_graph import Assigned
from tfx.framework.rules import ExtendedControl, OpRecord, forward
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.gradients.body_tangents import BodyTangents, NodeTangents
from tfx.graph.control import If
from tfx.graph.ir import Value


@forward("If")
def _if_forward(op: OpRecord, *tangents: Tensor | None) -> ExtendedControl:
    """Tangents of the results by the branch that is taken."""
    return IfTangents.extended(op, tangents)


class IfTangents(NodeTangents):
    """The tangents that forward mode adds to an ``If``."""

    def __init__(
        self, op: OpRecord, tangents: Sequence[Tensor | None], store: dict[int, NodeTangents]
    ) -> None:
        super().__init__(op, tangents, store)
        self._choice = If(self.node)
        self._bodies = [self.body(branch) for branch in self._choice.branches]

    @property
    def bodies(self) -> Sequence[BodyTangents]:
        """See ``NodeTangents``."""
        return self._bodies

    def tangent_of(self, value: Value) -> SymbolicTensor | None:
        """The tangent of a result: one more result if some branch has it."""
        if id(value) not in self.found:
            self.found[id(value)] = self._find(value)
            self.add_tangents()
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
