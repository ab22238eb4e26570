"""Numbers of positions: coordinates from flat positions, and inverse permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.array.ranges import range as range_
from tfx.ops.array.scatter import scatter_nd
from tfx.ops.common.arguments import (
    cast_to,
    integers,
    require_dtype,
    same_dtype,
    scalar_like,
)
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.math.arithmetic import floordiv, floormod
from tfx.ops.math.cumulative import cumprod

_INDEX_DTYPES = (dtypes.int32, dtypes.int64)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """The coordinates of elements that are given by their number in row-major order.

    Args:
        indices: int32 or int64 scalar or vector of numbers.
        dims: Shape of the array, a vector of the same dtype.
        name: Accepted for compatibility.

    Returns:
        ``[len(dims)]`` for a scalar, ``[len(dims), n]`` for a vector.

    Raises:
        InvalidArgumentError: a number that the array does not have, a matrix.

    Example:
        >>> import tfx as tf
        >>> tf.unravel_index([2, 5, 7], [3, 3]).numpy()
        array([[0, 1, 2],
               [2, 2, 1]], dtype=int32)
    """
    numbers, shape = same_dtype(integers(indices, dtypes.int32), dims, "UnravelIndex")
    require_dtype(numbers, numbers.dtype in _INDEX_DTYPES, "UnravelIndex", "int32 or int64")
    if numbers.shape.rank not in (0, 1, None):
        raise InvalidArgumentError(
            f"The indices can only be scalar or vector, got {indices!r}.", op="UnravelIndex"
        )
    if isinstance(numbers, EagerTensor) and isinstance(shape, EagerTensor):
        count = int(np.prod(shape.view(), dtype=np.int64))
        if ((numbers.view() < 0) | (numbers.view() >= count)).any():
            raise InvalidArgumentError(
                f"index is out of bound as with dims: got {indices!r} for the shape {dims!r} of "
                f"{count} elements.",
                op="UnravelIndex",
            )
    elif isinstance(shape, SymbolicTensor) or isinstance(numbers, SymbolicTensor):
        total = ox.ReduceProd(cast_to(shape, dtypes.int64), keepdims=0)
        wide = cast_to(numbers, dtypes.int64)
        above = ox.GreaterOrEqual(wide, int64_constant(0))
        fine = ox.And(above, ox.Less(wide, total))
        shape = refused_unless(fine, shape, Refusal.UNRAVELED)
    steps = cumprod(shape, exclusive=True, reverse=True)
    if numbers.shape.rank is None:
        # As many axes as the numbers have, none or one.
        behind = ox.Expand(int64_constant(1), ox.Shape(ox.Shape(numbers)))
        column = ox.Concat(int64_constant([-1]), behind, axis=0)
        steps, shape = ox.Reshape(steps, column), ox.Reshape(shape, column)
    elif numbers.shape.rank != 0:
        numbers = ox.Unsqueeze(numbers, int64_constant([0]))
        steps = ox.Unsqueeze(steps, int64_constant([1]))
        shape = ox.Unsqueeze(shape, int64_constant([1]))
    return floormod(floordiv(numbers, steps), shape)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation that undoes another: ``y[x[i]] == i``.

    Args:
        x: int32 or int64 vector that holds each of ``0 ... n - 1`` once.
        name: Accepted for compatibility.

    Returns:
        A vector of the same dtype.

    Raises:
        InvalidArgumentError: no permutation, or not a vector of integers.

    Example:
        >>> import tfx as tf
        >>> tf.math.invert_permutation([3, 4, 0, 2, 1]).numpy()
        array([2, 4, 3, 0, 1], dtype=int32)
    """
    order = of_rank(integers(x, dtypes.int32), 1)
    require_dtype(order, order.dtype in _INDEX_DTYPES, "InvertPermutation", "int32 or int64")
    if order.shape.rank not in (1, None):
        raise InvalidArgumentError(
            f"invert_permutation expects a 1D vector; got the shape {order.shape}.",
            op="InvertPermutation",
        )
    if isinstance(order, EagerTensor):
        _require_permutation(order.view())
    count = ox.Shape(order)
    places = range_(ox.Squeeze(count, int64_constant([0])), dtype=order.dtype)
    if isinstance(order, SymbolicTensor):
        # Of two places for one number one is lost; what is out of range goes to the other end.
        zero, size = scalar_like(0, order), cast_to(ox.Squeeze(count), order.dtype)
        last = ox.Sub(size, scalar_like(1, order))
        safe = ox.Max(ox.Min(order, last), zero)
        placed = ox.ScatterElements(places, safe, places, axis=0)
        kept = ox.Equal(ox.Gather(placed, safe), places)
        fine = ox.And(kept, ox.Equal(safe, order))
        order = refused_unless(fine, order, Refusal.PERMUTATION)
    return scatter_nd(ox.Unsqueeze(order, int64_constant([1])), places, count)


def _require_permutation(order: np.ndarray[Any, Any]) -> None:
    outside = order[(order < 0) | (order >= order.size)]
    if outside.size:
        raise InvalidArgumentError(
            f"{int(outside[0])} is not between 0 and {order.size}; expected each of the numbers 0 "
            f"to {order.size - 1} once.",
            op="InvertPermutation",
        )
    counts = np.bincount(order, minlength=1)
    if (counts > 1).any():
        raise InvalidArgumentError(
            f"{int(np.argmax(counts > 1))} is duplicated in the input; expected each of the "
            f"numbers 0 to {order.size - 1} once.",
            op="InvertPermutation",
        )
