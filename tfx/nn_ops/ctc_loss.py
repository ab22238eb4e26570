"""``ctc_loss``: the probability of all alignments of a text with frames, summed row after row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import constant, int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.function.tracing.function import function
from tfx.ops.array.concat import concat, stack
from tfx.ops.array.creation import ones_like
from tfx.ops.array.gather import gather
from tfx.ops.array.reshape import broadcast_to, reshape
from tfx.ops.array.shape import shape
from tfx.ops.array.transpose import transpose
from tfx.ops.array.where import where
from tfx.ops.common.arguments import as_int64, cast_to, require_dtype, scalar_like, tensor
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import dimension
from tfx.ops.math.comparison import not_equal
from tfx.ops.math.elementwise import log
from tfx.ops.math.reduction import reduce_logsumexp
from tfx.ops.math.segments import unsorted_segment_sum
from tfx.ops.nn.softmax import log_softmax
from tfx.sparse_ops.conversion import to_dense
from tfx.sparse_ops.sparse_tensor import SparseTensor

# The logarithm of what cannot be: finite, so that differences of two of them are 0 and not NaN.
_NEVER = -1e30
# Of beginning or ending elsewhere than at an end of the text: what does not fit has a loss that is
# large, and a slope, without which one such row would spoil the weights.
_BARELY = math.log(1e-307)


def ctc_loss(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Connectionist temporal classification: minus the logarithm of a text's probability.

    Args:
        labels: ``[batch, most]`` integers, each row filled up behind its ``label_length``, or a
            sparse tensor of them, each row from its beginning, which needs a ``blank_index``. A
            blank among them is a letter like others if it is class 0; if it is another class, the
            class before it counts instead, as in TensorFlow.
        logits: ``[frames, batch, classes]`` of a floating dtype.
        label_length: ``[batch]`` integers; of a sparse tensor its own lengths count.
        logit_length: ``[batch]`` integers: the frames that count.
        logits_time_major: ``logits`` is as above; False: ``[batch, frames, classes]``.
        unique: Accepted for compatibility.
        blank_index: The class that stands for no letter; negative: counted from the last. None: 0.
        name: Accepted for compatibility.

    Returns:
        ``[batch]``; infinity where a text does not fit into its frames.

    Raises:
        InvalidArgumentError: other ranks, or a row of sparse labels that is longer than its frames.
        ValueError: sparse labels without a ``blank_index``.

    Example:
        >>> import tfx as tf
        >>> loss = tf.nn.ctc_loss([[1]], tf.zeros([2, 1, 3]), [1], [2])
        >>> loss.numpy().round(4)  # 3 of 9 alignments
        array([1.0986], dtype=float32)
    """
    if not isinstance(labels, SparseTensor):
        fits = (label_length, logit_length, logits_time_major, blank_index)
        return loss_of_rows(labels, logits, *fits, otherwise=_BARELY)
    if blank_index is None:
        raise InvalidArgumentError(
            "Argument `blank_index` must be provided when `labels` is a `SparseTensor`: "
            "0, or -1 for the last class."
        )
    rows, lengths = filled_up(labels)
    lengths = _fitting(lengths, as_int64(logit_length))
    return loss_of_rows(rows, logits, lengths, logit_length, logits_time_major, blank_index)


def loss_of_rows(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool,
    blank_index: int | None,
    otherwise: float = _NEVER,
) -> Tensor:
    """``ctc_loss`` of dense labels.

    Args:
        labels: Rows ``[batch, most]``.
        logits: As there.
        label_length: As there.
        logit_length: As there.
        logits_time_major: As there.
        blank_index: As there.
        otherwise: The logarithm of the probability to begin or end in the middle of a text.
    """
    x, words = of_rank(tensor(logits), 3), of_rank(as_int64(labels), 2)
    if x.shape.rank != 3 or words.shape.rank != 2:
        raise InvalidArgumentError(
            "ctc_loss takes labels [batch, most] and logits [frames, batch, classes]; got shapes "
            f"{words.shape} and {x.shape}."
        )
    x = x if logits_time_major else transpose(x, [1, 0, 2])
    number = 0 if blank_index is None else int(blank_index)
    blank = int64_constant(number)
    if number < 0:
        blank = ox.Add(ox.Squeeze(dimension(x, -1)), blank)
    lengths = as_int64(label_length), as_int64(logit_length)
    kind = dtypes.float32 if x.dtype.size < 4 else x.dtype
    given = *lengths, blank, constant(otherwise, kind)
    loss: Tensor = _loss(words, x, *given)
    return of_rank(loss, 1)


def filled_up(labels: SparseTensor) -> tuple[Tensor, Tensor]:
    """Sparse labels as a matrix, and the length of each row."""
    values = labels.values
    require_dtype(values, values.dtype.is_integer, "ctc_loss", "labels of an integer dtype")
    rows, size = labels.indices[:, 0], as_int64(labels.dense_shape)[0]
    lengths = unsorted_segment_sum(ones_like(rows), rows, size)
    return to_dense(labels), lengths


