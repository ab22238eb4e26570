"""Operations of ``tf.raw_ops`` on sparse tensors, which take and give the components one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.array.gather import gather_nd
from tfx.ops.common.arguments import as_int64, static_int, static_ints, tensor
from tfx.sparse_ops import arrangement, elementwise, reduction, serialized, sets
from tfx.sparse_ops.edit_distance import edit_distance
from tfx.sparse_ops.sparse_tensor import SparseTensor


class SparseResult(NamedTuple):
    """The components of a result."""

    output_indices: Tensor
    output_values: Tensor
    output_shape: Tensor


class SplitResult(NamedTuple):
    """The components of several results."""

    output_indices: list[Tensor]
    output_values: list[Tensor]
    output_shape: list[Tensor]


class Entries(NamedTuple):
    """The components of a result that has the shape of the arguments."""

    output_indices: Tensor
    output_values: Tensor


class Reshaped(NamedTuple):
    """Where entries are in another shape."""

    output_indices: Tensor
    output_shape: Tensor


def _parts(x: SparseTensor) -> SparseResult:
    return SparseResult(x.indices, x.values, x.dense_shape)


def _number(x: Any) -> int:
    known = static_int(tensor(x))
    if known is None:
        raise ValueError(f"A number that is known while tracing was expected; got {x!r}.")
    return known


def _axes(x: Any) -> list[int] | None:
    return static_ints(tensor(x))


def _concat(
    *, indices: Any, values: Any, shapes: Any, concat_dim: Any, name: Any = None
) -> SparseResult:
    given = [SparseTensor(*x) for x in zip(indices, values, shapes, strict=True)]
    return _parts(arrangement.concat(concat_dim, given))


def _split(
    *, split_dim: Any, indices: Any, values: Any, shape: Any, num_split: int, name: Any = None
) -> SplitResult:
    found = arrangement.split(SparseTensor(indices, values, shape), num_split, _number(split_dim))
    return SplitResult(
        [x.indices for x in found], [x.values for x in found], [x.dense_shape for x in found]
    )


def _reshape(*, input_indices: Any, input_shape: Any, new_shape: Any, name: Any = None) -> Reshaped:
    places = as_int64(input_indices)
    numbers = ox.Squeeze(ox.Slice(places, ox.ints([0]), ox.ints([1]), ox.ints([1])), ox.ints([1]))
    found = arrangement.reshape(SparseTensor(places, numbers, input_shape), new_shape)
    return Reshaped(found.indices, found.dense_shape)


def _pairwise(function: Callable[[Any, Any], SparseTensor]) -> Callable[..., Entries]:
    def form(
        *, a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any,
        b_shape: Any, name: Any = None,
    ) -> Entries:  # fmt: skip
        a, b = (
            SparseTensor(a_indices, a_values, a_shape),
            SparseTensor(b_indices, b_values, b_shape),
        )
        return Entries(*_parts(function(a, b))[:2])

    return form


def _with_dense(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """What becomes of the values and the elements of a tensor at their places."""

    def form(
        *, sp_indices: Any, sp_values: Any, sp_shape: Any, dense: Any, name: Any = None
    ) -> Tensor:
        values = tensor(sp_values)
        wide = ox.Expand(tensor(dense), as_int64(sp_shape))
        return function(values, gather_nd(wide, sp_indices))

    return form


def _reduced(function: Callable[..., Any], *, is_sparse: bool) -> Callable[..., Any]:
    def form(
        *, input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any,
        keep_dims: bool = False, name: Any = None,
    ) -> Any:  # fmt: skip
        x = SparseTensor(input_indices, input_values, input_shape)
        found = function(x, _axes(reduction_axes), keep_dims, is_sparse)
        return _parts(found) if is_sparse else found

    return form


def _edit_distance(
    *, hypothesis_indices: Any, hypothesis_values: Any, hypothesis_shape: Any,
    truth_indices: Any, truth_values: Any, truth_shape: Any, normalize: bool = True,
    name: Any = None,
) -> Tensor:  # fmt: skip
    hypothesis = SparseTensor(hypothesis_indices, hypothesis_values, hypothesis_shape)
    return edit_distance(
        hypothesis, SparseTensor(truth_indices, truth_values, truth_shape), normalize
    )


_SETS: dict[str, Callable[[Any, Any], SparseTensor]] = {
    "a-b": sets.difference,
    "b-a": lambda a, b: sets.difference(a, b, aminusb=False),
    "intersection": sets.intersection,
    "union": sets.union,
}


def _sets(a: Any, b: Any, operation: str) -> SparseResult:
    if operation not in _SETS:
        raise ValueError(f"set_operation must be one of {sorted(_SETS)}; got {operation!r}.")
    return _parts(_SETS[operation](a, b))


def _text(values: Sequence[Any], out_type: Any) -> Tensor:
    return serialized.serialize_sparse(SparseTensor(*values), out_type)


FORMS: dict[str, Callable[..., Any]] = {
    "DenseToDenseSetOperation": lambda *, set1, set2, set_operation, validate_indices=True,
    name=None: _sets(set1, set2, set_operation),
    "DenseToSparseSetOperation": lambda *, set1, set2_indices, set2_values, set2_shape,
    set_operation, validate_indices=True, name=None: (
        _sets(set1, SparseTensor(set2_indices, set2_values, set2_shape), set_operation)
    ),
    "EditDistance": _edit_distance,
    "SerializeSparse": lambda *, sparse_indices, sparse_values, sparse_shape,
    out_type=dtypes.string, name=None: (
        _text([sparse_indices, sparse_values, sparse_shape], out_type)
    ),
    "SetSize": lambda *, set_indices, set_values, set_shape, validate_indices=True, name=None: (
        sets.size(SparseTensor(set_indices, set_values, set_shape))
    ),
    "SparseAdd": lambda *, a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh,
    name=None: _parts(
        elementwise.add(
            SparseTensor(a_indices, a_values, a_shape),
            SparseTensor(b_indices, b_values, b_shape),
            thresh,
        )
    ),
    "SparseConcat": _concat,
    "SparseDenseCwiseAdd": _with_dense(lambda x, y: ox.Add(x, y)),
    "SparseDenseCwiseMul": _with_dense(lambda x, y: ox.Mul(x, y)),
    "SparseReduceMax": _reduced(reduction.reduce_max, is_sparse=False),
    "SparseReduceMaxSparse": _reduced(reduction.reduce_max, is_sparse=True),
    "SparseReduceSum": _reduced(reduction.reduce_sum, is_sparse=False),
    "SparseReduceSumSparse": _reduced(reduction.reduce_sum, is_sparse=True),
    "SparseReshape": _reshape,
    "SparseSlice": lambda *, indices, values, shape, start, size, name=None: (
        _parts(arrangement.slice(SparseTensor(indices, values, shape), start, size))
    ),
    "SparseSoftmax": lambda *, sp_indices, sp_values, sp_shape, name=None: (
        elementwise.softmax(SparseTensor(sp_indices, sp_values, sp_shape)).values
    ),
    "SparseSparseMaximum": _pairwise(elementwise.maximum),
    "SparseSparseMinimum": _pairwise(elementwise.minimum),
    "SparseSplit": _split,
    "SparseTensorDenseAdd": lambda *, a_indices, a_values, a_shape, b, name=None: (
        elementwise.add(SparseTensor(a_indices, a_values, a_shape), b)
    ),
    "SparseToSparseSetOperation": lambda *, set1_indices, set1_values, set1_shape, set2_indices,
    set2_values, set2_shape, set_operation, validate_indices=True, name=None: _sets(
        SparseTensor(set1_indices, set1_values, set1_shape),
        SparseTensor(set2_indices, set2_values, set2_shape),
        set_operation,
    ),
}  # fmt: skip
