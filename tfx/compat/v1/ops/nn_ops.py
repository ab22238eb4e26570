"""``nn`` with TensorFlow 1's names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.compat.v1.ops.renamed_arguments import one_of, only_named
from tfx.core.errors import UnimplementedError
from tfx.framework.convert import constant
from tfx.framework.tensor import Tensor
from tfx.nn_ops import ctc_loss as ctc
from tfx.nn_ops import fractional_pooling as fractional
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.where import where
from tfx.ops.common.python_ops import by_python
from tfx.ops.linalg import matmul
from tfx.ops.math import statistics
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.elementwise import is_inf
from tfx.ops.nn import (
    convolution,
    fused_normalization,
    losses,
    morphology,
    normalization,
    pooling,
)
from tfx.ops.nn import dropout as dropping
from tfx.ops.nn import softmax as softmax_ops
from tfx.ops.nn.activations import relu
from tfx.sparse_ops import ctc_decoding as decoding
from tfx.sparse_ops.sparse_tensor import SparseTensor


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """``exp(logits)`` scaled to the sum 1 along an axis.

    Args:
        logits: A tensor.
        axis: The axis; None: the last.
        name: Name of the operation.
        dim: Older name of ``axis``.
    """
    axis = one_of("axis", axis, "dim", dim)
    return softmax_ops.softmax(logits, -1 if axis is None else axis)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """The logarithm of ``softmax``."""
    axis = one_of("axis", axis, "dim", dim)
    return softmax_ops.log_softmax(logits, -1 if axis is None else axis)


def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """The likeliest texts; see ``tf.nn.ctc_beam_search_decoder``.

    Args:
        inputs: Logits ``[frames, batch, classes]``.
        sequence_length: ``[batch]`` integers.
        beam_width: How many texts are followed.
        top_paths: How many are returned.
        merge_repeated: Whether letters that follow each other in a text and are the same become
            one, which is seldom what is meant.
    """
    texts, score = decoding.ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths)
    return [_without_repeats(t) for t in texts] if merge_repeated else texts, score


def _without_repeats(texts: SparseTensor) -> SparseTensor:
    def merge(indices: Any, values: Any, shape: Any) -> list[Any]:
        rows = indices[:, 0]
        kept = np.ones(len(rows), np.bool_)
        kept[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
        rows = rows[kept]
        columns = np.arange(len(rows)) - np.searchsorted(rows, rows)
        longest = columns.max() + 1 if len(columns) else 0
        return [np.stack([rows, columns], 1), values[kept], np.array([shape[0], longest])]

    given = [texts.indices, texts.values, texts.dense_shape]
    kinds: list[Any] = [(x.dtype, shape) for x, shape in zip(given, _SPARSE, strict=True)]
    return SparseTensor(*by_python("nn.ctc_beam_search_decoder", merge, given, kinds))


_SPARSE = ((None, 2), (None,), (2,))


def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Grayscale dilation of images; see ``tf.nn.dilation2d``.

    Args:
        input: ``[batch, height, width, channels]``.
        filter: ``[height, width, channels]``.
        strides: Four integers.
        rates: Four integers: how far the filter's elements lie apart.
        padding: ``"SAME"`` or ``"VALID"``.
        name: Name of the operation.
        filters: Newer name of ``filter``.
        dilations: Newer name of ``rates``.
    """
    filters = one_of("filters", filters, "filter", filter)
    dilations = one_of("dilations", dilations, "rates", rates)
    return morphology.dilation2d(input, filters, strides, padding, "NHWC", dilations, name)


