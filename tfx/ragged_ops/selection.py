"""What is taken out of ragged tensors: ``gather``, ``where`` and its places."""

from __future__ import annotations

from typing import Any

from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array import gather as dense_gather
from tfx.ops.array import partition as dense_partition
from tfx.ops.array import where as dense_where
from tfx.ops.array.shape import shape as dense_shape
from tfx.ops.math.comparison import equal
from tfx.ragged_ops import partition
from tfx.ragged_ops.arrangement import expand_dims, squeeze, tile
from tfx.ragged_ops.conversion import from_tensor, ragged_of
from tfx.ragged_ops.elementwise import elementwise
from tfx.ragged_ops.factories import from_uniform_row_length, joined, value_count
from tfx.ragged_ops.masks import boolean_mask
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from tfx.ragged_ops.rows import gather_rows


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """Slices of a ragged or dense tensor at the places of a ragged or dense one."""
    params, indices = as_ragged_or_tensor(params), as_ragged_or_tensor(indices)
    place = batch_dims if axis is None else axis
    if batch_dims < 0 and indices.shape.rank is not None:
        batch_dims += indices.shape.rank
    if batch_dims:
        if place != batch_dims:
            raise UnimplementedError(_AXIS)
        return _by_batch(params, indices, batch_dims)
    if place < 0:
        if params.shape.rank is None:
            raise InvalidArgumentError(f"tf.gather along axis {place} needs params of known rank.")
        place += params.shape.rank
    return _along(params, indices, place)


_AXIS = (
    "tf.gather of ragged tensors with batch_dims takes the axis behind the batch dimensions only: "
    "leave axis out, or use x.to_tensor()."
)


def _along(params: Any, indices: Any, axis: int) -> Any:
    """Slices along an axis: of each row where that is not the first one."""
    if axis == 0:
        return _gathered(params, indices)
    if isinstance(params, RaggedTensor):
        if axis > params.ragged_rank:
            inner = _along(params.flat_values, indices, axis - params.ragged_rank)
            return params.with_flat_values(inner)
    elif isinstance(indices, RaggedTensor):
        params = from_tensor(params, ragged_rank=axis, row_splits_dtype=indices.row_splits.dtype)
    else:
        return dense_gather.gather(params, indices, axis=axis)
    if axis > 1:
        return params.with_values(_along(params.values, indices, axis - 1))
    return _of_each_row(params, indices)


def _of_each_row(params: RaggedTensor, indices: Any) -> Any:
    """The same indices in each row."""
    splits = partition.wide(params.row_splits)
    ragged = isinstance(indices, RaggedTensor)
    inside = partition.wide(indices.flat_values if ragged else indices)
    if inside.shape.rank is None:
        raise InvalidArgumentError("tf.gather of a ragged tensor needs indices of known rank.")
    behind = ox.ints(list(range(1, inside.shape.rank + 1)))
    starts, lengths = partition.starts_of(splits), partition.lengths_of(splits)
    inside = ox.Unsqueeze(inside, ox.ints([0]))
    inside = _checked(inside, ox.Unsqueeze(lengths, behind))
    places = ox.Add(ox.Unsqueeze(starts, behind), inside)
    if not ragged:
        return _gathered(params.values, places)
    rows = partition.row_count(splits)
    once = ox.Concat(
        ox.Unsqueeze(rows, ox.ints([0])), int64_constant([1] * (indices.shape.rank - 1)), axis=0
    )
    inner = ox.Slice(ox.Shape(places), ox.ints([2]), ox.ints([2**63 - 1]))
    flat = ox.Reshape(places, ox.Concat(int64_constant([-1]), inner, axis=0))
    copies = tile(indices, once).with_flat_values(_gathered(params.values, flat))
    known = indices.shape[0]
    size = partition.row_count(partition.wide(indices.row_splits)) if known is None else known
    return from_uniform_row_length(copies, size, nrows=rows)


def _gathered(params: Any, indices: Any) -> Any:
    if isinstance(indices, RaggedTensor):
        return indices.with_values(_gathered(params, indices.values))
    if not isinstance(params, RaggedTensor):
        return dense_gather.gather(params, indices)
    rank = indices.shape.rank
    if rank is None:
        raise InvalidArgumentError("tf.gather of a ragged tensor needs indices of known rank.")
    if rank == 0:
        return params[indices]
    if rank > 1:
        rows = from_tensor(indices)
        return joined(_gathered(params, rows.values), rows.row_splits)
    found = gather_rows(params, _checked(partition.wide(indices), value_count(params)))
    # TensorFlow knows no more of the rows, even where all have one length.
    return RaggedTensor(found.flat_values, found.nested_row_splits, (None,) * found.ragged_rank)


def _checked(places: Tensor, count: Tensor, op: str = "tf.gather") -> Tensor:
    """Places that must be there."""
    fine = ox.And(ox.GreaterOrEqual(places, int64_constant(0)), ox.Less(places, count))
    message = f"{op}: indices {places!r} are not all in [0, {count!r})."
    return partition.required(fine, places, Refusal.ROW_PARTITION, message)


