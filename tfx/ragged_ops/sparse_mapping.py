"""``map_fn`` over the rows of sparse tensors, or with sparse results.

A loop carries no sparse tensor whose number of entries grows: results are collected as rows of
different lengths (``mapping``), flat where their rank need not be known, and put together
behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core import dtypes, nest
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.math.cast import stop_gradient
from tfx.ragged_ops import mapping, partition
from tfx.ragged_ops.factories import value_count
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made, stated
from tfx.sparse_ops.sparse_tensor_spec import SparseTensorSpec


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
    """``tf.map_fn`` where ``elems`` or the results are sparse."""
    if not callable(fn):
        raise TypeError(f"fn must be callable; got {fn!r}.")
    given = nest.map_structure(_rows_of, elems)
    flat = nest.flatten(given)
    if not flat:
        raise InvalidArgumentError(
            "elems must be a Tensor or (possibly nested) sequence of Tensors."
        )
    signature = dtype if fn_output_signature is None else fn_output_signature
    if signature is None:
        signature = nest.map_structure(_row_spec, given)
    specs = nest.flatten(signature)
    count = flat[0].count if isinstance(flat[0], _SparseRows) else value_count(flat[0])

    def call(i: Tensor) -> Any:
        returned = fn(nest.map_structure(lambda x: x[i], given))
        rows = nest.flatten(returned)
        if len(rows) != len(specs):
            raise InvalidArgumentError(
                f"fn returned {len(rows)} results, the signature has {len(specs)}."
            )
        return [_parts_of(x, spec) for x, spec in zip(rows, specs, strict=True)]

    parts = mapping.map_fn(
        call,
        partition.counted(count),
        infer_shape=infer_shape,
        fn_output_signature=[_part_specs(s) for s in specs],
    )
    length = flat[0].length if isinstance(flat[0], _SparseRows) else flat[0].shape[0]
    found = nest.pack_sequence_as(
        signature, [_whole(x, spec, count, length) for x, spec in zip(parts, specs, strict=True)]
    )
    if back_prop:
        return found
    return nest.map_structure(stop_gradient, found, expand_composites=True)


class _SparseRows:
    """The rows of a sparse tensor, by number.

    Attributes:
        count: How many there are, a scalar int64.
        length: The same where it is known without a run.
    """

    def __init__(self, x: SparseTensor) -> None:
        if known_rank_of(x, "map_fn") == 0:
            raise InvalidArgumentError("elems of map_fn must have one axis at least; got a scalar.")
        self.whole = positions.ordered(x, "map_fn")
        self.count = ox.Squeeze(positions.axis_size(x.dense_shape, 0), int64_constant([0]))
        self.shape = x.shape[1:]
        self.length = x.shape[0]
        self._lines = positions.column(self.whole.indices, 0)

    def __getitem__(self, i: Tensor) -> SparseTensor:
        x = positions.taken(self.whole, positions.where_true(ox.Equal(self._lines, i)))
        rest = ox.Slice(x.indices, ox.ints([1]), ox.ints([2**63 - 1]), ox.ints([1]))
        sizes = ox.Slice(x.dense_shape, ox.ints([1]), ox.ints([2**63 - 1]))
        return made(rest, x.values, sizes)


def _rows_of(x: Any) -> Any:
    return _SparseRows(x) if isinstance(x, SparseTensor) else as_ragged_or_tensor(x)


def _row_spec(x: Any) -> Any:
    if isinstance(x, _SparseRows):
        return SparseTensorSpec(x.shape, x.whole.dtype)
    if isinstance(x, RaggedTensor):
        return RaggedTensorSpec(x.shape[1:], x.dtype, x.ragged_rank - 1, x.row_splits.dtype)
    return TensorSpec(x.shape[1:], x.dtype)


def _part_specs(spec: Any) -> Any:
    """What is collected of results: of sparse ones flat indices, values and sizes."""
    if not isinstance(spec, SparseTensorSpec):
        return spec
    row = TensorShape([None])
    kinds = (dtypes.int64, spec.dtype, dtypes.int64)
    return tuple(RaggedTensorSpec(row, kind, 0, dtypes.int64) for kind in kinds)


def _parts_of(x: Any, spec: Any) -> Any:
    if not isinstance(spec, SparseTensorSpec):
        return x
    if not isinstance(x, SparseTensor) or not x.shape.is_compatible_with(spec.shape):
        raise InvalidArgumentError(
            f"fn returned {x!r}, which is not of the fn_output_signature {spec!r}."
        )
    return ox.Reshape(x.indices, ox.ints([-1])), x.values, x.dense_shape


def _whole(parts: Any, spec: Any, count: Tensor, length: int | None) -> Any:
    """The results of all rows as one value."""
    if not isinstance(spec, SparseTensorSpec):
        return parts
    indices, values, sizes = parts
    one = int64_constant([1])
    rows = ox.Unsqueeze(count, int64_constant([0]))
    if spec.shape.rank is None:
        rank = ox.Div(ox.Shape(sizes.flat_values), ox.Max(rows, one))
    else:
        rank = ox.ints([spec.shape.rank])
    entries = ox.Shape(values.flat_values, start=0, end=1)
    lines = ox.Unsqueeze(partition.wide(values.value_rowids()), one)
    places = ox.Reshape(indices.flat_values, ox.Concat(entries, rank, axis=0), allowzero=1)
    table = ox.Reshape(sizes.flat_values, ox.Concat(rows, rank, axis=0), allowzero=1)
    # A row more: without any, there is no greatest size.
    table = ox.Concat(ox.Expand(ox.ints([0]), ox.Concat(one, rank, axis=0)), table, axis=0)
    widest = ox.ReduceMax(table, int64_constant([0]), keepdims=0)
    shape = ox.Concat(rows, widest, axis=0)
    if spec.shape.rank is not None:
        shape = stated(shape, TensorShape([length, *spec.shape]))
    return made(ox.Concat(lines, places, axis=1), values.flat_values, shape)