def erosion2d(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Grayscale erosion of images; see ``dilation2d`` and ``tf.nn.erosion2d``."""
    return morphology.erosion2d(value, kernel, strides, padding, "NHWC", rates, name)


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Set elements to zero at random, and scale up the others.

    Args:
        x: A tensor.
        keep_prob: The probability that an element is kept: ``1 - rate``.
        noise_shape: Shape of what is drawn; broadcasts against ``x``.
        seed: See ``random_normal``.
        name: Name of the operation.
        rate: The probability that an element is dropped.

    Raises:
        ValueError: neither ``keep_prob`` nor ``rate`` is given.
    """
    if keep_prob is not None:
        rate = one_of("rate", rate, "keep_prob", 1 - keep_prob)
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    return dropping.dropout(x, rate, noise_shape, seed)


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: Any = None,
) -> Tensor:
    """Cross entropy between probabilities and ``softmax(logits)``; labels get no gradient.

    Args:
        _sentinel: Must be None: give the other arguments by name.
        labels: Probabilities.
        logits: Unnormalized log-probabilities.
        dim: Older name of ``axis``.
        name: Name of the operation.
        axis: The axis of the classes.
    """
    only_named("softmax_cross_entropy_with_logits", _sentinel)
    return losses.softmax_cross_entropy_with_logits(
        stop_gradient(labels), logits, dim if axis is None else axis
    )


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Tensor:
    """Cross entropy between probabilities and ``softmax(logits)``; labels get a gradient, too."""
    axis = one_of("axis", axis, "dim", dim)
    return losses.softmax_cross_entropy_with_logits(labels, logits, -1 if axis is None else axis)


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy between class numbers and ``softmax(logits)``.

    Args:
        _sentinel: Must be None: give the other arguments by name.
        labels: Class numbers.
        logits: Unnormalized log-probabilities.
        name: Name of the operation.
    """
    only_named("sparse_softmax_cross_entropy_with_logits", _sentinel)
    return losses.sparse_softmax_cross_entropy_with_logits(labels, logits)


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy between probabilities and ``sigmoid(logits)``, each element for itself.

    Args:
        _sentinel: Must be None: give the other arguments by name.
        labels: Probabilities.
        logits: Unnormalized log-probabilities.
        name: Name of the operation.
    """
    only_named("sigmoid_cross_entropy_with_logits", _sentinel)
    return losses.sigmoid_cross_entropy_with_logits(labels, logits)


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> Any:
    """Mean and variance over some axes.

    Args:
        x: A tensor.
        axes: The axes.
        shift: Accepted for compatibility.
        name: Name of the operation.
        keep_dims: Older name of ``keepdims``.
        keepdims: Whether the axes stay, with one element.
    """
    return normalization.moments(
        x, axes, keepdims=bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    )


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """``x`` scaled to the norm 1 along an axis.

    Args:
        x: A tensor.
        axis: The axis, or axes.
        epsilon: Least square of the norm.
        name: Name of the operation.
        dim: Older name of ``axis``.
    """
    return statistics.l2_normalize(x, one_of("axis", axis, "dim", dim), epsilon)


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """A convolution over two axes; see ``tf.nn.conv2d``.

    Args:
        input: ``[batch, height, width, channels]``.
        filter: ``[height, width, channels, filters]``.
        strides: One, two or four numbers.
        padding: ``"SAME"``, ``"VALID"`` or the padding of each axis.
        use_cudnn_on_gpu: Accepted for compatibility.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: One, two or four numbers.
        name: Name of the operation.
        filters: Newer name of ``filter``.
    """
    kernel = one_of("filters", filters, "filter", filter)
    return convolution.conv2d(input, kernel, strides, padding, data_format, list(dilations))


