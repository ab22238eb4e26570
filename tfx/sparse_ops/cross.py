"""Combinations of what stands in the same row of several tensors. Python makes them.

As texts, or hashed as TensorFlow does it: the fingerprints of the parts, mixed in order.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python
from tfx.ops.strings.fingerprint import combined, fingerprint64
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made, strings_or_integers

# What hashes begin with where nothing else is said; TensorFlow's.
DEFAULT_KEY = 0xDECAFCAFFE
_LARGEST = 2**63 - 1

# Makes one of the parts of a combination.
Joint = Callable[[Sequence[Any]], Any]


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
    between = b"_X_" if separator is None else _bytes(separator)
    return _cross(inputs, joined_by(between), dtypes.string, "sparse.cross")


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """The hashes of the combinations of what stands in the same row of several tensors.

    Args:
        inputs: Tensors and sparse tensors of two axes, of strings or integers.
        num_buckets: Hashes are below this; 0: below 2^63 - 1.
        hash_key: What hashes begin with; None: TensorFlow's own.
        name: Accepted for compatibility.

    Returns:
        A ``SparseTensor`` of int64, the same as TensorFlow's.

    Raises:
        TypeError: something else among the inputs.

    Example:
        >>> import tfx as tf
        >>> pair = [tf.constant([["a", "b"]]), tf.constant([["c"]])]
        >>> tf.sparse.cross_hashed(pair, num_buckets=100).values.numpy()
        array([66, 54])
    """
    return _cross(inputs, hashed_to(num_buckets, hash_key), dtypes.int64, "sparse.cross_hashed")


def joined_by(between: bytes) -> Joint:
    """Texts with something between them."""
    return lambda parts: between.join(map(_text, parts))


def hashed_to(num_buckets: int, hash_key: int | None) -> Joint:
    """Hashes, below a number if that is not 0."""
    key = DEFAULT_KEY if hash_key is None else int(hash_key)
    many = int(num_buckets) or _LARGEST

    def hashed(parts: Sequence[Any]) -> int:
        numbers = [fingerprint64(x) if isinstance(x, bytes) else int(x) for x in parts]
        return functools.reduce(combined, numbers, key) % many

    return hashed


def _cross(inputs: Any, joint: Joint, kind: Any, op: str) -> SparseTensor:
    if not isinstance(inputs, list | tuple) or not all(
        isinstance(x, Tensor | SparseTensor) for x in inputs
    ):
        raise TypeError("All inputs must be Tensor or SparseTensor.")
    inputs = sorted(inputs, key=lambda x: isinstance(x, Tensor))  # sparse ones first: TensorFlow's
    parts: list[Tensor] = []
    sparse = [isinstance(x, SparseTensor) for x in inputs]
    for x in inputs:
        rank = known_rank_of(x, "cross") if isinstance(x, SparseTensor) else x.shape.rank
        if rank != 2:
            raise InvalidArgumentError(f"{op} takes tensors of two axes; got {x!r}.")
        if isinstance(x, SparseTensor):
            parts += [x.indices, strings_or_integers(x.values), x.dense_shape]
        else:
            parts.append(strings_or_integers(x))

    def compute(*arrays: Any) -> list[Any]:
        return _crossed(arrays, sparse, joint, kind)

    outputs = [(dtypes.int64, (None, 2)), (kind, (None,)), (dtypes.int64, (2,))]
    return made(*by_python(op, compute, parts, outputs))


def _bytes(x: Any) -> bytes:
    found = x.numpy() if hasattr(x, "numpy") else x
    return found if isinstance(found, bytes) else str(found).encode()


def _crossed(arrays: Sequence[Any], sparse: Sequence[bool], joint: Joint, kind: Any) -> list[Any]:
    columns: list[list[list[Any]]] = []
    rest = list(arrays)
    for is_sparse in sparse:
        if not is_sparse:
            columns.append([list(row) for row in rest.pop(0)])
            continue
        indices, values, shape = rest[:3]
        del rest[:3]
        rows: list[list[Any]] = [[] for _ in range(int(shape[0]))]
        for row, value in zip(indices[:, 0].tolist(), values, strict=True):
            rows[row].append(value)
        columns.append(rows)
    found = crossed_rows(columns, joint)
    indices = [[i, j] for i, row in enumerate(found) for j in range(len(row))]
    shape = [len(found), max(map(len, found), default=0)]
    items = flat_items(found, kind)
    return [np.array(indices, np.int64).reshape(-1, 2), items, np.array(shape, np.int64)]


def crossed_rows(columns: Sequence[Sequence[Sequence[Any]]], joint: Joint) -> list[list[Any]]:
    """The combinations of each row.

    Args:
        columns: For each input its rows.
        joint: Makes one of a combination.
    """
    return [
        [joint(parts) for parts in itertools.product(*rows)] for rows in zip(*columns, strict=True)
    ]


def flat_items(rows: Sequence[Sequence[Any]], kind: Any) -> Any:
    """What stands in rows, one after the other, as an array."""
    items = np.empty(sum(map(len, rows)), kind.as_numpy_dtype)
    items[:] = [x for row in rows for x in row]
    return items


def _text(x: Any) -> bytes:
    return x if isinstance(x, bytes) else str(x).encode()
