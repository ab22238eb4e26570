"""Values put to indices: ``scatter_nd`` and ``tensor_scatter_nd_*``, ONNX's two scatter operators.

Where an index repeats, adding, maximum and minimum take all its values; a plain update takes one of
them, which one is not defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.indices import from_the_front, integer_indices
from tfx.framework.rules import OpRecord, forward, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.index_positions import explain_coordinates
from tfx.ops.common.arguments import as_int64, cast_to, scalar_like, tensor
from tfx.ops.common.batching import BatchedOp, Results, batching, concat_shapes, shifted
from tfx.ops.common.shapes import (
    concat_shape,
    describe,
    filled,
    product,
    raw_shape,
    shape_argument,
    shape_vector,
    zeros_shaped,
)
from tfx.ops.math.reduction import product_of_zeros


def scatter_nd(
    indices: Any,
    updates: Any,
    shape: Any,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Zeros of a shape with ``updates`` added at the coordinates ``indices[..., :]``.

    Args:
        indices: Integers ``[..., depth]``, counted from 0.
        updates: ``indices.shape[:-1] + shape[depth:]``.
        shape: Shape of the result.
        bad_indices_policy: ``"IGNORE"`` leaves out updates whose coordinates are out of range;
            ``""``, ``"DEFAULT"`` and ``"ERROR"`` refuse them.
        name: Accepted for compatibility.

    Returns:
        The filled tensor. Updates of one place add up; booleans are combined by ``or``.

    Raises:
        InvalidArgumentError: a coordinate out of range, or shapes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.scatter_nd([[1], [3], [1]], [9, 10, 1], [5]).numpy()
        array([ 0, 10,  0, 10,  0], dtype=int32)
    """
    values = tensor(updates)
    if values.dtype.is_bool:
        counts = scatter_nd(indices, cast_to(values, dtypes.int32), shape, bad_indices_policy)
        return cast_to(counts, dtypes.bool)
    empty = b"" if values.dtype is dtypes.string else 0
    target = filled(shape_argument(shape, "ScatterNd"), empty, values.dtype)
    reduction = "none" if values.dtype is dtypes.string else "add"
    indices, values = _heeding(bad_indices_policy, target, indices, values)
    return _scatter(target, indices, values, reduction, "ScatterNd")


def _heeding(policy: str, target: Any, indices: Any, updates: Any) -> tuple[Any, Any]:
    """Indices and updates without those that a policy says to ignore."""
    if policy in ("", "DEFAULT", "ERROR"):
        return indices, updates
    if policy != "IGNORE":
        raise InvalidArgumentError(
            f"bad_indices_policy must be '', 'DEFAULT', 'ERROR' or 'IGNORE'; got {policy!r}."
        )
    x, values = _operands(target, updates)
    at = as_int64(indices)
    depth = shape_vector(at, -1)
    rows = ox.Reshape(at, concat_shape(product(shape_vector(at, 0, -1)), depth), allowzero=1)
    whole = shape_vector(x)
    sizes = ox.Slice(whole, int64_constant([0]), depth)
    fine = ox.And(ox.GreaterOrEqual(rows, int64_constant(0)), ox.Less(rows, sizes))
    fine = ox.ReduceMin(cast_to(fine, dtypes.int32), int64_constant([1]), keepdims=0)
    rest = ox.Slice(whole, depth, int64_constant([2**31]))
    slices = ox.Reshape(values, concat_shape(shape_vector(rows, 0, 1), rest), allowzero=1)
    kept = cast_to(fine, dtypes.bool)
    return ox.Compress(rows, kept, axis=0), ox.Compress(slices, kept, axis=0)


def tensor_scatter_nd_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Tensor:
    """``tensor`` with the elements or slices at ``indices`` replaced.

    Args:
        tensor: The tensor to start from.
        indices: Integers ``[..., depth]``, counted from 0.
        updates: ``indices.shape[:-1] + tensor.shape[depth:]``.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same shape and dtype.

    Raises:
        InvalidArgumentError: a coordinate out of range, or shapes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.tensor_scatter_nd_update([1, 1, 1, 1], [[0], [2]], [7, 8]).numpy()
        array([7, 1, 8, 1], dtype=int32)
    """
    return _scatter(tensor, indices, updates, "none", "TensorScatterUpdate")


