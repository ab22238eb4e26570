"""Selection by condition: ``where`` and ``boolean_mask``.

How many elements a mask lets through is known only when the graph runs, so results with as many
rows have an unknown dimension while tracing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.rules import OpRecord, forward, gradient, linear, no_gradient
from tfx.framework.tensor import Tensor
from tfx.ops.array.index_positions import scatter_along
from tfx.ops.common.arguments import (
    cast_to,
    require_dtype,
    same_dtype,
    scalar_like,
    static_int,
    unbroadcast,
    whole_numbers,
)
from tfx.ops.common.arguments import tensor as as_tensor
from tfx.ops.common.batching import BatchedOp, Results, batching, concat_shapes, shifted
from tfx.ops.common.dynamic_axis import folded, late_axis
from tfx.ops.common.shapes import (
    concat_shape,
    movable,
    product,
    rank_of,
    raw_shape,
    reshape_to,
    shape_vector,
)
from tfx.ops.common.tangents import spread


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``x`` where the condition holds and ``y`` elsewhere, or the coordinates where it holds.

    Args:
        condition: Booleans; without ``x`` and ``y`` also numbers, of which all but 0 count.
        x: Tensor; the three are broadcast against each other.
        y: Tensor of the same dtype.
        name: Accepted for compatibility.

    Returns:
        With ``x`` and ``y`` their elements. Gradients flow only to the elements chosen, so a
        non-finite slope in the other branch does no harm by itself. Without them the coordinates,
        int64 ``[n, rank]``, in row order.

    Raises:
        ValueError: only one of ``x`` and ``y`` was given.

    Example:
        >>> import tfx as tf
        >>> tf.where([True, False, True], [1, 2, 3], 0).numpy()
        array([1, 0, 3], dtype=int32)
        >>> tf.where([[True, False], [True, True]]).numpy()
        array([[0, 0],
               [1, 0],
               [1, 1]])
    """
    if (x is None) != (y is None):
        raise InvalidArgumentError("x and y must both be non-None or both be None.")
    if x is None:
        return _coordinates(as_tensor(condition))
    chosen = convert_to_tensor(condition, dtypes.bool)
    a, b = same_dtype(x, y, "SelectV2")
    return ox.Where(chosen, a, b)


def _coordinates(condition: Tensor) -> Tensor:
    require_dtype(condition, condition.dtype is not dtypes.string, "Where", "numbers or booleans")
    if rank_of(condition) == 0:
        raise InvalidArgumentError(
            "WhereOp : Unhandled input dimensions: 0; a scalar condition has no coordinates. Give "
            "x and y.",
            op="Where",
        )
    if condition.dtype.is_complex:
        # A cast would look at the real part alone.
        condition = ox.Not(ox.Equal(condition, scalar_like(0, condition)))
    places = ox.NonZero(cast_to(condition, dtypes.bool))
    return ox.Transpose(places, perm=(1, 0))


no_gradient("NonZero", why="integer output")


@gradient("Where")
def _where_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    condition, x, y = op.inputs
    zero = scalar_like(0, dy)
    dx = unbroadcast(ox.Where(condition, dy, zero), x) if op.needs[1] else None
    dy_ = unbroadcast(ox.Where(condition, zero, dy), y) if op.needs[2] else None
    return None, dx, dy_


@forward("Where")
def _where_forward(op: OpRecord, _: None, tx: Tensor | None, ty: Tensor | None) -> Tensor:
    """The same choice among the tangents; the condition has none."""
    condition, x = op.inputs[:2]
    zero = scalar_like(0, x)
    chosen = ox.Where(condition, zero if tx is None else tx, zero if ty is None else ty)
    return spread(chosen, op.outputs[0]) if tx is None or ty is None else chosen


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> Tensor:
    """The parts of a tensor where ``mask`` is true.

    Args:
        tensor: ``[..., m1, ..., mk, ...]``.
        mask: Booleans ``[m1, ..., mk]`` of known rank ``k >= 1``.
        axis: The axis of ``tensor`` that ``m1`` is; None means 0.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, ...]``: the ``k`` masked axes became one of the ``n`` selected places, in row
        order.

    Raises:
        ValueError: a scalar mask, or one whose shape does not fit.

    Example:
        >>> import tfx as tf
        >>> tf.boolean_mask([0, 1, 2, 3], [True, False, True, False]).numpy()
        array([0, 2], dtype=int32)
    """
    x, chosen = as_tensor(tensor), as_tensor(mask)
    rank = rank_of(chosen)
    if rank == 0:
        raise InvalidArgumentError(f"mask cannot be scalar; got {mask!r}.")
    if rank is None:
        raise InvalidArgumentError(
            "Number of mask dimensions must be specified, even if some dimensions are None. E.g. "
            f"shape=[None] is ok, but shape=None is not; got {mask!r}."
        )
    late = late_axis(axis, "boolean_mask")
    if late is not None and rank == 1:
        around = folded(x, late)
        kept = boolean_mask(around.x, chosen, axis=1)
        return around.unfolded(kept, shape_vector(kept, 1, 2))
    start = 0 if axis is None else static_int(whole_numbers(as_tensor(axis)))
    if start is None:
        raise InvalidArgumentError(
            f"axis must be known while tracing where the mask has more than one; got {axis!r}."
        )
    depth = rank_of(x)
    if depth is not None:
        start = start + depth if start < 0 else start
        x.shape[start : start + rank].assert_is_compatible_with(chosen.shape)
    chosen = cast_to(chosen, dtypes.bool)
    if rank > 1:
        merged = concat_shape(
            shape_vector(x, 0, start),
            product(shape_vector(x, start, start + rank)),
            shape_vector(x, start + rank),
        )
        x, chosen = reshape_to(x, merged), ox.Reshape(chosen, int64_constant([-1]))
    elif not _same_length(x, chosen, start):
        # Compress takes a condition that is too short; the reshape refuses one.
        chosen = ox.Reshape(chosen, shape_vector(x, start, start + 1))
    return cast_to(ox.Compress(movable(x), chosen, axis=start), x.dtype)


def _same_length(x: Tensor, mask: Tensor, axis: int) -> bool:
    shape, given = raw_shape(x), raw_shape(mask)
    return (
        shape is not None
        and given is not None
        and given[0] is not None
        and (shape[axis] == given[0])
    )


@gradient("Compress")
def _compress_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """The selected places get their gradients back."""
    x, mask = op.inputs
    axis = op.attrs.get("axis")
    shape = shape_vector(x)
    along = product(shape) if axis is None else ox.Gather(shape, int64_constant([axis]))
    # A mask may be longer than what it chooses from.
    end = ox.Reshape(along, int64_constant([1]))
    mask = ox.Slice(mask, int64_constant([0]), end, int64_constant([0]))
    places = ox.Reshape(ox.NonZero(mask), int64_constant([-1]))
    if axis is None:
        return reshape_to(scatter_along(product(shape), places, dy, 0), shape), None
    return scatter_along(shape, places, dy, axis), None


linear("Compress", inputs=(0,))


@batching("Compress")
def _compress_batching(op: BatchedOp) -> Results:
    """How many are left must not depend on the element. Without an axis elements are flat."""
    op.only(0)
    x, axis = op.input(0), op.attrs.get("axis")
    if axis is None:
        shape = concat_shapes(op.lead(), int64_constant([-1]))
        return op.apply((ox.Reshape(x, shape), op.input(1)), {"axis": 1})
    return op.apply(op.inputs, {"axis": shifted(axis)})
