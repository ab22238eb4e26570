"""Tensors of given shapes: ``zeros``, ``ones``, ``zeros_like``, ``ones_like``, ``fill``, ``eye``.

While a function is traced they are nodes that compute the elements when the graph runs, never
stored data, however large the tensor is. ``range`` and ``linspace`` are in ``ranges``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.filled_arrays import check_sizes, filled_array
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.context import executing_eagerly
from tfx.framework.convert import embed, int64_constant
from tfx.framework.guards import refused_if_negative
from tfx.framework.rules import no_gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, static_int, static_ints, tensor
from tfx.ops.common.batching import BatchedOp, Results, batching, tiled
from tfx.ops.common.shapes import (
    concat_shape,
    filled,
    raw_shape,
    shape_argument,
    static_dims,
    zeros_shaped,
)

# Traced tensors up to this size are constants: a node would cost more than the data.
_SMALL = 64


def zeros(
    shape: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """A tensor of zeros (``False``, or empty strings).

    Args:
        shape: Integers or a tensor of them.
        dtype: Element type.
        name: Accepted for compatibility.
        layout: Accepted for compatibility.

    Raises:
        InvalidArgumentError: a negative dimension.

    Example:
        >>> import tfx as tf
        >>> tf.zeros([2, 2]).numpy()
        array([[0., 0.],
               [0., 0.]], dtype=float32)
    """
    kind = dtypes.as_dtype(dtype)
    return _full(shape, b"" if kind is dtypes.string else 0, kind)


def ones(
    shape: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: Any = None
) -> Tensor:
    """A tensor of ones (``True``); see ``zeros``.

    Example:
        >>> import tfx as tf
        >>> tf.ones([2], tf.int32).numpy()
        array([1, 1], dtype=int32)
    """
    return _full(shape, 1, _countable(dtype))


def _countable(dtype: DTypeLike) -> DType:
    kind = dtypes.as_dtype(dtype)
    if kind is dtypes.string:
        raise TypeError("Cannot convert 1 to EagerTensor of dtype string")
    return kind


def _full(shape: Any, value: Any, dtype: DType) -> Tensor:
    dims = shape_argument(shape, "Fill")
    known = static_ints(dims)
    if known is not None:
        check_sizes(known)
        if executing_eagerly() or math.prod(known) <= _SMALL:
            return embed(filled_array(known, value, dtype.as_numpy_dtype))
    return filled(dims, value, dtype)


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A scalar repeated to a shape.

    Args:
        dims: The shape.
        value: Scalar; its dtype is the result's.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.fill([2, 3], 9).numpy()
        array([[9, 9, 9],
               [9, 9, 9]], dtype=int32)
    """
    scalar, target = tensor(value), shape_argument(dims, "Fill")
    known, given = static_ints(target), raw_shape(scalar)
    if known is not None:
        check_sizes(known)
    if given is not None and len(given) == 1 and (given[0] == 1 or not isinstance(given[0], int)):
        scalar = ox.Reshape(scalar, int64_constant([]))
    elif given is not None and given != ():
        raise InvalidArgumentError(
            f"value must represent a scalar in fill; got shape {list(given)}.", op="Fill"
        )
    result = ox.Expand(scalar, target)
    if given is None and known is not None:
        result.set_shape(known)  # whatever the value turns out to be, it is a scalar
    return result


no_gradient("ConstantOfShape", "Range", "EyeLike", why="they depend on no floating input")


def zeros_like(
    input: Any, dtype: DTypeLike | None = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Zeros of the shape, and unless another is given of the dtype, of a tensor.

    Example:
        >>> import tfx as tf
        >>> tf.zeros_like([1.5, 2.5]).numpy()
        array([0., 0.], dtype=float32)
    """
    x = tensor(input)
    kind = x.dtype if dtype is None else dtypes.as_dtype(dtype)
    known = static_dims(x)
    return zeros_shaped(x, kind) if known is None else zeros(known, kind)


def ones_like(
    input: Any, dtype: DTypeLike | None = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Ones of the shape, and unless another is given of the dtype, of a tensor.

    Example:
        >>> import tfx as tf
        >>> tf.ones_like([1.5, 2.5]).numpy()
        array([1., 1.], dtype=float32)
    """
    x = tensor(input)
    kind = _countable(x.dtype if dtype is None else dtype)
    known = static_dims(x)
    return filled(ox.Shape(x), 1, kind) if known is None else _full(known, 1, kind)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a batch of them.

    Args:
        num_rows: Number of rows.
        num_columns: Number of columns; None means as many.
        batch_shape: Leading axes along which the matrix is repeated.
        dtype: Element type.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.eye(2, 3).numpy()
        array([[1., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """
    kind = dtypes.as_dtype(dtype)
    rows = shape_argument([num_rows], "eye")
    columns = rows if num_columns is None else shape_argument([num_columns], "eye")
    height, width = static_int(rows), static_int(columns)
    check_sizes([d for d in (height, width) if d is not None])
    if (
        height is not None
        and width is not None
        and (executing_eagerly() or height * width <= _SMALL)
    ):
        array = filled_array([height, width], 0, kind.as_numpy_dtype)
        np.fill_diagonal(array, 1)
        matrix = embed(array)
    else:
        # Compared in place of EyeLike, which exists for five element types.
        rows = refused_if_negative(rows, Refusal.SIDE)
        columns = refused_if_negative(columns, Refusal.SIDE)
        column = ox.Unsqueeze(_count(rows), int64_constant([1]))
        matrix = cast_to(ox.Equal(column, _count(columns)), kind)
    if batch_shape is None:
        return matrix
    batch = shape_argument(batch_shape, "eye")
    return ox.Expand(matrix, concat_shape(batch, rows, columns))


def _count(length: Tensor) -> Tensor:
    """0, 1, 2... of a length given as a vector of one element."""
    limit = ox.Squeeze(length, int64_constant([0]))
    known = static_int(length)
    limit = limit if known is None else int64_constant(known)
    return ox.Range(int64_constant(0), limit, int64_constant(1))


@batching("EyeLike")
def _eye_like_batching(op: BatchedOp) -> Results:
    """Batch ``EyeLike``: only the shape counts, which is the same for all elements."""
    x = op.input(0)
    zero = ox.Cast(int64_constant(0), to=x.dtype.onnx)
    element = ox.Expand(zero, ox.Shape(x, start=1))
    return tiled(op.apply((element,))[0], op.size)
