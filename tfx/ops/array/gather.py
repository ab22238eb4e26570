"""Elements and slices picked by tensors of indices: ``gather`` and ``gather_nd``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.indices import from_the_front, integer_indices
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.index_positions import coordinates_of_batch, explain_coordinates, scatter_along
from tfx.ops.common.arguments import (
    INT64_MAX,
    cast_to,
    is_tensor_like,
    required_int,
    single_axis,
    static_int,
    tensor,
)
from tfx.ops.common.batching import BatchedOp, Results, as_int64, batching, shifted
from tfx.ops.common.dynamic_axis import folded, found_axis, late_axis
from tfx.ops.common.shapes import (
    concat_shape,
    describe,
    dimension,
    known_rank,
    product,
    rank_of,
    raw_shape,
    reshape_to,
    shape_vector,
    zeros_shaped,
)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: Any = 0,
    name: str | None = None,
) -> Tensor:
    """The slices of ``params`` along an axis that ``indices`` name.

    Args:
        params: Tensor of rank 1 or more.
        indices: Integers of any shape, from 0 to less than the size of the axis.
        validate_indices: Accepted for compatibility: indices are always checked.
        axis: The axis that is indexed; None means ``batch_dims``.
        batch_dims: How many leading axes ``params`` and ``indices`` share, index by index.
        name: Accepted for compatibility.

    Returns:
        ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``.

    Raises:
        InvalidArgumentError: an index out of range.

    Example:
        >>> import tfx as tf
        >>> tf.gather([[1, 2], [3, 4], [5, 6]], [2, 0]).numpy()
        array([[5, 6],
               [1, 2]], dtype=int32)
    """
    x, where = tensor(params), integer_indices(indices, "GatherV2")
    if rank_of(x) == 0:
        raise InvalidArgumentError(
            f"params must be at least 1 dimensional; got a scalar, {params!r}.", op="GatherV2"
        )
    if is_tensor_like(batch_dims):
        batch_dims = required_int(batch_dims, "batch_dims of gather")
    if batch_dims:
        return _batch_gather(x, where, axis, batch_dims)
    late = late_axis(axis, "GatherV2")
    if late is not None:
        around = folded(x, late)
        front = from_the_front(cast_to(where, dtypes.int64))
        taken = ox.Gather(around.x, front, axis=1)
        return around.unfolded(taken, shape_vector(where), axes=rank_of(where))
    place = 0 if axis is None else single_axis(axis, x, "GatherV2")
    counted_back = isinstance(axis, int) and axis < 0
    return _taken(x, where, place, {} if counted_back and not place else _attributes(place))


def rows_at(params: Tensor, indices: Any) -> Tensor:
    """``gather`` along the first axis for other operations: their gradients are dense tensors."""
    return _taken(params, integer_indices(indices, "GatherV2"), 0, {})


def _taken(x: Tensor, where: Tensor, place: int, attributes: dict[str, Any]) -> Tensor:
    if where.dtype is dtypes.int16:
        where = cast_to(where, dtypes.int64)
    try:
        return ox.Gather(x, from_the_front(where), **attributes)
    except InvalidArgumentError:
        _explain_gather(x, where, place)
        raise


def _attributes(axis: int) -> dict[str, Any]:
    """The first axis is written out where it matters: then the gradient is ``IndexedSlices``."""
    context = current()
    written = axis or context.tapes or context.graph is not None
    return {"axis": axis} if written else {}


def _explain_gather(x: Tensor, indices: Tensor, axis: int) -> None:
    """Raise in TensorFlow's words which index was out of range."""
    if not isinstance(indices, EagerTensor) or not isinstance(x, EagerTensor):
        return
    size = x._raw.shape()[axis]
    view = indices.view()
    bad = np.argwhere((view < 0) | (view >= size))
    if len(bad):
        place = tuple(bad[0].tolist())
        at = f"[{','.join(map(str, place))}]" if place else ""
        raise InvalidArgumentError(
            f"indices{at} = {view[place]} is not in [0, {size}) (axis {axis} of params of shape "
            f"{describe(x)}).",
            op="GatherV2",
        ) from None


