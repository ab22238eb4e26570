"""Reductions over groups of rows: ``segment_*`` and ``unsorted_segment_*``.

All are one ``ScatterND`` that reduces, with a row more than there are segments: what belongs to no
segment (a negative number) goes there and is cut off. Their gradients are those of the scatter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.common.arguments import (
    INT64_MAX,
    cast_to,
    require_dtype,
    scalar_like,
    tensor,
)
from tfx.ops.common.counts import counted
from tfx.ops.common.open_ranks import rank_is_open
from tfx.ops.common.shapes import (
    as_vector,
    concat_shape,
    describe,
    dimension,
    filled,
    product,
    rank_of,
    raw_shape,
    reshape_to,
    shape_vector,
)
from tfx.ops.math.arithmetic import truediv

_IDS = (dtypes.int32, dtypes.int64)


def unsorted_segment_sum(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of the rows of each segment.

    Args:
        data: Tensor of a number dtype; its first axes are those of ``segment_ids``.
        segment_ids: int32 or int64, the segment of each row, in any order. Rows with a negative
            number belong to none.
        num_segments: How many segments the result has.
        name: Accepted for compatibility.

    Returns:
        ``[num_segments] + data.shape[segment_ids.rank:]``; zeros for segments without rows.

    Raises:
        InvalidArgumentError: a number not below ``num_segments``, or shapes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.math.unsorted_segment_sum([5.0, 1.0, 7.0], [1, 0, 1], 2).numpy()
        array([ 1., 12.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(unsorted_segment_sum, data, segment_ids, num_segments)
    return _Segments(data, segment_ids, num_segments, "UnsortedSegmentSum").reduced("add", 0)


def unsorted_segment_prod(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The product of the rows of each segment, 1 without rows; see ``unsorted_segment_sum``.

    Example:
        >>> import tfx as tf
        >>> tf.math.unsorted_segment_prod([5.0, 2.0, 7.0], [1, 0, 1], 2).numpy()
        array([ 2., 35.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(unsorted_segment_prod, data, segment_ids, num_segments)
    return _Segments(data, segment_ids, num_segments, "UnsortedSegmentProd").reduced("mul", 1)


def unsorted_segment_max(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The largest elements of each segment, the lowest number of the dtype without rows.

    See ``unsorted_segment_sum``. The gradient of a tie is shared evenly.

    Example:
        >>> import tfx as tf
        >>> tf.math.unsorted_segment_max([5.0, 2.0, 7.0], [1, 0, 1], 2).numpy()
        array([2., 7.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(unsorted_segment_max, data, segment_ids, num_segments)
    rows = _Segments(data, segment_ids, num_segments, "UnsortedSegmentMax")
    return rows.reduced("max", rows.data.dtype.min)


def unsorted_segment_min(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The smallest elements of each segment, the highest number of the dtype without rows.

    See ``unsorted_segment_sum``. The gradient of a tie is shared evenly.

    Example:
        >>> import tfx as tf
        >>> tf.math.unsorted_segment_min([5.0, 2.0, 7.0], [1, 0, 1], 2).numpy()
        array([2., 5.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(unsorted_segment_min, data, segment_ids, num_segments)
    rows = _Segments(data, segment_ids, num_segments, "UnsortedSegmentMin")
    return rows.reduced("min", rows.data.dtype.max)


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The mean of the rows of each segment, 0 without rows; see ``unsorted_segment_sum``.

    Integers are divided as ``tf.math.truediv`` divides them: the means are floats.

    Example:
        >>> import tfx as tf
        >>> tf.math.unsorted_segment_mean([5.0, 1.0, 7.0], [1, 0, 1], 2).numpy()
        array([1., 6.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(unsorted_segment_mean, data, segment_ids, num_segments)
    rows = _Segments(data, segment_ids, num_segments, "UnsortedSegmentMean")
    return truediv(rows.reduced("add", 0), rows.counts())


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sum of each segment over the root of how many rows it has.

    See ``unsorted_segment_sum``.

    Example:
        >>> import tfx as tf
        >>> tf.math.unsorted_segment_sqrt_n([5.0, 1.0, 3.0], [1, 0, 1], 2).numpy().round(3)
        array([1.   , 5.657], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(unsorted_segment_sqrt_n, data, segment_ids, num_segments)
    rows = _Segments(data, segment_ids, num_segments, "UnsortedSegmentSqrtN")
    return ox.Div(rows.reduced("add", 0), ox.Sqrt(rows.counts()))


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment, whose numbers are sorted.

    Args:
        data: Tensor of a number dtype.
        segment_ids: int32 or int64 vector, one number for each row, not negative, ascending. A
            number may be left out: its segment has no rows.
        name: Accepted for compatibility.

    Returns:
        ``[last number + 1] + data.shape[1:]``; zeros for segments without rows.

    Raises:
        InvalidArgumentError: numbers that are negative or not sorted, or not one for each row.

    Example:
        >>> import tfx as tf
        >>> tf.math.segment_sum([1.0, 2.0, 4.0], [0, 0, 1]).numpy()
        array([3., 4.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(segment_sum, data, _vector(segment_ids))
    return _sorted(data, segment_ids, Refusal.SEGMENT_SUM).reduced("add", 0)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The product of the rows of each segment, 1 without rows; see ``segment_sum``.

    Example:
        >>> import tfx as tf
        >>> tf.math.segment_prod([3.0, 2.0, 4.0], [0, 0, 1]).numpy()
        array([6., 4.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(segment_prod, data, _vector(segment_ids))
    return _sorted(data, segment_ids, Refusal.SEGMENT_PROD).reduced("mul", 1)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment, 0 without rows; see ``segment_sum``.

    Example:
        >>> import tfx as tf
        >>> tf.math.segment_mean([1.0, 2.0, 4.0], [0, 0, 1]).numpy()
        array([1.5, 4. ], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(segment_mean, data, _vector(segment_ids))
    rows = _sorted(data, segment_ids, Refusal.SEGMENT_MEAN)
    return ox.Div(rows.reduced("add", 0), rows.counts())


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The largest elements of each segment, 0 without rows; see ``segment_sum``.

    Example:
        >>> import tfx as tf
        >>> tf.math.segment_max([1.0, 2.0, 4.0], [0, 0, 1]).numpy()
        array([2., 4.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(segment_max, data, _vector(segment_ids))
    rows = _sorted(data, segment_ids, Refusal.SEGMENT_MAX)
    dtype = rows.data.dtype
    return rows.where_any(rows.reduced("max", -math.inf if dtype.is_floating else dtype.min))


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The smallest elements of each segment, 0 without rows; see ``segment_sum``.

    Example:
        >>> import tfx as tf
        >>> tf.math.segment_min([1.0, 2.0, 4.0], [0, 0, 1]).numpy()
        array([1., 4.], dtype=float32)
    """
    if rank_is_open(data, segment_ids):
        return _over_rows(segment_min, data, _vector(segment_ids))
    rows = _sorted(data, segment_ids, Refusal.SEGMENT_MIN)
    dtype = rows.data.dtype
    return rows.where_any(rows.reduced("min", math.inf if dtype.is_floating else dtype.max))


