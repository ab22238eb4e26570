"""Operations on the entries of sparse tensors: map_values, sums, products, extremes, softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.gather import gather, gather_nd
from tfx.ops.array.scatter import tensor_scatter_nd_add
from tfx.ops.common.arguments import static_ints, tensor
from tfx.ops.common.shapes import rank_of, shape_vector
from tfx.ops.math.arithmetic import maximum as dense_maximum
from tfx.ops.math.arithmetic import minimum as dense_minimum
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.segments import unsorted_segment_max, unsorted_segment_sum
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import (
    SparseTensor,
    SparseTensorValue,
    known_rank_of,
    made,
    require_sparse,
)


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """An operation on the values of sparse tensors, whose places stay as they are.

    Args:
        op: Any function of tensors; what it returns has as many elements as the values.
        *args: Its arguments; of each ``SparseTensor`` among them it gets the values.
        **kwargs: The same.

    Returns:
        A ``SparseTensor`` in the places of those given; without one, what ``op`` returns.

    Raises:
        ValueError: values of another number.
        InvalidArgumentError: sparse tensors with entries in different places.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0], [2]], [1, 2], [3])
        >>> tf.sparse.map_values(tf.add, x, 5).values.numpy()
        array([6, 7], dtype=int32)
    """
    found: list[SparseTensor] = []

    def values_of(x: Any) -> Any:
        if isinstance(x, SparseTensorValue):
            x = SparseTensor.from_value(x)
        if isinstance(x, SparseTensor):
            found.append(x)
            return x.values
        if isinstance(x, list | tuple) and any(isinstance(v, SparseTensor) for v in x):
            return type(x)(values_of(v) for v in x)
        return x

    inner = [values_of(x) for x in args]
    named = {name: values_of(x) for name, x in kwargs.items()}
    if not found:
        return op(*args, **kwargs)
    indices = found[0].indices
    for other in found[1:]:
        indices = _same_places(indices, found[0], other)
    values = tensor(op(*inner, **named))
    if values.shape.rank == 0 or not values.shape[:1].is_compatible_with(found[0].values.shape[:1]):
        raise InvalidArgumentError(
            f"map_values: op must return as many values as there are entries; got shape "
            f"{values.shape} for {found[0].values.shape[0]} entries."
        )
    return made(indices, values, found[0].dense_shape)


def _same_places(indices: Tensor, x: SparseTensor, other: SparseTensor) -> Tensor:
    message = "Mismatched indices!" if x.rank == other.rank else "Mismatched shapes!"
    sizes = (x.indices.shape, other.indices.shape)
    if not sizes[0].is_compatible_with(sizes[1]):
        raise InvalidArgumentError(f"{message} {sizes[0]} and {sizes[1]}", op="map_values")
    fits = ox.Equal(indices, other.indices)
    if not isinstance(fits, EagerTensor):
        return refused_unless(fits, indices, Refusal.SPARSE_MAPPED)
    if not fits.view().all():
        raise InvalidArgumentError(
            f"{message} Condition x == y did not hold: {_shown(x.indices)} and "
            f"{_shown(other.indices)}; tf.sparse.add takes entries in different places.",
            op="map_values",
        )
    return indices


def _shown(x: Any) -> str:
    return str(x.numpy().tolist()) if isinstance(x, EagerTensor) else repr(x)


def with_dense(function: Callable[..., Any], x: SparseTensor, other: Any) -> SparseTensor:
    """An operation on entries and the elements of a dense tensor, which is broadcast to them."""
    rank = known_rank_of(x, "SparseDenseCwise")
    dense = convert_to_tensor(other, x.dtype)
    depth = rank_of(dense)
    if depth is None or depth > rank:
        raise InvalidArgumentError(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"[{x.shape}] vs. [{dense.shape}]",
            op="SparseDenseCwise",
        )
    if depth == 0:
        return made(x.indices, function(x.values, dense), x.dense_shape)
    own = shape_vector(dense)
    tail = ox.Slice(x.dense_shape, int64_constant([rank - depth]), int64_constant([rank]))
    fits = ox.Or(ox.Equal(own, int64_constant(1)), ox.Equal(own, tail))
    if not isinstance(fits, EagerTensor):
        own = refused_unless(fits, own, Refusal.SPARSE_SHAPES)
    elif not fits.view().all():
        raise InvalidArgumentError(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"{static_ints(x.dense_shape)} vs. {static_ints(own)}",
            op="SparseDenseCwise",
        )
    at = positions.columns(x.indices, list(range(rank - depth, rank)))
    at = ox.Min(at, ox.Sub(own, int64_constant(1)))  # an axis of size 1 is repeated
    return made(x.indices, function(x.values, gather_nd(dense, at)), x.dense_shape)


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """The sum of two tensors of which one at least is sparse.

    Args:
        a: ``SparseTensor``, or a tensor.
        b: The same, of the same shape.
        threshold: Sums of a smaller size are left out of a sparse result; 0 keeps all.

    Returns:
        A ``SparseTensor`` if both are, otherwise a tensor.

    Raises:
        TypeError: both are dense.
        InvalidArgumentError: shapes that differ.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0], [2]], [1, 2], [3])
        >>> y = tf.sparse.add(x, tf.SparseTensor([[1], [2]], [3, 4], [3]))
        >>> tf.sparse.to_dense(y).numpy()
        array([1, 3, 6], dtype=int32)
    """
    kinds = (SparseTensor, SparseTensorValue)
    if not isinstance(a, kinds) and not isinstance(b, kinds):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, kinds) and isinstance(b, kinds):
        return _add_sparse(require_sparse(a), require_sparse(b), threshold)
    x, dense = (a, b) if isinstance(a, kinds) else (b, a)
    x = require_sparse(x)
    return tensor_scatter_nd_add(convert_to_tensor(dense, x.dtype), x.indices, x.values)


def _add_sparse(a: SparseTensor, b: SparseTensor, threshold: Any) -> SparseTensor:
    found = _united(a, b, "SparseAdd")
    first, second = found.columns
    values = ox.Add(first, second)
    if isinstance(threshold, int | float) and threshold == 0:
        return made(found.indices, values, found.shape)
    size = absolute(values)
    # What only one of them has is not asked for its size, as in TensorFlow.
    alone = ox.Less(found.counts, int64_constant(2))
    kept = ox.Or(alone, ox.GreaterOrEqual(size, convert_to_tensor(threshold, size.dtype)))
    return positions.taken(made(found.indices, values, found.shape), positions.where_true(kept))


class _United:
    """The entries of two sparse tensors in all places in which either has one."""

    def __init__(
        self, indices: Tensor, shape: Tensor, columns: list[Tensor], counts: Tensor
    ) -> None:
        self.indices = indices
        self.shape = shape
        self.columns = columns
        self.counts = counts


def _united(a: SparseTensor, b: SparseTensor, op: str) -> _United:
    if a.dtype is not b.dtype:
        raise InvalidArgumentError(
            f"{op}: the operands have dtypes {a.dtype.name} and {b.dtype.name}; use tf.cast.",
            op=op,
        )
    rank = known_rank_of(a, op)
    shape = _same_shape(a, b, op)
    places = [positions.places_of(x.indices, shape, rank) for x in (a, b)]
    both = ox.Concat(*places, axis=0)
    distinct, _, at, counts = ox.Unique(both, sorted=1, outputs=4)
    count = ox.Size(distinct)
    split = ox.Shape(a.values)
    ends = (
        (int64_constant([0]), split),
        (split, int64_constant([2**63 - 1])),
    )
    found = [
        unsorted_segment_sum(x.values, ox.Slice(at, start, end), count)
        for x, (start, end) in zip((a, b), ends, strict=True)
    ]
    return _United(positions.indices_at(distinct, shape, rank), shape, found, counts)


def _same_shape(a: SparseTensor, b: SparseTensor, op: str) -> Tensor:
    if a.rank != b.rank:
        raise InvalidArgumentError(
            f"Ranks of input tensors must match, but saw ranks: {a.rank} and {b.rank}", op=op
        )
    fits = ox.Equal(a.dense_shape, b.dense_shape)
    if not isinstance(fits, EagerTensor):
        return refused_unless(fits, a.dense_shape, Refusal.SPARSE_SHAPES)
    if not fits.view().all():
        axis = int((~fits.view()).argmax())
        sizes = [(static_ints(x.dense_shape) or [])[axis] for x in (a, b)]
        raise InvalidArgumentError(
            f"Operands' shapes do not match: got {sizes[0]} and {sizes[1]} for dimension {axis}",
            op=op,
        )
    shape: Tensor = a.dense_shape
    return shape


def maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger of two sparse tensors, element by element; what has no entry counts as 0.

    Returns:
        A ``SparseTensor`` with an entry wherever one of them has one.

    Raises:
        TypeError: something else than sparse tensors.
        InvalidArgumentError: shapes that differ.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0], [2]], [-1.0, 2.0], [3])
        >>> tf.sparse.maximum(x, tf.SparseTensor([[2]], [1.0], [3])).values.numpy()
        array([0., 2.], dtype=float32)
    """
    return _extreme(dense_maximum, sp_a, sp_b, "SparseSparseMaximum")


def minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller of two sparse tensors, element by element; what has no entry counts as 0.

    See ``tf.sparse.maximum``.
    """
    return _extreme(dense_minimum, sp_a, sp_b, "SparseSparseMinimum")


def _extreme(function: Callable[..., Tensor], a: Any, b: Any, op: str) -> SparseTensor:
    found = _united(require_sparse(a, op), require_sparse(b, op), op)
    return made(found.indices, function(*found.columns), found.shape)


def softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax along the last axis, of the entries alone.

    Args:
        sp_input: ``SparseTensor`` of a floating dtype, of two axes or more.
        name: Accepted for compatibility.

    Returns:
        A ``SparseTensor`` with the same places.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 1.0, 7.0], [2, 3])
        >>> tf.sparse.softmax(x).values.numpy()
        array([0.5, 0.5, 1. ], dtype=float32)
    """
    x = positions.ordered(require_sparse(sp_input, "sparse.softmax"), "SparseSoftmax")
    rank = known_rank_of(x, "SparseSoftmax")
    if rank < 2 or not x.dtype.is_floating:
        raise InvalidArgumentError(
            f"sparse.softmax takes floating sparse tensors of two axes or more; got {x!r}."
        )
    outer = list(range(rank - 1))
    front = ox.Gather(x.dense_shape, int64_constant(outer), axis=0)
    rows = positions.places_of(positions.columns(x.indices, outer), front, rank - 1)
    distinct, _, at, _ = ox.Unique(rows, sorted=1, outputs=4)
    count = ox.Size(distinct)
    greatest = gather(unsorted_segment_max(x.values, at, count), at)
    shifted = ox.Exp(ox.Sub(x.values, greatest))
    total = gather(unsorted_segment_sum(shifted, at, count), at)
    return x.with_values(ox.Div(shifted, total))