def _batch_gather(x: Tensor, where: Tensor, axis: Any, batch_dims: int) -> Tensor:
    """Index by index of the leading axes: ``GatherND`` does that for the axis behind them."""
    depth = rank_of(where)
    if batch_dims < 0 and depth is not None:
        batch_dims += depth
    place = batch_dims if axis is None else axis
    late = found_axis(place, x, "GatherV2")
    if batch_dims >= 0 and (late is not None or depth is None):
        if late is None:
            late = int64_constant([single_axis(place, x, "GatherV2")])
        return _late_batch_gather(x, where, late, batch_dims)
    rank, depth = known_rank(x, "gather"), known_rank(where, "gather")
    batch = batch_dims + depth if batch_dims < 0 else batch_dims
    place = batch if axis is None else single_axis(axis, x, "GatherV2")
    if not 0 <= batch <= min(depth, rank - 1):
        raise InvalidArgumentError(
            f"batch_dims ({batch_dims}) must be less than rank(params) ({rank}) and at most "
            f"rank(indices) ({depth}).",
            op="GatherV2",
        )
    if place < batch:
        raise InvalidArgumentError(
            f"batch_dims ({batch}) must be less than or equal to axis ({place}).", op="GatherV2"
        )
    _check_batch(x, where, batch)
    given = where
    where = from_the_front(cast_to(where, dtypes.int64))
    column = ox.Unsqueeze(where, int64_constant([-1]))
    if place > batch:
        # The axis next to the batch axes, and back to where it came from.
        order = [*range(batch), place, *(i for i in range(batch, rank) if i != place)]
        x = ox.Transpose(x, perm=tuple(order))
    try:
        y = ox.GatherND(x, column, batch_dims=batch)
    except InvalidArgumentError:
        _explain_gather(x, given, batch)
        raise
    if place > batch:
        own, between = depth - batch, place - batch
        order = [
            *range(batch),
            *range(batch + own, batch + own + between),
            *range(batch, batch + own),
            *range(batch + own + between, own + rank - 1),
        ]
        y = ox.Transpose(y, perm=tuple(order))
    return y


def _late_batch_gather(x: Tensor, where: Tensor, axis: Tensor, batch: int) -> Tensor:
    """``_batch_gather`` of an axis or ranks that only a run tells: all batch axes merged."""
    ranks, around = (rank_of(x), rank_of(where)), folded(x, axis)
    shared = shape_vector(x, 0, batch)
    between = ox.Slice(around.before, int64_constant([batch]), int64_constant([INT64_MAX]))
    inside = ox.GreaterOrEqual(ox.Shape(around.before), int64_constant([batch]))
    same = ox.Equal(shared, shape_vector(where, 0, batch))
    fine = ox.Concat(inside, same, axis=0)
    x = refused_unless(fine, x, Refusal.BATCH_GATHERED)
    merged = concat_shape(product(shared), product(between), around.size, product(around.after))
    own = shape_vector(where, batch)
    x = reshape_to(x, merged)
    # As many rows as ``params`` has: the check is about these, too.
    rows = dimension(x, 0)
    y = _batch_gather(x, reshape_to(where, concat_shape(rows, product(own))), 2, 1)
    result = reshape_to(y, concat_shape(around.before, own, around.after))
    if ranks[0] is not None and ranks[1] is not None:
        result.set_shape([None] * (ranks[0] - 1 + ranks[1] - batch))
    return result


def _check_batch(x: Tensor, where: Tensor, batch: int) -> None:
    """ONNX Runtime refuses batches of different shape only where the sizes do not divide."""
    shape, given = raw_shape(x), raw_shape(where)
    if shape is None or given is None:
        return
    for i, (a, b) in enumerate(zip(shape[:batch], given[:batch], strict=False)):
        if isinstance(a, int) and isinstance(b, int) and a != b:
            raise InvalidArgumentError(
                f"params.shape[{i}]: {a} should be equal to indices.shape[{i}]: {b} "
                f"(params {describe(x)}, indices {describe(where)}, batch_dims={batch})."
            )


