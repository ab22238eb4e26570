"""What makes the tensors of one feature list of SequenceExamples: steps of values.

As ``readers`` for single features; a step of a list is read as an Example's feature is.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    LISTS,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
    default_of,
    dtype_of,
    shape_of,
)
from tfx.parsing.readers import Names, RawShape, Reader, sparse_outputs
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.sparse_ops.sparse_tensor import made

_Steps = list[list[Array | None]]


def reader_of(key: str, feature: Any, single: bool, batch: Any) -> Reader:
    """How a feature list is read.

    Args:
        key: Its key.
        feature: Its configuration.
        single: Whether there is one SequenceExample, and no axis for a batch.
        batch: The number of them, None if it is not known.
    """
    lead: tuple[Any, ...] = () if single else (batch,)
    if isinstance(feature, FixedLenSequenceFeature):
        return _dense(key, feature, lead)
    if isinstance(feature, VarLenFeature):
        return _sparse(key, feature, lead)
    return _ragged(key, feature, lead)


def _steps(rows: Rows, key: str, kind: DType, names: Names) -> _Steps:
    """The values of each step of each list; a missing list has no steps."""
    found: _Steps = []
    for i, lists in enumerate(rows):
        steps: list[Array | None] = []
        if key in lists:
            for j, feature in enumerate(lists[key].feature):
                where = f"{columns.named(names, i)}Feature list: {key}, Index: {j}"
                values = columns.values_in(feature, kind, where)
                steps.append(None if values is None else columns.as_array(values, kind))
        found.append(steps)
    return found


def _dense(key: str, feature: FixedLenSequenceFeature, lead: tuple[Any, ...]) -> Reader:
    kind, shape, default = dtype_of(feature, key), shape_of(feature, key), default_of(feature, key)
    size = int(np.prod(shape, dtype=np.int64))

    def read(rows: Rows, names: Names) -> list[Array]:
        for i, lists in enumerate(rows):
            if key not in lists and not feature.allow_missing:
                raise columns.refuse(
                    f"{columns.named(names, i)}Feature list '{key}' is required but could not be "
                    "found.  Did you mean to include it in feature_list_dense_missing_assumed_empty"
                    " or feature_list_dense_defaults? FixedLenSequenceFeature has allow_missing."
                )
        found = _steps(rows, key, kind, names)
        lengths = np.array([len(steps) for steps in found], np.int64)
        whole = columns.empty(kind, (len(found), lengths.max(initial=0), size))
        if default is not None:
            whole[:] = default
        for i, steps in enumerate(found):
            for j, values in enumerate(steps):
                if values is None or len(values) != size:
                    count = 0 if values is None else len(values)
                    raise columns.refuse(
                        f"{columns.named(names, i)}Key: {key}, Index: {j}.  Number of "
                        f"{LISTS[kind.name][1]} values != expected.  values size: {count} but "
                        f"output shape: {list(shape)}"
                    )
                whole[i, j] = values
        dense = whole.reshape(*whole.shape[:2], *shape)
        return [dense, lengths] if lead else [dense[0]]

    outputs: list[tuple[DType, RawShape]] = [(kind, (*lead, None, *shape))]
    if lead:
        outputs.append((dtypes.int64, lead))
        return Reader(tuple(outputs), read, tuple)
    return Reader(tuple(outputs), read, lambda parts: parts[0])


def _sparse(key: str, feature: VarLenFeature, lead: tuple[Any, ...]) -> Reader:
    kind = dtype_of(feature, key)
    rank = 2 + len(lead)

    def read(rows: Rows, names: Names) -> list[Array]:
        found = _steps(rows, key, kind, names)
        values, lengths = columns.flat([v for steps in found for v in steps], kind)
        counts = np.array([len(steps) for steps in found], np.int64)
        owner = np.repeat(np.arange(len(found)), counts)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        place = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        parts = [np.repeat(owner, lengths), np.repeat(step, lengths), place]
        indices = np.stack(parts, axis=1).astype(np.int64)
        shape = np.array([len(found), counts.max(initial=0), lengths.max(initial=0)], np.int64)
        return [indices[:, 3 - rank :], values, shape[3 - rank :]]

    return Reader(sparse_outputs(kind, rank), read, lambda parts: made(*parts))


def _ragged(key: str, feature: RaggedFeature, lead: tuple[Any, ...]) -> Reader:
    if feature.partitions:
        raise InvalidArgumentError(
            f"RaggedFeature {key!r} of a SequenceExample cannot have partitions: its rows are the "
            f"steps; got {feature.partitions}."
        )
    kind, splits = dtype_of(feature, key), feature.row_splits_dtype
    called = feature.value_key or key

    def read(rows: Rows, names: Names) -> list[Array]:
        found = _steps(rows, called, kind, names)
        values, lengths = columns.flat([v for steps in found for v in steps], kind)
        return [values, lengths, np.array([len(steps) for steps in found], np.int64)]

    def put(parts: Sequence[Tensor]) -> Any:
        values, lengths, counts = parts
        steps = RaggedTensor.from_row_lengths(values, cast_to(lengths, splits), validate=False)
        if not lead:
            return steps
        return RaggedTensor.from_row_lengths(steps, cast_to(counts, splits), validate=False)

    outputs: tuple[tuple[DType, RawShape], ...] = (
        (kind, (None,)),
        (dtypes.int64, (None,)),
        (dtypes.int64, lead or (1,)),
    )
    return Reader(outputs, read, put)
