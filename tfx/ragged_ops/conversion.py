"""Ragged tensors to dense ones, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.where import where
from tfx.ops.common.arguments import as_int64, cast_to, is_tensor_like
from tfx.ops.common.shapes import concat_shape, dimension, reshape_to, shape_vector
from tfx.ragged_ops import partition
from tfx.ragged_ops.factories import joined
from tfx.ragged_ops.partition import wide
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor


def nothing(kind: Any) -> Any:
    """The element that stands where there is none: 0, False or an empty text."""
    return "" if kind is dtypes.string else np.zeros([], kind.as_numpy_dtype)


def to_tensor(x: RaggedTensor, default_value: Any = None, shape: Any = None) -> Tensor:
    """See ``RaggedTensor.to_tensor``."""
    flat = x.flat_values
    if default_value is None:
        filling = convert_to_tensor(nothing(flat.dtype))
    else:
        filling = convert_to_tensor(default_value, dtype_hint=flat.dtype)
        if filling.dtype is not flat.dtype:
            raise InvalidArgumentError(
                f"default_value must have dtype {flat.dtype.name}, got {filling.dtype.name}."
            )
    return _dense(x, filling, _sizes(x, shape))


def _sizes(x: RaggedTensor, shape: Any) -> list[Any]:
    """What each axis is made: a number, a scalar tensor, or None: as long as it is."""
    count = x.ragged_rank + 1
    if shape is None:
        return [None] * count
    if is_tensor_like(shape):
        wanted = as_int64(shape)
        zero = int64_constant([0])
        if wanted.shape.rank == 0:  # -1: nothing is said
            return [None] * count
        parts = [
            ox.Slice(wanted, int64_constant([i]), int64_constant([i + 1])) for i in range(count)
        ]
        return [ox.Squeeze(part, zero) for part in parts]
    if isinstance(shape, TensorShape) and shape.rank is None:
        return [None] * count
    sizes = list(shape)
    rank = x.shape.rank
    if rank is not None and len(sizes) != rank:
        raise InvalidArgumentError(
            f"Shape {sizes} must have rank {rank}, as the ragged tensor has."
        )
    for have, want in zip(x.flat_values.shape[1:] or (), sizes[count:], strict=False):
        if want not in (None, -1) and have is not None and have != want:
            raise InvalidArgumentError(
                f"to_tensor: shape {sizes} does not fit the inner dimensions "
                f"{x.flat_values.shape[1:]}: only ragged axes are cut or filled up; use tf.pad."
            )
    return [None if n is None or n == -1 else n for n in sizes[:count]]


def _dense(x: RaggedTensor, filling: Tensor, sizes: list[Any]) -> Tensor:
    inner = x.values
    if isinstance(inner, RaggedTensor):
        inner = _dense(inner, filling, [None, *sizes[2:]])
    splits = wide(x.row_splits)
    rows, width = partition.row_count(splits), _width(x, sizes[1])
    starts, lengths = partition.starts_of(splits), partition.lengths_of(splits)
    if sizes[0] is not None:
        rows, starts, lengths = _cut(sizes[0], rows, starts, lengths)
    column = ox.Unsqueeze(partition.counted(width), int64_constant([0]))
    side = int64_constant([1])
    places = ox.Add(ox.Unsqueeze(starts, side), column)
    inside = ox.Less(column, ox.Unsqueeze(lengths, side))
    # One row more, which stands behind every row that is too short.
    empty = ox.Expand(filling, concat_shape(int64_constant([1]), shape_vector(inner, 1)))
    padded = ox.Concat(inner, empty, axis=0)
    found = ox.Gather(padded, ox.Where(inside, places, partition.size_of(inner)), axis=0)
    static = [None if isinstance(n, Tensor) else n for n in (sizes[0], sizes[1])]
    known: list[Any] = (
        [x.shape[0] if sizes[0] is None else static[0]] if x.shape.rank is not None else [None]
    )
    if inner.shape.rank is not None:
        known.append(x._uniform[0] if sizes[1] is None else static[1])
        found.set_shape([*known, *inner.shape[1:]])
    return found


def _width(x: RaggedTensor, size: Any) -> Tensor:
    if size is None:
        uniform = x._uniform[0]
        return int64_constant(uniform) if uniform is not None else partition.longest(x.row_splits)
    if not isinstance(size, Tensor):
        return int64_constant(int(size))
    return ox.Where(ox.Less(size, int64_constant(0)), partition.longest(x.row_splits), size)


def _cut(size: Any, rows: Tensor, starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same number of rows as wanted: some left out, or empty ones behind."""
    count = size if isinstance(size, Tensor) else int64_constant(int(size))
    count = ox.Where(ox.Less(count, int64_constant(0)), rows, count)
    more = ox.Unsqueeze(ox.Max(ox.Sub(count, rows), int64_constant(0)), int64_constant([0]))
    none = ox.Expand(int64_constant(0), more)
    end, begin = ox.Unsqueeze(count, int64_constant([0])), int64_constant([0])
    kept = [ox.Slice(ox.Concat(v, none, axis=0), begin, end) for v in (starts, lengths)]
    return count, kept[0], kept[1]


