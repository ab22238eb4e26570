"""Ragged tensors put together and rearranged: ``concat``, ``stack``, ``reverse``, ``tile``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array import concat as dense_concat
from tfx.ops.array import reshape as dense_reshape
from tfx.ops.array import tile as dense_tile
from tfx.ops.array import transpose as dense_transpose
from tfx.ops.array.concat import split as split_
from tfx.ops.common.arguments import as_int64, cast_to, static_ints
from tfx.ops.common.arguments import tensor as tensor_
from tfx.ops.common.shapes import concat_shape, reshape_to, shape_vector
from tfx.ragged_ops import partition
from tfx.ragged_ops.conversion import ragged_of
from tfx.ragged_ops.factories import (
    from_uniform_row_length,
    joined,
    require_same_splits_dtype,
)
from tfx.ragged_ops.measures import axis_of, rank_of
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from tfx.ragged_ops.rows import gather_rows, rows_between


def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """Ragged and dense tensors one behind the other along an axis."""
    if isinstance(values, RaggedTensor):
        return values
    parts = _parts(values)
    if len(parts) == 1:
        return parts[0]
    ranks = {x.shape.rank for x in parts} - {None}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"Inputs must have identical ranks; got {sorted(ranks)}.")
    return _joined(parts, axis_of(axis, _with_rank(parts), "concat"))


def _parts(values: Any) -> list[Any]:
    items = [as_ragged_or_tensor(x) for x in values]
    if not items:
        raise ValueError("rt_inputs may not be empty.")
    require_same_splits_dtype(*items)
    return items


def _with_rank(parts: Sequence[Any]) -> Any:
    return next((x for x in parts if x.shape.rank is not None), parts[0])


def _joined(parts: Sequence[Any], axis: int) -> Any:
    if not any(isinstance(x, RaggedTensor) for x in parts):
        if axis == 0:
            return dense_concat.concat(list(parts), 0)
        return dense_concat.concat(list(parts), axis)
    kind = require_same_splits_dtype(*parts)
    most = max(x.ragged_rank for x in parts if isinstance(x, RaggedTensor))
    if axis > 1:
        parts = [ragged_of(x, 1, kind) for x in parts]
        first = parts[0]
        splits = first.row_splits
        for x in parts[1:]:
            holds = ox.Equal(x.row_splits, splits)
            message = f"Inputs must have identical row splits to be joined along axis {axis}."
            splits = partition.required(holds, splits, Refusal.ROW_LENGTHS, message)
        return joined(_joined([x.values for x in parts], axis - 1), splits, first._uniform[0])
    parts = [ragged_of(x, most, kind) for x in parts]
    behind = _behind(parts)
    return behind if axis == 0 else _side_by_side(parts, behind)


def _behind(parts: Sequence[Any]) -> Any:
    """Along the first axis: parts of one ragged rank."""
    if not isinstance(parts[0], RaggedTensor):
        return dense_concat.concat(list(parts), 0)
    splits, offset = [], None
    for x in parts:
        own = x.row_splits
        if offset is not None:
            own = ox.Add(partition.limits_of(own), offset)
        splits.append(own)
        offset = ox.Slice(own, int64_constant([-1]), int64_constant([2**63 - 1]))
        if len(splits) > 1:  # without rows there is no end of their own
            whole = ox.Concat(splits[-2], own, axis=0)
            offset = ox.Slice(whole, int64_constant([-1]), int64_constant([2**63 - 1]))
    values = _behind([x.values for x in parts])
    return joined(values, ox.Concat(*splits, axis=0))


def _side_by_side(parts: Sequence[Any], behind: Any) -> Any:
    """Along the second axis: the rows of one number behind one another, then made one."""
    counts = [partition.row_count(x.row_splits) for x in parts]
    count = counts[0]
    for other in counts[1:]:
        message = "Inputs must have the same number of rows to be joined along axis 1."
        count = partition.required(ox.Equal(other, count), count, Refusal.ROW_LENGTHS, message)
    many = len(parts)
    numbers = partition.counted(ox.Mul(count, int64_constant(many)))
    row, part = ox.Div(numbers, ox.ints(many)), ox.Mod(numbers, ox.ints(many))
    woven = gather_rows(behind, ox.Add(ox.Mul(part, count), row))
    splits = ox.Slice(
        woven.row_splits,
        int64_constant([0]),
        int64_constant([2**63 - 1]),
        int64_constant([0]),
        int64_constant([many]),
    )
    ends = [x.row_splits.shape[0] for x in parts]
    splits.set_shape([next((n for n in ends if n is not None), None)])
    return joined(woven.values, splits)


def stack(values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Ragged and dense tensors of one rank along a new axis."""
    if isinstance(values, RaggedTensor):
        return values
    parts = _parts(values)
    rank = _with_rank(parts).shape.rank
    if rank == 0 or (rank == 1 and axis not in (0, -2)):
        return dense_concat.stack(parts, axis)
    kind = require_same_splits_dtype(*parts)
    index = axis if axis >= 0 and rank is None else axis_of(axis, _Longer(rank), "stack")
    if index <= 1 or any(isinstance(x, RaggedTensor) for x in parts):
        # Behind one another, the rows of dense ones may differ in length, too.
        least = 2 if index == 0 and rank is not None and rank > 1 else 1
        apart = [expand_dims(x, index) for x in parts]
        return _joined([ragged_of(x, least, kind) for x in apart], index)
    return dense_concat.stack(parts, index)


