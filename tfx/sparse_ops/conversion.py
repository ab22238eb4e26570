"""Sparse tensors of dense ones, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.gather import gather_nd
from tfx.ops.array.ranges import range as count_up
from tfx.ops.array.scatter import tensor_scatter_nd_update
from tfx.ops.array.where import where
from tfx.ops.common.arguments import as_int64, cast_to, tensor
from tfx.ops.common.shapes import filled, rank_of, shape_vector
from tfx.ops.math.comparison import not_equal
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made, require_sparse


def nothing(kind: DType) -> Any:
    """The element that is not written down: 0, False or an empty text."""
    return "" if kind is dtypes.string else np.zeros([], kind.as_numpy_dtype)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements of a dense tensor that are not zero (or not empty).

    Args:
        tensor: Any tensor of known rank.
        name: Accepted for compatibility.

    Returns:
        A ``SparseTensor`` in row-major order.

    Example:
        >>> import tfx as tf
        >>> x = tf.sparse.from_dense([[1, 0, 0, 8], [0, 0, 0, 0], [0, 0, 3, 0]])
        >>> x.indices.numpy().tolist(), x.values.numpy()
        ([[0, 0], [0, 3], [2, 2]], array([1, 8, 3], dtype=int32))
    """
    x = _tensor(tensor)
    indices = cast_to(where(not_equal(x, convert_to_tensor(nothing(x.dtype), x.dtype))), _INT64)
    if rank_of(x) is None:
        raise InvalidArgumentError(f"sparse.from_dense needs a tensor of known rank; got {x!r}.")
    return made(indices, gather_nd(x, indices), shape_vector(x))


_tensor, _INT64 = tensor, dtypes.int64


def to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The dense tensor with all elements.

    Args:
        sp_input: ``SparseTensor``.
        default_value: What stands where there is no entry; None: 0, False or an empty text.
        validate_indices: Refuse indices that are out of order or repeated.
        name: Accepted for compatibility.

    Returns:
        A tensor of shape ``sp_input.dense_shape``.

    Raises:
        TypeError: not a sparse tensor.
        InvalidArgumentError: indices out of bounds, out of order or repeated.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])
        >>> tf.sparse.to_dense(x, default_value=-1).numpy()
        array([[-1,  5],
               [ 6, -1]], dtype=int32)
    """
    x = require_sparse(sp_input, "sparse.to_dense")
    default = nothing(x.dtype) if default_value is None else default_value
    background = convert_to_tensor(default, x.dtype)
    if x.rank == 0:  # there is one place, and no axis to scatter along
        side = ox.Reshape(background, int64_constant([1]))
        return ox.Gather(concat([x.values, side], 0), int64_constant(0), axis=0)
    indices = positions.checked(x, "SparseToDense") if validate_indices else x.indices
    if isinstance(background, EagerTensor) and background.shape.rank == 0:
        whole = filled(x.dense_shape, background.numpy(), x.dtype)
    else:
        whole = ox.Expand(background, x.dense_shape)
    found = tensor_scatter_nd_update(whole, indices, x.values)
    if x.shape.rank is not None:
        found.set_shape(x.shape)
    return found


def to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Which numbers occur in each row: True at ``[..., sp_input.values[i]]``.

    Args:
        sp_input: ``SparseTensor`` of integers.
        vocab_size: The size of the new last axis, which replaces that of ``sp_input``.
        name: Accepted for compatibility.

    Returns:
        A boolean tensor ``sp_input.shape[:-1] + [vocab_size]``.

    Raises:
        TypeError: not a sparse tensor, or not of integers.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [2, 0, 1], [2, 2])
        >>> tf.sparse.to_indicator(x, 3).numpy()
        array([[False, False,  True],
               [ True,  True, False]])
    """
    x = require_sparse(sp_input, "sparse.to_indicator")
    if not x.dtype.is_integer:
        raise TypeError(f"sparse.to_indicator takes integers; got values of {x.dtype.name}.")
    rank = known_rank_of(x, "sparse.to_indicator")
    outer = positions.columns(x.indices, list(range(rank - 1)))
    last = ox.Unsqueeze(cast_to(x.values, dtypes.int64), int64_constant([1]))
    size = ox.Reshape(as_int64(vocab_size), int64_constant([1]))
    front = ox.Slice(x.dense_shape, int64_constant([0]), int64_constant([rank - 1]))
    whole = filled(ox.Concat(front, size, axis=0), 0, dtypes.bool)
    true = ox.Expand(convert_to_tensor(True), ox.Shape(x.values))
    return tensor_scatter_nd_update(whole, ox.Concat(outer, last, axis=1), true)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> SparseTensor:
    """A sparse matrix with ones on the diagonal.

    Args:
        num_rows: How many rows.
        num_columns: How many columns; None: as many.
        dtype: Element type.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.sparse.to_dense(tf.sparse.eye(2, 3)).numpy()
        array([[1., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """
    rows = as_int64(num_rows)
    width = rows if num_columns is None else as_int64(num_columns)
    places = cast_to(count_up(ox.Min(rows, width)), dtypes.int64)
    indices = ox.Concat(*[ox.Unsqueeze(places, int64_constant([1]))] * 2, axis=1)
    one = convert_to_tensor(1, as_dtype(dtype))
    sizes = [ox.Reshape(n, int64_constant([1])) for n in (rows, width)]
    return made(indices, ox.Expand(one, ox.Shape(places)), ox.Concat(*sizes, axis=0))
