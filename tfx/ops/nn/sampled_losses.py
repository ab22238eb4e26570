"""Losses over many classes by a sample of them, and the samplers of classes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import ones_like, zeros_like
from tfx.ops.array.reshape import expand_dims, reshape
from tfx.ops.array.sort import top_k
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.elementwise import log
from tfx.ops.math.reduction import reduce_any, reduce_sum
from tfx.ops.nn.embedding import embedding_lookup
from tfx.ops.nn.losses import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from tfx.ops.random.random import uniform


class Candidates(NamedTuple):
    """The results of a candidate sampler."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes drawn by Zipf's law: for words that are numbered by how often they occur.

    Args:
        true_classes: int64 ``[batch, num_true]``, the classes that are right.
        num_true: How many are right for each example.
        num_sampled: How many to draw.
        unique: Draw each class at most once.
        range_max: Classes are below this.
        seed: Seed; see ``tfx.random.set_seed``.
        name: Accepted for compatibility.

    Returns:
        ``(sampled_candidates, true_expected_count, sampled_expected_count)``: int64
        ``[num_sampled]``, and how often each right and each drawn class is expected in a sample.

    Raises:
        InvalidArgumentError: more different classes than there are, or sizes below 1.

    Example:
        >>> import tfx as tf
        >>> right = tf.constant([[0]], tf.int64)
        >>> tf.random.log_uniform_candidate_sampler(right, 1, 4, True, 100)[0].shape
        TensorShape([4])
    """
    share = _zipf(range_max)
    op = "LogUniformCandidateSampler"
    return drawn(true_classes, num_true, num_sampled, unique, range_max, seed, share, op)


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Sample classes uniformly; see ``log_uniform_candidate_sampler``.

    Example:
        >>> import tfx as tf
        >>> right = tf.constant([[0]], tf.int64)
        >>> tf.random.uniform_candidate_sampler(right, 1, 4, True, 100)[0].shape
        TensorShape([4])
    """
    share = np.full(max(range_max, 1), 1.0 / max(range_max, 1))
    op = "UniformCandidateSampler"
    return drawn(true_classes, num_true, num_sampled, unique, range_max, seed, share, op)


def _zipf(count: int) -> Any:
    steps = np.log1p(np.arange(max(count, 1) + 1))
    return np.diff(steps) / steps[-1]


def drawn(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None,
    share: Any,
    op: str,
) -> Candidates:
    """Classes drawn by a distribution.

    Args:
        true_classes: See ``log_uniform_candidate_sampler``, as of all but the last two.
        num_true: The same.
        num_sampled: The same.
        unique: The same.
        range_max: The same.
        seed: The same.
        share: The probability of each class, an array.
        op: The operation's name, for messages.
    """
    if num_sampled < 1 or range_max < 1 or num_true < 1:
        raise InvalidArgumentError(
            f"{op}: num_true, num_sampled and range_max must be above 0; got {num_true}, "
            f"{num_sampled} and {range_max}.",
            op=op,
        )
    possible = int(np.count_nonzero(share))
    if unique and num_sampled > possible:
        raise InvalidArgumentError(
            f"{op}: cannot draw {num_sampled} different classes of range_max={range_max}, of which "
            f"{possible} can be drawn.",
            op=op,
        )
    chances = convert_to_tensor(share.astype(np.float32))
    # The larger share plus Gumbel noise wins: draws without putting back, or one draw each.
    shape = [range_max] if unique else [num_sampled, range_max]
    tiny = float(np.finfo(np.float32).tiny)
    noise = -log(-log(uniform(shape, minval=tiny, seed=seed)))
    scores = log(chances) + noise
    if unique:
        sampled = cast_to(top_k(scores, num_sampled)[1], dtypes.int64)
        expected = 1.0 - (1.0 - share) ** _tries(share, num_sampled)
    else:
        sampled = ox.ArgMax(scores, axis=1, keepdims=0)
        expected = share * num_sampled
    counts = convert_to_tensor(expected.astype(np.float32))
    right = cast_to(tensor(true_classes), dtypes.int64)
    return Candidates(sampled, ox.Gather(counts, right), ox.Gather(counts, sampled))


def _tries(share: Any, count: int) -> float:
    """Return the expected number of draws until ``count`` different classes are drawn."""
    if count >= np.count_nonzero(share):
        return math.inf
    low, high = 0.0, float(count)
    rest = np.log1p(-np.minimum(share, 1 - 1e-12))

    def found(tries: float) -> float:
        return float(-np.expm1(tries * rest).sum())

    while found(high) < count:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if found(middle) < count else (low, middle)
    return high


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
        raise ValueError(
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
    dim = x.shape[-1] if x.shape[-1] is not None else -1
    grouped = reshape(right_rows, [-1, num_true, dim])
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
