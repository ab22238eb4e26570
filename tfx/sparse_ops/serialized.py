"""Sparse tensors as strings: ``tfx.io.serialize_sparse`` and its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python
from tfx.ops.io.tensor_proto import array_of_message, message_of_array
from tfx.sparse_ops import arrays
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made, require_sparse


def _strings(parts: Any, kinds: Any) -> list[bytes]:
    return [message_of_array(part, kind) for part, kind in zip(parts, kinds, strict=True)]


def serialize_sparse(
    sp_input: Any, out_type: DTypeLike = "string", name: str | None = None
) -> Tensor:
    """A sparse tensor as three strings: indices, values, shape.

    Args:
        sp_input: ``SparseTensor``.
        out_type: string.
        name: Accepted for compatibility.

    Returns:
        ``[3]`` strings.

    Raises:
        TypeError: not a sparse tensor.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[1]], [5], [3])
        >>> texts = tf.io.serialize_sparse(x)
        >>> tf.io.deserialize_many_sparse(tf.stack([texts]), tf.int32, rank=2).values.numpy()
        array([5], dtype=int32)
    """
    x = require_sparse(sp_input, "io.serialize_sparse")
    kinds = (dtypes.int64, x.dtype, dtypes.int64)

    def compute(*parts: Any) -> list[Any]:
        return [np.array(_strings(parts, kinds), object)]

    parts = [x.indices, x.values, x.dense_shape]
    return by_python("io.serialize_sparse", compute, parts, [(dtypes.string, (3,))])[0]


def serialize_many_sparse(
    sp_input: Any, out_type: DTypeLike = "string", name: str | None = None
) -> Tensor:
    """The slices of a sparse tensor along its first axis, each as three strings.

    Args:
        sp_input: ``SparseTensor`` of two axes or more.
        out_type: string.
        name: Accepted for compatibility.

    Returns:
        ``[n, 3]`` strings.

    Raises:
        TypeError: not a sparse tensor.
    """
    x = require_sparse(sp_input, "io.serialize_many_sparse")
    if known_rank_of(x, "SerializeManySparse") < 2:
        raise InvalidArgumentError(f"serialize_many_sparse takes two axes or more; got {x!r}.")
    kinds = (dtypes.int64, x.dtype, dtypes.int64)

    def compute(indices: Any, values: Any, shape: Any) -> list[Any]:
        rows = [_strings(row, kinds) for row in arrays.rows_of([indices, values, shape])]
        return [np.array(rows, object).reshape(-1, 3)]

    parts = [x.indices, x.values, x.dense_shape]
    return by_python("io.serialize_many_sparse", compute, parts, [(dtypes.string, (None, 3))])[0]


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Sparse tensors of strings, put together along a new first axis.

    Args:
        serialized_sparse: ``[n, 3]`` strings.
        dtype: Of the values.
        rank: How many axes the result has; None: not known.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: strings of something else.
    """
    kind = as_dtype(dtype)
    x = convert_to_tensor(serialized_sparse, dtypes.string)

    def compute(texts: Any) -> list[Any]:
        rows = []
        for indices, values, shape in texts.reshape(-1, 3):
            rows.append(
                [
                    array_of_message(indices, dtypes.int64),
                    array_of_message(values, kind),
                    array_of_message(shape, dtypes.int64),
                ]
            )
        if not rows:
            raise InvalidArgumentError("deserialize_many_sparse takes at least one sparse tensor.")
        return list(arrays.stacked(rows))

    outputs: list[Any] = [(dtypes.int64, (None, rank)), (kind, (None,)), (dtypes.int64, (rank,))]
    return made(*by_python("io.deserialize_many_sparse", compute, [x], outputs))
