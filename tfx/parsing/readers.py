"""What makes the tensors of one feature: the arrays of a batch, and what becomes of them.

A ``Reader`` says which arrays Python computes (their dtypes and shapes are known beforehand), and
puts tensors of these together to the result. The one decision: a single Example is a batch of one,
whose first axis is taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.parsing import columns
from tfx.parsing.columns import Array, Rows
from tfx.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    default_of,
    dtype_of,
    shape_of,
)
from tfx.parsing.partitions import partitioned
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.sparse_ops.sparse_tensor import SparseTensor, made

Names = Sequence[str] | None
RawShape = tuple[Any, ...] | None


@dataclass(frozen=True, slots=True)
class Reader:
    """How one feature is read.

    Attributes:
        outputs: Dtype and shape of each array.
        read: Makes the arrays of the features of each Example.
        put: Makes the result of tensors of these arrays.
    """

    outputs: tuple[tuple[DType, RawShape], ...]
    read: Callable[[Rows, Names], list[Array]]
    put: Callable[[Sequence[Tensor]], Any]


def reader_of(key: str, feature: Any, single: bool, batch: Any) -> Reader:
    """How a feature of an Example is read.

    Args:
        key: Its key.
        feature: Its configuration.
        single: Whether there is one Example, and the result has no axis for a batch.
        batch: The number of Examples, None if it is not known.
    """
    lead: tuple[Any, ...] = () if single else (batch,)
    if isinstance(feature, FixedLenFeature):
        return _fixed(key, feature, lead)
    if isinstance(feature, FixedLenSequenceFeature):
        return _padded(key, feature, lead)
    if isinstance(feature, VarLenFeature):
        return _var_len(key, feature, lead)
    if isinstance(feature, SparseFeature):
        return _sparse(key, feature, lead, batch)
    return _ragged(key, feature, lead)


def _first(array: Array, lead: tuple[Any, ...]) -> Array:
    return array if lead else array[0]


def _fixed(key: str, feature: FixedLenFeature, lead: tuple[Any, ...]) -> Reader:
    kind, shape, default = dtype_of(feature, key), shape_of(feature, key), default_of(feature, key)

    def read(rows: Rows, names: Names) -> list[Array]:
        return [_first(columns.fixed(rows, key, kind, shape, default, names), lead)]

    return Reader(((kind, (*lead, *shape)),), read, lambda parts: parts[0])


def _padded(key: str, feature: FixedLenSequenceFeature, lead: tuple[Any, ...]) -> Reader:
    if not feature.allow_missing:
        raise InvalidArgumentError(
            "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
        )
    kind, shape, default = dtype_of(feature, key), shape_of(feature, key), default_of(feature, key)

    def read(rows: Rows, names: Names) -> list[Array]:
        return [_first(columns.padded(rows, key, kind, shape, default, names), lead)]

    return Reader(((kind, (*lead, None, *shape)),), read, lambda parts: parts[0])


def sparse_outputs(kind: DType, rank: int) -> tuple[tuple[DType, RawShape], ...]:
    """Dtypes and shapes of the parts of a sparse tensor."""
    return (dtypes.int64, (None, rank)), (kind, (None,)), (dtypes.int64, (rank,))


def _sparse_of(parts: Sequence[Tensor]) -> SparseTensor:
    return made(*parts)


def _var_len(key: str, feature: VarLenFeature, lead: tuple[Any, ...]) -> Reader:
    kind = dtype_of(feature, key)
    rank = 1 + len(lead)

    def read(rows: Rows, names: Names) -> list[Array]:
        indices, values, shape = columns.sparse(columns.lists_of(rows, key, kind, names), kind)
        return [indices[:, 2 - rank :], values, shape[2 - rank :]]

    return Reader(sparse_outputs(kind, rank), read, _sparse_of)


def _sparse(key: str, feature: SparseFeature, lead: tuple[Any, ...], batch: Any) -> Reader:
    kind = dtype_of(feature, key)
    several = isinstance(feature.index_key, list | tuple)
    keys = list(feature.index_key) if several else [feature.index_key]
    sizes = [
        int(n) for n in (feature.size if isinstance(feature.size, list | tuple) else [feature.size])
    ]
    if len(keys) != len(sizes):
        raise InvalidArgumentError(
            f"SparseFeature {key!r} needs a size for each index_key; got {feature.index_key!r} and "
            f"{feature.size!r}."
        )
    rank = len(keys) + len(lead)

    def read(rows: Rows, names: Names) -> list[Array]:
        values, lengths = columns.flat(columns.lists_of(rows, feature.value_key, kind, names), kind)
        parts = [np.repeat(np.arange(len(rows)), lengths)]
        for each in keys:
            found, counts = columns.flat(
                columns.lists_of(rows, each, dtypes.int64, names), dtypes.int64
            )
            if not np.array_equal(counts, lengths):
                raise columns.refuse(
                    f"Key: {key}.  The features {each!r} (indices) and {feature.value_key!r} "
                    f"(values) have different numbers of values: {counts.tolist()} and "
                    f"{lengths.tolist()}."
                )
            parts.append(found)
        indices = np.stack(parts, axis=1).astype(np.int64)
        _check_inside(key, indices[:, 1:], sizes)
        shape = np.array([len(rows), *sizes], np.int64)
        if not feature.already_sorted:
            order = np.lexsort(indices.T[::-1])
            indices, values = indices[order], values[order]
        start = 1 - len(lead)
        return [indices[:, start:], values, shape[start:]]

    return Reader(sparse_outputs(kind, rank), read, _sparse_of)


def _check_inside(key: str, indices: Array, sizes: Sequence[int]) -> None:
    outside = ((indices < 0) | (indices >= np.array(sizes))).any(axis=1)
    if outside.any():
        bad = indices[int(outside.argmax())].tolist()
        raise columns.refuse(
            f"Key: {key}.  Index {bad} is out of bounds: the sizes are {list(sizes)}"
        )


def _ragged(key: str, feature: RaggedFeature, lead: tuple[Any, ...]) -> Reader:
    kind = dtype_of(feature, key)
    value_key = feature.value_key or key
    cut = [p for p in feature.partitions if hasattr(p, "key")]
    outputs: list[tuple[DType, RawShape]] = [(kind, (None,)), (dtypes.int64, (None,))]
    for _ in cut:
        outputs += [(dtypes.int64, (None,)), (dtypes.int64, (None,))]

    def read(rows: Rows, names: Names) -> list[Array]:
        found = list(columns.flat(columns.lists_of(rows, value_key, kind, names), kind))
        for each in cut:
            lists = columns.lists_of(rows, each.key, dtypes.int64, names)
            found += columns.flat(lists, dtypes.int64)
        return found

    def put(parts: Sequence[Tensor]) -> Any:
        return _ragged_of(feature, parts, bool(lead))

    return Reader(tuple(outputs), read, put)


def _ragged_of(feature: RaggedFeature, parts: Sequence[Tensor], batched: bool) -> Any:
    """The values cut into rows, those of a batch into those of each Example."""
    splits = feature.row_splits_dtype
    values, lengths = parts[0], cast_to(parts[1], splits)
    if not feature.partitions:
        if not batched:
            return values
        return RaggedTensor.from_row_lengths(values, lengths, validate=False)
    return partitioned(feature, values, lengths, parts[2:], batched)
