"""The shape that two shapes broadcast to, before and while a graph runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.core.dims import broadcast_static_shape as _broadcast
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.core.shapes import ShapeLike, TensorShape
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.common.arguments import cast_to, require_dtype, same_dtype, scalar_like


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """The static shape of two operands broadcast together.

    Args:
        shape_x: Shape of one operand.
        shape_y: Shape of the other.

    Returns:
        The shape; unknown where either operand decides it and is unknown.

    Raises:
        InvalidArgumentError: the shapes do not broadcast.

    Example:
        >>> import tfx as tf
        >>> tf.broadcast_static_shape(tf.TensorShape([1, 3]), tf.TensorShape([5, 1, 3]))
        TensorShape([5, 1, 3])
    """
    return TensorShape(_broadcast(TensorShape(shape_x).symbolic, TensorShape(shape_y).symbolic))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape of two operands broadcast together, as a tensor.

    Args:
        shape_x: Vector of int32 or int64.
        shape_y: Vector of the same dtype.

    Returns:
        A vector of that dtype.

    Raises:
        InvalidArgumentError: the shapes do not broadcast, or are no integers.

    Example:
        >>> import tfx as tf
        >>> tf.broadcast_dynamic_shape([1, 3], [5, 1, 3]).numpy()
        array([5, 1, 3], dtype=int32)
    """
    x, y = same_dtype(shape_x, shape_y, "BroadcastArgs")
    require_dtype(x, x.dtype.is_integer, "BroadcastArgs", "int32 or int64")
    a, b = _of_one_length(x, y, "BroadcastArgs")
    result = ox.Where(ox.Equal(a, scalar_like(1, x)), b, a)
    lengths = [s.num_elements() for s in (x.shape, y.shape)]
    known = [n for n in lengths if n is not None]
    if len(known) == 2:
        result.set_shape([max(known)])
    return result


class GradientAxes(NamedTuple):
    """The result of ``broadcast_gradient_args``."""

    r0: Tensor
    r1: Tensor


def broadcast_gradient_args(shape_x: Any, shape_y: Any) -> GradientAxes:
    """The axes over which the gradients of two operands that were broadcast together are summed.

    Args:
        shape_x: Vector of int32 or int64.
        shape_y: Vector of the same dtype.

    Returns:
        For each operand the axes of the result along which it has the size 1, or no axis; none at
        all where the shapes are equal.

    Raises:
        InvalidArgumentError: the shapes do not broadcast, or are no integers.
    """
    op = "BroadcastGradientArgs"
    x, y = same_dtype(shape_x, shape_y, op)
    require_dtype(x, x.dtype.is_integer, op, "int32 or int64")
    a, b = _of_one_length(x, y, op)
    one = scalar_like(1, x)
    differ = ox.Not(ox.Equal(ox.Size(x), ox.Size(y)))
    differ = ox.Or(
        differ,
        ox.Cast(ox.ReduceMax(cast_to(ox.Not(ox.Equal(a, b)), dtypes.uint8), keepdims=0), to=9),
    )
    found = [ox.NonZero(ox.And(ox.Equal(s, one), differ)) for s in (a, b)]
    axes = [cast_to(ox.Reshape(p, int64_constant([-1])), x.dtype) for p in found]
    return GradientAxes(*axes)


def _of_one_length(x: Tensor, y: Tensor, op: str) -> tuple[Tensor, Tensor]:
    """Two shapes with as many dimensions, which broadcast as far as that is known."""
    length = ox.Max(ox.Size(x), ox.Size(y))
    a, b = _padded(x, length), _padded(y, length)
    if isinstance(a, EagerTensor) and isinstance(b, EagerTensor):
        left, right = a.view(), b.view()
        if ((left != right) & (left != 1) & (right != 1)).any():
            raise InvalidArgumentError(
                f"Incompatible shapes: {_text(x)} vs. {_text(y)}; two "
                "dimensions must be equal or one of them 1.",
                op=op,
            )
        return a, b
    one = scalar_like(1, a)
    fine = ox.Or(ox.Equal(a, b), ox.Or(ox.Equal(a, one), ox.Equal(b, one)))
    return refused_unless(fine, a, Refusal.BROADCAST), b


def _text(shape: Tensor) -> str:
    return str(shape.view().tolist()) if isinstance(shape, EagerTensor) else repr(shape)


def _padded(shape: Tensor, length: Tensor) -> Tensor:
    """A shape with as many leading ones as it takes to have ``length`` dimensions."""
    missing = ox.Sub(length, ox.Size(shape))
    count = ox.Unsqueeze(missing, int64_constant([0]))
    ones = cast_to(ox.Expand(int64_constant(1), count), shape.dtype)
    return ox.Concat(ones, shape, axis=0)
