"""Normalization: moments, batch normalization and local response normalization.

All of it is made of elementary operations, so gradients of every order are right. ONNX Runtime
folds the scale and shift of a frozen batch normalization into the convolution before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, embed
from tfx.framework.tensor import Tensor
from tfx.ops.array.reshape import reshape, squeeze
from tfx.ops.common.arguments import (
    cast_to,
    floating_tensor,
    is_tensor_like,
    require_dtype,
    same_dtype,
    scalar_like,
    tensor,
)
from tfx.ops.common.shapes import known_rank
from tfx.ops.linalg.matmul import product
from tfx.ops.math.arithmetic import add, divide, multiply, pow, subtract
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.elementwise import negative, reciprocal, sqrt, square
from tfx.ops.math.error_functions import squared_difference
from tfx.ops.math.reduction import element_count, reduce_mean, reduce_sum
from tfx.ops.math.statistics import variance_around


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes.

    float16 and bfloat16 are computed in float32.

    Args:
        x: Tensor of a floating dtype.
        axes: The axes to reduce.
        shift: Accepted for compatibility; not used.
        keepdims: Keep the reduced axes with size 1.
        name: Accepted for compatibility.

    Returns:
        The mean and the variance, of the dtype of ``x``.

    Example:
        >>> import tfx as tf
        >>> mean, variance = tf.nn.moments(tf.constant([1.0, 3.0]), axes=[0])
        >>> float(mean), float(variance)
        (2.0, 1.0)
    """
    given = tensor(x)
    known = given.dtype.is_floating or given.dtype.is_complex
    known = known or given.dtype in (dtypes.int32, dtypes.int64)
    require_dtype(given, known, "moments", "a floating or complex dtype, int32 or int64")
    y = _widened(given)
    mean = reduce_mean(y, axes, keepdims=True)
    if y.dtype.is_complex:
        variance = reduce_mean(squared_difference(y, stop_gradient(mean)), axes, keepdims=True)
    else:
        variance = variance_around(y, mean, axes)
    if not keepdims:
        mean, variance = squeeze(mean, axes), squeeze(variance, axes)
    return cast_to(mean, given.dtype), cast_to(variance, given.dtype)


def _widened(x: Tensor) -> Tensor:
    return cast_to(x, dtypes.float32) if x.dtype.size < 4 else x


def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes where every element counts as often as its weight says.

    Args:
        x: Tensor of a floating dtype.
        axes: The axes to reduce.
        frequency_weights: Non-negative weights that broadcast to ``x``.
        keepdims: Keep the reduced axes with size 1.
        name: Accepted for compatibility.
    """
    given = floating_tensor(x, "weighted_moments")
    y = _widened(given)
    weights = cast_to(tensor(frequency_weights), y.dtype)
    # Times ones, because a weight that is broadcast counts for each element.
    total = reduce_sum(add(weights, multiply(y, scalar_like(0, y))), axes, keepdims=True)
    mean = divide(reduce_sum(multiply(weights, y), axes, keepdims=True), total)
    spread = reduce_sum(multiply(weights, squared_difference(y, mean)), axes, keepdims=True)
    variance = divide(spread, total)
    if not keepdims:
        mean, variance = squeeze(mean, axes), squeeze(variance, axes)
    return cast_to(mean, given.dtype), cast_to(variance, given.dtype)


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from the count, the sum and the sum of squares of shifted data.

    Args:
        counts: How many elements.
        mean_ss: Sum of ``x - shift``.
        variance_ss: Sum of the squares of ``x - shift``.
        shift: What was subtracted, or None.
        name: Accepted for compatibility.
    """
    sums = tensor(mean_ss)
    shifted = divide(sums, counts)
    mean = shifted if shift is None else add(shifted, shift)
    return mean, subtract(divide(variance_ss, counts), square(shifted))


