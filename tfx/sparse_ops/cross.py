"""``tfx.sparse.cross``: combinations of texts. Python makes them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made


def cross(inputs: Any, name: str | None = None, separator: Any = None) -> SparseTensor:
    """The combinations of what stands in the same row of several tensors.

    Args:
        inputs: Tensors and sparse tensors of two axes, of strings or integers.
        name: Accepted for compatibility.
        separator: What is put between the parts; None: ``"_X_"``.

    Returns:
        A ``SparseTensor`` of strings.

    Raises:
        TypeError: something else among the inputs.

    Example:
        >>> import tfx as tf
        >>> found = tf.sparse.cross([tf.constant([["a", "b"]]), tf.constant([["c"]])])
        >>> found.values.numpy()
        array([b'a_X_c', b'b_X_c'], dtype=object)
    """
    if not isinstance(inputs, list | tuple) or not all(
        isinstance(x, Tensor | SparseTensor) for x in inputs
    ):
        raise TypeError("All inputs must be Tensor or SparseTensor.")
    between = b"_X_" if separator is None else _bytes(separator)
    inputs = sorted(inputs, key=lambda x: isinstance(x, Tensor))  # sparse ones first: TensorFlow's
    parts: list[Tensor] = []
    sparse = [isinstance(x, SparseTensor) for x in inputs]
    for x in inputs:
        rank = known_rank_of(x, "cross") if isinstance(x, SparseTensor) else x.shape.rank
        if rank != 2:
            raise ValueError(f"sparse.cross takes tensors of two axes; got {x!r}.")
        parts += [x.indices, x.values, x.dense_shape] if isinstance(x, SparseTensor) else [x]

    def compute(*arrays: Any) -> list[Any]:
        return _crossed(arrays, sparse, between)

    outputs = [(dtypes.int64, (None, 2)), (dtypes.string, (None,)), (dtypes.int64, (2,))]
    return made(*by_python("sparse.cross", compute, parts, outputs))


def _bytes(x: Any) -> bytes:
    found = x.numpy() if hasattr(x, "numpy") else x
    return found if isinstance(found, bytes) else str(found).encode()


def _crossed(arrays: Sequence[Any], sparse: Sequence[bool], between: bytes) -> list[Any]:
    columns: list[list[list[bytes]]] = []
    rest = list(arrays)
    for is_sparse in sparse:
        if not is_sparse:
            columns.append([[_text(x) for x in row] for row in rest.pop(0)])
            continue
        indices, values, shape = rest[:3]
        del rest[:3]
        rows: list[list[bytes]] = [[] for _ in range(int(shape[0]))]
        for row, value in zip(indices[:, 0].tolist(), values, strict=True):
            rows[row].append(_text(value))
        columns.append(rows)
    found = [
        [between.join(parts) for parts in itertools.product(*rows)]
        for rows in zip(*columns, strict=True)
    ]
    indices = [[i, j] for i, row in enumerate(found) for j in range(len(row))]
    shape = [len(found), max(map(len, found), default=0)]
    texts = np.empty(len(indices), object)
    texts[:] = [x for row in found for x in row]
    return [np.array(indices, np.int64).reshape(-1, 2), texts, np.array(shape, np.int64)]


def _text(x: Any) -> bytes:
    return x if isinstance(x, bytes) else str(x).encode()
