"""``edit_distance``: how many letters must be changed, added or left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, ResourceExhaustedError
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python
from tfx.sparse_ops.sparse_tensor import SparseTensor


def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = None
) -> Tensor:
    """The Levenshtein distances between the rows of two sparse tensors.

    A row is what differs in the last index alone, in its order. Python counts; a function with it
    cannot be saved.

    Args:
        hypothesis: A ``tf.SparseTensor`` of any dtype, of rank 2 or more.
        truth: One of the same dtype and rank.
        normalize: Divide by the lengths of the rows of ``truth``; of an empty row it is infinite.
        name: Accepted for compatibility.

    Returns:
        float32, as large as the larger of both along each axis but the last.

    Raises:
        TypeError: not two sparse tensors.
        InvalidArgumentError: two dtypes or ranks, a rank below 2, or an index out of the shapes.
        ResourceExhaustedError: the shapes are too large.

    Example:
        >>> import tfx as tf
        >>> one = tf.sparse.from_dense([[1, 2, 3], [4, 0, 0]])
        >>> two = tf.sparse.from_dense([[1, 3, 0], [4, 5, 6]])
        >>> tf.edit_distance(one, two).numpy().round(2)
        array([0.5 , 0.67], dtype=float32)
    """
    for what, x in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(x, SparseTensor):
            raise TypeError(f"{what} must be a SparseTensor; got {type(x).__name__}.")
    if hypothesis.dtype is not truth.dtype:
        raise InvalidArgumentError(
            "hypothesis and truth must have one dtype; got "
            f"{hypothesis.dtype.name} and {truth.dtype.name}."
        )
    ranks = hypothesis.shape.rank, truth.shape.rank
    if None in ranks or ranks[0] != ranks[1] or ranks[0] < 2:
        raise InvalidArgumentError(
            f"Input SparseTensors must have one rank, at least 2; got {ranks[0]} and {ranks[1]}."
        )

    def compute(*parts: Any) -> list[Any]:
        one, two = _rows(*parts[:2]), _rows(*parts[3:5])
        sizes = np.maximum(parts[2], parts[5])[:-1]
        try:
            result = np.zeros(sizes, np.float32)
        except (MemoryError, ValueError) as e:
            raise ResourceExhaustedError(
                f"there is no memory for distances of shape {sizes.tolist()}: {e}"
            ) from e
        for place in one.keys() | two.keys():
            if any(not 0 <= i < size for i, size in zip(place, result.shape, strict=True)):
                raise InvalidArgumentError(
                    f"an index of row {list(place)} is out of the dense shapes "
                    f"{parts[2].tolist()} and {parts[5].tolist()}."
                )
            mine, theirs = one.get(place, []), two.get(place, [])
            found: float = _distance(mine, theirs)
            if normalize:
                found = found / len(theirs) if theirs else math.inf if mine else 0.0
            result[place] = found
        return [result]

    given = [part for x in (hypothesis, truth) for part in (x.indices, x.values, x.dense_shape)]
    shape = (None,) * (ranks[0] - 1)
    return by_python("edit_distance", compute, given, [(dtypes.float32, shape)])[0]


def _rows(indices: Any, values: Any) -> dict[tuple[int, ...], list[Any]]:
    """The values of each row, in the order of the last index."""
    found: dict[tuple[int, ...], list[Any]] = {}
    order = np.lexsort(indices.T[::-1])
    for index, value in zip(indices[order].tolist(), values[order].tolist(), strict=True):
        found.setdefault(tuple(index[:-1]), []).append(value)
    return found


def _distance(one: list[Any], two: list[Any]) -> int:
    """The Levenshtein distance, a row of the table at a time."""
    before = list(range(len(two) + 1))
    for i, x in enumerate(one, 1):
        now = [i]
        for j, y in enumerate(two, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (x != y)))
        before = now
    return before[-1]