def tensor_scatter_nd_add(
    tensor: Any,
    indices: Any,
    updates: Any,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """``tensor`` with ``updates`` added at ``indices``; see ``tensor_scatter_nd_update``.

    Example:
        >>> import tfx as tf
        >>> tf.tensor_scatter_nd_add([1, 1, 1], [[0], [0]], [7, 8]).numpy()
        array([16,  1,  1], dtype=int32)
    """
    indices, updates = _heeding(bad_indices_policy, tensor, indices, updates)
    return _scatter(tensor, indices, updates, "add", "TensorScatterAdd")


def tensor_scatter_nd_sub(
    tensor: Any,
    indices: Any,
    updates: Any,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """``tensor`` with ``updates`` subtracted at ``indices``; see ``tensor_scatter_nd_update``.

    Example:
        >>> import tfx as tf
        >>> tf.tensor_scatter_nd_sub([1, 1, 1], [[0], [2]], [7, 8]).numpy()
        array([-6,  1, -7], dtype=int32)
    """
    x, values = _operands(tensor, updates)
    indices, values = _heeding(bad_indices_policy, x, indices, values)
    # Neg does not take unsigned integers; a difference wraps around as TensorFlow's does.
    negated = ox.Sub(scalar_like(0, values), values)
    return _scatter(x, indices, negated, "add", "TensorScatterSub")


def tensor_scatter_nd_max(
    tensor: Any,
    indices: Any,
    updates: Any,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """``tensor`` with the larger of itself and ``updates`` at ``indices``.

    See ``tensor_scatter_nd_update``. An update that is NaN changes nothing; a NaN of ``tensor``
    stays. The gradient of a tie is shared evenly.

    Example:
        >>> import tfx as tf
        >>> tf.tensor_scatter_nd_max([0, 5, 0], [[0], [1]], [2, 3]).numpy()
        array([2, 5, 0], dtype=int32)
    """
    indices, updates = _heeding(bad_indices_policy, tensor, indices, updates)
    return _extreme(tensor, indices, updates, "max", "TensorScatterMax")


def tensor_scatter_nd_min(
    tensor: Any,
    indices: Any,
    updates: Any,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """``tensor`` with the smaller of itself and ``updates`` at ``indices``.

    See ``tensor_scatter_nd_update``, and ``tensor_scatter_nd_max`` for NaN. The gradient of a tie
    is shared evenly.

    Example:
        >>> import tfx as tf
        >>> tf.tensor_scatter_nd_min([0, 5, 0], [[0], [1]], [2, 3]).numpy()
        array([0, 3, 0], dtype=int32)
    """
    indices, updates = _heeding(bad_indices_policy, tensor, indices, updates)
    return _extreme(tensor, indices, updates, "min", "TensorScatterMin")


def _extreme(x: Any, indices: Any, updates: Any, reduction: str, op: str) -> Tensor:
    """Kernels take what stands there and an update that is NaN by turns for the extreme."""
    target, values = _operands(x, updates)
    if not target.dtype.is_floating:
        return _scatter(target, indices, values, reduction, op)
    never = scalar_like(-math.inf if reduction == "max" else math.inf, values)
    values = ox.Where(ox.IsNaN(values), never, values)
    found = _scatter(target, indices, values, reduction, op)
    return ox.Where(ox.IsNaN(target), target, found)


def _operands(x: Any, updates: Any) -> tuple[Tensor, Tensor]:
    target = tensor(x)
    return target, convert_to_tensor(updates, target.dtype)


def _scatter(x: Any, indices: Any, updates: Any, reduction: str, op: str) -> Tensor:
    target, values = _operands(x, updates)
    where = integer_indices(indices, op)
    _check_shapes(target, where, values, op)
    where = cast_to(where, dtypes.int64)
    attrs = {} if reduction == "none" else {"reduction": reduction}
    try:
        return ox.ScatterND(target, from_the_front(where), values, **attrs)
    except InvalidArgumentError:
        explain_coordinates(target, where, "shape", op)
        raise


def _check_shapes(target: Tensor, where: Tensor, values: Tensor, op: str) -> None:
    shape, index_shape, value_shape = raw_shape(target), raw_shape(where), raw_shape(values)
    if index_shape == ():
        raise InvalidArgumentError(f"{op}: indices must be at least a vector; got a scalar.", op=op)
    if shape is None or index_shape is None or value_shape is None:
        return
    depth = index_shape[-1]
    if not isinstance(depth, int):
        return
    if depth > len(shape):
        raise InvalidArgumentError(
            f"{op}: the last dimension of indices ({describe(where)}) must be at most the rank of "
            f"the shape {describe(target)}.",
            op=op,
        )
    expected = (*index_shape[:-1], *shape[depth:])
    fits = len(expected) == len(value_shape) and all(
        not (isinstance(e, int) and isinstance(g, int)) or e == g
        for e, g in zip(expected, value_shape, strict=True)
    )
    if not fits:
        raise InvalidArgumentError(
            f"{op}: Outer dimensions of indices and update must match. Indices shape: "
            f"{describe(where)}, updates shape: {describe(values)}, shape: {describe(target)}; "
            f"expected updates of shape {list(expected)}.",
            op=op,
        )


@gradient("ScatterND")
def _scatter_nd_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    indices = op.inputs[1]

    def take(x: Tensor) -> Tensor:
        return ox.GatherND(x, indices)

    def put(x: Tensor, updates: Tensor, reduction: str) -> Tensor:
        return ox.ScatterND(x, indices, updates, reduction=reduction)

    return _scatter_rule(op, dy, take, put)


@gradient("ScatterElements")
def _scatter_elements_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    indices = op.inputs[1]
    axis = {"axis": op.attrs.get("axis", 0)}

    def take(x: Tensor) -> Tensor:
        return ox.GatherElements(x, indices, **axis)

    def put(x: Tensor, updates: Tensor, reduction: str) -> Tensor:
        attrs = {**axis, "reduction": reduction}
        return ox.ScatterElements(x, indices, updates, **attrs)

    return _scatter_rule(op, dy, take, put)


@forward("ScatterND", "ScatterElements")
def _scatter_forward(op: OpRecord, tx: Tensor | None, _: None, tu: Tensor | None) -> Any:
    """Linear where it replaces or adds."""
    if op.attrs.get("reduction", "none") not in ("none", "add"):
        return NotImplemented
    x, indices, updates = op.inputs
    left = zeros_like(x) if tx is None else tx
    right = zeros_like(updates) if tu is None else tu
    return apply(op.op, (left, indices, right), op.attrs)


Take = Callable[[Tensor], Tensor]
Put = Callable[[Tensor, Tensor, str], Tensor]


def _scatter_rule(op: OpRecord, dy: Tensor, take: Take, put: Put) -> Sequence[Tensor | None]:
    """The rule of every scatter, given how its indices are read and written."""
    x, _, updates = op.inputs
    reduction = op.attrs.get("reduction", "none")
    if reduction == "add":
        return dy, None, take(dy) if op.needs[2] else None
    if reduction == "none":
        dx = put(dy, zeros_shaped(updates), "none") if op.needs[0] else None
        return dx, None, take(dy) if op.needs[2] else None
    y = op.outputs[0]
    if reduction == "mul":
        dx = put(dy, updates, "mul") if op.needs[0] else None
        return dx, None, _others(op, dy, take, put) if op.needs[2] else None
    kept = cast_to(ox.Equal(x, y), dy.dtype)
    chosen = cast_to(ox.Equal(updates, take(y)), dy.dtype)
    share = ox.Div(dy, put(kept, chosen, "add"))
    return ox.Mul(share, kept), None, ox.Mul(take(share), chosen)


def _others(op: OpRecord, dy: Tensor, take: Take, put: Put) -> Tensor:
    """``dy`` times everything else that was multiplied at the place of each update."""
    x, _, updates = op.inputs
    zero, one = scalar_like(0, x), scalar_like(1, x)
    at_x, at_updates = ox.Equal(x, zero), ox.Equal(updates, zero)
    kept, safe = ox.Where(at_x, one, x), ox.Where(at_updates, one, updates)
    slope = ox.Div(take(ox.Mul(dy, op.outputs[0])), safe)
    # At a zero, the product without zeros counts, times the other zeros.
    rest = take(ox.Mul(dy, put(kept, safe, "mul")))
    zeros_x, zeros = ox.Where(at_x, x, zero), ox.Where(at_updates, updates, zero)
    count = take(put(cast_to(at_x, x.dtype), cast_to(at_updates, x.dtype), "add"))
    squares = [ox.Mul(z, z) for z in (zeros_x, zeros)]
    others = ox.Sub(take(put(zeros_x, zeros, "add")), zeros)
    others_squared = ox.Sub(take(put(squares[0], squares[1], "add")), squares[1])
    share = product_of_zeros(count, others, others_squared)
    return ox.Where(at_updates, ox.Mul(rest, share), slope)


@batching("ScatterElements")
def _scatter_elements_batching(op: BatchedOp) -> Results:
    attrs = {**op.attrs, "axis": shifted(op.attrs.get("axis", 0))}
    return op.apply([op.full(i) for i in range(3)], attrs)


@batching("ScatterND")
def _scatter_nd_batching(op: BatchedOp) -> Results:
    """Places begin with the number of the element."""
    index = op.full(1)
    rank = op.rank(1)
    numbers = ox.Range(int64_constant(0), op.size, int64_constant(1))
    column = ox.Reshape(numbers, int64_constant([-1] + [1] * rank))
    if op.static_size == 0:
        column = ox.Reshape(numbers, int64_constant([0] + [1] * rank), allowzero=1)
    shape = concat_shapes(ox.Shape(index, start=0, end=rank), int64_constant([1]))
    where = ox.Concat(ox.Expand(column, shape), index, axis=-1)
    return op.apply((op.full(0), where, op.full(2)))
