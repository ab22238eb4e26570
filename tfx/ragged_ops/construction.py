"""``tf.ragged``: ragged tensors from nested lists, ranges, stacks and row numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes, nest
from tfx.core.dtypes import DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import constant as dense_constant
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.sort import argsort
from tfx.ops.common.arguments import as_int64, cast_to
from tfx.ops.common.shapes import reshape_to
from tfx.ragged_ops import arrangement, partition
from tfx.ragged_ops.factories import from_value_rowids, joined
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from tfx.ragged_ops.rows import gather_rows


def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> Any:
    """A ragged tensor of nested lists.

    Args:
        pylist: Nested lists, tuples and arrays; scalars stand equally deep.
        dtype: Of the values; None: that of the scalars.
        ragged_rank: How many axes are ragged; None: all but the first, less those of
            ``inner_shape``.
        inner_shape: The shape of each value; None: scalars, or what ``ragged_rank`` leaves.
        name: Accepted for compatibility.
        row_splits_dtype: int32 or int64.

    Returns:
        A ragged tensor; a tensor where no axis is ragged.

    Raises:
        ValueError: scalars that do not stand equally deep, or ``ragged_rank`` and ``inner_shape``
            that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.ragged.constant([[1, 2], [], [3]])
        <tf.RaggedTensor [[1, 2], [], [3]]>
    """
    items = _plain(pylist)
    if not isinstance(items, list):
        if ragged_rank is not None or inner_shape:
            raise InvalidArgumentError(
                f"Invalid pylist={pylist!r}: it is a scalar, so ragged_rank and inner_shape must "
                "not be given."
            )
        return dense_constant(items, dtype)
    scalars, depth = _depth_of_scalars(items), _depth(items)
    if scalars is not None:
        if depth > scalars:
            raise InvalidArgumentError(
                f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value "
                "nesting"
            )
        depth = scalars
    shape = None if inner_shape is None else list(inner_shape)
    if scalars is None:
        depth = max(depth, (ragged_rank or 0) + 1 + len(shape or ()))
    if ragged_rank is not None and shape is None and depth == ragged_rank + 1:
        shape = []
    count = depth - 1 - (len(shape) if shape else 0) if ragged_rank is None else ragged_rank
    if count < 0 or count >= max(depth, 1):
        raise InvalidArgumentError(
            f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
            f"inner_shape={inner_shape!r}: lists are {depth} deep."
        )
    splits = []
    for _ in [None] * count:
        ends = np.cumsum([0, *[_length(row, pylist) for row in items]])
        splits.append(int64_constant(ends.tolist()))
        items = [value for row in items for value in row]
    if shape is None and not items:
        shape = [0] * (depth - count - 1) if scalars is None else []
    values = _flat(items, dtype, scalars is None, shape, pylist)
    kind = as_dtype(row_splits_dtype)
    result: Any = values
    for each in reversed(splits):
        result = joined(result, cast_to(each, kind))
    return result


def _plain(value: Any) -> Any:
    """Nested lists without tuples and arrays."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist()) if value.dtype == object else value.tolist()
    if isinstance(value, Tensor):
        found: Any = value
        return found.numpy().tolist()
    if isinstance(value, RaggedTensor):
        return value.to_list()
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _depth(items: Any) -> int:
    if not isinstance(items, list):
        return 0
    return 1 + max([_depth(v) for v in items], default=0)


def _depth_of_scalars(items: Any) -> int | None:
    """How deep the scalars stand; None: there are none."""
    if not isinstance(items, list):
        return 0
    depths = {d for d in map(_depth_of_scalars, items) if d is not None}
    if len(depths) > 1:
        raise InvalidArgumentError("all scalar values must have the same nesting depth")
    return 1 + depths.pop() if depths else None


def _length(row: Any, pylist: Any) -> int:
    if not isinstance(row, list):
        raise InvalidArgumentError(
            f"Invalid pylist={pylist!r}: a scalar stands where a list should."
        )
    return len(row)


def _flat(items: list[Any], dtype: Any, empty: bool, shape: Any, pylist: Any) -> Tensor:
    kind = None if dtype is None else as_dtype(dtype)
    if not items or empty:
        inner = list(shape or [])
        return (
            dense_constant(
                np.zeros([len(items), *inner], (kind or dtypes.float32).as_numpy_dtype), kind
            )
            if kind is not dtypes.string
            else reshape_to(
                ox.Slice(dense_constant([""]), ox.ints([0]), ox.ints([0])),
                int64_constant([0, *inner]),
            )
        )
    try:
        found = dense_constant(items, kind)
    except ValueError as e:
        raise InvalidArgumentError(
            f"Invalid pylist={pylist!r}: inner lists differ in length: {e}"
        ) from e
    if shape is not None and list(found.shape[1:]) != list(shape):
        raise InvalidArgumentError(
            f"Invalid pylist={pylist!r}: inner values have shape {found.shape[1:]}, not {shape}."
        )
    return found


