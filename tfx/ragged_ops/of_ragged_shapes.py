"""Operations that take a shape, where that is the shape of a ragged tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core import dtypes
from tfx.ops.array.shape import shape as shape_of
from tfx.ragged_ops.dynamic_ragged_shape import DynamicRaggedShape
from tfx.ragged_ops.elementwise import elementwise
from tfx.ragged_ops.ragged_tensor import RaggedTensor

Handler = Callable[..., Any]


def filled(plain: Handler) -> Handler:
    """Of ``tf.zeros`` or ``tf.ones``."""

    def made(
        shape: DynamicRaggedShape, dtype: Any = dtypes.float32, name: Any = None, layout: Any = None
    ) -> RaggedTensor:
        return shape.with_values(lambda size: plain(size, dtype))

    return made


def fill(plain: Handler) -> Handler:
    """Of ``tf.fill``."""

    def made(dims: DynamicRaggedShape, value: Any, name: Any = None) -> RaggedTensor:
        return dims.with_values(lambda size: plain(size, value))

    return made


def reshape(plain: Handler) -> Handler:
    """Of ``tf.reshape``: the elements in their order."""

    def reshaped(tensor: Any, shape: Any, name: Any = None) -> Any:
        x = tensor.flat_values if isinstance(tensor, RaggedTensor) else tensor
        if not isinstance(shape, DynamicRaggedShape):
            return plain(tensor, shape)
        return shape.with_values(lambda size: plain(x, size))

    return reshaped


def broadcast_to(plain: Handler) -> Handler:
    """Of ``tf.broadcast_to``."""

    def broadcast(input: Any, shape: Any, name: Any = None) -> Any:
        if not isinstance(shape, DynamicRaggedShape):
            return plain(input, shape)
        like = shape.as_rows()
        return elementwise(lambda x, other: plain(x, shape_of(other)), input, like)

    return broadcast
