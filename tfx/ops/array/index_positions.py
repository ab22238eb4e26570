"""Positions: what gathering, slicing and their gradients share about indices."""

from __future__ import annotations

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.common.shapes import (
    concat_shape,
    describe,
    filled,
    product,
    rank_of,
    reshape_to,
    shape_vector,
)


def explain_coordinates(x: Tensor, indices: Tensor, what: str, op: str, batch: int = 0) -> None:
    """Raise in TensorFlow's words which row of coordinates was out of range."""
    if not isinstance(indices, EagerTensor) or not isinstance(x, EagerTensor):
        return
    view, shape = indices.view(), list(x._raw.shape())
    if view.ndim == 0 or view.shape[-1] > len(shape) - batch:
        return
    sizes = np.array(shape[batch : batch + view.shape[-1]], np.int64)
    bad = np.argwhere(((view < 0) | (view >= sizes)).any(axis=-1))
    if len(bad):
        place = tuple(bad[0].tolist())
        at = f"[{','.join(map(str, place))}]" if place else ""
        raise InvalidArgumentError(
            f"indices{at} = {view[place].tolist()} does not index into {what} {describe(x)}.", op=op
        ) from None


def scatter_along(shape: Tensor, places: Tensor, rows: Tensor, axis: int) -> Tensor:
    """Zeros of a shape with ``rows`` added along one axis at the places of a vector.

    This is the gradient of everything that picks along an axis. It is a ``ScatterElements`` because
    repeated places must add up (see ``kernels/indexing``); multiplying with a one-hot matrix
    was measured slower from 50 places on, and would spread infinities.
    """
    rank = rank_of(rows)
    if axis < 0 or rank is not None:
        behind = -axis - 1 if axis < 0 or rank is None else rank - axis - 1
        column = int64_constant([-1] + [1] * behind)
    else:
        count = ox.Sub(ox.Size(ox.Shape(rows)), int64_constant(axis + 1))
        ones = filled(ox.Reshape(count, int64_constant([1])), 1, dtypes.int64)
        column = concat_shape(int64_constant([-1]), ones)
    if rank != 1:
        places = ox.Reshape(places, column)
        places = ox.Expand(places, shape_vector(rows))
    start = filled(shape, 0, rows.dtype)
    return ox.ScatterElements(start, places, rows, axis=axis, reduction="add")


def coordinates_of_batch(indices: Tensor, batch: int) -> Tensor:
    """Coordinates that count from the outermost axis, of ones that count within a batch entry."""
    every = filled(shape_vector(indices, 0, batch), True, dtypes.bool)
    grid = ox.Transpose(ox.NonZero(every))
    rank = rank_of(indices)
    assert rank is not None, "GatherND with batch axes was made by gather, which knows the rank"
    leading = shape_vector(indices, 0, batch)
    ones = int64_constant([1] * (rank - 1 - batch) + [batch])
    grid = ox.Reshape(grid, concat_shape(leading, ones))
    grid = ox.Expand(grid, concat_shape(shape_vector(indices, 0, -1), int64_constant([batch])))
    return ox.Concat(grid, indices, axis=-1)


def put_back(op: OpRecord, dy: Tensor) -> Tensor:
    """The gradient of an operator that moves elements of its first input, by their numbers.

    The operator is applied to the numbers of the elements; each part of the gradient is added where
    its number says. For cases in which not enough is known for less work.
    """
    x, *rest = op.inputs
    vector, flat = shape_vector(x), int64_constant([-1])
    count = product(vector)
    stop = ox.Squeeze(count, int64_constant([0]))
    numbers = ox.Range(int64_constant(0), stop, int64_constant(1))
    moved = apply(op.op, (reshape_to(numbers, vector), *rest), op.attrs)
    added = ox.ScatterElements(
        filled(count, 0, dy.dtype),
        ox.Reshape(moved, flat),
        ox.Reshape(dy, flat),
        axis=0,
        reduction="add",
    )
    return reshape_to(added, vector)
