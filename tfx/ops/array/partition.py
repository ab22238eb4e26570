"""Rows dealt out to several tensors and put together again, and counts of what falls into bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_if_negative, refused_unless
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, from_array
from tfx.ops.array.scatter import scatter_nd
from tfx.ops.array.unique import bincount
from tfx.ops.common.arguments import (
    INT64_MAX,
    cast_to,
    integers,
    require_dtype,
    scalar_like,
    static_int,
    tensor,
)
from tfx.ops.common.shapes import (
    common_tensors,
    concat_shape,
    filled,
    movable,
    product,
    rank_of,
    raw_shape,
    reshape_to,
    shape_vector,
)
from tfx.ops.math.reduction import reduce_max


def check_count(num_partitions: Any) -> None:
    """Refuse what is no number of parts.

    Raises:
        ValueError: it is no integer above 0.
    """
    if not isinstance(num_partitions, int) or num_partitions < 1:
        raise InvalidArgumentError(
            "num_partitions of DynamicPartition must be an integer above 0; got "
            f"{num_partitions!r}."
        )


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The rows of ``data`` in several tensors, by a number for each row.

    Args:
        data: Tensor; its first axes are those of ``partitions``.
        partitions: int32 or int64 in ``[0, num_partitions)``.
        num_partitions: How many tensors.
        name: Accepted for compatibility.

    Returns:
        A list of ``num_partitions`` tensors ``[rows] + data.shape[partitions.rank:]``.

    Raises:
        InvalidArgumentError: a number out of range, or shapes that do not fit.
        ValueError: ``num_partitions`` is no positive integer.

    Example:
        >>> import tfx as tf
        >>> [x.numpy().tolist() for x in tf.dynamic_partition([10, 20, 30], [1, 0, 1], 2)]
        [[20], [10, 30]]
    """
    op = "DynamicPartition"
    check_count(num_partitions)
    x, numbers = tensor(data), integers(partitions, dtypes.int32)
    require_dtype(numbers, numbers.dtype in (dtypes.int32, dtypes.int64), op, "int32 or int64")
    x, numbers, rank = _by_rows(x, numbers)
    have = raw_shape(x)
    if have is not None and not numbers.shape.is_compatible_with(x.shape[:rank]):
        raise InvalidArgumentError(
            f"data.shape must start with partitions.shape; got {x.shape} and {numbers.shape}.",
            op=op,
        )
    if isinstance(numbers, EagerTensor):
        view = numbers.view()
        if ((view < 0) | (view >= num_partitions)).any():
            raise InvalidArgumentError(
                f"partitions must be in [0, {num_partitions}); got "
                f"{view.reshape(-1)[:20].tolist()}.",
                op=op,
            )
    flat = ox.Reshape(numbers, int64_constant([-1]))
    if isinstance(flat, SymbolicTensor):
        above = ox.GreaterOrEqual(flat, scalar_like(0, flat))
        below = ox.Less(flat, scalar_like(num_partitions, flat))
        flat = refused_unless(ox.And(above, below), flat, Refusal.PARTITIONS)
    rows = reshape_to(movable(x), concat_shape(int64_constant([-1]), shape_vector(x, rank)))
    chosen = [ox.Equal(flat, scalar_like(i, flat)) for i in range(num_partitions)]
    return [cast_to(ox.Compress(rows, here, axis=0), x.dtype) for here in chosen]


