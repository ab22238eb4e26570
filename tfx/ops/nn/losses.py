"""Losses on logits, written so that neither large nor small logits lose precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.where import where
from tfx.ops.common.arguments import (
    cast_to,
    is_tensor_like,
    require_dtype,
    same_dtype,
    scalar_like,
    single_axis,
    tensor,
)
from tfx.ops.common.shapes import dimension
from tfx.ops.common.traced_once import eagerly_at_once
from tfx.ops.math.arithmetic import add, divide, maximum, multiply, subtract
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.elementwise import exp, log, negative, square
from tfx.ops.math.reduction import reduce_max, reduce_sum
from tfx.ops.nn.softmax import log_softmax, softplus


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of squares.

    Example:
        >>> import tfx as tf
        >>> tf.nn.l2_loss([1.0, 3.0]).numpy()
        np.float32(5.0)
    """
    x = tensor(t)
    require_dtype(x, x.dtype.is_floating, "L2Loss", "a floating dtype")
    return multiply(reduce_sum(square(x)), scalar_like(0.5, x))


def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: int = -1, name: str | None = None
) -> Tensor:
    """Cross entropy between label probabilities and ``softmax(logits)``.

    Gradients go to the labels, too. That of the logits is ``softmax(logits) - labels``, as in
    TensorFlow, also where the labels do not add up to 1. float16 and bfloat16 are computed in
    float32.

    Args:
        labels: Probabilities that add up to 1 along ``axis``; broadcast against ``logits``.
        logits: Unnormalized log-probabilities.
        axis: The axis of the classes.
        name: Accepted for compatibility.

    Returns:
        The shape of ``logits`` without ``axis``.

    Raises:
        InvalidArgumentError: ``logits`` is not floating, or shapes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0]], [[0.0, 0.0]]).numpy()
        array([0.6931472], dtype=float32)
    """
    scores = tensor(logits)
    require_dtype(
        scores, scores.dtype.is_floating, "SoftmaxCrossEntropyWithLogits", "a floating dtype"
    )
    kind = scores.dtype
    chances = tensor(labels) if is_tensor_like(labels) else convert_to_tensor(labels, kind)
    wide = dtypes.float32 if kind.size < 4 else kind
    place = single_axis(axis, scores, "softmax_cross_entropy_with_logits")
    return cast_to(_cross_entropy(cast_to(chances, wide), cast_to(scores, wide), place), kind)


def _cross_entropy(chances: Tensor, scores: Tensor, axis: int) -> Tensor:
    """``total * lse - sum(chances * scores)``, of scores less the largest one.

    ``lse`` is the logarithm of the sum of exponentials. It has the slope 1 and not ``total``, the
    sum of the chances: what is more or less than 1 of them counts as a constant.
    """
    away = subtract(scores, stop_gradient(reduce_max(scores, axis, keepdims=True)))
    lse = log(reduce_sum(exp(away), axis))
    if scores.shape.rank is None or not scores.shape[axis]:
        lse = maximum(lse, scalar_like(0, lse))  # of no classes
    surplus = subtract(reduce_sum(chances, axis), scalar_like(1, chances))
    all_of_it = add(lse, multiply(surplus, stop_gradient(lse)))
    return subtract(all_of_it, reduce_sum(multiply(chances, away), axis))


def sparse_softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, name: str | None = None
) -> Tensor:
    """Cross entropy between class numbers and ``softmax(logits)``.

    Args:
        labels: Integers, the class of each row.
        logits: ``[..., classes]`` of a floating dtype.
        name: Accepted for compatibility.

    Returns:
        The shape of ``labels``.

    Raises:
        ValueError: the rank of ``labels`` is not that of ``logits`` less one.
        InvalidArgumentError: a label outside ``[0, classes)``, or dtypes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.nn.sparse_softmax_cross_entropy_with_logits([1], [[0.0, 0.0]]).numpy()
        array([0.6931472], dtype=float32)
    """
    op = "SparseSoftmaxCrossEntropyWithLogits"
    classes, scores = tensor(labels), tensor(logits)
    require_dtype(scores, scores.dtype.is_floating, op, "floating logits")
    require_dtype(classes, classes.dtype.is_integer, op, "integer labels")
    _check_labels(classes, scores, op)
    wide = dtypes.float32 if scores.dtype.size < 4 else scores.dtype
    logs = log_softmax(cast_to(scores, wide), -1)
    rows = _valid(cast_to(classes, dtypes.int64), scores)
    index = ox.Unsqueeze(rows, int64_constant([-1]))
    picked = ox.GatherElements(logs, index, axis=-1)
    loss = cast_to(negative(ox.Squeeze(picked, int64_constant([-1]))), scores.dtype)
    loss.set_shape(classes.shape)
    return loss


def _check_labels(classes: Tensor, scores: Tensor, op: str) -> None:
    have, want = classes.shape, scores.shape
    if want.rank == 0:
        raise InvalidArgumentError("`logits` cannot be a scalar; expected a last axis of classes.")
    if have.rank is not None and want.rank is not None:
        if have.rank != want.rank - 1:
            raise InvalidArgumentError(
                "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: "
                f"labels.shape={have} of rank {have.rank} and logits.shape={want} of rank "
                f"{want.rank}"
            )
        if not have.is_compatible_with(want[:-1]):
            raise InvalidArgumentError(
                "`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
                f"labels.shape={have} and logits.shape={want}"
            )
    if isinstance(classes, EagerTensor) and want.rank is not None and want[-1] is not None:
        view = classes.view()
        bad = view[(view < 0) | (view >= want[-1])]
        if bad.size:
            raise InvalidArgumentError(
                f"Received a label value of {bad[0]} which is outside the valid range of [0, "
                f"{want[-1]}).  Label values: {' '.join(map(str, view.reshape(-1)[:20]))}",
                op=op,
            )