class _Longer:
    """Stands for a tensor of one axis more."""

    def __init__(self, rank: int | None) -> None:
        self.shape = TensorShape(None) if rank is None else TensorShape([None] * (rank + 1))


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """A new axis of size 1."""
    x = as_ragged_or_tensor(input)
    if not isinstance(x, RaggedTensor):
        return dense_reshape.expand_dims(x, axis)
    index = axis
    if not isinstance(axis, int) or axis < 0:
        index = axis_of(axis, _Longer(rank_of(x, "expand_dims")), "expand_dims")
    elif x.shape.rank is not None:
        index = axis_of(axis, _Longer(x.shape.rank), "expand_dims")
    if index == 0:
        count = x.shape[0] if x.shape.rank is not None else None
        rows = x.nrows() if count is None else count
        made = from_uniform_row_length(x, rows, nrows=1, validate=False)
        return joined(x, made.row_splits, count)
    if index == 1:
        lengths = from_uniform_row_length(x, 1, nrows=x.nrows(), validate=False)
        return joined(x, lengths.row_splits, 1)
    return x.with_values(expand_dims(x.values, index - 1))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """The same without axes of size 1."""
    x = as_ragged_or_tensor(input)
    if not isinstance(x, RaggedTensor):
        return dense_reshape.squeeze(x, axis)
    if axis is None:
        axes = [i for i, n in enumerate(x.shape) if n == 1]
    else:
        given = axis if isinstance(axis, list | tuple) else [axis]
        axes = [axis_of(a, x, "squeeze") for a in given]
    found: Any = x
    for index in sorted(set(axes), reverse=True):
        found = _squeezed(found, index)
    return found


