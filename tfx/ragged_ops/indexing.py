"""``rows[...]``: parts of a ragged tensor.

A slice along a ragged axis is taken of each row: where it begins and ends is computed for all rows
at once, and the values are gathered.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import as_int64, cast_to, is_tensor_like, static_int
from tfx.ragged_ops import partition
from tfx.ragged_ops.arrangement import expand_dims
from tfx.ragged_ops.factories import joined
from tfx.ragged_ops.masks import boolean_mask
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.ragged_ops.rows import gather_rows, rows_between

_ALL = slice(None, None, None)


def part_of(x: RaggedTensor, key: Any) -> Any:
    """A part of a ragged tensor.

    Args:
        x: The ragged tensor.
        key: An integer, slice, ``...``, ``tf.newaxis``, or several of them.

    Raises:
        ValueError: a number for an axis whose rows differ in length.
        IndexError: a row that there is not.
        TypeError: another key.
    """
    if isinstance(key, RaggedTensor) or (is_tensor_like(key) and key.dtype is dtypes.bool):
        return boolean_mask(x, key)
    keys = list(key) if isinstance(key, tuple | list) else [key]
    return _outer(x, _written_out(keys, x))


def _written_out(keys: list[Any], x: Any) -> list[Any]:
    """The keys with slices of everything in the place of an ellipsis."""
    places = [i for i, k in enumerate(keys) if k is Ellipsis]
    if not places:
        return keys
    if len(places) > 1:
        raise InvalidArgumentError("Only one ellipsis is allowed.")
    rank = x.shape.rank
    if rank is None:
        raise InvalidArgumentError(f"An ellipsis needs a ragged tensor of known rank; got {x!r}.")
    missing = rank - sum(k is not None and k is not Ellipsis for k in keys)
    return [*keys[: places[0]], *[_ALL] * max(missing, 0), *keys[places[0] + 1 :]]


def _outer(x: Any, keys: list[Any]) -> Any:
    """A part whose first key is for the rows themselves."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[tuple(keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        return expand_dims(_outer(x, rest), 0)
    if isinstance(first, slice):
        return _inner(_rows(x, first), rest)
    return _outer(_row(x, first), rest)


def _row(x: RaggedTensor, key: Any) -> Any:
    """One row."""
    index = _number(key)
    count = partition.row_count(x.row_splits)
    known, size = static_int(index), static_int(count)
    if known is not None and size is not None and not -size <= known < size:
        raise IndexError(f"Row key {known} out of bounds")
    if known is None or known < 0:
        index = ox.Where(ox.Less(index, int64_constant(0)), ox.Add(index, count), index)
    splits, zero = partition.wide(x.row_splits), int64_constant([0])
    places = ox.Unsqueeze(index, zero)
    start = ox.Gather(splits, places, axis=0)
    limit = ox.Gather(splits, ox.Add(places, int64_constant(1)), axis=0)
    return rows_between(x.values, start, limit, x._uniform[0])


def _number(key: Any) -> Tensor:
    number = hasattr(key, "__index__") and not isinstance(key, bool)
    if not number and not is_tensor_like(key):
        raise TypeError(f"Invalid key {key!r} for indexing a RaggedTensor.")
    found = as_int64(key)
    if found.shape.rank not in (None, 0):
        raise TypeError(f"Only a scalar can be an index of a RaggedTensor; got {key!r}.")
    return found


def _rows(x: RaggedTensor, key: slice) -> RaggedTensor:
    """Some of the rows."""
    if key == _ALL:
        return x
    count = partition.row_count(x.row_splits)
    start, length, step = _resolved(key, count)
    places = ox.Add(start, ox.Mul(partition.counted(length), step))
    found: RaggedTensor = gather_rows(x, places)
    return found


def _resolved(key: slice, sizes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where a slice of rows of these sizes begins, how many it has, and the step."""
    step = as_int64(1 if key.step is None else key.step)
    known = static_int(step)
    if known is None:
        raise InvalidArgumentError(
            "The step of a slice of a RaggedTensor must be known; got a tensor."
        )
    if known == 0:
        raise InvalidArgumentError("slice step cannot be zero")
    zero, one = int64_constant(0), int64_constant(1)
    # As Python's slice.indices: the least and the greatest place, for either direction.
    low, high = (zero, sizes) if known > 0 else (ox.Sub(zero, one), ox.Sub(sizes, one))

    def bound(value: Any, otherwise: Tensor) -> Tensor:
        if value is None:
            return otherwise
        given = as_int64(value)
        given = ox.Where(ox.Less(given, zero), ox.Add(given, sizes), given)
        return ox.Min(ox.Max(given, low), high)

    start = bound(key.start, low if known > 0 else high)
    stop = bound(key.stop, high if known > 0 else low)
    start = ox.Add(start, ox.Mul(sizes, zero))  # one for each row
    distance = ox.Sub(stop, start) if known > 0 else ox.Sub(start, stop)
    pace = int64_constant(abs(known))
    length = ox.Div(ox.Add(ox.Max(distance, zero), int64_constant(abs(known) - 1)), pace)
    return start, length, step


def _inner(x: Any, keys: list[Any]) -> Any:
    """A part of each row."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[(_ALL, *keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        return expand_dims(_inner(x, rest), 1)
    if not isinstance(first, slice):
        return _column(x, first, rest)
    if first != _ALL:
        splits = partition.wide(x.row_splits)
        start, lengths, step = _resolved(first, partition.lengths_of(splits))
        places, made = partition.spans(ox.Add(partition.starts_of(splits), start), lengths, step)
        values = gather_rows(x.values, places)
        x = joined(values, cast_to(made, x.row_splits.dtype), _known_length(first, x._uniform[0]))
    return x.with_values(_inner(x.values, rest))


def _known_length(key: slice, size: int | None) -> int | None:
    parts = (key.start, key.stop, key.step)
    if size is None or not all(p is None or isinstance(p, int) for p in parts):
        return None
    return len(range(*key.indices(size)))


def _column(x: RaggedTensor, key: Any, rest: list[Any]) -> Any:
    """One value of each row, which all must have."""
    size = x._uniform[0]
    if size is None:
        raise InvalidArgumentError("Cannot index into an inner ragged dimension.")
    index = _number(key)
    known = static_int(index)
    if known is not None and not -size <= known < size:
        raise IndexError(f"Column key {known} out of bounds")
    index = ox.Where(ox.Less(index, int64_constant(0)), ox.Add(index, int64_constant(size)), index)
    found = gather_rows(x.values, ox.Add(partition.starts_of(partition.wide(x.row_splits)), index))
    return _inner(found, rest)
