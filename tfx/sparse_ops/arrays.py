"""The components of sparse tensors as NumPy arrays, for pipelines that run outside of graphs.

Components are in the order of the structure: indices, values, dense shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfx.core.errors import InvalidArgumentError

Array: TypeAlias = npt.NDArray[Any]


def stacked(rows: Sequence[Sequence[Array]]) -> list[Array]:
    """The components of sparse tensors put together along a new first axis.

    Raises:
        InvalidArgumentError: tensors of different ranks.
    """
    ranks = {row[2].shape[0] for row in rows}
    if len(ranks) > 1:
        raise InvalidArgumentError(
            f"Cannot batch sparse tensors of different ranks: {sorted(ranks)}.",
            op="IteratorGetNext",
        )
    shape = np.concatenate([[len(rows)], np.max([row[2] for row in rows], axis=0)])
    numbers = np.repeat(np.arange(len(rows)), [len(row[1]) for row in rows])
    indices = np.concatenate([row[0] for row in rows])
    whole = np.concatenate([numbers[:, None], indices], axis=1)
    return [whole.astype(np.int64), np.concatenate([r[1] for r in rows]), shape.astype(np.int64)]


def rows_of(parts: Sequence[Array]) -> list[list[Array]]:
    """The components of each slice along the first axis."""
    indices, values, shape = parts
    order = np.argsort(indices[:, 0], kind="stable")
    indices, values = indices[order], values[order]
    ends = np.searchsorted(indices[:, 0], np.arange(int(shape[0]) + 1))
    return [
        [indices[a:b, 1:], values[a:b], shape[1:]]
        for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
