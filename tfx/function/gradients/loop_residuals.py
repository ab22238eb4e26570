"""Forward values that a backward loop needs in each iteration, collected by the forward loop.

A value of one shape becomes a scan output. One whose shape may change from an iteration to the next
is put into a sequence that the loop carries. There are no sequences of sequences: what a loop
inside collected in a sequence is joined to one tensor, which is kept with the lengths of its
pieces, and cut again in the backward body.
"""

from __future__ import annotations

import numpy as np

from tfx.control_flow import packed_sequences, sequences
from tfx.control_flow.control_nodes import ControlSite, notify_recorders
from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.gradients.body_gradient import BodyGradient
from tfx.graph.control import If, Loop
from tfx.graph.ir import RawShape, Value
from tfx.graph.tags import Mark

_INT64, _BOOL = dtypes.int64.onnx, dtypes.bool.onnx
# What the pieces of a tensor are made with: made again in the backward body.
_CUTS = frozenset(("SplitToSequence", "SequenceErase"))


class LoopResiduals:
    """Adds to a forward ``Loop`` what its gradient needs.

    Args:
        op: The record of the loop.
        back: The backward body.
        time: In the backward body, the number of the forward iteration.
        owner: The graph that the loop's tensors belong to.
    """

    def __init__(self, op: OpRecord, back: BodyGradient, time: Value, owner: FuncGraph) -> None:
        self._op = op
        self._control: ControlSite = op.attrs["control"]
        self._loop = Loop(self._control.node)
        self._body = self._loop.body
        self._back = back
        self._time = time
        self._owner = owner
        self._added: list[SymbolicTensor] = []

    def tell_tapes(self) -> None:
        """The active tapes learn of the results that were added."""
        op = self._op
        if self._added:
            notify_recorders(op.op, op.attrs, op.inputs, self._added)

    def save(self, value: Value) -> Value:
        """Collect a value of the forward body; in the backward body, get this iteration's."""
        if value is self._loop.entered:
            return self._back.graph.value_of(always(self._back))
        if value.dtype > dtypes.SEQUENCE:
            rebuilt = self._pieces(value)
            return self._whole(value) if rebuilt is None else rebuilt
        back = self._back.graph
        if self._owner.is_body and _changes(value.shape) and not _joinable(value.shape):
            return self._flat(value)
        kept, op = self._collected(value)
        time = SymbolicTensor(self._time, back)
        with using(graph=back, tapes=()):
            row = apply(op, (kept, time))
            if row.dtype.onnx != value.dtype:
                row = ox.Cast(row, to=value.dtype)
        result = back.value_of(row)
        result.shape, result.dims = value.shape, value.dims
        return result

    def _here(self, value: Value) -> Value:
        """A value of the forward body, or one from outside, in the backward body."""
        back = self._back
        return (
            self.save(value) if back.is_inside(value) else back.graph.value_of(back.tensor(value))
        )

    def _flat(self, value: Value) -> Value:
        """Keep the elements in a row, which can be joined to other rows, and the shape."""
        body, back = self._body, self._back.graph
        rank = None if value.shape is None else len(value.shape)
        shape = body.add_node("Shape", (value,), {}, [(_INT64, (rank,))]).outputs[0]
        row = self._owner.constant(np.array([-1]), _INT64)
        kind: tuple[int, RawShape] = (value.dtype, (None,))
        flat = body.add_node("Reshape", (value, row), {}, [kind]).outputs[0]
        parts = [SymbolicTensor(self.save(v), back) for v in (flat, shape)]
        with using(graph=back, tapes=()):
            result = back.value_of(ox.Reshape(*parts, allowzero=1))
        result.shape, result.dims = value.shape, value.dims
        return result

    def _pieces(self, value: Value) -> Value | None:
        """A sequence that the gradient of a loop inside asks for; None: it is another one."""
        node, back = value.node, self._back.graph
        if node is not None and node.op in _CUTS:
            tensors = [SymbolicTensor(self._here(v), back) for v in node.inputs if v is not None]
            with using(graph=back, tapes=()):
                return back.value_of(apply(node.op, tensors, node.attrs))
        shape = _saved_shape(value)
        return None if shape is None else back.value_of(self._kept(value, shape))

    def _whole(self, value: Value) -> Value:
        """All elements of a tensor array that another one takes the place of, and their shapes."""
        parts = packed_sequences.add_parts(self._owner, self._body, value)
        rows, shapes = (self._kept(part, ()) for part in parts)
        with using(graph=self._back.graph, tapes=()):
            return self._back.graph.value_of(packed_sequences.formed(rows, shapes))

    def _kept(self, value: Value, shape: tuple[int, ...]) -> Tensor:
        """A sequence of the forward body, joined to be kept, in the backward body."""
        back = self._back.graph
        tensors = [SymbolicTensor(self.save(v), back) for v in self._joined(value, shape)]
        with using(graph=back, tapes=()):
            return ox.SequenceErase(sequences.cut(*tensors))

    def _joined(self, value: Value, shape: tuple[int, ...]) -> tuple[Value, Value]:
        """The elements of a sequence and an empty one, without which none could not be joined.

        Returns:
            The elements one after another, and their lengths.
        """
        body, dtype = self._body, dtypes.from_onnx(value.dtype - dtypes.SEQUENCE)
        empty = self._owner.constant(np.zeros((0, *shape), dtype.as_numpy_dtype), dtype.onnx)
        kinds: list[tuple[int, RawShape]] = [(value.dtype, None)]
        grown = body.add_node("SequenceInsert", (value, empty), {}, kinds, tag=Mark.RESIDUAL)
        attrs, kinds = {"axis": 0, "new_axis": 0}, [(dtype.onnx, (None, *shape))]
        joined = body.add_node("ConcatFromSequence", grown.outputs, attrs, kinds)
        return joined.outputs[0], sequences.add_lengths(body, grown.outputs[0])

    def _collected(self, value: Value) -> tuple[SymbolicTensor, str]:
        """The loop's result that holds a value of each iteration, and how to read it."""
        rows = self._loop.rows_of(value)
        if rows is not None:
            return self._control.tensor_of(rows, self._op.outputs, self._owner), "Gather"
        if value.shape is None or None in value.shape:
            return self._collected_in_sequence(value), "SequenceAt"
        return self._new(self._loop.collect(value, f"{value.name}_all")), "Gather"

    def _new(self, value: Value) -> SymbolicTensor:
        """The tensor of one more result of the loop."""
        tensor = self._control.tensor_of(value, (), self._owner)
        self._added.append(tensor)
        return tensor

    def _collected_in_sequence(self, value: Value) -> SymbolicTensor:
        body, node, home = self._body, self._loop.node, self._control.home
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
        grown = body.add_node("SequenceInsert", (inside, value), {}, [kind], tag=Mark.RESIDUAL)
        whole = self._loop.carry(empty.outputs[0], inside, grown.outputs[0], f"{name}_all")
        return self._new(whole)

    def trip_count(self) -> Tensor:
        """Return the number of iterations that the loop ran, an int64 scalar."""
        loop, limit = self._loop, self._op.inputs[0]
        if loop.condition is None and limit is not None:
            return limit if loop.trip_count() is not None else ox.Max(limit, int64_constant(0))
        if loop.rows:
            tensor = SymbolicTensor(loop.rows[0], self._owner)
        else:
            tensor = self._new(loop.collect(loop.iteration, "iterations"))
        length = ox.Shape(tensor, start=0, end=1)
        return ox.Reshape(length, int64_constant([]))


