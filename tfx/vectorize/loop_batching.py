"""``Loop`` for all elements.

Where all elements take equally many iterations the body is converted and that is all. Otherwise
the loop goes on as long as any element does: those that are done keep their values, and meanwhile
the body gets the values of one that is not done, so that it sees nothing that it would not have
seen. What is collected in each iteration is filled up with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfx.control_flow.control_nodes import add_control_node, assigned_states
from tfx.core import dtypes
from tfx.framework.body_graph import LoopGraph
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.control import Loop, loop_types
from tfx.graph.ir import Node, RawShape, Value
from tfx.ops.common.arguments import cast_to, zeros_of
from tfx.ops.common.batching import concat_shapes
from tfx.vectorize.batched_value import BatchedValue, CannotConvertError
from tfx.vectorize.dependence import loop_differs
from tfx.vectorize.if_batching import differing, refuse_assignments, with_assignments
from tfx.vectorize.loop_fallback import repeated

if TYPE_CHECKING:
    from tfx.vectorize.batcher import Batcher

_INT64, _BOOL = dtypes.int64, dtypes.bool


def convert_loop(batcher: Batcher, node: Node) -> list[BatchedValue]:
    """The results of a ``Loop``."""
    found = differing(batcher, node)
    plain = not found
    masked = loop_differs(node, found, batcher.same_draws)
    loop = Loop(node)
    assigns = any(True for _ in assigned_states([loop.body]))
    results = [id(inside) in found for inside, _ in loop.results]
    if plain and not masked and not assigns and not any(results):
        return repeated(batcher, node)
    if masked and assigns:
        refuse_assignments(node)
    kind = _MaskedLoop if masked else _Loop
    flags = [masked or id(v) in found for v in loop.before]
    batched_values = kind(
        batcher, node, flags, [masked or f for f in results[len(flags) :]]
    ).batched_values()
    return with_assignments(batcher, node, batched_values)


class _Loop:
    """A loop of equally many iterations for all elements.

    Args:
        batcher: Converts the enclosing graph.
        node: The loop of one element.
        carried: For each carried value whether it differs between elements.
        scanned: The same for each collected one.
    """

    def __init__(
        self, batcher: Batcher, node: Node, carried: Sequence[bool], scanned: Sequence[bool]
    ) -> None:
        graph = current().graph
        assert graph is not None
        self.graph = graph
        self.batcher = batcher
        self.node = node
        self.one = Loop(node)
        self.carried = list(carried)
        self.scanned = list(scanned)
        self.loop = LoopGraph(f"{node.name}_body", graph)
        self.iteration = self._input("iteration", _INT64.onnx, ())
        self.keep = self._input("keep_going", _BOOL.onnx, ())
        self.inside = [
            self._input(v.name, v.dtype, self._shape(v, flag))
            for v, flag in zip(self.one.before, self.carried, strict=True)
        ]

    def _input(self, name: str, dtype: int, shape: RawShape) -> Value:
        return Value(self.loop.graph.unique_name(name), dtype, shape)

    def _shape(self, value: Value, batched: bool) -> RawShape:
        if value.shape is None:
            return None
        known = tuple(d if isinstance(d, int) else None for d in value.shape)
        return (self.batcher.static_size, *known) if batched else known

    def _tensor(self, value: Value) -> SymbolicTensor:
        return SymbolicTensor(value, self.loop)

    def _initial(self) -> list[Tensor]:
        initial = []
        for value, flag in zip(self.one.initial, self.carried, strict=True):
            assert value is not None
            batched_value = self.batcher.batched_value(value)
            initial.append(self.batcher.full(batched_value) if flag else batched_value.tensor)
        return initial

    def _optional(self, value: Value | None) -> BatchedValue | None:
        return None if value is None else self.batcher.batched_value(value)

    def batched_values(self) -> list[BatchedValue]:
        """Add the node; its results."""
        limit, going = self._optional(self.one.limit), self._optional(self.one.condition)
        with using(graph=self.loop, tapes=()):
            inner = self.batcher.for_body(inside=True)
            inner.put(self.one.iteration, self._tensor(self.iteration), False)
            inner.put(self.one.entered, self._tensor(self.keep), False)
            for old, new, flag in zip(self.one.before, self.inside, self.carried, strict=True):
                inner.put(old, self._tensor(new), flag)
            after, *rest = inner.run(self.one.body)
            ends = [
                inner.full(x) if flag else x.tensor
                for x, flag in zip(rest, [*self.carried, *self.scanned], strict=True)
            ]
            outputs = [after.tensor, *ends]
        inputs = [None if x is None else x.tensor for x in (limit, going)]
        return self._emit([*inputs, *self._initial()], self.inside, outputs)

    def _emit(
        self,
        inputs: Sequence[Tensor | None],
        inside: Sequence[Value],
        outputs: Sequence[Tensor],
    ) -> list[BatchedValue]:
        graph = self.loop.graph
        graph.inputs = [self.iteration, self.keep, *inside]
        with using(graph=self.loop, tapes=()):
            graph.outputs = [self.loop.value_of(t) for t in outputs]
        attrs, types = {"body": graph}, loop_types(graph)
        results = add_control_node(
            self.graph, "Loop", inputs, attrs, types, [self.loop], name=self.node.name
        )
        ends, rows = results[: len(inside)], results[len(inside) :]
        batched_values = [
            BatchedValue(t, flag) for t, flag in zip(ends, self.carried, strict=False)
        ]
        return batched_values + [
            BatchedValue(self._in_front(t) if flag else t, flag)
            for t, flag in zip(rows, self.scanned, strict=True)
        ]

    def _in_front(self, rows: Tensor) -> Tensor:
        """Collected values with the elements, not the iterations, along axis 0."""
        rank = rows.shape.rank
        if rank is None:
            raise CannotConvertError(self.node, "the rank of what it collects is not known")
        rows = self._of_all_elements(rows)
        return ox.Transpose(rows, perm=(1, 0, *range(2, rank)))

    def _of_all_elements(self, rows: Tensor) -> Tensor:
        """Without an iteration ONNX Runtime gives rows of no elements, where it knows no number."""
        if rows.shape[1] is not None:
            return rows
        dims = rows.shape.as_list()[2:]
        rest = ox.Shape(rows, start=2)
        if None not in dims:
            rest = int64_constant([d for d in dims if d is not None])
        size = ox.Unsqueeze(self.batcher.size, int64_constant([0]))
        shape = concat_shapes(ox.Shape(rows, end=1), size, rest)
        return ox.Reshape(rows, shape, allowzero=1)


class _MaskedLoop(_Loop):
    """A loop whose number of iterations differs between elements."""

    def batched_values(self) -> list[BatchedValue]:
        """Add the node; its results."""
        limit, going = self._optional(self.one.limit), self._optional(self.one.condition)
        n = self.batcher.static_size
        active = self._input("active", _BOOL.onnx, (n,))
        with using(graph=self.loop, tapes=()):
            on = self._tensor(active)
            first = ox.ArgMax(cast_to(on, dtypes.int32), axis=0, keepdims=1)

            def view(batched_value: BatchedValue) -> BatchedValue:
                if not batched_value.batched:
                    return batched_value
                other = ox.Gather(batched_value.tensor, first, axis=0)
                return BatchedValue(
                    ox.Where(_over(on, batched_value.tensor), batched_value.tensor, other),
                    True,
                )

            inner = self.batcher.within(
                self.one.body, self.batcher.size, self.batcher.static_size, view
            )
            now = self._tensor(self.iteration)
            inner.put(self.one.iteration, now, False)
            inner.put(self.one.entered, self._tensor(self.keep), False)
            before = [self._tensor(v) for v in self.inside]
            for old, tensor in zip(self.one.before, before, strict=True):
                inner.put(old, *view(BatchedValue(tensor, True)))
            after, *rest = inner.run(self.one.body)
            found = [inner.full(x) for x in rest]
            ends = [
                ox.Where(_over(on, new), new, old) for old, new in zip(before, found, strict=False)
            ]
            rows = [ox.Where(_over(on, x), x, zeros_of(x)) for x in found[len(before) :]]
            still = ox.And(on, after.tensor)
            if limit is not None and limit.batched:
                done = ox.Add(now, int64_constant(1))
                still = ox.And(still, ox.Less(done, limit.tensor))
            outputs = [_any(still), *ends, still, *rows]
        start = self._start(limit, going)
        most = None if limit is None or limit.batched else limit.tensor
        inputs = [most, _any(start), *self._initial(), start]
        batched_values = self._emit(inputs, [*self.inside, active], outputs)
        return batched_values

    def _start(self, limit: BatchedValue | None, going: BatchedValue | None) -> Tensor:
        """Return a mask of the elements that run a first iteration."""
        lead = ox.Unsqueeze(self.batcher.size, int64_constant([0]))
        zero = ox.Expand(int64_constant(0), lead)
        start = ox.Equal(zero, int64_constant(0))
        if going is not None:
            start = ox.And(start, going.tensor)
        if limit is not None and limit.batched:
            start = ox.And(start, ox.Greater(limit.tensor, int64_constant(0)))
        return start


def _any(flags: Tensor) -> Tensor:
    most = ox.ReduceMax(_padded(cast_to(flags, dtypes.int32)), keepdims=0)
    return ox.Cast(most, to=_BOOL.onnx)


def _padded(x: Tensor) -> Tensor:
    """Append a 0: the maximum of an empty batch must exist."""
    zero = ox.Cast(int64_constant([0]), to=dtypes.int32.onnx)
    return ox.Concat(x, zero, axis=0)


def _over(flags: Tensor, x: Tensor) -> Tensor:
    """Flags of the elements with as many axes as ``x``."""
    rank = x.shape.rank
    if rank is None:  # a run tells
        element = ox.Shape(x, start=1)
        ones = ox.Add(ox.Sub(element, element), int64_constant(1))
        shape = concat_shapes(ox.Shape(flags), ones)
        return ox.Reshape(flags, shape, allowzero=1)
    if rank == 1:
        return flags
    return ox.Unsqueeze(flags, int64_constant(range(1, rank)))