def _over_rows(function: Callable[..., Tensor], data: Any, segment_ids: Any, *more: Any) -> Tensor:
    """What a function gives for data whose axes behind those of the numbers became one."""
    x, ids = tensor(data), tensor(segment_ids)
    sizes, lead, rank = shape_vector(x), shape_vector(ids), rank_of(ids)
    if rank is None:
        ranks = ox.Shape(lead)
        first = ox.Slice(sizes, int64_constant([0]), ranks)
        tail = ox.Slice(sizes, ranks, int64_constant([INT64_MAX]))
    else:
        first, tail = shape_vector(x, 0, rank), shape_vector(x, rank)
    # Joined, so that vectors of different lengths are not broadcast.
    same = ox.Equal(concat_shape(first, lead), concat_shape(lead, first))
    ids = refused_unless(same, reshape_to(ids, int64_constant([-1])), Refusal.SEGMENT_ROWS)
    flat = reshape_to(x, concat_shape(product(lead), product(tail)))
    found = function(flat, ids, *more)
    return reshape_to(found, concat_shape(dimension(found, 0), tail))


def _vector(segment_ids: Any) -> Tensor:
    """Numbers of segments whose rank a run may have to tell, as a vector."""
    ids = tensor(segment_ids)
    if not rank_is_open(ids):
        return ids
    one = ox.Equal(ox.Size(ox.Shape(ids)), int64_constant(1))
    return refused_unless(one, reshape_to(ids, int64_constant([-1])), Refusal.SEGMENT_IDS)


