"""Losses over many classes by a sample of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import ones_like, zeros_like
from tfx.ops.array.reshape import expand_dims, reshape
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.common.shapes import dimension
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.elementwise import log
from tfx.ops.math.reduction import reduce_any, reduce_sum
from tfx.ops.nn.candidate_samplers import (
    log_uniform_candidate_sampler,
)
from tfx.ops.nn.embedding import embedding_lookup
from tfx.ops.nn.losses import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:
    """The softmax cross entropy over the right classes and a sample of the others.

    For training alone: it underestimates the full softmax.

    Args:
        weights: ``[num_classes, dim]``, or a list of pieces of it. Its gradient is
            ``IndexedSlices``.
        biases: ``[num_classes]``.
        labels: Integers ``[batch, num_true]``.
        inputs: ``[batch, dim]``.
        num_sampled: How many classes are drawn, for the whole batch.
        num_classes: How many there are.
        num_true: How many are right for each example.
        sampled_values: What a candidate sampler returned; None: of
            ``tfx.random.log_uniform_candidate_sampler``.
        remove_accidental_hits: Leave out drawn classes that are right.
        seed: Seed of the sampler.
        name: Accepted for compatibility.

    Returns:
        ``[batch]``.

    Example:
        >>> import tfx as tf
        >>> w, b, x = tf.zeros([50, 4]), tf.zeros([50]), tf.zeros([2, 4])
        >>> tf.nn.sampled_softmax_loss(w, b, [[3], [7]], x, num_sampled=5, num_classes=50).shape
        TensorShape([2])
    """
    logits, chances = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, seed,
    )  # fmt: skip
    return softmax_cross_entropy_with_logits(stop_gradient(chances), logits)


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: right classes against drawn ones, each by a sigmoid.

    See ``sampled_softmax_loss`` for the arguments.

    Returns:
        ``[batch]``.

    Example:
        >>> import tfx as tf
        >>> w, b, x = tf.zeros([50, 4]), tf.zeros([50]), tf.zeros([2, 4])
        >>> tf.nn.nce_loss(w, b, [[3], [7]], x, num_sampled=5, num_classes=50).shape
        TensorShape([2])
    """
    logits, chances = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, None,
    )  # fmt: skip
    return reduce_sum(sigmoid_cross_entropy_with_logits(chances, logits), 1)


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_hits: bool,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Logits of the right and the drawn classes, and their probabilities as labels."""
    x = tensor(inputs)
    right = cast_to(tensor(labels), dtypes.int64)
    if right.shape.rank != 2 or right.shape[1] not in (num_true, None):
        raise InvalidArgumentError(
            f"labels must be [batch, num_true] with num_true={num_true}; got shape {right.shape}."
        )
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            right, num_true, num_sampled, True, num_classes, seed
        )
    drawn, right_count, drawn_count = (stop_gradient(tensor(v)) for v in sampled_values)
    drawn = cast_to(drawn, dtypes.int64)
    flat = ox.Reshape(right, int64_constant([-1]))
    every = concat([flat, drawn], 0)
    count = ox.Shape(flat)
    ends = int64_constant([2**62])
    start, axis = int64_constant([0]), int64_constant([0])

    def rows(table: Any) -> tuple[Tensor, Tensor]:
        found = cast_to(embedding_lookup(table, every), x.dtype)
        first = ox.Slice(found, start, count, axis)
        return first, ox.Slice(found, count, ends, axis)

    right_rows, drawn_rows = rows(weights)
    right_bias, drawn_bias = rows(biases)
    dim = dimension(x, -1)
    grouped = ox.Reshape(right_rows, ox.Concat(int64_constant([-1, num_true]), dim, axis=0))
    own = reduce_sum(expand_dims(x, 1) * grouped, 2) + reshape(right_bias, [-1, num_true])
    others = matmul(x, drawn_rows, transpose_b=True) + drawn_bias
    if remove_hits:
        pairs = ox.Equal(expand_dims(right, 2), drawn)
        hit = reduce_any(pairs, 1)
        least = scalar_like(float(np.finfo(np.float32).min), others)
        others = others + ox.Where(hit, least, scalar_like(0, others))
    own = own - log(cast_to(right_count, x.dtype))
    others = others - log(cast_to(drawn_count, x.dtype))
    share = scalar_like(1.0 / num_true, own)
    chances = concat([ones_like(own) * share, zeros_like(others)], 1)
    return concat([own, others], 1), chances
