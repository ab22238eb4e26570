"""Operations on the rows of sparse tensors: empty ones filled, segments of rows, counts."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.gather import gather, rows_at
from tfx.ops.array.scatter import tensor_scatter_nd_add
from tfx.ops.common.arguments import as_int64, cast_to, tensor
from tfx.ops.common.shapes import filled
from tfx.ops.math import segments
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made, require_sparse


def fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Give each row without entries one, at its beginning.

    Args:
        sp_input: ``SparseTensor`` of two axes.
        default_value: The entry.
        name: Accepted for compatibility.

    Returns:
        The ``SparseTensor``, and a boolean for each row that was empty.

    Raises:
        InvalidArgumentError: another number of axes.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1]], [5], [2, 2])
        >>> y, empty = tf.sparse.fill_empty_rows(x, -1)
        >>> y.values.numpy(), empty.numpy()
        (array([ 5, -1], dtype=int32), array([False,  True]))
    """
    x = require_sparse(sp_input, "sparse.fill_empty_rows")
    rank = known_rank_of(x, "SparseFillEmptyRows")
    if rank < 1:
        raise InvalidArgumentError(
            "fill_empty_rows needs rows; got a scalar.", op="SparseFillEmptyRows"
        )
    size = positions.axis_size(x.dense_shape, 0)
    ones = ox.Expand(int64_constant(1), ox.Shape(x.values))
    counts = tensor_scatter_nd_add(
        filled(size, 0, dtypes.int64), positions.columns(x.indices, [0]), ones
    )
    empty = ox.Equal(counts, int64_constant(0))
    rows = positions.where_true(empty)
    new = ox.Mul(
        ox.Unsqueeze(rows, int64_constant([1])),
        convert_to_tensor([[1] + [0] * (rank - 1)], dtypes.int64),
    )
    default = ox.Expand(convert_to_tensor(default_value, x.dtype), ox.Shape(rows))
    whole = made(ox.Concat(x.indices, new, axis=0), concat([x.values, default], 0), x.dense_shape)
    order = positions.sort_places(positions.column(whole.indices, 0))
    return positions.taken(whole, order), empty


