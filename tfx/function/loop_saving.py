"""What a backward loop needs of each forward iteration: collected by the forward loop.

A value of one shape becomes a scan output. One whose shape may change from an iteration to the next
is put into a sequence that the loop carries.
"""

from __future__ import annotations

import numpy as np

from tfx.control_flow import sequences
from tfx.control_flow.nodes import ControlRecord
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.context import current, using
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.body_gradient import BodyGradient, extended
from tfx.graph.ir import Graph, Node, RawDim, RawShape, Value
from tfx.graph.symbolic import elements

_INT64, _BOOL = dtypes.int64.onnx, dtypes.bool.onnx


class Saving:
    """Adds to a forward ``Loop`` what its gradient needs.

    Args:
        op: The record of the loop.
        back: The backward body.
        time: In the backward body, the number of the forward iteration.
        owner: The graph that the loop's tensors belong to.
    """

    def __init__(self, op: OpRecord, back: BodyGradient, time: Value, owner: FuncGraph) -> None:
        self._op = op
        self._control: ControlRecord = op.attrs["control"]
        self._node = self._control.node
        self._body: Graph = self._node.attrs["body"]
        self._back = back
        self._time = time
        self._owner = owner
        self._added: list[SymbolicTensor] = []

    @property
    def _carried(self) -> int:
        return len(self._node.inputs) - 2

    def tell_tapes(self) -> None:
        """The active tapes learn of the results that were added."""
        op = self._op
        if self._added:
            for tape in current().tapes:
                tape.record(op.op, op.attrs, op.inputs, self._added)

    def save(self, value: Value) -> Value:
        """Collect a value of the forward body; in the backward body, get this iteration's.

        Raises:
            InvalidArgumentError: it is a whole tensor array.
        """
        if value is self._body.inputs[1]:
            return self._back.graph.value_of(always(self._back))
        if value.dtype > dtypes.SEQUENCE:
            raise InvalidArgumentError(
                "A gradient through this loop would need all elements of a TensorArray as they are "
                "in each iteration, because another array takes its place in the loop. Write into "
                "the same array, or read the element outside of the loop."
            )
        back = self._back.graph
        kept, op = self._collected(value)
        time = SymbolicTensor(self._time, back)
        with using(graph=back, tapes=()):
            row = apply(op, (kept, time), {"axis": 0} if op == "Gather" else {})
            if row.dtype.onnx != value.dtype:
                row = apply("Cast", (row,), {"to": value.dtype})
        result = back.value_of(row)
        result.shape, result.dims = value.shape, value.dims
        return result

    def _collected(self, value: Value) -> tuple[SymbolicTensor, str]:
        """The loop's result that holds a value of each iteration, and how to read it."""
        body, node = self._body, self._node
        for place in range(self._carried, len(node.outputs)):
            if body.outputs[1 + place] is value:
                output = node.outputs[place]
                return self._control.tensor_of(output, self._op.outputs, self._owner), "Gather"
        if value.shape is None or None in value.shape:
            return self._collected_in_sequence(value), "SequenceAt"
        body.outputs.append(value)
        name = body.unique_name(f"{value.name}_all")
        return self._new(Value(name, value.dtype, (iterations_of(node), *value.shape))), "Gather"

    def _new(self, value: Value, *, at: int | None = None) -> SymbolicTensor:
        """One more result of the loop."""
        tensor = self._control.tensor_of(extended(self._node, value, at=at), (), self._owner)
        self._added.append(tensor)
        return tensor

    def _collected_in_sequence(self, value: Value) -> SymbolicTensor:
        body, node, home = self._body, self._node, self._control.home
        stored = sequences.stored(dtypes.from_onnx(value.dtype)).onnx
        name = value.name
        if stored != value.dtype:
            kinds: list[tuple[int, RawShape]] = [(stored, value.shape)]
            value = body.add_node("Cast", (value,), {"to": stored}, kinds).outputs[0]
        code = dtypes.SEQUENCE + stored
        kind: tuple[int, RawShape] = (code, None)
        empty = home.add_node("SequenceEmpty", (), {"dtype": stored}, [kind])
        home.nodes.remove(empty)
        home.nodes.insert(next(i for i, n in enumerate(home.nodes) if n is node), empty)
        inside = Value(body.unique_name(f"{name}_before"), code, None)
        grown = body.add_node("SequenceInsert", (inside, value), {}, [kind])
        place = self._carried
        body.inputs.append(inside)
        body.outputs.insert(1 + place, grown.outputs[0])
        node.inputs = (*node.inputs, empty.outputs[0])
        return self._new(Value(body.unique_name(f"{name}_all"), code, None), at=place)

    def trip_count(self) -> Tensor:
        """How often the loop ran, an int64 scalar."""
        node = self._node
        scans = range(self._carried, len(node.outputs))
        limit = self._op.inputs[0]
        if node.inputs[1] is None and limit is not None:
            known = iterations_of(node)
            return limit if known is not None else apply("Max", (limit, int64_constant(0)))
        if scans:
            tensor = SymbolicTensor(node.outputs[scans[0]], self._owner)
        else:
            self._body.outputs.append(self._body.inputs[0])
            tensor = self._new(Value(self._body.unique_name("iterations"), _INT64, (None,)))
        length = apply("Shape", (tensor,), {"start": 0, "end": 1})
        return apply("Reshape", (length, int64_constant([])))


def iterations_of(node: Node) -> RawDim:
    """How often a loop runs, where that is known for certain."""
    limit, condition = node.inputs[:2]
    if limit is None or condition is not None:
        return None
    known = elements(limit)
    if known is None or len(known) != 1:
        return None
    return max(known[0], 0) if isinstance(known[0], int) else known[0]


def always(back: BodyGradient) -> SymbolicTensor:
    """True, in a backward body."""
    value = back.graph.constant(np.array(True), _BOOL)
    return SymbolicTensor(value, back.graph)