def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """The elements or slices of ``params`` at the coordinates ``indices[..., :]``.

    Args:
        params: Tensor.
        indices: Integers ``[..., depth]``: each row names an element (``depth`` = rank of
            ``params``) or a slice, counted from 0.
        batch_dims: How many leading axes ``params`` and ``indices`` share, index by index.
        name: Accepted for compatibility.
        bad_indices_policy: With ``"IGNORE"`` there are zeros where coordinates are out of range;
            for ``""``, ``"DEFAULT"`` and ``"ERROR"`` that is an error.

    Returns:
        ``indices.shape[:-1] + params.shape[batch_dims + depth:]``.

    Raises:
        InvalidArgumentError: a coordinate out of range, or more coordinates than axes.

    Example:
        >>> import tfx as tf
        >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
        array([2, 3], dtype=int32)
    """
    if bad_indices_policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(
            "bad_indices_policy must be '', 'DEFAULT', 'ERROR' or 'IGNORE'; got "
            f"{bad_indices_policy!r}."
        )
    x, where = tensor(params), integer_indices(indices, "GatherNd")
    if bad_indices_policy == "IGNORE":
        return _zeros_where_outside(x, as_int64(where), _static(batch_dims))
    shape = raw_shape(where)
    batch = _static(batch_dims)
    if shape == ():
        raise InvalidArgumentError(
            f"indices must be at least a vector; got {indices!r}.", op="GatherNd"
        )
    if shape is not None and batch < 0:
        batch += len(shape)
    if shape is not None and shape[-1] == 0:
        return _repeated(x, where, batch)
    rank = rank_of(x)
    depth = None if shape is None else shape[-1]
    if rank is not None and isinstance(depth, int) and batch + depth > rank:
        raise InvalidArgumentError(
            f"index innermost dimension length must be <= params rank; saw: {depth} vs. "
            f"{rank - batch}.",
            op="GatherNd",
        )
    _check_batch(x, where, batch)
    where = cast_to(where, dtypes.int64)
    try:
        return ox.GatherND(x, from_the_front(where), **({"batch_dims": batch} if batch else {}))
    except InvalidArgumentError:
        explain_coordinates(x, where, "param shape", "GatherNd", batch)
        raise


def _zeros_where_outside(x: Tensor, where: Tensor, batch: int) -> Tensor:
    """What ``gather_nd`` finds, and zeros for coordinates that name nothing."""
    if batch < 0:
        batch += known_rank(where, "gather_nd")
    depth = shape_vector(where, -1)
    start = int64_constant([batch])
    sizes = ox.Slice(shape_vector(x), start, ox.Add(start, depth))
    fine = ox.And(ox.GreaterOrEqual(where, int64_constant(0)), ox.Less(where, sizes))
    least = ox.ReduceMin(cast_to(fine, dtypes.int32), int64_constant([-1]), keepdims=0)
    kept = cast_to(least, dtypes.bool)
    found = gather_nd(x, ox.Where(fine, where, int64_constant(0)), batch)
    shape = shape_vector(where, 0, -1)
    behind = ox.Sub(ox.Shape(shape_vector(x)), ox.Add(start, depth))
    kept = reshape_to(kept, concat_shape(shape, ox.Expand(int64_constant(1), behind)))
    return ox.Where(kept, found, zeros_like(found))


def _static(number: Any) -> int:
    known = static_int(tensor(number))
    if known is None:
        raise InvalidArgumentError(f"batch_dims must be known while tracing; got {number!r}.")
    return known


def _repeated(x: Tensor, where: Tensor, batch: int) -> Tensor:
    """Coordinates of no axes name all of ``params`` (of each batch entry)."""
    inner = shape_vector(x, batch)
    between = shape_vector(where, batch, -1)
    ones = ox.Expand(int64_constant(1), ox.Shape(between))
    x = reshape_to(x, concat_shape(shape_vector(x, 0, batch), ones, inner))
    return ox.Expand(x, concat_shape(shape_vector(where, 0, -1), inner))