def sufficient_statistics(
    x: Any, axes: Sequence[int], shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Count, sum and sum of squares over axes, and the shift: what mean and variance follow from.

    Args:
        x: Tensor of a floating dtype.
        axes: The axes to reduce.
        shift: Subtracted from the data first, to keep precision; None: nothing.
        keepdims: Keep the reduced axes with size 1.
        name: Accepted for compatibility.
    """
    y = floating_tensor(x, "sufficient_statistics")
    counts = reduce_sum(add(multiply(y, scalar_like(0, y)), scalar_like(1, y)), axes)
    offset = None if shift is None else convert_to_tensor(shift, y.dtype)
    moved = y if offset is None else subtract(y, offset)
    sums = reduce_sum(moved, axes, keepdims=keepdims)
    squares = reduce_sum(square(moved), axes, keepdims=keepdims)
    return reduce_mean(counts), sums, squares, offset


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """``(x - mean) / sqrt(variance + variance_epsilon) * scale + offset``.

    Args:
        x: Tensor of a floating dtype.
        mean: Mean; this and the following broadcast against ``x``.
        variance: Variance.
        offset: Offset, often called beta; None for none.
        scale: Scale, often called gamma; None for none.
        variance_epsilon: A small number that keeps the division finite.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.nn.batch_normalization([1.0, 3.0], 2.0, 1.0, 10.0, None, 0.0).numpy()
        array([ 9., 11.], dtype=float32)
    """
    y = floating_tensor(x, "batch_normalization")
    spread = (
        same_dtype(y, variance, "batch_normalization")[1]
        if not is_tensor_like(variance)
        else (tensor(variance))
    )
    root = sqrt(add(spread, variance_epsilon))
    factor = reciprocal(root) if scale is None else ox.Div(*same_dtype(scale, root, "Mul"))
    shift = multiply(factor, mean)
    shift = negative(shift) if offset is None else subtract(offset, shift)
    return add(multiply(y, cast_to(factor, y.dtype)), cast_to(shift, y.dtype))


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalization over all axes but the channels.

    Args:
        x: Images (or volumes) of a floating dtype.
        scale: ``[channels]``.
        offset: ``[channels]``.
        mean: ``[channels]``: what to normalize by when not training, or the running mean.
        variance: ``[channels]``, likewise.
        epsilon: Added to the variance.
        data_format: ``"NHWC"`` or ``"NCHW"``, ``"NDHWC"`` or ``"NCDHW"``.
        is_training: Normalize by the moments of ``x``.
        name: Accepted for compatibility.
        exponential_avg_factor: How much of the new running moments comes from ``x``.

    Returns:
        The normalized ``x``, and the running mean and variance (the variance with Bessel's
        correction).
    """
    given = floating_tensor(x, "FusedBatchNorm")
    rank = known_rank(given, "fused_batch_norm")
    channel = 1 if data_format.startswith("NC") else rank - 1
    axes = [i for i in range(rank) if i != channel]
    y = _widened(given)
    shape = [-1 if i == channel else 1 for i in range(rank)]
    if is_training:
        batch_mean, batch_variance = moments(y, axes)
    else:
        batch_mean, batch_variance = tensor(mean), tensor(variance)
    m, v, o, s = (reshape(t, shape) for t in (batch_mean, batch_variance, offset, scale))
    normalized = cast_to(batch_normalization(y, m, v, o, s, epsilon), given.dtype)
    if not is_training:
        return normalized, batch_mean, batch_variance
    count = cast_to(element_count(y, axes), y.dtype)
    unbiased = multiply(batch_variance, divide(count, subtract(count, scalar_like(1, count))))
    if mean is None or exponential_avg_factor == 1.0:
        return normalized, batch_mean, unbiased
    part = float(exponential_avg_factor)
    running = [
        add(multiply(tensor(old), scalar_like(1 - part, new)), multiply(new, part))
        for old, new in ((mean, batch_mean), (variance, unbiased))
    ]
    return normalized, running[0], running[1]


def batch_norm_with_global_normalization(
    input: Any,
    mean: Any,
    variance: Any,
    beta: Any,
    gamma: Any,
    variance_epsilon: float,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """``batch_normalization``, with ``gamma`` only where it is asked for.

    Args:
        input: See ``batch_normalization``.
        mean: The same.
        variance: The same.
        beta: The same.
        gamma: The same.
        variance_epsilon: The same.
        scale_after_normalization: Whether ``gamma`` counts.
        name: Accepted for compatibility.
    """
    scale = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon)


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Divide by a power of the sum of squares over neighbouring channels.

    Args:
        input: ``[batch, height, width, channels]`` with a static number of channels.
        depth_radius: How many channels to each side count.
        bias: Added to the sum.
        alpha: Factor of the sum.
        beta: The power.
        name: Accepted for compatibility.

    Returns:
        ``input / (bias + alpha * sum) ** beta``.
    """
    x = floating_tensor(input, "LRN")
    channels = x.shape[-1] if x.shape.rank == 4 else None
    if channels is None:
        raise InvalidArgumentError(
            f"local_response_normalization takes a 4-D tensor with static channels; got {x.shape}."
        )
    # The sum over neighbours is a product with a band of ones.
    index = np.arange(channels)
    band = np.abs(index[:, None] - index[None, :]) <= depth_radius
    sums = product(square(x), embed(band.astype(x.dtype.as_numpy_dtype)))
    base = add(multiply(sums, scalar_like(alpha, x)), scalar_like(bias, x))
    return divide(x, pow(base, scalar_like(beta, x)))


lrn = local_response_normalization
