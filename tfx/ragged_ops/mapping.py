"""``map_fn`` over the rows of ragged tensors, or with ragged results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.control_flow.map_fn import map_fn as dense_map_fn
from tfx.control_flow.tensor_array import TensorArray
from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes, nest
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.shapes import filled
from tfx.ops.math.cast import stop_gradient
from tfx.ragged_ops import partition
from tfx.ragged_ops.factories import value_count
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """``tf.map_fn`` where ``elems`` or the results are ragged."""
    if not callable(fn):
        raise TypeError(f"fn must be callable; got {fn!r}.")
    given = nest.map_structure(as_ragged_or_tensor, elems)
    flat = nest.flatten(given)
    if not flat:
        raise InvalidArgumentError(
            "elems must be a Tensor or (possibly nested) sequence of Tensors."
        )
    signature = dtype if fn_output_signature is None else fn_output_signature
    if signature is None:
        signature = nest.map_structure(_row_spec, given)
    count = value_count(flat[0])

    def call(i: Tensor) -> Any:
        returned = fn(nest.map_structure(lambda x: x[i], given))
        return nest.flatten(nest.map_structure(as_ragged_or_tensor, returned))

    specs = nest.flatten(signature)
    if not any(isinstance(s, RaggedTensorSpec) for s in specs):

        def single(i: Tensor) -> Any:
            return nest.pack_sequence_as(signature, call(i))

        found = dense_map_fn(
            single, partition.counted(count), infer_shape=infer_shape, fn_output_signature=signature
        )
    else:
        found = nest.pack_sequence_as(signature, _collected(call, specs, count))
    if back_prop:
        return found
    return nest.map_structure(stop_gradient, found, expand_composites=True)


def _row_spec(x: Any) -> Any:
    """The spec of a row of an argument."""
    if not isinstance(x, RaggedTensor):
        return TensorSpec(x.shape[1:], x.dtype)
    return RaggedTensorSpec(x.shape[1:], x.dtype, x.ragged_rank - 1, x.row_splits.dtype)


class _Rows:
    """Results that differ in length, collected behind one another while a loop runs.

    Its state is the values so far, and for each ragged axis the lengths so far.
    """

    def __init__(self, spec: RaggedTensorSpec) -> None:
        self.spec = spec
        inner = spec.shape[spec.ragged_rank + 1 :] if spec.shape.rank is not None else None
        if spec.shape.rank == 0:
            raise InvalidArgumentError(
                "fn_output_signature: a RaggedTensorSpec must have one axis at least."
            )
        if inner is None or not inner.is_fully_defined():
            raise InvalidArgumentError(
                f"fn_output_signature: the inner dimensions of {spec!r}, behind the ragged ones, "
                "must be known."
            )
        self.inner: list[int] = [int(n or 0) for n in inner]

    def initial(self) -> list[Tensor]:
        kind = self.spec.dtype
        empty = int64_constant([0, *self.inner])
        first = filled(empty, "" if kind is dtypes.string else 0, kind)
        return [first, *[ox.ints([]) for _ in range(self.spec.ragged_rank + 1)]]

    def invariants(self) -> list[TensorShape]:
        lengths = [TensorShape([None])] * (self.spec.ragged_rank + 1)
        return [TensorShape([None, *self.inner]), *lengths]

    def append(self, state: Sequence[Tensor], row: Any) -> list[Tensor]:
        ragged_rank = row.ragged_rank if isinstance(row, RaggedTensor) else 0
        if ragged_rank != self.spec.ragged_rank or row.dtype is not self.spec.dtype:
            raise InvalidArgumentError(
                f"fn returned {row!r}, which is not of the fn_output_signature {self.spec!r}."
            )
        flat = row.flat_values if isinstance(row, RaggedTensor) else row
        lengths = [ox.Unsqueeze(value_count(row), int64_constant([0]))]
        if isinstance(row, RaggedTensor):
            lengths += [partition.wide(n) for n in row.nested_row_lengths()]
        return [
            ox.Concat(have, more, axis=0)
            for have, more in zip(state, [flat, *lengths], strict=True)
        ]

    def finish(self, state: Sequence[Tensor]) -> RaggedTensor:
        kind = self.spec.row_splits_dtype
        splits = tuple([cast_to(partition.splits_of(n), kind) for n in state[1:]])
        shape = self.spec.shape
        return RaggedTensor(state[0], splits, (shape[0], *self.spec._uniform))


class _Stacked:
    """Results of one shape."""

    def __init__(self, spec: Any, count: Tensor) -> None:
        kind = getattr(spec, "dtype", None) or dtypes.as_dtype(spec)
        self.array = TensorArray(kind, size=cast_to(count, dtypes.int32))
        self.kind = kind


def _collected(call: Callable[..., Any], specs: Sequence[Any], count: Tensor) -> list[Any]:
    """The results of all rows, those of ragged specs collected, the others stacked."""
    plans = [_Rows(s) if isinstance(s, RaggedTensorSpec) else _Stacked(s, count) for s in specs]
    state: list[Any] = [p.initial() if isinstance(p, _Rows) else p.array for p in plans]
    shapes = [p.invariants() if isinstance(p, _Rows) else TensorShape(None) for p in plans]

    def body(i: Tensor, state: list[Any]) -> tuple[Tensor, list[Any]]:
        rows = call(i)
        if len(rows) != len(plans):
            raise InvalidArgumentError(
                f"fn returned {len(rows)} results, the signature has {len(plans)}."
            )
        new = [
            p.append(s, row) if isinstance(p, _Rows) else s.write(i, convert_to_tensor(row, p.kind))
            for p, s, row in zip(plans, state, rows, strict=True)
        ]
        return ox.Add(i, int64_constant(1)), new

    _, state = while_loop(
        lambda i, _: ox.Less(i, count),
        body,
        (int64_constant(0), state),
        shape_invariants=(TensorShape([]), shapes),
    )
    return [
        p.finish(s) if isinstance(p, _Rows) else s.stack()
        for p, s in zip(plans, state, strict=True)
    ]