def from_tensor(
    tensor: Any,
    lengths: Any = None,
    padding: Any = None,
    ragged_rank: int = 1,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> RaggedTensor:
    """See ``RaggedTensor.from_tensor``."""
    if lengths is not None and padding is not None:
        raise InvalidArgumentError("Specify argument `lengths` or `padding`, but not both.")
    if not isinstance(ragged_rank, int):
        raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank!r}.")
    if ragged_rank <= 0:
        raise InvalidArgumentError(
            f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}."
        )
    x, kind = convert_to_tensor(tensor), as_dtype(row_splits_dtype)
    rank = x.shape.rank
    if rank is not None and rank <= ragged_rank:
        raise InvalidArgumentError(
            f"The tensor must have more than ragged_rank={ragged_rank} axes; got shape {x.shape}."
        )
    if isinstance(lengths, list | tuple) and lengths and not _is_number(lengths[0]):
        return _by_nested_lengths(x, lengths, kind)
    outer: list[tuple[Tensor, int | None]] = []
    for _ in range(ragged_rank - 1):  # these are uniform: only the last axis has rows to cut
        outer.append((_even_splits(x, kind), _known(x, 1)))
        x = reshape_to(x, concat_shape(_folded(x), shape_vector(x, 2)))
    result: Any = _rows(x, lengths, padding, kind)
    for splits, width in reversed(outer):
        result = joined(result, splits, width)
    return _ragged(result)


def _ragged(x: Any) -> RaggedTensor:
    assert isinstance(x, RaggedTensor)
    return x


def _is_number(x: Any) -> bool:
    return not isinstance(x, list | tuple) and np.ndim(x) == 0


def _known(x: Tensor, axis: int) -> int | None:
    found: int | None = None if x.shape.rank is None else x.shape[axis]
    return found


def _even_splits(x: Tensor, kind: Any) -> Tensor:
    """The splits of the rows of a dense tensor."""
    zero = int64_constant([0])
    count = ox.Squeeze(dimension(x, 0), zero)
    ends = ox.Mul(partition.counted(ox.Add(count, int64_constant(1))), dimension(x, 1))
    return cast_to(ends, kind)


def _rows(x: Tensor, lengths: Any, padding: Any, kind: Any) -> RaggedTensor:
    """A ragged tensor of one ragged axis."""
    flat = reshape_to(x, concat_shape(_folded(x), shape_vector(x, 2)))
    if lengths is None and padding is None:
        return joined(flat, _even_splits(x, kind), _known(x, 1))
    width = dimension(x, 1)
    if padding is not None:
        counts = _without_padding(x, padding)
    else:
        given = partition.partition_tensor(lengths, "lengths")
        kind = given.dtype if is_tensor_like(lengths) else kind
        counts = ox.Min(ox.Max(wide(given), int64_constant(0)), width)
    starts = ox.Mul(partition.counted(partition.size_of(x)), width)
    places, splits = partition.spans(starts, counts)
    return joined(ox.Gather(flat, places, axis=0), cast_to(splits, kind))


def _folded(x: Tensor) -> Tensor:
    """The length of the first two axes made one, written out: a reshape to -1 has no empty ones."""
    return ox.Mul(dimension(x, 0), dimension(x, 1))


def _without_padding(x: Tensor, padding: Any) -> Tensor:
    """The length of each row of a tensor without the padding at its end."""
    value = convert_to_tensor(padding, dtype_hint=x.dtype)
    if value.dtype is not x.dtype:
        raise TypeError(f"padding must have dtype {x.dtype.name}, got {value.dtype.name}.")
    other = ox.Not(ox.Equal(x, value))
    rank = x.shape.rank
    if rank is None:
        raise InvalidArgumentError("from_tensor with padding needs a tensor of known rank.")
    place = ox.Unsqueeze(
        ox.Add(partition.counted(ox.Squeeze(dimension(x, 1), int64_constant([0]))), ox.ints(1)),
        int64_constant(list(range(1, rank - 1))),
    )
    ends = where(other, place, int64_constant(0))
    padded = (
        ox.ReduceMax(ends, int64_constant(list(range(2, rank))), keepdims=0) if rank > 2 else ends
    )
    none = ox.Expand(int64_constant(0), concat_shape(dimension(x, 0), int64_constant([1])))
    return ox.ReduceMax(ox.Concat(padded, none, axis=1), int64_constant([1]), keepdims=0)


def _by_nested_lengths(x: Tensor, lengths: Any, kind: Any) -> RaggedTensor:
    """A ragged tensor with lengths for the rows of each axis, the outer ones first."""
    if len(lengths) == 1:
        return _rows(x, lengths[0], None, kind)
    outer = _rows(x, lengths[0], None, kind)
    return outer.with_values(_by_nested_lengths(outer.values, lengths[1:], kind))


def ragged_of(x: Any, ragged_rank: int, kind: Any = dtypes.int64) -> Any:
    """A tensor, or a ragged one, with at least so many ragged axes."""
    x = as_ragged_or_tensor(x)
    have = x.ragged_rank if isinstance(x, RaggedTensor) else 0
    if have >= ragged_rank:
        return x
    if have:
        return x.with_flat_values(ragged_of(x.flat_values, ragged_rank - have, x.row_splits.dtype))
    return from_tensor(x, ragged_rank=ragged_rank, row_splits_dtype=kind)