def _fitting(lengths: Tensor, frames: Tensor) -> Tensor:
    """The lengths of texts, none of which has more letters than frames."""
    fine = lengths <= frames
    if not isinstance(fine, EagerTensor):
        return refused_unless(fine, lengths, Refusal.CTC_FRAMES)
    if not fine.numpy().all():
        raise InvalidArgumentError(Refusal.CTC_FRAMES.said(), op="CTCLoss")
    return lengths


def _traced(
    words: Tensor, x: Tensor, lengths: Tensor, frames: Tensor, blank: Tensor, barely: Tensor
) -> Tensor:
    wide = x if x.dtype.size >= 4 else cast_to(x, dtypes.float32)
    never = scalar_like(_NEVER, wide)
    # Letters with a blank before, between and behind them.
    # A label that is the blank counts as the class before it, as in TensorFlow.
    instead = where(blank > 0, blank - 1, blank)
    words = where(ox.Equal(words, blank), instead, words)
    around = broadcast_to(blank, shape(words, out_type=dtypes.int64))
    mixed = reshape(stack([around, words], 2), [shape(words)[0], -1])
    states = concat([mixed, broadcast_to(blank, [shape(words)[0], 1])], 1)
    count = shape(states, out_type=dtypes.int64)[1]
    numbers = ox.Range(int64_constant(0), count, int64_constant(1))
    within = numbers <= 2 * lengths[:, None]
    safe = where(within, states, blank)  # what fills up may be no class at all
    chances = log_softmax(wide)
    emitted = gather(chances, broadcast_to(safe[None], _rows(chances, safe)), axis=2, batch_dims=2)
    earlier = concat([broadcast_to(blank, [shape(words)[0], 2]), safe[:, :-2]], 1)
    # By their place, not by the class: a label may be the blank's.
    is_letter = ox.Equal(ox.Mod(numbers, int64_constant(2)), int64_constant(1))
    skips = ox.And(is_letter, not_equal(safe, earlier))
    ways = cast_to(skips, wide.dtype) + 2.0
    late = where(within, emitted[0] + (barely + log(ways)), never)
    begin = where(ox.And(numbers < 2, within), emitted[0], late)

    def forward(t: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
        # Frames that do not count leave things as they are.
        nearer = gather(emitted, t) + _sums(alpha, skips, never)
        going = ox.And((t < frames)[:, None], within)
        kept = where(within, alpha, never)
        return t + 1, where(going, ox.Max(nearer, never), kept)

    last = shape(emitted, out_type=dtypes.int64)[0]
    _, alpha = while_loop(lambda t, _: t < last, forward, [int64_constant(1), begin])
    ends = ox.Or(_equal(numbers, 2 * lengths), _equal(numbers, 2 * lengths - 1))
    total = reduce_logsumexp(where(ends, alpha, ox.Max(alpha + barely, never)), 1)
    infinite = constant(np.inf, wide.dtype)
    return cast_to(where(total < scalar_like(_NEVER / 2, wide), infinite, -total), x.dtype)


def _equal(numbers: Tensor, which: Tensor) -> Tensor:
    return ox.Equal(numbers, which[:, None])


def _rows(chances: Tensor, states: Tensor) -> Tensor:
    """``[frames, batch, states]``."""
    frames = shape(chances, out_type=dtypes.int64)[:1]
    return concat([frames, shape(states, out_type=dtypes.int64)], 0)


def _sums(alpha: Tensor, skips: Tensor, never: Tensor) -> Tensor:
    """Sum over each state's predecessors: itself, the one before, and over a blank the next."""
    edge = broadcast_to(never, [shape(alpha)[0], 2])
    padded = concat([edge, alpha], 1)
    two = where(skips, padded[:, :-2], never)
    return reduce_logsumexp(stack([alpha, padded[:, 1:-1], two], 0), 0)


_loss = function(_traced, autograph=False)


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The different labels of each row, and where each label is among them.

    ``ctc_loss`` takes the result as ``unique`` and needs it for nothing.

    Args:
        labels: ``[batch, n]`` integers.
        name: Accepted for compatibility.

    Returns:
        The different labels as int64, in order of appearance, filled up with zeros, and int32
        ``[batch, n]`` indices into them.

    Example:
        >>> import tfx as tf
        >>> tf.nn.ctc_unique_labels([[3, 3, 5]])[0].numpy()
        array([[3, 5, 0]])
    """
    x = as_int64(labels)
    same = ox.Equal(x[:, :, None], x[:, None, :])
    first = ox.ArgMax(cast_to(same, dtypes.int32), axis=2, keepdims=0)
    count = shape(x, out_type=dtypes.int64)[1]
    numbers = ox.Range(int64_constant(0), count, int64_constant(1))
    is_first = ox.Equal(first, numbers)
    before = ox.CumSum(cast_to(is_first, dtypes.int64), int64_constant(1))
    index = gather(before, first, axis=1, batch_dims=1) - 1
    # Position p holds the label whose first appearance is the p-th.
    hit = ox.And(ox.Equal(before - 1, numbers[:, None, None]), is_first)
    found = ox.ReduceSum(where(hit, x, 0 * x), int64_constant([2]), keepdims=0)
    return transpose(found), cast_to(index, dtypes.int32)
