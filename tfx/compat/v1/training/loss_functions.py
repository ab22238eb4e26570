"""``losses``: loss functions that are collected, and their sum."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building, is_building
from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array import creation
from tfx.ops.math import arithmetic, cast, elementwise, reduction
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.comparison import not_equal
from tfx.ops.math.error_functions import divide_no_nan
from tfx.ops.nn import losses as formulas


class Reduction:
    """The reductions of the losses of a batch.

    Attributes:
        NONE: Not at all.
        SUM: The weighted sum.
        SUM_OVER_BATCH_SIZE: The sum divided by the number of elements.
        SUM_OVER_NONZERO_WEIGHTS: The sum divided by the number of weights that are not zero.
        MEAN: The sum divided by the sum of the weights.
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: str) -> None:
        """Refuse what is none.

        Raises:
            ValueError: it is none.
        """
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


DEFAULT = Reduction.SUM_BY_NONZERO_WEIGHTS


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """Losses times weights, made one number and collected.

    Args:
        losses: A loss for each element.
        weights: Weights that broadcast against the losses.
        scope: Accepted for compatibility.
        loss_collection: The collection to add it to; None: none.
        reduction: See ``Reduction``.

    Raises:
        ValueError: another reduction, or weights that do not broadcast.
    """
    Reduction.validate(reduction)
    values = convert_to_tensor(losses)
    given = values.dtype
    single = cast.cast(values, dtypes.float32)
    factors = cast.cast(convert_to_tensor(weights), dtypes.float32)
    if factors.shape.rank and not _broadcasts(factors, single):
        raise ValueError(
            f"weights can not be broadcast to values. values.shape={single.shape}, "
            f"weights.shape={factors.shape}."
        )
    loss = cast.cast(_reduced(single * factors, factors, single, reduction), given)
    add_loss(loss, loss_collection)
    return loss


def _broadcasts(weights: Tensor, values: Tensor) -> bool:
    rank = values.shape.rank
    if rank is None:
        return True
    if weights.shape.rank != rank:
        return False
    return all(
        w in (1, None) or v is None or w == v
        for w, v in zip(weights.shape, values.shape, strict=True)
    )


def _reduced(loss: Tensor, weights: Tensor, values: Tensor, how: str) -> Tensor:
    if how == Reduction.NONE:
        return loss
    total = reduction.reduce_sum(loss)
    if how == Reduction.SUM:
        return total
    counted = creation.ones_like(values)
    if how != Reduction.SUM_OVER_BATCH_SIZE:
        counted = counted * weights
    if how == Reduction.SUM_BY_NONZERO_WEIGHTS:
        counted = cast.cast(not_equal(counted, 0.0), dtypes.float32)
    return divide_no_nan(total, reduction.reduce_sum(counted))


def floats(labels: Any, predictions: Any, called: str = "predictions") -> tuple[Tensor, Tensor]:
    """What is right and what was found, as float32 tensors of one shape.

    Args:
        labels: What is right.
        predictions: What was found.
        called: The name of ``predictions``, for messages.

    Raises:
        ValueError: one is None, or the shapes differ.
    """
    if labels is None:
        raise ValueError("Argument `labels` must not be None.")
    if predictions is None:
        raise ValueError(f"Argument `{called}` must not be None.")
    predicted = cast.cast(convert_to_tensor(predictions), dtypes.float32)
    wanted = cast.cast(convert_to_tensor(labels), dtypes.float32)
    if not predicted.shape.is_compatible_with(wanted.shape):
        raise ValueError(f"Shapes {predicted.shape} and {wanted.shape} are incompatible")
    return wanted, predicted


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """The mean of squared differences; see ``compute_weighted_loss``.

    Args:
        labels: What is right.
        predictions: What was found; of the same shape.
        weights: See ``compute_weighted_loss``.
        scope: Accepted for compatibility.
        loss_collection: See ``compute_weighted_loss``.
        reduction: See ``compute_weighted_loss``.

    Raises:
        ValueError: the shapes differ.
    """
    wanted, predicted = floats(labels, predictions)
    losses = elementwise.square(predicted - wanted)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """The mean of absolute differences; see ``mean_squared_error``."""
    wanted, predicted = floats(labels, predictions)
    losses = elementwise.abs(predicted - wanted)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """Cross entropy of probabilities; see ``mean_squared_error``.

    Args:
        labels: What is right, from 0 to 1.
        predictions: Probabilities.
        weights: See ``compute_weighted_loss``.
        epsilon: Added before the logarithm.
        scope: Accepted for compatibility.
        loss_collection: See ``compute_weighted_loss``.
        reduction: See ``compute_weighted_loss``.
    """
    wanted, predicted = floats(labels, predictions)
    losses = -(
        wanted * elementwise.log(predicted + epsilon)
        + (1.0 - wanted) * elementwise.log(1.0 - predicted + epsilon)
    )
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """Cross entropy between probabilities and ``softmax(logits)``; see ``mean_squared_error``.

    Args:
        onehot_labels: Probabilities.
        logits: Unnormalized log-probabilities.
        weights: See ``compute_weighted_loss``.
        label_smoothing: How much of the probability is spread over all classes.
        scope: Accepted for compatibility.
        loss_collection: See ``compute_weighted_loss``.
        reduction: See ``compute_weighted_loss``.
    """
    scores = convert_to_tensor(logits)
    labels = cast.cast(convert_to_tensor(onehot_labels), scores.dtype)
    if label_smoothing > 0:
        classes = labels.shape[-1]
        labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
    losses = formulas.softmax_cross_entropy_with_logits(stop_gradient(labels), scores)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """Cross entropy between class numbers and ``softmax(logits)``; see ``mean_squared_error``."""
    losses = formulas.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = GraphKeys.LOSSES,
    reduction: str = DEFAULT,
) -> Tensor:
    """Cross entropy of probabilities and ``sigmoid(logits)``; see ``softmax_cross_entropy``."""
    scores = convert_to_tensor(logits)
    labels = cast.cast(convert_to_tensor(multi_class_labels), scores.dtype)
    if label_smoothing > 0:
        labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    losses = formulas.sigmoid_cross_entropy_with_logits(labels, scores)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Collect a loss."""
    if loss_collection is not None and is_building():
        building().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Any]:
    """The collected losses."""
    return building().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The losses that regularizers of variables made."""
    return building().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """The sum of the losses that regularizers of variables made; 0 if there are none."""
    losses = get_regularization_losses(scope)
    return arithmetic.add_n(losses) if losses else creation.zeros([])


def get_total_loss(
    add_regularization_losses: bool = True,
    name: str = "total_loss",
    scope: str | None = None,
) -> Tensor:
    """The sum of the collected losses.

    Args:
        add_regularization_losses: Whether those of regularizers count.
        name: Accepted for compatibility.
        scope: Those whose name begins so (a regular expression).
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    if not losses:
        raise ValueError("There are no losses to add up: none was collected.")
    return arithmetic.add_n(losses)
