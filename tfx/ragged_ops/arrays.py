"""The components of ragged tensors as NumPy arrays, for pipelines that run outside of graphs.

Components are the innermost values, then row splits, the outer ones first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


def from_dense(array: Array, ragged_rank: int) -> list[Array]:
    """The components of a dense array whose first axes are to have row splits."""
    splits = []
    count = 1
    for axis in range(ragged_rank):
        count *= array.shape[axis]
        splits.append(np.arange(count + 1, dtype=np.int64) * array.shape[axis + 1])
    rows = int(np.prod(array.shape[: ragged_rank + 1], dtype=np.int64))
    return [array.reshape(rows, *array.shape[ragged_rank + 1 :]), *splits]


def rows_of(parts: Sequence[Array]) -> list[list[Array]]:
    """The components of each row."""
    flat, *splits = parts
    ends = splits[0]
    return [_between(flat, splits[1:], a, b) for a, b in pairwise(ends)]


def _between(flat: Array, splits: Sequence[Array], start: Any, limit: Any) -> list[Array]:
    if not splits:
        return [flat[start:limit]]
    own = splits[0][start : limit + 1]
    inner = _between(flat, splits[1:], own[0], own[-1])
    return [inner[0], own - own[0], *inner[1:]]


def stacked(rows: Sequence[Sequence[Array]], kind: Any) -> list[Array]:
    """The components of rows put together, with one more splits.

    Args:
        rows: The components of each row.
        kind: The dtype of the splits.
    """
    sizes = [len(row[1]) - 1 if len(row) > 1 else len(row[0]) for row in rows]
    columns = list(zip(*rows, strict=True))
    splits = [_splits(sizes, kind)]
    for column in columns[1:]:
        lengths = [each[1:] - each[:-1] for each in column]
        splits.append(_splits(np.concatenate(lengths), kind))
    return [np.concatenate(columns[0]), *splits]


def _splits(lengths: Any, kind: Any) -> Array:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(kind)