def max_pool(
    value: Any = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The largest element of each window; see ``tf.nn.max_pool2d``.

    Args:
        value: ``[batch, height, width, channels]``.
        ksize: Size of the window.
        strides: One, two or four numbers.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        name: Name of the operation.
        input: Newer name of ``value``.
    """
    x = one_of("input", input, "value", value)
    return pooling.max_pool2d(x, ksize, strides, padding, data_format)


def avg_pool(
    value: Any = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The mean of each window; see ``max_pool``."""
    x = one_of("input", input, "value", value)
    return pooling.avg_pool2d(x, ksize, strides, padding, data_format)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """``matmul(x, weights) + biases``."""
    return convolution.bias_add(matmul.matmul(x, weights), biases)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """``relu(matmul(x, weights) + biases)``."""
    return relu(xw_plus_b(x, weights, biases))


def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """Connectionist temporal classification; see ``tf.nn.ctc_loss``. The last class is the blank.

    Args:
        labels: A sparse tensor ``[batch, most]`` of integers.
        inputs: ``[frames, batch, classes]`` of a floating dtype: logits.
        sequence_length: ``[batch]`` integers: the frames that count.
        preprocess_collapse_repeated: Must be False.
        ctc_merge_repeated: Must be True.
        ignore_longer_outputs_than_inputs: The loss of a text that does not fit into its frames is
            0, without a gradient, and not infinite.
        time_major: ``inputs`` is as above; False: ``[batch, frames, classes]``.
        logits: Newer name of ``inputs``.

    Returns:
        ``[batch]``; infinity where a text does not fit into its frames, which TensorFlow refuses.

    Raises:
        TypeError: the labels are no sparse tensor.
        UnimplementedError: other settings of the two.
    """
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise UnimplementedError(
            "ctc_loss is that of preprocess_collapse_repeated=False and ctc_merge_repeated=True; "
            f"got {preprocess_collapse_repeated} and {ctc_merge_repeated}."
        )
    if not isinstance(labels, SparseTensor):
        raise TypeError(
            f"Expected labels (first argument) of ctc_loss to be a SparseTensor; got {labels!r}. "
            "tf.nn.ctc_loss takes dense ones."
        )
    x = one_of("logits", logits, "inputs", inputs)
    if not ignore_longer_outputs_than_inputs:
        return ctc.ctc_loss(labels, x, None, sequence_length, time_major, blank_index=-1)
    words, lengths = ctc.filled_up(labels)
    loss = ctc.loss_of_rows(words, x, lengths, sequence_length, time_major, -1)
    return where(is_inf(loss), zeros_like(loss), loss)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """See ``tf.nn.depthwise_conv2d``; dilations are four numbers."""
    rates = list(dilations[2:4] if data_format == "NCHW" else dilations[1:3])
    return convolution.depthwise_conv2d(input, filter, strides, padding, data_format, rates)


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: Any = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """See ``tf.nn.batch_norm_with_global_normalization``.

    Args:
        t: Older name of ``input``.
        m: Older name of ``mean``.
        v: Older name of ``variance``.
        beta: Added.
        gamma: The scale.
        variance_epsilon: Added to the variance.
        scale_after_normalization: Whether ``gamma`` counts.
        name: Name of the operation.
        input: A tensor.
        mean: Its mean.
        variance: Its variance.
    """
    return normalization.batch_norm_with_global_normalization(
        one_of("input", input, "t", t),
        one_of("mean", mean, "m", m),
        one_of("variance", variance, "v", v),
        beta,
        gamma,
        variance_epsilon,
        scale_after_normalization,
    )


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
    """Channels normalized by the batch while training, else by given statistics.

    Args:
        x: ``[batch, height, width, channels]``, or with the channels second.
        scale: ``[channels]``.
        offset: ``[channels]``.
        mean: ``[channels]``: what is known; needed if this is not training.
        variance: The same.
        epsilon: Added to the variance.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        is_training: Whether this is training.
        name: Name of the operation.
        exponential_avg_factor: How much the batch counts beside what is known.

    Returns:
        ``(y, mean, variance)``: the latter two brought up to date.

    Raises:
        ValueError: not training, and no statistics.
    """
    if not is_training and (mean is None or variance is None):
        raise ValueError("Both `mean` and `variance` must be given if `is_training` is False.")
    # TensorFlow raises what is smaller: cuDNN takes no smaller one.
    epsilon = max(epsilon, 1.001e-5)
    nothing = constant([], "float32")
    known_mean, known_variance = (nothing if part is None else part for part in (mean, variance))
    found = fused_normalization.batch_norm(
        x,
        scale,
        offset,
        known_mean,
        known_variance,
        epsilon,
        exponential_avg_factor,
        data_format,
        is_training,
    )
    y, new_mean, new_variance, *_ = found
    return y, new_mean, new_variance


def fractional_max_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> fractional.FractionalPool:
    """See ``tf.nn.fractional_max_pool``.

    Args:
        value: A tensor of four axes.
        pooling_ratio: By how much height and width shrink.
        pseudo_random: Borders are nearly evenly spread.
        overlapping: A window includes the first row and column of the next.
        deterministic: The borders are the same at each run.
        seed: Seed of such borders.
        seed2: The same.
        name: Name of the operation.
    """
    seeds = (seed, seed2) if deterministic else None
    return fractional.fractional_pool(
        value, pooling_ratio, pseudo_random, overlapping, seeds, fractional.largest
    )


def fractional_avg_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> fractional.FractionalPool:
    """See ``tf.nn.fractional_avg_pool``, and ``fractional_max_pool``."""
    seeds = (seed, seed2) if deterministic else None
    return fractional.fractional_pool(
        value, pooling_ratio, pseudo_random, overlapping, seeds, fractional.mean
    )