def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """Elements or slices of a ragged tensor at places that are given by several indices."""
    if batch_dims or bad_indices_policy not in ("", "ERROR"):
        raise UnimplementedError(
            "tf.gather_nd of ragged tensors takes neither batch_dims nor a bad_indices_policy but "
            f"'ERROR'; got {batch_dims} and {bad_indices_policy!r}. Use tf.gather with batch_dims."
        )
    x, places = as_ragged_or_tensor(params), as_ragged_or_tensor(indices)
    if isinstance(places, RaggedTensor):
        if places.flat_values.shape.rank == 1:
            raise InvalidArgumentError(
                "tf.gather_nd: the last axis of the indices must not be ragged."
            )
        return places.with_flat_values(gather_nd(x, places.flat_values))
    depth = places.shape[-1] if places.shape.rank else None
    if depth is None:
        raise InvalidArgumentError(
            "tf.gather_nd of ragged tensors needs indices whose last axis is known; got shape "
            f"{places.shape}."
        )
    if depth == 0:
        raise UnimplementedError(
            f"tf.gather_nd of ragged tensors needs an index or more; got indices of shape "
            f"{places.shape}, which would repeat the whole tensor. Use tf.stack([x] * count)."
        )
    at = partition.wide(places[..., 0])
    for i in range(1, depth):
        if not isinstance(x, RaggedTensor):
            rest = ox.Concat(
                ox.Unsqueeze(at, int64_constant([-1])), partition.wide(places[..., i:]), axis=-1
            )
            return dense_gather.gather_nd(x, rest)
        splits = partition.wide(x.row_splits)
        at = _checked(at, partition.row_count(splits), "tf.gather_nd")
        column = partition.wide(places[..., i])
        rows = ox.Gather(partition.lengths_of(splits), at)
        at, x = ox.Add(ox.Gather(splits, at), _checked(column, rows, "tf.gather_nd")), x.values
    return _gathered(x, at)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Any]:
    """The rows or elements of a ragged tensor in several ones, by a number for each."""
    dense_partition.check_count(num_partitions)
    numbers = _numbers(as_ragged_or_tensor(partitions), data, num_partitions)
    found = []
    for i in range(num_partitions):
        if isinstance(numbers, RaggedTensor):
            part = boolean_mask(data, elementwise(equal, numbers, i))
            for _ in range(numbers.ragged_rank):
                part = part.values
        else:
            part = boolean_mask(data, equal(numbers, i))
        found.append(part)
    return found


def _numbers(numbers: Any, data: Any, count: int) -> Any:
    """Numbers of parts that are there, one for each row of the data."""
    if isinstance(numbers, RaggedTensor):
        return numbers.with_flat_values(_of_parts(numbers.flat_values, count))
    if numbers.shape.rank == 0:
        raise InvalidArgumentError(
            "tf.dynamic_partition of ragged tensors needs partitions for the rows or for all "
            f"elements; got a scalar, {numbers!r}."
        )
    x = ragged_of(as_ragged_or_tensor(data), 1)
    rows, given = partition.row_count(partition.wide(x.row_splits)), dense_shape(numbers)[0]
    message = f"tf.dynamic_partition: partitions {numbers!r} are not one for each of {rows!r} rows."
    fits = ox.Equal(rows, partition.wide(given))
    return partition.required(fits, _of_parts(numbers, count), Refusal.PARTITIONS, message)


def _of_parts(numbers: Tensor, count: int) -> Tensor:
    wide = partition.wide(numbers)
    fine = ox.And(ox.GreaterOrEqual(wide, int64_constant(0)), ox.Less(wide, int64_constant(count)))
    message = f"tf.dynamic_partition: partitions {numbers!r} are not all in [0, {count})."
    return partition.required(fine, numbers, Refusal.PARTITIONS, message)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Values of each row at the places of the same row."""
    return _by_batch(as_ragged_or_tensor(params), as_ragged_or_tensor(indices), 1)


def _by_batch(params: Any, indices: Any, batch_dims: int) -> Any:
    if not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
        return dense_gather.gather(params, indices, batch_dims=batch_dims)
    if indices.shape.rank == batch_dims:  # one of each
        apart = indices.shape.rank
        return squeeze(_by_batch(params, expand_dims(indices, apart), batch_dims), batch_dims)
    params = ragged_of(params, 1)
    places = ragged_of(indices, 1)
    if batch_dims > 1:
        return params.with_values(_by_batch(params.values, places.values, batch_dims - 1))
    splits = partition.wide(params.row_splits)
    if isinstance(places.values, RaggedTensor) or places.values.shape.rank != 1:
        raise UnimplementedError(
            "tf.gather with batch_dims takes indices of one axis behind the batch dimensions where "
            "params or indices are ragged."
        )
    ids = partition.row_ids(places.row_splits)
    inside = partition.wide(places.values)
    lengths = ox.Gather(partition.lengths_of(splits), ids, axis=0)
    inside = _checked(inside, lengths)
    starts = ox.Gather(partition.starts_of(splits), ids, axis=0)
    return places.with_values(gather_rows(params.values, ox.Add(starts, inside)))


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Values of one or the other; with a condition alone, where it holds."""
    if (x is None) != (y is None):
        raise InvalidArgumentError("x and y must both be non-None or both be None.")
    if x is not None:
        return elementwise(dense_where.where, condition, x, y)
    condition = as_ragged_or_tensor(condition)
    found = dense_where.where(condition.flat_values)
    rows = ox.Slice(found, int64_constant([0]), int64_constant([1]), int64_constant([1]))
    places = ox.Squeeze(rows, int64_constant([1]))
    columns = [ox.Slice(found, ox.ints([1]), ox.ints([2**63 - 1]), ox.ints([1]))]
    side = int64_constant([1])
    for splits in reversed(condition.nested_row_splits):
        own = partition.wide(splits)
        ids = ox.Gather(partition.row_ids(own), places, axis=0)
        offsets = ox.Sub(places, ox.Gather(own, ids, axis=0))
        columns.insert(0, ox.Unsqueeze(offsets, side))
        places = ids
    return ox.Concat(ox.Unsqueeze(places, side), *columns, axis=1)
