"""Embeddings of bags of ids: the rows of a table for the ids in each row of a sparse tensor."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.shapes import concat_shape, product, reshape_to, shape_vector
from tfx.ops.math.error_functions import divide_no_nan
from tfx.ops.math.segments import unsorted_segment_sum
from tfx.ops.nn.embedding import embedding_lookup
from tfx.sparse_ops import positions
from tfx.sparse_ops.rows import fill_empty_rows
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made, require_sparse

_COMBINERS = ("mean", "sqrtn", "sum")


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """The rows of a table for the ids in each row of a sparse tensor, combined.

    Args:
        params: ``[rows, ...]``, or a list of pieces, as ``tf.nn.embedding_lookup`` takes it.
        sp_ids: ``SparseTensor`` (or ragged tensor) ``[batch, any]`` of integers.
        sp_weights: What each row is multiplied by, of the same form; None: 1.
        combiner: ``"mean"`` (None means it), ``"sum"``, or ``"sqrtn"``: the sum by the root of the
            sum of squared weights.
        max_norm: Rows of a larger Euclidean norm are scaled down to it.
        name: Accepted for compatibility.
        allow_fast_lookup: Accepted for compatibility.

    Returns:
        ``[batch, ...]``, up to the last row with an id; 0 for rows without.

    Raises:
        ValueError: another combiner.
        TypeError: ids that are neither sparse nor ragged.

    Example:
        >>> import tfx as tf
        >>> ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 1, 1], [2, 2])
        >>> tf.nn.embedding_lookup_sparse([[1.0], [3.0]], ids, None, combiner="sum").numpy()
        array([[4.],
               [3.]], dtype=float32)
    """
    kind = _combiner(combiner)
    rows, ids = _rows_and_values(sp_ids, "sp_ids")
    weights = None if sp_weights is None else _rows_and_values(sp_weights, "sp_weights")[1]
    return _combined(params, rows, ids, weights, kind, max_norm, None)


def _combiner(combiner: str | None) -> str:
    kind = "mean" if combiner is None else combiner
    if kind not in _COMBINERS:
        raise InvalidArgumentError(
            f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}"
        )
    return kind


def _rows_and_values(x: Any, name: str) -> tuple[Tensor, Tensor]:
    if is_ragged(x):
        return cast_to(x.value_rowids(), dtypes.int64), x.flat_values
    if not isinstance(x, SparseTensor):
        raise TypeError(f"{name} must be SparseTensor or RaggedTensor, got {type(x).__name__}")
    return positions.column(x.indices, 0), x.values


def _combined(
    params: Any,
    rows: Tensor,
    ids: Tensor,
    weights: Tensor | None,
    kind: str,
    max_norm: float | None,
    count: Tensor | None,
) -> Tensor:
    """Rows of the table summed by rows of the ids; ``count`` rows, or up to the last one."""
    found = embedding_lookup(params, ids, max_norm)
    if count is None:
        last = ox.ReduceMax(ox.Concat(rows, int64_constant([-1]), axis=0), keepdims=0)
        count = ox.Add(last, int64_constant(1))
    if weights is None:
        each = ox.Expand(convert_to_tensor(1, found.dtype), ox.Shape(ids))
    else:
        each = cast_to(weights, found.dtype)
        found = ox.Mul(found, _beside(each, found))
    total = unsorted_segment_sum(found, rows, count)
    if kind == "sum":
        return total
    size = unsorted_segment_sum(ox.Mul(each, each) if kind == "sqrtn" else each, rows, count)
    size = ox.Sqrt(size) if kind == "sqrtn" else size
    quotient: Tensor = divide_no_nan(total, _beside(size, total))
    return quotient


def _beside(vector: Tensor, x: Tensor) -> Tensor:
    """A vector with axes behind, to go along the first axis of a tensor."""
    rank = x.shape.rank
    if rank is None:
        raise InvalidArgumentError("embedding_lookup_sparse needs params of known rank.")
    return ox.Unsqueeze(vector, int64_constant(list(range(1, rank)))) if rank > 1 else vector


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: Any = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """``embedding_lookup_sparse`` that takes rows without ids, and leaves out what is no id.

    Args:
        embedding_weights: ``[rows, ...]``, or a list of pieces.
        sparse_ids: ``SparseTensor`` of integers, of two axes or more, or a ragged one; negative
            ids are left out.
        sparse_weights: What each row is multiplied by; None: 1. Ids with weights of 0 or less are
            left out, but for ``"sum"``.
        combiner: ``"mean"``, ``"sum"`` or ``"sqrtn"``.
        default_id: The id of rows that have none; None: zeros.
        max_norm: Rows of a larger Euclidean norm are scaled down to it.
        name: Accepted for compatibility.
        allow_fast_lookup: Accepted for compatibility.

    Returns:
        ``sparse_ids.shape[:-1] + embedding_weights.shape[1:]``.

    Raises:
        ValueError: another combiner, or no table.

    Example:
        >>> import tfx as tf
        >>> ids = tf.SparseTensor([[0, 0], [2, 0]], [1, -1], [3, 1])
        >>> tf.nn.safe_embedding_lookup_sparse([[1.0], [3.0]], ids).numpy().tolist()
        [[3.0], [0.0], [0.0]]
    """
    if embedding_weights is None or (
        isinstance(embedding_weights, list | tuple) and not embedding_weights
    ):
        raise InvalidArgumentError(f"Missing embedding_weights {embedding_weights}.")
    kind = _combiner(combiner)
    ids, weights = _sparse(sparse_ids), None if sparse_weights is None else _sparse(sparse_weights)
    rank = known_rank_of(ids, "safe_embedding_lookup_sparse")
    if rank < 2:
        raise InvalidArgumentError(
            f"safe_embedding_lookup_sparse takes ids of two axes or more; got {ids!r}."
        )
    outer = ox.Gather(ids.dense_shape, int64_constant(list(range(rank - 1))), axis=0)
    rows = positions.places_of(
        positions.columns(ids.indices, list(range(rank - 1))), outer, rank - 1
    )
    numbers = cast_to(ids.values, dtypes.int64)
    kept = ox.GreaterOrEqual(numbers, int64_constant(0))
    each = None if weights is None else weights.values
    if each is not None and kind != "sum":
        kept = ox.And(kept, ox.Greater(each, convert_to_tensor(0, each.dtype)))
    some = positions.where_true(kept)
    rows, numbers = ox.Gather(rows, some), ox.Gather(numbers, some)
    each = None if each is None else ox.Gather(each, some)
    total = product(outer)
    if default_id is not None:
        rows, numbers, each = _filled(rows, numbers, each, total, default_id)
    count = ox.Squeeze(total, int64_constant([0]))
    found = _combined(embedding_weights, rows, numbers, each, kind, max_norm, count)
    return found if rank == 2 else reshape_to(found, concat_shape(outer, shape_vector(found, 1)))


def _sparse(x: Any) -> SparseTensor:
    return require_sparse(x.to_sparse() if is_ragged(x) else x, "safe_embedding_lookup_sparse")


def _filled(
    rows: Tensor, numbers: Tensor, each: Tensor | None, total: Tensor, default_id: Any
) -> tuple[Tensor, Tensor, Tensor | None]:
    """An id for each row that has none, of the weight 1."""
    indices = ox.Unsqueeze(rows, int64_constant([1]))
    default = cast_to(convert_to_tensor(default_id), dtypes.int64)
    found, _ = fill_empty_rows(made(indices, numbers, total), default)
    places = positions.column(found.indices, 0)
    if each is None:
        return places, found.values, None
    one = convert_to_tensor(1, each.dtype)
    return places, found.values, fill_empty_rows(made(indices, each, total), one)[0].values
