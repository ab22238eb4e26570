"""``losses`` that fewer programs use: of margins, angles, outliers and pairs."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.ops.renamed_arguments import one_of
from tfx.compat.v1.training.loss_functions import (
    DEFAULT,
    add_loss,
    compute_weighted_loss,
    floats,
)
from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import ones_like
from tfx.ops.math import cast, elementwise
from tfx.ops.math.arithmetic import maximum, minimum
from tfx.ops.math.comparison import not_equal
from tfx.ops.math.error_functions import divide_no_nan
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.nn.activations import relu


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """``max(0, 1 - y * logits)`` with ``y`` -1 or 1; see ``mean_squared_error``.

    Args:
        labels: What is right, 0 or 1.
        logits: What was found, of the same shape.
        weights: See ``compute_weighted_loss``.
        scope: Accepted for compatibility.
        loss_collection: See ``compute_weighted_loss``.
        reduction: See ``compute_weighted_loss``.

    Raises:
        ValueError: the shapes differ.
    """
    wanted, predicted = floats(labels, logits, "logits")
    losses = relu(1.0 - (2.0 * wanted - 1.0) * predicted)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """Half the square of small differences, linear for large ones; see ``mean_squared_error``.

    Args:
        labels: What is right.
        predictions: What was found; of the same shape.
        weights: See ``compute_weighted_loss``.
        delta: The difference from which on it is linear.
        scope: Accepted for compatibility.
        loss_collection: See ``compute_weighted_loss``.
        reduction: See ``compute_weighted_loss``.

    Raises:
        ValueError: the shapes differ.
    """
    wanted, predicted = floats(labels, predictions)
    distance = elementwise.abs(predicted - wanted)
    near = minimum(distance, convert_to_tensor(delta, distance.dtype))
    losses = 0.5 * near * near + delta * (distance - near)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: Any = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
    dim: Any = None,
) -> Tensor:
    """1 less the inner products along an axis, of vectors of length 1.

    Args:
        labels: What is right.
        predictions: What was found; of the same shape.
        axis: The axis of the vectors, which stays with one element.
        weights: See ``compute_weighted_loss``.
        scope: Accepted for compatibility.
        loss_collection: See ``compute_weighted_loss``.
        reduction: See ``compute_weighted_loss``.
        dim: Older name of ``axis``.

    Raises:
        ValueError: no axis, or the shapes differ.
    """
    axis = one_of("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    wanted, predicted = floats(labels, predictions)
    losses = 1.0 - _sum(predicted * wanted, axis)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _sum(x: Tensor, axis: Any) -> Tensor:
    return reduce_sum(x, axis, keepdims=True)


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
) -> Tensor:
    """The mean, over pairs of elements of an example, of squared differences of their errors.

    Args:
        labels: ``[batch, ...]``, what is right.
        predictions: What was found; of the same shape.
        weights: One weight, or one for each example, or for each element.
        scope: Accepted for compatibility.
        loss_collection: The collection to add it to; None: none.

    Returns:
        A scalar: the sum over the examples.

    Raises:
        ValueError: the shapes differ, or their rank is not known.
    """
    wanted, predicted = floats(labels, predictions)
    error = predicted - wanted
    if error.shape.rank is None:
        raise ValueError(
            "mean_pairwise_squared_error takes tensors whose rank is known; got a shape of "
            f"{error.shape}."
        )
    factors = cast.cast(convert_to_tensor(weights), dtypes.float32)
    axes = list(range(1, error.shape.rank))
    present = cast.cast(not_equal(factors * ones_like(error), 0.0), dtypes.float32)
    count = _sum(present, axes)
    none = convert_to_tensor(0.0)
    squares = 2.0 * divide_no_nan(_sum(error * error, axes), maximum(count - 1.0, none))
    mixed = _sum(error, axes)
    pairs = 2.0 * divide_no_nan(mixed * mixed, maximum(count * (count - 1.0), none))
    loss = reduce_sum((squares - pairs) * factors)
    known = cast.cast(reduce_sum(count) > 0.0, dtypes.float32)
    loss = loss * known
    add_loss(loss, loss_collection)
    return loss
