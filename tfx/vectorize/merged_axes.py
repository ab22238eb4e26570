"""The batch joined to an axis of the elements: how operators with a fixed rank take it."""

from __future__ import annotations

from collections.abc import Sequence

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.shapes import concat_shape, reshape_to, shape_vector
from tfx.vectorize.rules import BatchedOp, CannotBatchError


def folded(x: Tensor, axis: int, groups: int = 1) -> Tensor:
    """The batch (axis 0) joined to an axis of the elements.

    Args:
        x: ``[size, *element]``.
        axis: Which axis of an element.
        groups: The axis falls into so many groups, each of which gets all elements: the result
            counts groups, then elements, then what is in a group.

    Returns:
        The shape of one element, with ``size`` times as much along the axis.
    """
    rank = known_rank(x)
    if groups > 1:
        shape = concat_shape(
            shape_vector(x, 0, axis + 1),
            int64_constant([groups, -1]),
            shape_vector(x, axis + 2),
        )
        x, rank, moved = reshape_to(x, shape), rank + 1, axis + 1
    else:
        moved = axis
    perm = (*range(1, moved + 1), 0, *range(moved + 1, rank))
    if perm != tuple(range(rank)):
        x = ox.Transpose(x, perm=perm)
    last = 3 if groups > 1 else 2
    target = concat_shape(
        shape_vector(x, 0, axis), int64_constant([-1]), shape_vector(x, axis + last)
    )
    return ox.Reshape(x, target)


def unfolded(op: BatchedOp, y: Tensor, axis: int, groups: int = 1) -> Tensor:
    """The reverse of ``folded`` for a result: ``[size, *element]``."""
    rank = known_rank(y)
    parts = [shape_vector(y, 0, axis)]
    if groups > 1:
        parts.append(int64_constant([groups]))
    shape = concat_shape(*parts, op.lead(), int64_constant([-1]), shape_vector(y, axis + 1))
    apart = ox.Reshape(y, shape)
    at = axis + (1 if groups > 1 else 0)
    total = rank + (2 if groups > 1 else 1)
    perm = (at, *(i for i in range(total) if i != at))
    front = apart if at == 0 else ox.Transpose(apart, perm=perm)
    if groups == 1:
        return front
    whole = concat_shape(
        shape_vector(front, 0, axis + 1), int64_constant([-1]), shape_vector(y, axis + 1)
    )
    return ox.Reshape(front, whole)


def known_rank(x: Tensor) -> int:
    """The number of axes.

    Raises:
        CannotBatchError: unknown.
    """
    rank = x.shape.rank
    if rank is None:
        raise CannotBatchError("the rank of an input is unknown")
    return rank


def known_size(op: BatchedOp) -> int:
    """The number of elements, for attributes.

    Raises:
        CannotBatchError: unknown.
    """
    if op.static_size is None:
        raise CannotBatchError("the number of elements is known at run time only")
    return op.static_size


def per_channel(x: Tensor, rank: int, axis: int = 1) -> Tensor:
    """Batched vectors ``[size, channels]`` to go with batched elements of some rank."""
    after = [1] * (rank - 1 - axis)
    shape = concat_shape(shape_vector(x, 0, 1), int64_constant([*([1] * axis), -1, *after]))
    return ox.Reshape(x, shape)


def split_all(op: BatchedOp, results: Sequence[Tensor]) -> list[Tensor]:
    """Every result apart from the elements' first axis."""
    return [op.split(y) for y in results]
