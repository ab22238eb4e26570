"""``metrics`` of the best few classes: precision, recall and average precision at k."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.compat.v1.training.metric_state import metric, require_graph
from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import ones_like
from tfx.ops.array.reshape import expand_dims, reshape
from tfx.ops.array.shape import shape
from tfx.ops.array.sort import top_k
from tfx.ops.linalg.diagonals import band_part
from tfx.ops.math.arithmetic import minimum
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import equal, logical_and, logical_not, not_equal
from tfx.ops.math.cumulative import cumsum
from tfx.ops.math.error_functions import divide_no_nan
from tfx.ops.math.reduction import reduce_any, reduce_sum
from tfx.sparse_ops.conversion import to_dense
from tfx.sparse_ops.sparse_tensor import SparseTensor, SparseTensorValue

Result = tuple[Tensor, Tensor]
# Stands where a row of sparse labels has fewer labels than another.
_NONE = np.iinfo(np.int64).min


def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The share of the ``k`` classes with the largest predictions that are right.

    Args:
        labels: int64 class numbers ``[..., labels]`` or ``[...]``, or a sparse tensor of them.
        predictions: ``[..., classes]``, a number for each class.
        k: How many classes are found.
        class_id: Count this class alone; None: all.
        weights: A weight for each example, or one for all; None: 1.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: Name of the scope of its two local variables.

    Returns:
        ``(value, update)``, float64; NaN before the first batch. See ``tf.metrics.mean``.

    Raises:
        RuntimeError: operations run at once.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     labels = tf.constant([[2], [0]], tf.int64)
        ...     _, update = tf.metrics.precision_at_k(labels, [[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], 1)
        ...     session.run(tf.local_variables_initializer())
        ...     session.run(update)
        np.float64(0.5)
    """
    best = cast(top_k(convert_to_tensor(predictions), k).indices, dtypes.int64)
    kind = f"_at_{k}"
    collections = (metrics_collections, updates_collections)
    return _at_k(kind, name, labels, best, class_id, weights, collections, "precision")


def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """``precision_at_k`` of classes that were found already.

    Args:
        labels: See ``precision_at_k``.
        predictions_idx: int64 class numbers ``[..., k]``.
        k: Accepted for names alone.
        class_id: See ``precision_at_k``.
        weights: See ``precision_at_k``.
        metrics_collections: See ``precision_at_k``.
        updates_collections: See ``precision_at_k``.
        name: See ``precision_at_k``.
    """
    best = cast(convert_to_tensor(predictions_idx), dtypes.int64)
    kind = f"_at_{k or 'k'}"
    collections = (metrics_collections, updates_collections)
    return _at_k(kind, name, labels, best, class_id, weights, collections, "precision")