class _Segments:
    """Rows and where each belongs.

    Attributes:
        data: ``[rows, ...]``.
    """

    def __init__(self, data: Any, segment_ids: Any, num_segments: Any, op: str) -> None:
        x, ids = tensor(data), tensor(segment_ids)
        require_dtype(x, x.dtype.is_numeric_compatible, op, "a number dtype")
        require_dtype(ids, ids.dtype in _IDS, f"segment_ids of {op}", "int32 or int64")
        rank = _lead(x, ids, op)
        self._op = op
        self._count = as_vector(counted(num_segments, "num_segments", op))
        self._tail = shape_vector(x, rank)
        # A vector of numbers, and rows.
        flat = product(shape_vector(ids))
        self.data = x if rank == 1 else reshape_to(x, concat_shape(flat, self._tail))
        ids = cast_to(ids, dtypes.int64)
        self._places = self._placed(ids if rank == 1 else reshape_to(ids, flat))

    def _placed(self, ids: Tensor) -> Tensor:
        """Coordinates of the rows: negative numbers become the row behind the last segment."""
        if isinstance(ids, EagerTensor) and isinstance(self._count, EagerTensor):
            count, view = int(self._count.view()[0]), ids.view()
            bad = np.flatnonzero(view >= count)
            if bad.size:
                raise InvalidArgumentError(
                    f"segment_ids[{bad[0]}] = {view[bad[0]]} is out of range [0, {count}) in "
                    f"{self._op}; give num_segments of at least {view.max() + 1}.",
                    op=self._op,
                )
            if not view.size or view.min() >= 0:
                return ox.Unsqueeze(ids, int64_constant([1]))
        # What is too large must stay so: the row behind the last is taken.
        beyond = ox.GreaterOrEqual(ids, self._count)
        ids = ox.Add(ids, cast_to(beyond, dtypes.int64))
        none = ox.Less(ids, int64_constant(0))
        ids = ox.Where(none, self._count, ids)
        return ox.Unsqueeze(ids, int64_constant([1]))

    def reduced(self, reduction: str, start: Any) -> Tensor:
        """A row for each segment."""
        return self._reduce(self.data, self._tail, reduction, start)

    def counts(self) -> Tensor:
        """Return the number of rows of each segment, at least 1, as a divisor."""
        found = self._numbers()
        if found.dtype.is_complex:  # which have no order
            real = cast_to(found, dtypes.float64)
            return cast_to(ox.Max(real, scalar_like(1, real)), found.dtype)
        return ox.Max(found, scalar_like(1, found))

    def where_any(self, reduced: Tensor) -> Tensor:
        """0 for segments without rows."""
        empty = ox.Equal(self._numbers(), scalar_like(0, self.data))
        return ox.Where(empty, scalar_like(0, reduced), reduced)

    def _numbers(self) -> Tensor:
        ones = filled(dimension(self._places, 0), 1, self.data.dtype)
        found = self._reduce(ones, int64_constant([]), "add", 0)
        rank = rank_of(self.data)
        assert rank is not None
        return ox.Unsqueeze(found, int64_constant(range(1, rank))) if rank > 1 else found

    def _reduce(self, rows: Tensor, tail: Tensor, reduction: str, start: Any) -> Tensor:
        one = int64_constant([1])
        lines = ox.Add(self._count, one)
        empty = filled(concat_shape(lines, tail), start, rows.dtype)
        found = ox.ScatterND(empty, self._places, rows, reduction=reduction)
        return ox.Slice(found, int64_constant([0]), self._count, int64_constant([0]))


def _lead(x: Tensor, ids: Tensor, op: str) -> int:
    """Return the rank of the segment numbers, after checking that it fits the data."""
    have, lead = raw_shape(x), raw_shape(ids)
    assert have is not None and lead is not None
    if len(lead) > len(have) or any(
        isinstance(a, int) and isinstance(b, int) and a != b
        for a, b in zip(have, lead, strict=False)
    ):
        raise InvalidArgumentError(
            f"data.shape = {describe(x)} does not start with segment_ids.shape = {describe(ids)} "
            f"in {op}; expected one number for each row.",
            op=op,
        )
    return len(lead)


def chosen_rows(kind: str, data: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """The sum, mean or ``sqrt_n`` of rows of sorted segments, of as many as are asked for.

    Args:
        kind: ``"sum"``, ``"mean"`` or ``"sqrt_n"``.
        data: Tensor of a number dtype.
        segment_ids: int32 or int64 vector, increasing from 0 on.
        num_segments: How many segments the result has; None: up to the last one.
    """
    if rank_is_open(data, segment_ids):
        given = (data, _vector(segment_ids), num_segments)
        return _over_rows(functools.partial(chosen_rows, kind), *given)
    rows = _sorted(data, segment_ids, Refusal.SEGMENT_SUM, num_segments)
    total = rows.reduced("add", 0)
    if kind == "sum":
        return total
    return ox.Div(total, rows.counts() if kind == "mean" else ox.Sqrt(rows.counts()))


def _sorted(data: Any, segment_ids: Any, reason: Refusal, num_segments: Any = None) -> _Segments:
    """Segments numbered in order, by default as many as the last number says."""
    op = reason.op
    ids = tensor(segment_ids)
    require_dtype(ids, ids.dtype in _IDS, f"segment_ids of {op}", "int32 or int64")
    if rank_of(ids) not in (1, None):
        raise InvalidArgumentError(
            f"segment_ids should be a vector; got shape {describe(ids)} in {op}.", op=op
        )
    if isinstance(ids, EagerTensor):
        view = ids.view()
        if view.size and (view[0] < 0 or (np.diff(view) < 0).any()):
            raise InvalidArgumentError(
                f"segment ids are not increasing from 0 on: got {view.tolist()[:20]} in {op}; sort "
                "them, or use the unsorted operation of that name.",
                op=op,
            )
    ids = cast_to(ids, dtypes.int64)
    if isinstance(ids, SymbolicTensor):
        zero = int64_constant([0])
        before = ox.Concat(zero, ids, axis=0)
        before = ox.Slice(before, zero, int64_constant([-1]))
        ids = refused_unless(ox.GreaterOrEqual(ids, before), ids, reason)
    if num_segments is not None:
        return _Segments(data, ids, num_segments, op)
    # The last one; -1 in front of it, for no rows at all.
    end = ox.Slice(ids, int64_constant([-1]), int64_constant([INT64_MAX]))
    last = ox.ReduceMax(ox.Concat(int64_constant([-1]), end, axis=0))
    count = ox.Add(ox.Reshape(last, int64_constant([1])), int64_constant([1]))
    return _Segments(data, ids, count, op)
