"""What the functions of ``nn`` are given: tensors of one dtype, and the names of layouts."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import standardize_data_format

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor

_LAYOUTS = {
    3: {"channels_last": "NWC", "channels_first": "NCW"},
    4: {"channels_last": "NHWC", "channels_first": "NCHW"},
    5: {"channels_last": "NDHWC", "channels_first": "NCDHW"},
}


def floating(x: Any) -> Any:
    """A value as a tensor; integers and truth values in the floating dtype that goes with them."""
    x = convert_to_tensor(x)
    if x.dtype.is_floating or x.dtype.is_complex:
        return x
    return tf.cast(x, result_type(standardize_dtype(x.dtype), float))


def together(*values: Any) -> list[Any]:
    """Values as tensors of the floating dtype that holds them all."""
    tensors = [floating(value) for value in values]
    if len({x.dtype for x in tensors}) == 1:
        return tensors
    dtype = result_type(*[standardize_dtype(x.dtype) for x in tensors])
    return [convert_to_tensor(x, dtype) for x in tensors]


def layout(data_format: str | None, rank: int | None) -> str:
    """TensorFlow's name of Keras' data format for a tensor of a rank.

    Raises:
        ValueError: a rank other than 3, 4 or 5.
    """
    if rank not in _LAYOUTS:
        raise ValueError(f"The inputs must have 1 to 3 spatial axes, so rank 3 to 5; got {rank}.")
    return _LAYOUTS[rank][standardize_data_format(data_format)]


def each_axis(value: Any, axes: int) -> tuple[int, ...]:
    """One number for each of the axes."""
    return (value,) * axes if isinstance(value, int) else tuple(value)


def same_shapes(target: Any, output: Any) -> None:
    """Refuse shapes that are known to differ.

    Raises:
        ValueError: they do.
    """
    if target.shape.rank != output.shape.rank:
        what = "must have the same rank (ndim)"
    elif not target.shape.is_compatible_with(output.shape):
        what = "must have the same shape"
    else:
        return
    raise ValueError(
        f"Arguments `target` and `output` {what}. Received: target.shape={target.shape}, "
        f"output.shape={output.shape}"
    )
