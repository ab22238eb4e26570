"""Samplers of classes: by a law, by frequencies that are given, all; and what a sample hits."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import fill, ones
from tfx.ops.array.reshape import expand_dims
from tfx.ops.array.shape import shape
from tfx.ops.array.sort import top_k
from tfx.ops.array.where import where
from tfx.ops.common.arguments import as_int64, cast_to, require_dtype, tensor
from tfx.ops.math.comparison import equal
from tfx.ops.math.elementwise import log
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


def right_classes(true_classes: Any, num_true: int, op: str) -> Tensor:
    """The classes that are right, as int64 ``[batch, num_true]``.

    Raises:
        InvalidArgumentError: they are no integers, or of another shape.
    """
    right = tensor(true_classes)
    require_dtype(right, right.dtype.is_integer, op, "an integer dtype")
    if not right.shape.is_compatible_with([None, num_true]):
        raise InvalidArgumentError(
            f"{op}: expected true_classes of shape [batch, num_true={num_true}]; got "
            f"{right.shape}.",
            op=op,
        )
    return as_int64(right)


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
    right = right_classes(true_classes, num_true, op)
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


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Classes drawn by how often they occur, for which numbers are given.

    Args:
        true_classes: int64 ``[batch, num_true]``, the classes that are right.
        num_true: How many are right for each example.
        num_sampled: How many to draw.
        unique: Draw each class at most once.
        range_max: Classes are below this.
        vocab_file: A CSV file with a row for each class, whose last value is its number; it is
            read when the graph is made.
        distortion: The numbers are raised to this power: 1 draws by frequency, 0 uniformly.
        num_reserved_ids: Classes in front of those with a number, which are never drawn.
        num_shards: With ``shard``, only classes whose remainder by this is ``shard`` are drawn.
        shard: See ``num_shards``.
        unigrams: A number for each class, in place of ``vocab_file``.
        seed: Seed; see ``tfx.random.set_seed``.
        name: Accepted for compatibility.

    Returns:
        ``(sampled_candidates, true_expected_count, sampled_expected_count)``: int64
        ``[num_sampled]``, and how often each right and each drawn class is expected in a sample.

    Raises:
        InvalidArgumentError: neither or both of ``vocab_file`` and ``unigrams``, as many numbers
            as there are no classes, or more different classes than can be drawn.

    Example:
        >>> import tfx as tf
        >>> right = tf.constant([[0]], tf.int64)
        >>> sampled = tf.random.fixed_unigram_candidate_sampler(
        ...     right, 1, 2, True, 3, unigrams=[5.0, 0.0, 2.0]
        ... )
        >>> sorted(sampled[0].numpy().tolist())
        [0, 2]
    """
    op = "FixedUnigramCandidateSampler"
    if num_shards < 1 or not 0 <= shard < num_shards:
        raise InvalidArgumentError(
            f"{op}: expected num_shards above 0 and shard in [0, num_shards); got {num_shards} and "
            f"{shard}.",
            op=op,
        )
    given = [float(n) for n in unigrams]
    if bool(given) == bool(vocab_file):
        raise InvalidArgumentError(
            f"{op}: expected either vocab_file or unigrams; got {vocab_file!r} and {given!r}.",
            op=op,
        )
    if vocab_file:
        given = _frequencies(vocab_file, op)
    if not all(0 <= n < math.inf for n in given):
        raise InvalidArgumentError(
            f"{op}: expected numbers that are finite and not below 0; got {given!r}.", op=op
        )
    counts = np.array([0.0] * num_reserved_ids + given)
    if len(counts) != range_max:
        raise InvalidArgumentError(
            f"{op}: {len(given)} numbers behind {num_reserved_ids} reserved ids are not those of "
            f"range_max={range_max} classes.",
            op=op,
        )
    weights = np.where(counts > 0, counts, 1.0) ** distortion * (counts > 0)
    weights[np.arange(range_max) % num_shards != shard] = 0.0
    if not weights.any():
        raise InvalidArgumentError(f"{op}: no class has a number above 0; got {given!r}.", op=op)
    share = weights / weights.sum()
    return drawn(true_classes, num_true, num_sampled, unique, range_max, seed, share, op)


def _frequencies(file_name: str, op: str) -> list[float]:
    try:
        with open(file_name, encoding="utf-8", newline="") as file:
            return [float(row[-1]) for row in csv.reader(file) if row]
    except FileNotFoundError as e:
        raise NotFoundError(f"{op}: there is no vocab_file {file_name!r}.", op=op) from e
    except (ValueError, csv.Error) as e:
        raise InvalidArgumentError(
            f"{op}: a row of vocab_file {file_name!r} does not end in a number: {e}.", op=op
        ) from e


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """All classes: makes of a sampled loss the full one.

    Args:
        true_classes: int64 ``[batch, num_true]``, the classes that are right.
        num_true: How many are right for each example.
        num_sampled: The number of classes.
        unique: Accepted for compatibility.
        seed: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        See ``tfx.random.fixed_unigram_candidate_sampler``; every class is expected once.

    Example:
        >>> import tfx as tf
        >>> tf.random.all_candidate_sampler([[1]], 1, 3, True)[0].numpy()
        array([0, 1, 2])
    """
    op = "AllCandidateSampler"
    if num_sampled < 1:
        raise InvalidArgumentError(f"{op}: num_sampled must be above 0; got {num_sampled}.", op=op)
    right = right_classes(true_classes, num_true, op)
    sampled = ox.Range(int64_constant(0), int64_constant(num_sampled), int64_constant(1))
    one = convert_to_tensor(1.0, dtypes.float32)
    return Candidates(sampled, fill(shape(right), one), ones([num_sampled]))


class AccidentalHits(NamedTuple):
    """Where a sample holds right classes."""

    indices: Tensor
    ids: Tensor
    weights: Tensor


def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> AccidentalHits:
    """Where a sample of wrong classes holds classes that are right.

    Args:
        true_classes: int64 ``[batch, num_true]``, the classes that are right.
        sampled_candidates: int64 ``[num_sampled]``, see the samplers.
        num_true: How many are right for each example.
        seed: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        ``(indices, ids, weights)``, vectors: the rows of ``true_classes`` (int32), places in the
        sample (int64), and the lowest float32, to be added to such logits.

    Example:
        >>> import tfx as tf
        >>> hits = tf.nn.compute_accidental_hits([[1], [2]], [2, 1, 3], 1)
        >>> hits.indices.numpy(), hits.ids.numpy()
        (array([0, 1], dtype=int32), array([1, 0]))
    """
    right = expand_dims(right_classes(true_classes, num_true, "ComputeAccidentalHits"), 2)
    places = where(equal(right, as_int64(sampled_candidates)))
    rows = cast_to(places[:, 0], dtypes.int32)
    lowest = convert_to_tensor(float(np.finfo(np.float32).min), dtypes.float32)
    return AccidentalHits(rows, places[:, 2], fill(shape(rows), lowest))
