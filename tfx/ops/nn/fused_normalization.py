"""Operations that TensorFlow computes in one, with several results: as ``tf.raw_ops`` has them."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import size
from tfx.ops.math.arithmetic import maximum
from tfx.ops.math.cast import cast, stop_gradient
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.nn.normalization import batch_normalization, moments
from tfx.ops.nn.softmax import softmax


class FusedBatchNorm(NamedTuple):
    """The results of ``raw_ops.FusedBatchNorm``."""

    y: Tensor
    batch_mean: Tensor
    batch_variance: Tensor
    reserve_space_1: Tensor
    reserve_space_2: Tensor


class FusedBatchNormV2(NamedTuple):
    """The results of ``raw_ops.FusedBatchNormV2``."""

    y: Tensor
    batch_mean: Tensor
    batch_variance: Tensor
    reserve_space_1: Tensor
    reserve_space_2: Tensor


class FusedBatchNormV3(NamedTuple):
    """The results of ``raw_ops.FusedBatchNormV3``."""

    y: Tensor
    batch_mean: Tensor
    batch_variance: Tensor
    reserve_space_1: Tensor
    reserve_space_2: Tensor
    reserve_space_3: Tensor


class CrossEntropy(NamedTuple):
    """The results of the raw cross entropies."""

    loss: Tensor
    backprop: Tensor


def batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    epsilon: float,
    factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Normalize a batch; gradients flow through ``x``, ``scale`` and ``offset``.

    Args:
        x: The batch, of rank 4 or 5.
        scale: A factor for each channel; statistics have its dtype.
        offset: A summand for each channel.
        mean: The mean so far; may be empty in training where ``factor`` is 1.
        variance: The variance so far; the same.
        epsilon: Added to the variance.
        factor: How much the batch counts for the new mean and variance.
        data_format: Where the channels are: last, or second.
        is_training: Whether the statistics of the batch are used.

    Returns:
        The normalized batch, the new mean, the new variance (with Bessel's correction), and mean
        and variance of the batch as they were used.

    Raises:
        InvalidArgumentError: the format is not known.
    """
    if data_format not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise InvalidArgumentError(
            f"FusedBatchNorm got data_format {data_format!r}; expected NHWC, NCHW, NDHWC or NCDHW."
        )
    rank = len(data_format)
    given = convert_to_tensor(x)
    if given.shape.rank not in (None, rank):
        raise InvalidArgumentError(
            f"FusedBatchNorm with data_format {data_format!r} expects x of rank {rank}; got shape "
            f"{given.shape}."
        )
    last = data_format.endswith("C")
    factors, summands = convert_to_tensor(scale), convert_to_tensor(offset)
    batch = cast(given, factors.dtype)
    old_mean, old_variance = (
        stop_gradient(convert_to_tensor(s, factors.dtype)) for s in (mean, variance)
    )

    def along(statistic: Tensor) -> Tensor:
        return statistic if last else reshape(statistic, [-1] + [1] * (rank - 2))

    if is_training:
        axes = [i for i in range(rank) if i != (rank - 1 if last else 1)]
        used_mean, used_variance = moments(batch, axes)
    else:
        used_mean, used_variance = old_mean, old_variance
    normal = batch_normalization(
        batch, along(used_mean), along(used_variance), along(summands), along(factors), epsilon
    )
    y = cast(normal, given.dtype)
    used_mean, used_variance = stop_gradient(used_mean), stop_gradient(used_variance)
    if not is_training:
        return y, used_mean, used_variance, used_mean, used_variance
    count = cast(size(batch) // maximum(size(used_mean), 1), factors.dtype)
    unbiased = used_variance * (count / maximum(count - 1, 1))
    if factor == 1:
        return y, used_mean, unbiased, used_mean, used_variance
    new_mean = old_mean * (1 - factor) + used_mean * factor
    new_variance = old_variance * (1 - factor) + unbiased * factor
    return y, new_mean, new_variance, used_mean, used_variance


def bias_gradient(out_backprop: Any, data_format: str) -> Tensor:
    """The gradient of a bias: sums over all but the channels.

    Args:
        out_backprop: The gradient of the result.
        data_format: Where the channels are: last, or second.
    """
    gradient = convert_to_tensor(out_backprop)
    rank = gradient.shape.rank
    if rank is None:
        raise InvalidArgumentError("BiasAddGrad needs out_backprop of a known rank.")
    channels = 1 if data_format.startswith("NC") else rank - 1
    return reduce_sum(gradient, axis=[i for i in range(rank) if i != channels])


def cross_entropy(loss: Tensor, features: Any, labels: Any) -> CrossEntropy:
    """A loss and its gradient by the logits.

    Args:
        loss: The loss of each row.
        features: The logits.
        labels: The probabilities, of any dtype.
    """
    probabilities = softmax(features)
    return CrossEntropy(loss, stop_gradient(probabilities - cast(labels, probabilities.dtype)))
