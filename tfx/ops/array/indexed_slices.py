"""``IndexedSlices`` and tensors: what gradients of few rows are added up and made dense with."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import current
from tfx.framework.convert import (
    convert_to_tensor,
    embed,
    int64_constant,
    register_tensor_conversion_function,
)
from tfx.framework.indices import from_the_front
from tfx.framework.tensor import Tensor, from_array
from tfx.ops.array.index_positions import scatter_along
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.common.shapes import as_int64_shape, rank_of, raw_shape

# From this number of elements on TensorFlow warns of a dense tensor.
_LARGE = 100_000_000


def dense_shape_of(x: Any) -> Tensor:
    """The shape of a tensor or variable as TensorFlow gives it to slices of it: int32."""
    shape = x.shape.symbolic
    if is_static(shape):
        return _known_shape(shape) if current().graph is None else embed(np.array(shape, np.int32))
    return cast_to(ox.Shape(tensor(x)), dtypes.int32)


@lru_cache(maxsize=256)
def _known_shape(shape: tuple[int, ...]) -> Tensor:
    """Integers are in nobody's way: tapes do not watch them."""
    return from_array(np.array(shape, np.int32), owned=True)


def slices_at(indices: Tensor, rows: Tensor, x: Any) -> IndexedSlices:
    """``IndexedSlices`` of ``rows``, one behind the other, of a gradient of ``x``.

    Args:
        indices: The rows' numbers, of any shape.
        rows: ``indices.shape + x.shape[1:]``.
        x: The tensor, or variable, that the rows were taken of.
    """
    rank = rank_of(indices)
    if rank == 0:
        rows = ox.Unsqueeze(rows, int64_constant([0]))
        indices = ox.Unsqueeze(indices, int64_constant([0]))
    elif rank != 1:
        rows = _rows_of(rows, indices, x)
        indices = ox.Reshape(indices, int64_constant([-1]))
    return IndexedSlices(rows, indices, dense_shape_of(x))


def _rows_of(rows: Tensor, indices: Tensor, x: Any) -> Tensor:
    tail, shape = x.shape.symbolic, raw_shape(indices)
    if tail is not None and is_static(tail[1:]):
        if is_static(shape):
            return ox.Reshape(rows, int64_constant([math.prod(shape), *tail[1:]]), allowzero=1)
        if 0 not in tail[1:]:
            return ox.Reshape(rows, int64_constant([-1, *tail[1:]]))
    number = ox.Reshape(ox.Size(indices), int64_constant([1]))
    size = ox.Concat(number, ox.Shape(tensor(x), start=1), axis=0)
    return ox.Reshape(rows, size, allowzero=1)


def joined_slices(parts: Sequence[IndexedSlices]) -> IndexedSlices:
    """Several slices of one tensor as one: their rows one behind the other."""
    if len(parts) == 1:
        return parts[0]
    indices = [convert_to_tensor(p.indices) for p in parts]
    if len({i.dtype for i in indices}) > 1:
        indices = [cast_to(i, dtypes.int64) for i in indices]
    values = ox.Concat(*[convert_to_tensor(p.values) for p in parts], axis=0)
    return IndexedSlices(values, ox.Concat(*indices, axis=0), parts[0].dense_shape)


def added_to(dense: Tensor, slices: IndexedSlices) -> Tensor:
    """A tensor with slices added to its rows."""
    return _put(dense, slices, "add")


def largest_of(dense: Tensor, slices: IndexedSlices) -> Tensor:
    """A tensor with its rows, and what slices have for them, brought to the larger of both."""
    return _put(dense, slices, "max")


def _put(dense: Tensor, slices: IndexedSlices, how: str) -> Tensor:
    rows = convert_to_tensor(slices.values)
    column = _places(slices)
    rank = rank_of(rows)
    if rank is not None and rank > 1:
        column = ox.Reshape(column, int64_constant([-1] + [1] * (rank - 1)))
        column = ox.Expand(column, ox.Shape(rows))
    elif rank is None:
        place = ox.Unsqueeze(cast_to(column, dtypes.int64), int64_constant([-1]))
        return ox.ScatterND(dense, place, rows, reduction=how)
    return ox.ScatterElements(dense, column, rows, axis=0, reduction=how)


def densified(slices: IndexedSlices) -> Tensor:
    """The dense tensor: zeros but for the rows, of which repeated ones are added up.

    Raises:
        ValueError: the slices do not know their dense shape.
    """
    if slices.dense_shape is None:
        raise InvalidArgumentError(
            "Tensor conversion requested for IndexedSlices for argument `value` without "
            f"dense_shape: {slices!r}. Give the shape: IndexedSlices(values, indices, dense_shape)."
        )
    shape = as_int64_shape(convert_to_tensor(slices.dense_shape))
    rows = convert_to_tensor(slices.values)
    return scatter_along(shape, _places(slices), rows, 0)


def _places(slices: IndexedSlices) -> Tensor:
    indices = convert_to_tensor(slices.indices)
    if indices.dtype is not dtypes.int64 and indices.dtype is not dtypes.int32:
        indices = cast_to(indices, dtypes.int64)
    return from_the_front(indices)


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """``value`` as a tensor; ``IndexedSlices`` stay what they are.

    Raises:
        ValueError: slices of another dtype than ``dtype``.
    """
    if not isinstance(value, IndexedSlices):
        return convert_to_tensor(value, dtype, name=name)
    if dtype is not None and dtypes.as_dtype(dtype) is not value.dtype:
        raise InvalidArgumentError(
            f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for {value!r} with "
            f"dtype {value.dtype.name}."
        )
    return value


def dense(x: Any) -> Any:
    """The same for a gradient that may be slices, a tensor or None."""
    return densified(x) if type(x) is IndexedSlices else x


def _to_tensor(
    value: IndexedSlices, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and value.dtype is not dtype:
        raise InvalidArgumentError(
            f"Incompatible tensor conversion requested to `dtype` {dtype.name} for IndexedSlices "
            f"({value!r}) with dtype {value.dtype.name}. Use tfx.cast to change the dtype."
        )
    count = value.shape.num_elements()
    if count is not None and count >= _LARGE:
        warnings.warn(
            f"Converting sparse {value!r} to a dense Tensor with {count} elements. This may "
            "consume a large amount of memory.",
            UserWarning,
            stacklevel=2,
        )
    return densified(value)


register_tensor_conversion_function(IndexedSlices, _to_tensor)