def _valid(classes: Tensor, scores: Tensor) -> Tensor:
    """Negative labels would count from the end: they are moved out of range, which fails."""
    if isinstance(classes, EagerTensor):
        return classes  # was checked
    count = ox.Squeeze(dimension(scores, -1))
    return where(ox.Less(classes, int64_constant(0)), count, classes)


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy between the probabilities ``labels`` and ``sigmoid(logits)``, for each element.

    Args:
        labels: Probabilities of the shape and dtype of ``logits``.
        logits: Log-odds.
        name: Accepted for compatibility.

    Raises:
        ValueError: an argument is missing, or shapes that differ.

    Example:
        >>> import tfx as tf
        >>> tf.nn.sigmoid_cross_entropy_with_logits([1.0], [0.0]).numpy()
        array([0.6931472], dtype=float32)
    """
    chances, x = _probabilities(labels, logits, "sigmoid_cross_entropy_with_logits")
    return _sigmoid_cross_entropy(chances, x)


@eagerly_at_once
def _sigmoid_cross_entropy(chances: Tensor, x: Tensor) -> Tensor:
    # max(x, 0) - x z + log(1 + exp(-|x|)), with the true slope at 0.
    positive, small = _split_at_zero(x)
    return add(subtract(positive, multiply(x, chances)), softplus(small))


def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None
) -> Tensor:
    """``sigmoid_cross_entropy_with_logits`` where positive labels count ``pos_weight`` times.

    Args:
        labels: Probabilities of the shape and dtype of ``logits``.
        logits: Log-odds.
        pos_weight: Weight of the positive term; broadcasts.
        name: Accepted for compatibility.

    Raises:
        ValueError: an argument is missing, or shapes that differ.

    Example:
        >>> import tfx as tf
        >>> tf.nn.weighted_cross_entropy_with_logits([1.0], [0.0], 2.0).numpy()
        array([1.3862944], dtype=float32)
    """
    if pos_weight is None:
        raise InvalidArgumentError(
            "weighted_cross_entropy_with_logits needs `pos_weight`; got None."
        )
    chances, x = _probabilities(labels, logits, "weighted_cross_entropy_with_logits")
    weight = add(scalar_like(1, x), multiply(subtract(pos_weight, scalar_like(1, x)), chances))
    # log(1 + exp(-x)) = log(1 + exp(-|x|)) + max(-x, 0)
    _, small = _split_at_zero(x)
    above = ox.GreaterOrEqual(x, scalar_like(0, x))
    soft = add(softplus(small), where(above, scalar_like(0, x), negative(x)))
    return add(multiply(subtract(scalar_like(1, x), chances), x), multiply(weight, soft))


def _probabilities(labels: Any, logits: Any, op: str) -> tuple[Tensor, Tensor]:
    if labels is None or logits is None:
        raise InvalidArgumentError(f"Both labels and logits must be provided to {op}.")
    x, chances = same_dtype(logits, labels, op)
    require_dtype(x, x.dtype.is_floating, op, "a floating dtype")
    if not x.shape.is_compatible_with(chances.shape):
        raise InvalidArgumentError(
            "`logits` and `labels` must have the same shape, received "
            f"({x.shape} vs {chances.shape})."
        )
    return chances, x


def _split_at_zero(x: Tensor) -> tuple[Tensor, Tensor]:
    """``max(x, 0)`` and ``-abs(x)`` by one comparison: their slopes at 0 belong together."""
    above = ox.GreaterOrEqual(x, scalar_like(0, x))
    return where(above, x, scalar_like(0, x)), where(above, negative(x), x)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """The negative log-likelihood of counts given the logarithm of their expected number.

    Args:
        targets: Counts, of the shape and dtype of ``log_input``.
        log_input: Logarithm of the expectation.
        compute_full_loss: Add Stirling's approximation of ``log(targets!)``.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.nn.log_poisson_loss([1.0], [0.0]).numpy()
        array([1.], dtype=float32)
    """
    counts, x = _probabilities(targets, log_input, "log_poisson_loss")
    loss = subtract(exp(x), multiply(x, counts))
    if not compute_full_loss:
        return loss
    one = scalar_like(1, x)
    inside = ox.Not(
        ox.And(ox.GreaterOrEqual(counts, scalar_like(0, x)), ox.LessOrEqual(counts, one))
    )
    safe = where(inside, counts, one)
    rooted = multiply(log(multiply(safe, scalar_like(2 * np.pi, x))), scalar_like(0.5, x))
    stirling = add(subtract(multiply(safe, log(safe)), safe), rooted)
    return add(loss, where(inside, stirling, scalar_like(0, x)))


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of losses over the number of examples.

    Args:
        per_example_loss: A loss for each example.
        sample_weight: Weights of the examples.
        global_batch_size: The number to divide by; None: the length of the first axis.
    """
    losses = tensor(per_example_loss)
    weighted = (
        losses
        if sample_weight is None
        else multiply(losses, cast_to(tensor(sample_weight), losses.dtype))
    )
    count = dimension(losses, 0) if global_batch_size is None else tensor(global_batch_size)
    size = ox.Reshape(cast_to(count, losses.dtype), int64_constant([]))
    return divide(reduce_sum(weighted), size)