def segment_sum(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sums of rows of a tensor, chosen by indices, by segments.

    Args:
        data: Tensor of one axis or more.
        indices: Which rows, integers.
        segment_ids: The segment of each of them, increasing from 0 on.
        num_segments: How many segments; None: up to the last one.
        name: Accepted for compatibility.
        sparse_gradient: Accepted for compatibility: it is a gradient of few rows in any case.

    Raises:
        InvalidArgumentError: segments that are not in order.

    Example:
        >>> import tfx as tf
        >>> tf.sparse.segment_sum(tf.constant([[1, 2], [3, 4], [5, 6]]), [0, 2], [0, 0]).numpy()
        array([[6, 8]], dtype=int32)
    """
    return _segments("sum", data, indices, segment_ids, num_segments)


def segment_mean(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The means of rows of a tensor by segments; see ``tf.sparse.segment_sum``."""
    return _segments("mean", data, indices, segment_ids, num_segments)


def segment_sqrt_n(
    data: Any,
    indices: Any,
    segment_ids: Any,
    num_segments: Any = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums by segments over the root of how many rows; see ``tf.sparse.segment_sum``."""
    return _segments("sqrt_n", data, indices, segment_ids, num_segments)


def _segments(kind: str, data: Any, indices: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    return segments.chosen_rows(
        kind, rows_at(tensor(data), tensor(indices)), segment_ids, num_segments
    )


def bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: Any = None,
    maxlength: Any = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """How often each number occurs, as a sparse tensor.

    Args:
        values: Integers, dense or sparse (or ragged).
        weights: What each occurrence counts, of the same form; None: 1.
        axis: 0: all elements together; -1: each row by itself.
        minlength: Least size of the last axis.
        maxlength: Largest size; larger numbers are not counted.
        binary_output: 1 for whatever occurs.
        name: Accepted for compatibility.

    Returns:
        A ``SparseTensor`` of the dtype of the weights, without any that of ``values``.

    Raises:
        ValueError: another axis, or both ``weights`` and ``binary_output``.

    Example:
        >>> import tfx as tf
        >>> found = tf.sparse.bincount([[1, 1, 2], [0, 5, 5]], axis=-1)
        >>> found.indices.numpy().tolist(), found.values.numpy()
        ([[0, 1], [0, 2], [1, 0], [1, 5]], array([2, 1, 1, 2], dtype=int32))
    """
    if axis not in (None, 0, -1):
        raise InvalidArgumentError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are supported."
        )
    if binary_output and weights is not None:
        raise InvalidArgumentError(
            "Arguments `binary_output` and `weights` are mutually exclusive."
        )
    rows, numbers, count = _elements(values, axis == -1)
    each = None if weights is None else _elements(weights, axis == -1)[1]
    if maxlength is not None:
        kept = positions.where_true(ox.Less(numbers, as_int64(maxlength)))
        numbers = ox.Gather(numbers, kept)
        rows = None if rows is None else ox.Gather(rows, kept)
        each = None if each is None else gather(each, kept)
    zero, one = int64_constant([0]), int64_constant([1])
    least = int64_constant([-1])
    width = ox.Add(ox.ReduceMax(ox.Concat(numbers, least, axis=0), zero), one)
    if minlength is not None:
        width = ox.Max(width, ox.Reshape(as_int64(minlength), one))
    if maxlength is not None:
        width = ox.Min(width, ox.Reshape(as_int64(maxlength), one))
    shape = width if count is None or rows is None else ox.Concat(count, width, axis=0)
    if rows is None:
        places = numbers
    else:
        shape = positions.numbered(shape, 2)
        places = ox.Add(ox.Mul(rows, positions.axis_size(shape, 1)), numbers)
    distinct, _, at, counts = ox.Unique(places, sorted=1, outputs=4)
    if each is not None:
        found: Tensor = segments.unsorted_segment_sum(each, at, ox.Size(distinct))
    else:
        found = ox.Min(counts, int64_constant(1)) if binary_output else counts
        found = cast_to(found, _dtype(values))
    rank = 1 if rows is None else 2
    return made(positions.indices_at(distinct, shape, rank), found, shape)


def _elements(x: Any, by_row: bool) -> tuple[Tensor | None, Tensor, Tensor | None]:
    """The row of each element, the elements, and how many rows there are."""
    zero = int64_constant([0])
    if hasattr(x, "value_rowids"):
        rows = cast_to(x.value_rowids(), dtypes.int64) if by_row else None
        count = ox.Unsqueeze(cast_to(x.nrows(), dtypes.int64), zero)
        return rows, _numbers(x.flat_values), count
    if isinstance(x, SparseTensor):
        if not by_row or known_rank_of(x, "SparseCount") == 1:
            return None, _numbers(x.values), None
        rows = positions.column(x.indices, 0)
        return rows, _numbers(x.values), positions.axis_size(x.dense_shape, 0)
    dense = tensor(x)
    flat = _numbers(ox.Reshape(dense, int64_constant([-1])))
    if not by_row or dense.shape.rank == 1:
        return None, flat, None
    shape = ox.Shape(dense)
    count = positions.axis_size(shape, 0)
    counted = ox.Range(int64_constant(0), ox.Squeeze(count, zero), int64_constant(1))
    rows = ox.Reshape(ox.Expand(ox.Unsqueeze(counted, int64_constant([1])), shape), ox.ints([-1]))
    return rows, flat, count


def _dtype(values: Any) -> Any:
    kind = values.dtype if hasattr(values, "dtype") else tensor(values).dtype
    return dtypes.as_dtype(kind)


def _numbers(x: Any) -> Tensor:
    found = tensor(x)
    return cast_to(found, dtypes.int64) if found.dtype.is_integer else found