def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:
    """A row of numbers for each start and limit.

    Args:
        starts: Where rows begin; the limits, if there are none, and rows begin with 0.
        limits: Where they end, exclusively.
        deltas: The steps.
        dtype: Of the numbers; None: that of the arguments.
        name: Accepted for compatibility.
        row_splits_dtype: int32 or int64.

    Raises:
        InvalidArgumentError: a step of 0, in eager mode.

    Example:
        >>> import tfx as tf
        >>> tf.ragged.range([3, 0, 5])
        <tf.RaggedTensor [[0, 1, 2], [], [0, 1, 2, 3, 4]]>
        >>> tf.ragged.range([0, 5], [3, 10], 2)
        <tf.RaggedTensor [[0, 2], [5, 7, 9]]>
    """
    if limits is None:
        starts, limits = 0, starts
    wanted = None if dtype is None else as_dtype(dtype)
    given = [convert_to_tensor(v) for v in (starts, limits, deltas)]
    kind = wanted or max([x.dtype for x in given], key=_order)
    begin, end, step = (ox.Reshape(cast_to(x, kind), ox.ints([-1])) for x in given)
    zero = ox.like(0, begin)
    step = partition.required(
        ox.Not(ox.Equal(step, zero)), step, Refusal.RANGE, "tf.ragged.range: deltas must not be 0"
    )
    difference = ox.Sub(end, begin)
    if kind.is_floating:
        lengths = cast_to(ox.Ceil(ox.Div(difference, step)), dtypes.int64)
    else:
        # Rounded up, for either sign: the quotient of integers is rounded towards zero.
        away = ox.Where(ox.Greater(step, zero), ox.like(1, begin), ox.like(-1, begin))
        lengths = partition.wide(ox.Div(ox.Add(difference, ox.Sub(step, away)), step))
        towards = ox.Equal(ox.Greater(difference, zero), ox.Greater(step, zero))
        lengths = ox.Where(towards, lengths, int64_constant(0))
    lengths = ox.Max(lengths, int64_constant(0))
    splits = partition.splits_of(lengths)
    ids = partition.row_ids(splits)
    every = ox.Shape(lengths)
    first, pace = (ox.Gather(ox.Expand(x, every), ids, axis=0) for x in (begin, step))
    numbers = cast_to(partition.positions(splits, ids), kind)
    values = ox.Add(first, ox.Mul(numbers, pace))
    return joined(values, cast_to(splits, as_dtype(row_splits_dtype)))


def _order(kind: Any) -> int:
    kinds = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)
    if kind not in kinds:
        raise InvalidArgumentError(f"tf.ragged.range takes {[k.name for k in kinds]}; got {kind}.")
    return kinds.index(kind)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Tensors of one rank, ragged and dense, whose rows may differ in length, along a new axis.

    Args:
        values: The tensors.
        axis: The new axis.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.ragged.stack([[1, 2], [3]])
        <tf.RaggedTensor [[1, 2], [3]]>
    """
    return arrangement.stack(values, axis)


def map_flat_values(op: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function makes of the innermost values of ragged tensors, in the same rows.

    Args:
        op: The function.
        *args: Its arguments, ragged tensors with the same row splits among them.
        **kwargs: The same.

    Raises:
        ValueError: another number of values, or ragged tensors with other splits.

    Example:
        >>> import tfx as tf
        >>> tf.ragged.map_flat_values(lambda x: x * 2, tf.ragged.constant([[1, 2], [3]]))
        <tf.RaggedTensor [[2, 4], [6]]>
    """
    found = [x for x in nest.flatten([list(args), kwargs]) if isinstance(x, RaggedTensor)]
    if not found:
        return op(*args, **kwargs)
    lead = found[0]
    splits: list[Tensor] = list(lead.nested_row_splits)
    for x in found[1:]:
        if x.ragged_rank != lead.ragged_rank:
            raise InvalidArgumentError("All ragged inputs must have the same ragged_rank.")
        for i, other in enumerate(x.nested_row_splits):
            message = "map_flat_values: the ragged inputs must have the same row splits."
            alike = _equal(other, splits[i])
            splits[i] = partition.required(alike, splits[i], Refusal.ROW_LENGTHS, message)

    def flat(x: Any) -> Any:
        return x.flat_values if isinstance(x, RaggedTensor) else x

    made = op(*nest.map_structure(flat, list(args)), **nest.map_structure(flat, kwargs))
    made = as_ragged_or_tensor(made)
    have, want = made.shape, lead.flat_values.shape
    if have.rank == 0 or (have.rank and want.rank and not have[:1].is_compatible_with(want[:1])):
        raise InvalidArgumentError(
            f"tf.ragged.map_flat_values requires that the output of `op` have the same outer-"
            f"dimension size as flat_values of any ragged inputs: {have} and {want}."
        )
    return RaggedTensor(lead.flat_values, tuple(splits), lead._uniform).with_flat_values(made)


