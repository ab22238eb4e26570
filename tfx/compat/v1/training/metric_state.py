"""What metrics are made of: local variables that are added to, and a value computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building, is_building
from tfx.compat.v1.variables.initializer_classes import Zeros
from tfx.compat.v1.variables.scopes import variable_scope
from tfx.compat.v1.variables.variable_v1 import Variable
from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import ones_like
from tfx.ops.array.reshape import expand_dims, squeeze
from tfx.ops.math.cast import cast

COLLECTIONS = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]


def metric(
    kind: str,
    name: str | None,
    amounts: Sequence[tuple[str, Any]],
    value: Callable[..., Tensor],
    metrics_collections: Any,
    updates_collections: Any,
    update_value: Callable[..., Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """A metric: sums over batches, and what follows from them.

    Args:
        kind: The metric's function.
        name: Name of its variables' scope; None: ``kind``.
        amounts: For each sum its name and what the batch adds to it, of a known shape.
        value: The metric by the sums.
        metrics_collections: Collections for the value.
        updates_collections: Collections for the update.
        update_value: What the update gives, by the new sums; None: the metric.

    Returns:
        ``(value, update)``: the metric as it is, and an operation that adds the batch and gives
        the metric with it.
    """
    sums: list[Any] = []
    updated: list[Any] = []
    with variable_scope(name, kind):
        for label, amount in amounts:
            sums.append(_variable(label, amount.shape.as_list(), amount.dtype))
        for variable, (_, amount) in zip(sums, amounts, strict=True):
            updated.append(variable.assign_add(amount))
        found = value(*map(convert_to_tensor, sums))
        update = (update_value or value)(*map(convert_to_tensor, updated))
    graph = building()
    if metrics_collections:
        graph.add_to_collections(metrics_collections, found)
    if updates_collections:
        graph.add_to_collections(updates_collections, update)
    return found, update


def require_graph(kind: str) -> None:
    """Refuse to work eagerly.

    Raises:
        RuntimeError: operations run at once.
    """
    if not is_building():
        raise RuntimeError(
            f"tf.metrics.{kind} is not supported when eager execution is enabled: use it inside "
            "`with tf.Graph().as_default():`, or tf.keras.metrics."
        )


def _variable(name: str, shape: list[int], dtype: DType) -> Any:
    made: Any = Variable
    return made(
        Zeros()(shape, dtype), trainable=False, collections=COLLECTIONS, name=name, dtype=dtype
    )


def aligned(predictions: Any, labels: Any, weights: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """Predictions, labels and weights of one rank: an axis of one element is taken away.

    Args:
        predictions: What was found.
        labels: What is right.
        weights: Weights, or None.

    Raises:
        ValueError: the shapes differ.
    """
    found, wanted = convert_to_tensor(predictions), convert_to_tensor(labels)
    have, want = found.shape.rank, wanted.shape.rank
    if have is not None and want is not None:
        if have == want + 1 and found.shape[-1] in (1, None):
            found = squeeze(found, [-1])
        elif want == have + 1 and wanted.shape[-1] in (1, None):
            wanted = squeeze(wanted, [-1])
    if not found.shape.is_compatible_with(wanted.shape):
        raise ValueError(f"Shapes {found.shape} and {wanted.shape} are incompatible")
    if weights is None:
        return found, wanted, None
    return found, wanted, _fitting(convert_to_tensor(weights), found)


def _fitting(weights: Tensor, values: Tensor) -> Tensor:
    have, want = weights.shape.rank, values.shape.rank
    if have and want is not None:
        if have == want + 1 and weights.shape[-1] in (1, None):
            return squeeze(weights, [-1])
        if want == have + 1:
            return expand_dims(weights, -1)
    return weights


def spread(weights: Any, values: Tensor, dtype: DType = dtypes.float32) -> Tensor:
    """Weights in the shape of what they weigh.

    Args:
        weights: A scalar, or of the rank of ``values`` with sizes that are 1 or the same.
        values: A tensor.
        dtype: Element type of the result.

    Raises:
        ValueError: weights of another shape.
    """
    given = cast(convert_to_tensor(weights), dtype)
    have, want = given.shape, values.shape
    if have.rank and want.rank is not None:
        fits = have.rank == want.rank and all(
            w == 1 or w is None or v is None or w == v for w, v in zip(have, want, strict=True)
        )
        if not fits:
            raise ValueError(
                f"weights can not be broadcast to values. values.shape={want}, "
                f"weights.shape={have}."
            )
    return given * cast(ones_like(values, dtypes.float32), dtype)