def _by_rows(x: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor, int]:
    """Data and numbers of its rows, and how many axes these have: a single one if it is unknown."""
    rank = rank_of(numbers)
    if rank is not None:
        return x, numbers, rank
    lead = shape_vector(numbers)
    tail = ox.Slice(shape_vector(x), ox.Shape(lead), int64_constant([INT64_MAX]))
    rows = ox.Reshape(x, ox.Concat(product(lead), tail, axis=0), allowzero=1)
    return rows, ox.Reshape(numbers, int64_constant([-1])), 1


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """Rows of several tensors put to their places in one: the reverse of ``dynamic_partition``.

    Args:
        indices: A list of int32 tensors, the place of each row; later ones win.
        data: A list of as many tensors, ``indices[i].shape + row``.
        name: Accepted for compatibility.

    Returns:
        ``[largest index + 1] + row``; rows that no index names are 0.

    Raises:
        InvalidArgumentError: lists of different lengths, or shapes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.dynamic_stitch([[0, 2], [1]], [[1.0, 3.0], [2.0]]).numpy()
        array([1., 2., 3.], dtype=float32)
    """
    op = "DynamicStitch"
    places, parts = _lists(indices, data, op)
    wheres: list[Tensor] = []
    rows: list[Tensor] = []
    for where, part in zip(places, parts, strict=True):
        require_dtype(where, where.dtype in (dtypes.int32, dtypes.int64), op, "int32 indices")
        part, where, rank = _by_rows(part, where)
        if not where.shape.is_compatible_with(part.shape[:rank]):
            raise InvalidArgumentError(
                f"{op}: data.shape must start with indices.shape; got {part.shape} and "
                f"{where.shape}.",
                op=op,
            )
        flat = concat_shape(int64_constant([-1]), shape_vector(part, rank))
        rows.append(reshape_to(part, flat))
        wheres.append(ox.Reshape(cast_to(where, dtypes.int64), int64_constant([-1])))
    # One row more, of zeros: what no index names has the number -1, which is the last one's.
    last = concat_shape(int64_constant([1]), shape_vector(rows[0], 1))
    values = ox.Concat(*rows, filled(last, _nothing(rows[0]), rows[0].dtype), axis=0)
    return ox.Gather(values, _last_rows(wheres))


def _nothing(x: Tensor) -> Any:
    return b"" if x.dtype is dtypes.string else 0


def _last_rows(places: list[Tensor]) -> Tensor:
    """For each place up to the largest, the number of the last row that is put there, or -1.

    Args:
        places: Of the rows, int64 vectors, one behind the other.
    """
    where = ox.Concat(*places, axis=0)
    if isinstance(where, EagerTensor):
        view = where.view()
        if view.size and view.min() < 0:
            raise InvalidArgumentError(Refusal.STITCHED.said(), op=Refusal.STITCHED.op)
        found = np.full(int(view.max(initial=-1)) + 1, -1, np.int64)
        found[view] = np.arange(view.size)  # of several the last one stays
        return from_array(found, owned=True)
    where = refused_if_negative(where, Refusal.STITCHED)
    most = ox.Concat(int64_constant([-1]), where, axis=0)
    size = ox.Add(ox.ReduceMax(most, keepdims=1), int64_constant([1]))
    count = ox.Squeeze(ox.Shape(where), int64_constant([0]))
    steps = ox.Range(int64_constant(0), count, int64_constant(1))
    never = filled(size, -1, dtypes.int64)
    return ox.ScatterElements(never, where, steps, reduction="max")


def _lists(indices: Any, data: Any, op: str) -> tuple[list[Tensor], list[Tensor]]:
    given = list(indices), list(data)
    if len(given[0]) != len(given[1]) or not given[0]:
        raise InvalidArgumentError(
            f"{op} takes as many indices as data, and at least one; got {len(given[0])} and "
            f"{len(given[1])}.",
            op=op,
        )
    return [convert_to_tensor(i) for i in given[0]], common_tensors(given[1], op)


