"""``make_tensor_proto`` and ``make_ndarray``: tensors as messages that are objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor
from tfx.ops.io.tensor_proto import array_of_message
from tfx.summary import event_pb2 as pb
from tfx.summary.messages import dtype_of_number, tensor_message


def make_tensor_proto(
    values: Any,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> pb.Tensor:
    """TensorFlow's message for a tensor, with its contents.

    Args:
        values: A tensor with contents, or what converts to one.
        dtype: Its dtype; None: that of the values.
        shape: Its shape; None: that of the values.
        verify_shape: Refuse values of another shape.
        allow_broadcast: Repeat a single value to the shape.

    Raises:
        TypeError: the message has no number for the dtype, or (``verify_shape``) another shape.
        ValueError: values that do not fit into the shape.

    Example:
        >>> import tfx as tf
        >>> message = tf.make_tensor_proto([[1, 2]])
        >>> tf.make_ndarray(message)
        array([[1, 2]], dtype=int32)
    """
    made = convert_to_tensor(values, None if dtype is None else dtypes.as_dtype(dtype))
    if not isinstance(made, EagerTensor):
        raise TypeError(f"make_tensor_proto needs contents; got {made!r}, a tensor of a graph.")
    array = np.asarray(made.numpy(), object if made.dtype is dtypes.string else None)
    if shape is not None:
        wanted = tuple(int(d) for d in shape)
        if verify_shape and array.shape != wanted:
            raise TypeError(f"Expected Tensor's shape: {wanted}, got {array.shape}.")
        if array.size == 1 and allow_broadcast:
            array = np.broadcast_to(array.reshape(()), wanted)
        array = array.reshape(wanted)
    return tensor_message(array)


def make_ndarray(tensor: Any) -> Any:
    """The array in TensorFlow's message for a tensor, as ``make_tensor_proto`` makes it.

    Args:
        tensor: A message of any library that knows the format.

    Raises:
        TypeError: a dtype that it cannot have.
        InvalidArgumentError: contents that do not fit its shape.

    Example:
        >>> import tfx as tf
        >>> tf.make_ndarray(tf.make_tensor_proto("text")).item()
        b'text'
    """
    return array_of_message(tensor.SerializeToString(), dtype_of_number(tensor.dtype))