def _equal(x: Tensor, y: Tensor) -> Tensor:
    """Whether two vectors are the same; of other lengths they are not."""
    same = ox.Equal(ox.Shape(x), ox.Shape(y))
    if x.shape.is_fully_defined() and x.shape == y.shape:
        return ox.Equal(x, y)
    longest = ox.Max(ox.Shape(x), ox.Shape(y))
    side = ox.Sub(longest, ox.Shape(x)), ox.Sub(longest, ox.Shape(y))
    padded = [
        ox.Concat(v, cast_to(ox.Expand(ox.ints(-1), n), v.dtype), axis=0)
        for v, n in zip((x, y), side, strict=True)
    ]
    return ox.And(ox.Equal(*padded), same)


def row_splits_to_segment_ids(
    splits: Any, name: str | None = None, out_type: DTypeLike | None = None
) -> Tensor:
    """The row that each value is in, from row splits.

    Args:
        splits: Increasing integers from 0 on.
        name: Accepted for compatibility.
        out_type: int32 or int64; None: that of ``splits``.

    Example:
        >>> import tfx as tf
        >>> tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5]).numpy()
        array([0, 0, 0, 2, 2])
    """
    given = partition.partition_tensor(splits, "splits")
    kind = given.dtype if out_type is None else as_dtype(out_type)
    return cast_to(partition.row_ids(given), kind)


def segment_ids_to_row_splits(
    segment_ids: Any,
    num_segments: Any = None,
    out_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Row splits from the row that each value is in.

    Args:
        segment_ids: Increasing integers.
        num_segments: The number of rows; None: that of the last value, and one.
        out_type: int32 or int64; None: that of ``segment_ids``.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.ragged.segment_ids_to_row_splits([0, 0, 2, 2, 4]).numpy()
        array([0, 2, 2, 4, 4, 5])
    """
    ids = partition.partition_tensor(segment_ids, "segment_ids")
    kind = ids.dtype if out_type is None else as_dtype(out_type)
    found = from_value_rowids(ids, ids, num_segments, validate=False)
    return cast_to(found.row_splits, kind)


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> RaggedTensor:
    """Rows of values by the number of their partition.

    Args:
        data: A tensor or ragged tensor.
        partitions: The partition of each value: integers of the shape that the first axes of
            ``data`` have.
        num_partitions: How many there are.
        name: Accepted for compatibility.

    Raises:
        ValueError: a scalar.

    Example:
        >>> import tfx as tf
        >>> tf.ragged.stack_dynamic_partitions([1, 2, 3, 4], [0, 2, 0, 1], 3)
        <tf.RaggedTensor [[1, 3], [4], [2]]>
    """
    values = as_ragged_or_tensor(data)
    numbers = as_ragged_or_tensor(partitions)
    while isinstance(numbers, RaggedTensor):
        if not isinstance(values, RaggedTensor):
            raise InvalidArgumentError("partitions are ragged and data is not.")
        values, numbers = values.values, numbers.values
    rank = numbers.shape.rank
    if rank is None:
        raise InvalidArgumentError("partitions must have known rank")
    if rank == 0:
        raise InvalidArgumentError("partitions must have one axis at least; got a scalar.")
    if rank > 1:
        if isinstance(values, RaggedTensor):
            values = arrangement.merge_dims(values, 0, rank - 1)
        else:
            inner = ox.Slice(ox.Shape(values), ox.ints([rank]), ox.ints([2**63 - 1]))
            values = reshape_to(values, ox.Concat(ox.ints([-1]), inner, axis=0))
        numbers = ox.Reshape(numbers, ox.ints([-1]))
    ids, count = partition.wide(numbers), as_int64(num_partitions)
    fine = ox.And(ox.GreaterOrEqual(ids, ox.ints(0)), ox.Less(ids, count))
    message = "stack_dynamic_partitions: partitions must be in [0, num_partitions)."
    ids = partition.required(fine, ids, Refusal.PARTITIONS, message)
    order = argsort(ids, stable=True)
    splits = partition.splits_of_row_ids(ids, count)
    return joined(gather_rows(values, partition.wide(order)), splits)