def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The share of the right classes that are among the ``k`` found; see ``precision_at_k``."""
    best = cast(top_k(convert_to_tensor(predictions), k).indices, dtypes.int64)
    kind = f"_at_{k}"
    collections = (metrics_collections, updates_collections)
    return _at_k(kind, name, labels, best, class_id, weights, collections, "recall")


def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """``recall_at_k`` of classes that were found already; see ``precision_at_top_k``."""
    best = cast(convert_to_tensor(predictions_idx), dtypes.int64)
    kind = f"_at_{k or 'k'}"
    collections = (metrics_collections, updates_collections)
    return _at_k(kind, name, labels, best, class_id, weights, collections, "recall")


def _at_k(
    suffix: str,
    name: str | None,
    labels: Any,
    best: Tensor,
    class_id: int | None,
    weights: Any,
    collections: tuple[Any, Any],
    kind: str,
) -> Result:
    require_graph(f"{kind}_at_k")
    right, present = _labels(labels, best)
    distinct = _distinct(best)
    among = logical_and(distinct, _hits(best, right, present))
    if kind == "precision":
        other, counted = "false_positive", best
        missed = logical_and(distinct, logical_not(among))
    else:
        other = "false_negative"
        missed = logical_and(present, logical_not(_hits(right, best, None)))
        counted = right
    hits = cast(_of_class(among, best, class_id), dtypes.float64)
    misses = cast(_of_class(missed, counted, class_id), dtypes.float64)
    if class_id is not None:
        suffix = f"{suffix}_class{class_id}"
    amounts = [
        (f"true_positive{suffix}", _total(reduce_sum(hits, -1), weights)),
        (f"{other}{suffix}", _total(reduce_sum(misses, -1), weights)),
    ]
    return metric(kind + suffix, name, amounts, lambda a, b: a / (a + b), *collections)


def _labels(labels: Any, best: Tensor) -> tuple[Tensor, Tensor]:
    """Labels ``[..., labels]``, and which of them count: each once."""
    if isinstance(labels, SparseTensorValue):
        labels = SparseTensor(*labels)
    if isinstance(labels, SparseTensor):
        right = to_dense(labels, _NONE)
    else:
        right = cast(convert_to_tensor(labels), dtypes.int64)
        if right.shape.rank is not None and right.shape.rank + 1 == best.shape.rank:
            right = expand_dims(right, -1)
    return right, logical_and(_distinct(right), not_equal(right, _NONE))


def _distinct(numbers: Tensor) -> Tensor:
    """True for what is not in its row before."""
    same = equal(expand_dims(numbers, -1), expand_dims(numbers, -2))
    return equal(reduce_sum(band_part(cast(same, dtypes.int32), -1, 0), -1), 1)


def _hits(these: Tensor, those: Tensor, counted: Tensor | None) -> Tensor:
    """Whether each of ``these`` is among ``those`` of the same row."""
    same = equal(expand_dims(these, -1), expand_dims(those, -2))
    if counted is not None:
        same = logical_and(same, expand_dims(counted, -2))
    return reduce_any(same, -1)


def _of_class(mask: Tensor, numbers: Tensor, class_id: int | None) -> Tensor:
    if class_id is None:
        return mask
    return logical_and(mask, equal(numbers, convert_to_tensor(class_id, dtypes.int64)))


def _total(rows: Tensor, weights: Any) -> Tensor:
    if weights is None:
        return reduce_sum(rows)
    factors = cast(convert_to_tensor(weights), dtypes.float64)
    if factors.shape.rank and factors.shape.rank == (rows.shape.rank or 0) + 1:
        factors = reshape(factors, shape(rows))
    return reduce_sum(rows * factors)


def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The mean over examples of the precision at each right class among the best ``k``.

    Args:
        labels: See ``precision_at_k``.
        predictions: See ``precision_at_k``.
        k: How many classes are found.
        weights: See ``precision_at_k``.
        metrics_collections: See ``precision_at_k``.
        updates_collections: See ``precision_at_k``.
        name: See ``precision_at_k``.

    Returns:
        ``(value, update)``, float64; NaN from an example without labels on. See
        ``tf.metrics.mean``.

    Raises:
        RuntimeError: operations run at once.
        ValueError: ``k`` below 1.
    """
    kind = f"average_precision_at_{k}"
    require_graph("average_precision_at_k")
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    best = cast(top_k(convert_to_tensor(predictions), k).indices, dtypes.int64)
    right, present = _labels(labels, best)
    hits = cast(_hits(best, right, present), dtypes.float64)
    ranks = cast(np.arange(1, k + 1), dtypes.float64)
    gained = reduce_sum(hits * cumsum(hits, -1) / ranks, -1)
    most = reduce_sum(cast(present, dtypes.float64), -1)
    rows = gained / minimum(most, convert_to_tensor(float(k), dtypes.float64))
    amounts = [("total", _total(rows, weights)), ("max", _total(ones_like(rows), weights))]
    collections = (metrics_collections, updates_collections)
    return metric(kind, name, amounts, divide_no_nan, *collections)
