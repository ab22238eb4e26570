"""The shape that two shapes broadcast to, before and while a graph runs."""

from __future__ import annotations

from typing import Any

from tfx.core.dims import broadcast_static_shape as _broadcast
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import ShapeLike, TensorShape
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
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
        InvalidArgumentError: the shapes do not broadcast (in eager mode), or are no integers.

    Example:
        >>> import tfx as tf
        >>> tf.broadcast_dynamic_shape([1, 3], [5, 1, 3]).numpy()
        array([5, 1, 3], dtype=int32)
    """
    x, y = same_dtype(shape_x, shape_y, "BroadcastArgs")
    require_dtype(x, x.dtype.is_integer, "BroadcastArgs", "int32 or int64")
    length = ox.Max(ox.Size(x), ox.Size(y))
    a, b = _padded(x, length), _padded(y, length)
    one = scalar_like(1, x)
    if isinstance(a, EagerTensor) and isinstance(b, EagerTensor):
        left, right = a.view(), b.view()
        if ((left != right) & (left != 1) & (right != 1)).any():
            raise InvalidArgumentError(
                f"Incompatible shapes: {shape_x} vs. {shape_y}; two "
                "dimensions must be equal or one of them 1.",
                op="BroadcastArgs",
            )
    result = ox.Where(ox.Equal(a, one), b, a)
    lengths = [s.num_elements() for s in (x.shape, y.shape)]
    known = [n for n in lengths if n is not None]
    if len(known) == 2:
        result.set_shape([max(known)])
    return result


def _padded(shape: Tensor, length: Tensor) -> Tensor:
    """A shape with as many leading ones as it takes to have ``length`` dimensions."""
    missing = ox.Sub(length, ox.Size(shape))
    count = ox.Unsqueeze(missing, int64_constant([0]))
    ones = cast_to(ox.Expand(int64_constant(1), count), shape.dtype)
    return ox.Concat(ones, shape, axis=0)
