"""Questions about the shape: ``shape``, ``size``, ``rank``, and the demand ``ensure_shape``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.rules import no_gradient
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.common.arguments import dtype_or, tensor
from tfx.ops.common.shapes import common_tensors, describe, rank_of, raw_shape, static_dims
from tfx.ops.math.cast import identity


def shape(input: Any, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """The shape as a tensor, also where it is known only when a traced function runs.

    Args:
        input: Tensor.
        out_type: int32 (None means that) or int64; in a function that knows the shape, any dtype.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.shape([[1, 2, 3]]).numpy()
        array([1, 3], dtype=int32)
    """
    x = tensor(input)
    known = static_dims(x)
    dtype = _out_type(out_type, "Shape", known is not None and isinstance(x, SymbolicTensor))
    if known is not None:
        return embed(np.array(known, dtype.as_numpy_dtype))
    return _measured(ox.Shape(x), dtype)


def _out_type(out_type: DTypeLike | None, op: str, constant: bool) -> DType:
    """The dtype of sizes; for ``constant`` ones any, as they are written like other numbers."""
    dtype = dtype_or(out_type, dtypes.int32)
    if dtype not in (dtypes.int32, dtypes.int64) and not constant:
        raise DTypeMismatchError(
            f"Value for attr 'out_type' of {dtype.name} is not in the list of allowed values: "
            "int32, int64.",
            op=op,
        )
    return dtype


def _measured(value: Tensor, dtype: DType) -> Tensor:
    return value if dtype is dtypes.int64 else ox.Cast(value, to=dtype.onnx)


def shape_n(
    input: Any, out_type: DTypeLike | None = dtypes.int32, name: str | None = None
) -> list[Tensor]:
    """The shapes of several tensors.

    Example:
        >>> import tfx as tf
        >>> [s.numpy().tolist() for s in tf.shape_n([tf.zeros([2]), tf.zeros([3, 1])])]
        [[2], [3, 1]]
    """
    return [shape(x, out_type) for x in common_tensors(list(input), "ShapeN")]


def size(input: Any, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """The number of elements as a scalar tensor.

    Args:
        input: Tensor.
        out_type: int32 (None means that) or int64; where the shape is known, any dtype.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.size([[1, 2, 3]]).numpy()
        np.int32(3)
    """
    x = tensor(input)
    known = static_dims(x)
    dtype = _out_type(out_type, "Size", known is not None)
    if known is not None:
        return embed(np.array(math.prod(known), dtype.as_numpy_dtype))
    return _measured(ox.Size(x), dtype)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes as a scalar int32 tensor.

    Example:
        >>> import tfx as tf
        >>> tf.rank([[1, 2, 3]]).numpy()
        np.int32(2)
    """
    x = tensor(input)
    known = rank_of(x)
    if known is not None:
        return embed(np.array(known, np.int32))
    return _measured(ox.Size(ox.Shape(x)), dtypes.int32)


no_gradient("Shape", "Size", why="integer output that does not depend on the contents")


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """``x`` itself, which is known to have the given shape from here on.

    Args:
        x: Tensor.
        shape: TensorShape or what makes one; None stands for any dimension or shape.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same contents whose static shape includes what ``shape`` says.

    Raises:
        InvalidArgumentError: the shape is another one; for a dimension that is not known while
            tracing when the function runs.

    Example:
        >>> import tfx as tf
        >>> tf.ensure_shape([1, 2, 3], [None]).shape
        TensorShape([3])
    """
    data, wanted = tensor(x), TensorShape(shape)
    if not data.shape.is_compatible_with(wanted):
        raise InvalidArgumentError(
            f"Shape of tensor input {describe(data)} is not compatible with expected shape "
            f"{wanted}.",
            op="EnsureShape",
        )
    if not isinstance(data, SymbolicTensor) or wanted.rank is None or _includes(data, wanted):
        return identity(data)
    checked = _checked(data, wanted)
    checked.set_shape(data.shape.merge_with(wanted))
    return checked


def _includes(x: Tensor, wanted: TensorShape) -> bool:
    """True if the static shape says all that is wanted."""
    shape = raw_shape(x)
    return shape is not None and all(
        b is None or a == b for a, b in zip(shape, wanted.as_list(), strict=True)
    )


def _checked(x: Tensor, wanted: TensorShape) -> Tensor:
    """``x`` reshaped to its own shape, where a dimension that is not right becomes impossible.

    No elements are copied, and a runtime cannot see through it and leave it out.
    """
    dims = wanted.as_list()
    shape = ox.Shape(x)
    if x.shape.rank is None:
        axes = ox.Size(shape)
        right = ox.Equal(axes, int64_constant(len(dims)))
        x = refused_unless(right, x, Refusal.ENSURED_RANK)
        x.set_shape([None] * len(dims))
        shape = ox.Shape(x)
    if not dims:
        return x
    expected = int64_constant([-1 if d is None else d for d in dims])
    right = ox.Equal(shape, expected)
    if None in dims:
        right = ox.Or(right, embed(np.array([d is None for d in dims])))
    target = ox.Where(right, shape, int64_constant(Refusal.ENSURED.dimension))
    return ox.Reshape(x, target, allowzero=1)