def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The number of the bin of each value, where bins of one width fill a range.

    Args:
        values: Tensor of a number dtype.
        value_range: ``[low, high]`` of the same dtype; what is outside is in the first or last bin.
        nbins: How many bins.
        dtype: int32 or int64.
        name: Accepted for compatibility.

    Returns:
        Integers of the shape of ``values``.

    Raises:
        InvalidArgumentError: an empty range or no bins (in eager mode).

    Example:
        >>> import tfx as tf
        >>> tf.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 9.0], [0.0, 5.0], nbins=5).numpy()
        array([0, 0, 1, 4], dtype=int32)
    """
    x = tensor(values)
    ends = convert_to_tensor(value_range, x.dtype)
    count = tensor(nbins)
    if isinstance(ends, EagerTensor) and isinstance(count, EagerTensor):
        low, high = ends.view().tolist()
        if not low < high or int(count.view()) < 1:
            raise InvalidArgumentError(
                f"value_range should satisfy value_range[0] < value_range[1] and nbins be above 0; "
                f"got {[low, high]} and {int(count.view())}.",
                op="HistogramFixedWidth",
            )
    wide = x.dtype if x.dtype.is_floating and x.dtype.size >= 4 else dtypes.float64
    x, ends = cast_to(x, wide), cast_to(ends, wide)
    first, last = (ox.Gather(ends, int64_constant(i)) for i in (0, 1))
    share = (x - first) / (last - first)
    found = ox.Floor(share * cast_to(count, wide))
    most = cast_to(count, wide) - scalar_like(1, x)
    found = ox.Min(ox.Max(found, scalar_like(0, x)), most)
    return cast_to(found, dtypes.as_dtype(dtype))


def histogram_fixed_width(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Count the values that fall into each bin; see ``histogram_fixed_width_bins``.

    Example:
        >>> import tfx as tf
        >>> tf.histogram_fixed_width([-1.0, 0.0, 1.5, 9.0], [0.0, 5.0], nbins=5).numpy()
        array([2, 1, 0, 0, 1], dtype=int32)
    """
    found = histogram_fixed_width_bins(values, value_range, nbins)
    flat = ox.Reshape(found, int64_constant([-1]))
    counts = bincount(flat, minlength=nbins, maxlength=nbins, dtype=dtype)
    bins = static_int(tensor(nbins))
    if bins is not None and isinstance(counts, SymbolicTensor):
        counts.set_shape([bins])
    return counts


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Count how often each class was predicted for each label.

    Args:
        labels: Vector of class numbers: rows.
        predictions: Vector of class numbers: columns.
        num_classes: Size of the result; None: the largest number and one.
        weights: What each pair counts; None means 1.
        dtype: Element type of the result.
        name: Accepted for compatibility.

    Returns:
        ``[num_classes, num_classes]``.

    Raises:
        InvalidArgumentError: a number that is negative or too large, or shapes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.math.confusion_matrix([1, 2, 2], [1, 2, 0]).numpy()
        array([[0, 0, 0],
               [0, 1, 0],
               [1, 0, 1]], dtype=int32)
    """
    kind = dtypes.as_dtype(dtype)
    rows, columns = (cast_to(tensor(x), dtypes.int64) for x in (labels, predictions))
    rows, columns = _flat(rows, columns), _flat(columns, rows)
    if not rows.shape.is_compatible_with(columns.shape):
        raise InvalidArgumentError(
            f"labels and predictions must have one shape; got {rows.shape} and {columns.shape}.",
            op="confusion_matrix",
        )
    pairs = ox.Concat(*[ox.Unsqueeze(x, int64_constant([1])) for x in (rows, columns)], axis=1)
    if num_classes is None:
        none = int64_constant([-1])
        every = ox.Concat(none, rows, columns, axis=0)
        size = reduce_max(every) + scalar_like(1, rows)
    else:
        size = cast_to(tensor(num_classes), dtypes.int64)
    _check_classes(rows, columns, size)
    side = ox.Reshape(size, int64_constant([1]))
    amounts = (
        filled(shape_vector(rows), 1, kind) if weights is None else cast_to(tensor(weights), kind)
    )
    return scatter_nd(pairs, amounts, ox.Concat(side, side, axis=0))


def _flat(x: Tensor, other: Tensor) -> Tensor:
    """Without a last axis of size 1 that the other does not have."""
    one_more = x.shape.rank == 2 and (other.shape.rank == 1 or x.shape[-1] == 1)
    return ox.Squeeze(x, int64_constant([-1])) if one_more else x


def _check_classes(rows: Tensor, columns: Tensor, size: Tensor) -> None:
    for name, x in (("labels", rows), ("predictions", columns)):
        if isinstance(x, EagerTensor) and isinstance(size, EagerTensor):
            view, limit = x.view(), int(size.view())
            bad = view[(view < 0) | (view >= limit)]
            if bad.size:
                raise InvalidArgumentError(
                    f"`{name}` must be in [0, {limit}): got {np.unique(bad)[:10].tolist()}.",
                    op="confusion_matrix",
                )
