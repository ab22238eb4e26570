"""``tf.ragged.cross``: combinations of what stands in the same row of several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.sparse_ops.cross import Joint, crossed_rows, flat_items, hashed_to, joined_by
from tfx.sparse_ops.sparse_tensor import SparseTensor


def cross(inputs: Any, name: str | None = None) -> RaggedTensor:
    """The combinations of what stands in the same row of several tensors, as texts.

    Args:
        inputs: Tensors, ragged and sparse tensors of two axes, of strings or integers.
        name: Accepted for compatibility.

    Returns:
        A ragged tensor of strings, ``"a_X_b"``.

    Raises:
        ValueError: a tensor of another rank.

    Example:
        >>> import tfx as tf
        >>> rows = tf.ragged.constant([["a", "b"], ["c"]])
        >>> tf.ragged.cross([rows, tf.constant([["x"], ["y"]])])
        <tf.RaggedTensor [[b'a_X_x', b'b_X_x'], [b'c_X_y']]>
    """
    return _cross(inputs, joined_by(b"_X_"), dtypes.string, "ragged.cross")


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> RaggedTensor:
    """The hashes of the combinations of ``cross``, the same as TensorFlow's.

    Args:
        inputs: See ``cross``.
        num_buckets: Hashes are below this; 0: below 2^63 - 1.
        hash_key: What hashes begin with; None: TensorFlow's own.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> rows = tf.ragged.constant([["x", "y"], ["z"]])
        >>> tf.ragged.cross_hashed([rows, tf.constant([["p"], ["q"]])], num_buckets=50)
        <tf.RaggedTensor [[2, 34], [1]]>
    """
    return _cross(inputs, hashed_to(num_buckets, hash_key), dtypes.int64, "ragged.cross_hashed")


def _cross(inputs: Sequence[Any], joint: Joint, kind: Any, op: str) -> RaggedTensor:
    parts: list[Tensor] = []
    for x in inputs:
        given = x if isinstance(x, RaggedTensor | SparseTensor) else convert_to_tensor(x)
        if given.shape.rank != 2:
            raise ValueError(f"{op} takes tensors of two axes; got {x!r}.")
        if isinstance(given, SparseTensor):
            rows, count = given.indices[:, 0], given.dense_shape[0]
            given = RaggedTensor.from_value_rowids(given.values, rows, count)
        elif isinstance(given, Tensor):
            given = RaggedTensor.from_tensor(given)
        parts += [given.values, given.row_splits]

    def compute(*arrays: Any) -> list[Any]:
        columns = [
            [row.tolist() for row in np.split(values, splits[1:-1])]
            for values, splits in zip(arrays[::2], arrays[1::2], strict=True)
        ]
        found = crossed_rows(columns, joint)
        lengths = np.array([len(row) for row in found], np.int64)
        return [flat_items(found, kind), np.concatenate([[0], np.cumsum(lengths)])]

    outputs = [(kind, (None,)), (dtypes.int64, (None,))]
    values, splits = by_python(op, compute, parts, outputs)
    return RaggedTensor.from_row_splits(values, splits, validate=False)
