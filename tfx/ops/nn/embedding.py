"""``embedding_lookup``: rows of a table."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.gather import gather
from tfx.ops.common.arguments import as_int64, tensor
from tfx.ops.linalg.norms import clip_by_norm

_TAKEN = (dtypes.int32, dtypes.int64)


def embedding_lookup(
    params: Any, ids: Any, max_norm: float | None = None, name: str | None = None
) -> Tensor:
    """The rows of ``params`` that ``ids`` name.

    Args:
        params: ``[rows, ...]``, or a list of such tensors that are one table cut into pieces (with
            TensorFlow's ``"div"`` strategy, that is one after the other).
        ids: Integers of any shape.
        max_norm: Rows of a larger Euclidean norm are scaled down to it.
        name: Accepted for compatibility.

    Returns:
        ``ids.shape + params.shape[1:]``.

    Raises:
        ValueError: ``params`` is empty.
        InvalidArgumentError: an id out of range, in eager mode.

    Example:
        >>> import tfx as tf
        >>> tf.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 0, 1]).shape
        TensorShape([3, 2])
    """
    if params is None or (isinstance(params, list | tuple) and not params):
        raise InvalidArgumentError(f"params must be specified; got {params!r}.")
    pieces = isinstance(params, list | tuple) and all(_is_table(p) for p in params)
    table = (
        concat(list(params), 0)
        if pieces and len(params) > 1
        else (tensor(params[0]) if pieces else tensor(params))
    )
    where = tensor(ids)
    rows = gather(table, where if where.dtype in _TAKEN else as_int64(where))
    if max_norm is None:
        return rows
    lead = where.shape.rank
    rank = rows.shape.rank
    if lead is None or rank is None:
        raise InvalidArgumentError(
            "embedding_lookup with max_norm needs params and ids of known rank; got "
            f"{table.shape} and {ids!r}."
        )
    clipped: Tensor = clip_by_norm(rows, max_norm, axes=list(range(lead, rank)))
    return clipped


def _is_table(piece: Any) -> bool:
    """A piece of a table, and not a row of a table that is given as nested lists."""
    return hasattr(piece, "shape") and len(piece.shape) >= 1
