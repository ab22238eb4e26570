"""Where entries are: as indices of each axis, and as one number in row-major order.

Owns this arithmetic; must not know values. All of it is operators on int64.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.gather import gather
from tfx.ops.common.arguments import static_ints
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made

_LARGEST = 2**63 - 1


def strides_of(dense_shape: Tensor, rank: int) -> Tensor:
    """How far apart neighbours along each axis are in row-major order; ``[rank]``."""
    if rank == 0:
        return int64_constant([])
    known = static_ints(dense_shape)
    if known is not None:
        found = [1]
        for size in reversed(known[1:]):
            found.insert(0, found[0] * size)
        if all(n <= _LARGEST for n in found):
            return int64_constant(found)
    step: Tensor = int64_constant([1])
    parts = [step]
    for axis in range(rank - 1, 0, -1):
        step = ox.Mul(step, axis_size(dense_shape, axis))
        parts.insert(0, step)
    return ox.Concat(*parts, axis=0) if len(parts) > 1 else step


def numbered(dense_shape: Tensor, rank: int) -> Tensor:
    """The shape, once it is known that int64 has a number for each of its elements.

    As in TensorFlow, sizes of 0 do not make up for others that are too large.

    Raises:
        InvalidArgumentError: it has more than ``2**63 - 1``: at once, or when the graph runs.
    """
    known = static_ints(dense_shape)
    if known is not None:
        if math.prod(max(n, 1) for n in known) > _LARGEST:
            reason = Refusal.SPARSE_SIZE
            raise InvalidArgumentError(f"{reason}; got {known}", op=reason.op)
        return dense_shape
    if rank < 2:
        return dense_shape
    one, left = int64_constant(1), int64_constant([_LARGEST])
    for axis in range(rank):  # divided, as a product would overflow
        left = ox.Div(left, ox.Max(axis_size(dense_shape, axis), one))
    return refused_unless(ox.Greater(left, int64_constant([0])), dense_shape, Refusal.SPARSE_SIZE)


def axis_size(dense_shape: Tensor, axis: int) -> Tensor:
    """The size of an axis as a vector of one element."""
    return ox.Slice(dense_shape, int64_constant([axis]), int64_constant([axis + 1]))


def column(indices: Tensor, axis: int) -> Tensor:
    """The indices along an axis, a vector."""
    return ox.Gather(indices, int64_constant(axis), axis=1)


def columns(indices: Tensor, axes: list[int]) -> Tensor:
    """The indices along some axes, ``[n, len(axes)]``."""
    return ox.Gather(indices, int64_constant(axes), axis=1)


def places_of(indices: Tensor, dense_shape: Tensor, rank: int) -> Tensor:
    """The number of each entry in row-major order, a vector.

    Raises:
        InvalidArgumentError: the shape has too many elements to be numbered; see ``numbered``.
    """
    if rank == 1:
        return column(indices, 0)
    weighted = ox.Mul(indices, strides_of(numbered(dense_shape, rank), rank))
    return ox.ReduceSum(weighted, int64_constant([1]), keepdims=0)


def indices_at(places: Tensor, dense_shape: Tensor, rank: int) -> Tensor:
    """The indices of entries from their numbers; ``[n, rank]``."""
    side = ox.Unsqueeze(places, int64_constant([1]))
    if rank == 1:
        return side
    # Behind an axis of no elements there are no entries either: only a division by 0 is kept away.
    one = int64_constant(1)
    steps = ox.Max(strides_of(dense_shape, rank), one)
    quotients = ox.Div(side, steps)
    return ox.Mod(quotients, ox.Max(dense_shape, one))


def sort_places(places: Tensor) -> Tensor:
    """The order that sorts numbers; of equal ones the first comes first."""
    return ox.TopK(places, ox.Shape(places), axis=0, largest=0)[1]


def is_sorted(places: Tensor) -> bool:
    """True if numbers are known to increase."""
    if not isinstance(places, EagerTensor):
        return False
    view = places.view()
    return bool((view[1:] >= view[:-1]).all())


def ordered(x: SparseTensor, op: str) -> SparseTensor:
    """The entries in row-major order."""
    rank = known_rank_of(x, op)
    if rank == 0:
        return x
    places = places_of(x.indices, x.dense_shape, rank)
    if is_sorted(places):
        return x
    order = sort_places(places)
    return made(ox.Gather(x.indices, order, axis=0), gather(x.values, order), x.dense_shape)


def taken(x: SparseTensor, which: Tensor) -> SparseTensor:
    """Some entries, by their numbers."""
    return made(ox.Gather(x.indices, which, axis=0), gather(x.values, which), x.dense_shape)


def where_true(mask: Tensor) -> Tensor:
    """The numbers of the elements of a vector that are true."""
    return ox.Squeeze(ox.NonZero(mask), int64_constant([0]))


def checked(x: SparseTensor, op: str) -> Tensor:
    """The indices, once they are known to be in order, inside of the shape and not repeated.

    Raises:
        InvalidArgumentError: they are not: at once, or when the graph runs.
    """
    rank = known_rank_of(x, op)
    indices, shape = x.indices, x.dense_shape
    if isinstance(indices, EagerTensor) and isinstance(shape, EagerTensor):
        _explain(indices.view(), shape.view(), op)
        return indices
    inside = ox.And(ox.Less(indices, shape), ox.GreaterOrEqual(indices, int64_constant(0)))
    indices = refused_unless(inside, indices, Refusal.SPARSE_INDICES)
    places = places_of(indices, shape, rank) if rank else int64_constant([0])
    after = ox.Slice(places, int64_constant([1]), int64_constant([_LARGEST]))
    before = ox.Slice(places, int64_constant([0]), int64_constant([-1]))
    return refused_unless(ox.Less(before, after), indices, Refusal.SPARSE_INDICES)


def _explain(indices: Any, shape: Any, op: str) -> None:
    """Raise in TensorFlow's words which index is wrong, if one is."""
    outside = ((indices < 0) | (indices >= shape)).any(axis=1)
    if outside.any():
        i = int(outside.argmax())
        raise InvalidArgumentError(
            f"indices[{i}] = {_listed(indices[i])} is out of bounds: need 0 <= index < "
            f"{_listed(shape)}",
            op=op,
        )
    steps = indices[1:] - indices[:-1]
    moved = steps != 0
    repeated = ~moved.any(axis=1)
    first = moved.argmax(axis=1) if steps.shape[1] else moved.any(axis=1).astype(int)
    falls = steps[range(len(steps)), first] < 0 if steps.shape[1] else repeated & False
    wrong = repeated | falls
    if wrong.any():
        i = int(wrong.argmax())
        what = "is repeated"
        if not repeated[i]:
            what = (
                "is out of order. Many sparse ops require sorted indices.\n    Use "
                "`tf.sparse.reorder` to create a correctly ordered copy."
            )
        raise InvalidArgumentError(f"indices[{i + 1}] = {_listed(indices[i + 1])} {what}", op=op)


def _listed(row: Any) -> str:
    return "[" + ",".join(map(str, row.tolist())) + "]"