def _changes(shape: RawShape) -> bool:
    """True if tensors of a shape may be of other shapes in other iterations."""
    return shape is None or None in shape


def _joinable(shape: RawShape) -> bool:
    """True if tensors of a shape differ along their first axis at most."""
    return shape is not None and len(shape) > 0 and is_static(shape[1:])


def _saved_shape(value: Value) -> tuple[int, ...] | None:
    """The shape, but for the first axis, of the elements of a sequence made here."""
    node = value.node
    if node is None:
        return None
    if node.tag is Mark.RESIDUAL:
        shape = node.inputs[1].shape if node.inputs[1] is not None else None
        known = tuple(d for d in shape[1:] if isinstance(d, int)) if shape else ()
        return known if shape and len(known) == len(shape) - 1 else None
    sources: list[Value] = []
    if node.op == "Loop":
        sources = [inside for inside, result in Loop(node).results if result is value]
    elif node.op == "If":  # in a branch where the loop is not, the sequence is empty
        sources = [v for *both, result in If(node).choices if result is value for v in both]
    found = [_saved_shape(v) for v in sources]
    return next((shape for shape in found if shape is not None), None)


def always(back: BodyGradient) -> SymbolicTensor:
    """True, in a backward body."""
    value = back.graph.constant(np.array(True), _BOOL)
    return SymbolicTensor(value, back.graph)