def _squeezed(x: Any, axis: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return dense_reshape.squeeze(x, [axis])
    if axis > 1:
        return x.with_values(_squeezed(x.values, axis - 1))
    splits = x.row_splits
    lengths = partition.lengths_of(splits) if axis else partition.row_count(splits)
    holds = ox.Equal(lengths, ox.like(1, lengths))
    message = f"squeeze: axis {axis} has not size 1 everywhere."
    values = x.values
    if axis == 0:
        first = ox.Slice(splits, int64_constant([0]), int64_constant([1]))
        zero = partition.required(holds, partition.wide(first), Refusal.ROW_LENGTHS, message)
    else:
        starts = partition.wide(partition.starts_of(splits))
        zero = partition.required(holds, starts, Refusal.ROW_LENGTHS, message)
    if isinstance(zero, Tensor) and not isinstance(values, RaggedTensor) and axis == 1:
        return ox.Gather(values, zero, axis=0) if not _is_eager(zero) else values
    return values


def _is_eager(x: Any) -> bool:
    return isinstance(x, EagerTensor)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """The same with axes turned round."""
    x = as_ragged_or_tensor(tensor)
    given = axis if isinstance(axis, list | tuple) else static_ints(as_int64(axis))
    if given is None:
        raise InvalidArgumentError(
            "The axis of reverse of a ragged tensor must be known; got a tensor."
        )
    for a in given:
        x = _reversed(x, axis_of(a, x, "reverse"))
    return x


def _reversed(x: Any, axis: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return dense_transpose.reverse(x, [axis])
    if axis > 1:
        return x.with_values(_reversed(x.values, axis - 1))
    splits, one = partition.wide(x.row_splits), int64_constant(1)
    if axis == 0:
        last = ox.Sub(partition.row_count(splits), one)
        return gather_rows(x, ox.Sub(last, partition.counted(partition.row_count(splits))))
    ends = ox.Sub(partition.limits_of(splits), one)
    places, _ = partition.spans(ends, partition.lengths_of(splits), step=-1)
    return x.with_values(gather_rows(x.values, places))


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str | None = None,
) -> list[Any]:
    """``tf.split`` of a ragged tensor: of its rows, or of axes behind the ragged ones."""
    place = axis_of(axis, value, "split")
    if place:
        if place <= value.ragged_rank:
            raise InvalidArgumentError(
                f"axis ({axis}) of tf.split must be 0, or behind the ragged axes; got a ragged "
                f"tensor with {value.ragged_rank} of them."
            )
        inner = split_(value.flat_values, num_or_size_splits, place - value.ragged_rank, num)
        return [value.with_flat_values(part) for part in inner]
    sizes = _sizes_of_parts(value.shape[0], num_or_size_splits)
    ends = list(itertools.accumulate(sizes))
    return [
        rows_between(value, int64_constant([end - size]), int64_constant([end]), size)
        for size, end in zip(sizes, ends, strict=True)
    ]


def _sizes_of_parts(count: int | None, wanted: Any) -> list[int]:
    """How many rows each part gets.

    Raises:
        ValueError: the number of rows is not known where it is needed.
        InvalidArgumentError: the sizes do not add up.
    """
    given = static_ints(tensor_(wanted))
    if given is None or (count is None and (-1 in given or tensor_(wanted).shape.rank == 0)):
        raise InvalidArgumentError(
            "tf.split of a ragged tensor needs sizes, and a number of rows, that are known while "
            f"tracing; got {wanted!r} for {count} rows."
        )
    if tensor_(wanted).shape.rank == 0:
        (parts,) = given
        assert count is not None
        if parts < 1 or count % parts:
            raise InvalidArgumentError(
                f"Cannot split {count} rows of a ragged tensor into {parts} parts of one size."
            )
        return [count // parts] * parts
    if -1 in given and count is not None:
        rest = count - sum(size for size in given if size != -1)
        given = [rest if size == -1 else size for size in given]
    if min(given, default=0) < 0 or (count is not None and sum(given) != count):
        raise InvalidArgumentError(
            f"The sizes {given} of the parts do not add up to the {count} rows."
        )
    return list(given)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """The same repeated along each axis."""
    x = as_ragged_or_tensor(input)
    times = as_int64(multiples)
    counts = [
        ox.Squeeze(ox.Slice(times, int64_constant([i]), int64_constant([i + 1])), ox.ints([0]))
        for i in range(x.ragged_rank + 1)
    ]
    known = static_ints(times)
    inner = ox.Slice(times, int64_constant([x.ragged_rank + 1]), int64_constant([2**63 - 1]))
    rows = ox.Concat(int64_constant([1]), inner, axis=0)
    flat = x.flat_values
    if known is None or any(n != 1 for n in known[x.ragged_rank + 1 :]):
        flat = dense_tile.tile(flat, rows)
    found = _tiled(x.with_flat_values(flat), counts, known)
    count = partition.row_count(found.row_splits)
    return gather_rows(
        found, ox.Mod(partition.counted(ox.Mul(count, counts[0])), ox.Max(count, ox.ints(1)))
    )


def _tiled(x: Any, counts: Sequence[Tensor], known: list[int] | None) -> Any:
    """Repeated along the axes behind the first one."""
    if not isinstance(x, RaggedTensor):
        return x
    values = _tiled(x.values, counts[1:], None if known is None else known[1:])
    splits = partition.wide(x.row_splits)
    lengths = partition.lengths_of(splits)
    made = partition.splits_of(ox.Mul(lengths, counts[1]))
    ids = partition.row_ids(made)
    own = ox.Max(ox.Gather(lengths, ids, axis=0), int64_constant(1))
    offsets = ox.Mod(partition.positions(made, ids), own)
    places = ox.Add(ox.Gather(partition.starts_of(splits), ids, axis=0), offsets)
    uniform = x._uniform[0]
    size = None if uniform is None or known is None else uniform * known[1]
    return joined(gather_rows(values, places), cast_to(made, x.row_splits.dtype), size)


def merge_dims(x: RaggedTensor, outer_axis: int, inner_axis: int) -> Any:
    """See ``RaggedTensor.merge_dims``."""
    outer, inner = axis_of(outer_axis, x, "merge_dims"), axis_of(inner_axis, x, "merge_dims")
    if outer > inner:
        raise InvalidArgumentError(
            f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis "
            f"({inner_axis})"
        )
    return _merged(x, outer, inner)


def _merged(x: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return x
    if not isinstance(x, RaggedTensor):
        shape = concat_shape(
            shape_vector(x, 0, outer), int64_constant([-1]), shape_vector(x, inner + 1)
        )
        return reshape_to(x, shape)
    if outer > 1:
        return x.with_values(_merged(x.values, outer - 1, inner - 1))
    if outer == 0:
        return _merged(x.values, 0, inner - 1)
    values = x.values
    if not isinstance(values, RaggedTensor):  # the rows of a dense axis
        count = shape_vector(values, 1, 2)
        splits = cast_to(ox.Mul(partition.wide(x.row_splits), count), x.row_splits.dtype)
        flat = reshape_to(values, concat_shape(ox.ints([-1]), shape_vector(values, 2)))
        return _merged(joined(flat, splits), 1, inner - 1)
    splits = ox.Gather(values.row_splits, partition.wide(x.row_splits), axis=0)
    sizes = (x._uniform[0], values._uniform[0])
    size = None if sizes[0] is None or sizes[1] is None else sizes[0] * sizes[1]
    return _merged(joined(values.values, splits, size), 1, inner - 1)