@gradient("Gather")
def _gather_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Every slice added where it was taken from."""
    x, indices = op.inputs
    axis = op.attrs.get("axis", 0)
    if rank_of(indices) == 0:
        row = ox.Unsqueeze(dy, int64_constant([axis]))
        return _single(x, indices, row, axis), None
    if rank_of(indices) != 1:
        count = product(shape_vector(indices))
        behind = [shape_vector(x, axis + 1)] if axis != -1 else []
        dy = reshape_to(dy, concat_shape(shape_vector(x, 0, axis), count, *behind))
        indices = ox.Reshape(indices, int64_constant([-1]))
    return scatter_along(shape_vector(x), indices, dy, axis), None


def _single(x: Tensor, index: Tensor, row: Tensor, axis: int) -> Tensor:
    """One row among zeros."""
    place, shape = static_int(index), raw_shape(x)
    size = None if shape is None else shape[axis]
    if place is None or not isinstance(size, int):
        vector = ox.Reshape(index, int64_constant([1]))
        return scatter_along(shape_vector(x), vector, row, axis)
    place %= size
    pads = int64_constant([place, size - 1 - place])
    return ox.Pad(row, pads, None, int64_constant([axis]))


@gradient("GatherND")
def _gather_nd_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Every slice added where it was taken from."""
    x, indices = op.inputs
    batch = op.attrs.get("batch_dims", 0)
    if batch:
        indices = coordinates_of_batch(indices, batch)
    return ox.ScatterND(zeros_shaped(x), indices, dy, reduction="add"), None


@gradient("GatherElements")
def _gather_elements_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Add every element where it was taken from."""
    x, indices = op.inputs
    attrs = {"axis": op.attrs.get("axis", 0), "reduction": "add"}
    return ox.ScatterElements(zeros_shaped(x), indices, dy, **attrs), None


linear("Gather", "GatherND", "GatherElements", inputs=(0,))


@batching("Gather")
def _gather_batching(op: BatchedOp) -> Results:
    """Batch ``Gather`` by the inputs that are batched: the table, the places, or both."""
    axis = op.attrs.get("axis", 0)
    if not op.batched[1]:
        return op.apply(op.inputs, {"axis": shifted(axis)})
    rank = op.rank(0)
    return gathered(op.input(0), op.input(1), axis % rank, op.batched, rank, op.rank(1))


def gathered(
    x: Tensor, index: Tensor, axis: int, batched: Sequence[bool], rank: int, places: int
) -> Tensor:
    """Gather with places that differ between elements of a batch.

    Args:
        x: The table.
        index: The places, with the batch in front.
        axis: The axis of one element's table, not negative.
        batched: Whether there is a table for each element.
        rank: Rank of one element's table.
        places: Rank of one element's places.
    """
    if batched[0]:
        return _gathered_both(x, index, axis, rank, places)
    found = ox.Gather(x, index, axis=axis)
    if axis == 0:
        return found
    whole = rank + places
    return ox.Transpose(found, perm=(axis, *(i for i in range(whole) if i != axis)))


def _gathered_both(x: Tensor, index: Tensor, axis: int, rank: int, places: int) -> Tensor:
    """Places of its own in a table of its own for each element."""
    if axis:
        order = (0, axis + 1, *(i for i in range(1, rank + 1) if i != axis + 1))
        x = ox.Transpose(x, perm=order)
    where = ox.Unsqueeze(as_int64(index), int64_constant([-1]))
    found = ox.GatherND(x, where, batch_dims=1)
    if axis == 0:
        return found
    # [batch, places, axes before, axes behind] -> places between the others
    before = range(1 + places, 1 + places + axis)
    behind = range(1 + places + axis, places + rank)
    return ox.Transpose(found, perm=(0, *before, *range(1, 1 + places), *behind))


@batching("GatherElements")
def _gather_elements_batching(op: BatchedOp) -> Results:
    axis = shifted(op.attrs.get("axis", 0))
    return op.apply((op.full(0), op.full(1)), {"axis": axis})


@batching("GatherND")
def _gather_nd_batching(op: BatchedOp) -> Results:
    """The batch is one more axis that tables and places share."""
    shared = op.attrs.get("batch_dims", 0)
    if not op.batched[0] and shared == 0:
        return op.apply(op.inputs)
    return op.apply((op.full(0), op.full(1)), {"batch_dims": shared + 1})
