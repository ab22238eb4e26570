"""Texts from the classes of frames, repeats and blanks left out: the likeliest, or a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, stack
from tfx.ops.array.gather import gather_nd
from tfx.ops.array.shape import shape
from tfx.ops.array.transpose import transpose
from tfx.ops.array.where import boolean_mask, where
from tfx.ops.common.arguments import as_int64, cast_to, scalar_like, tensor
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.python_ops import by_python
from tfx.ops.common.shapes import dimension
from tfx.ops.math.argmax import argmax
from tfx.ops.math.comparison import not_equal
from tfx.ops.math.cumulative import cumsum
from tfx.ops.math.reduction import reduce_max, reduce_sum
from tfx.sparse_ops.sparse_tensor import SparseTensor


def ctc_greedy_decoder(
    inputs: Any,
    sequence_length: Any,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The likeliest class of each frame as a text.

    Args:
        inputs: Logits ``[frames, batch, classes]`` of a floating dtype.
        sequence_length: ``[batch]`` integers: the frames that count.
        merge_repeated: A class in neighbouring frames is one letter.
        blank_index: The class that stands for no letter; negative: counted from the last. None: the
            last.

    Returns:
        The texts as one sparse tensor of int64 in a list, and minus the sum of the largest logits,
        ``[batch, 1]``.

    Raises:
        InvalidArgumentError: another rank.

    Example:
        >>> import tfx as tf
        >>> logits = tf.one_hot([[0], [0], [2], [0], [1]], 3)
        >>> tf.nn.ctc_greedy_decoder(logits, [5])[0][0].values.numpy()
        array([0, 0, 1])
    """
    x, lengths = of_rank(tensor(inputs), 3), of_rank(as_int64(sequence_length), 1)
    if x.shape.rank != 3:
        raise InvalidArgumentError(f"inputs must be [frames, batch, classes]; got shape {x.shape}.")
    number = int64_constant(-1 if blank_index is None else int(blank_index))
    blank = ox.Mod(number, ox.Squeeze(dimension(x, -1)))
    best = transpose(argmax(x, 2), [1, 0])
    frames = shape(x)[0]
    steps = ox.Range(int64_constant(0), as_int64(frames), int64_constant(1))
    counts = ox.Less(steps, lengths[:, None])
    letters = ox.And(counts, not_equal(best, blank))
    if merge_repeated:
        before = concat([0 * best[:, :1] - 1, best[:, :-1]], 1)
        letters = ox.And(letters, not_equal(best, before))
    places = cumsum(cast_to(letters, dtypes.int64), 1) - 1
    found = transpose(ox.NonZero(letters))
    indices = stack([found[:, 0], gather_nd(places, found)], 1)
    none = int64_constant([0])
    longest = reduce_max(concat([none, places[:, -1] + 1], 0))
    total = stack([as_int64(shape(x)[1]), longest], 0)
    top = transpose(reduce_max(x, 2), [1, 0])
    kept = where(counts, top, scalar_like(0, x))
    score = -reduce_sum(kept, 1, keepdims=True)
    return [SparseTensor(indices, boolean_mask(best, letters), total)], score


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """The likeliest texts, each by the sum of all ways to write it in frames.

    Python searches; a function with it cannot be saved.

    Args:
        inputs: Logits ``[frames, batch, classes]`` of a floating dtype; the last class is no
            letter.
        sequence_length: ``[batch]`` integers: the frames that count.
        beam_width: How many texts are followed from frame to frame.
        top_paths: How many are returned.

    Returns:
        The best texts of all rows, the second best and so on, each a sparse tensor of int64; and
        the logarithms of their probabilities, ``[batch, top_paths]``.

    Raises:
        InvalidArgumentError: another shape or dtype, NaN, more paths than the beam is wide or
            than there are, or a row of more frames than there are.

    Example:
        >>> import tfx as tf
        >>> logits = tf.math.log([[[0.4, 0.6]], [[0.4, 0.6]]])
        >>> texts, score = tf.nn.ctc_beam_search_decoder(logits, [2])
        >>> texts[0].values.numpy(), tf.exp(score).numpy().round(2)
        (array([0]), array([[0.64]], dtype=float32))
    """
    x, lengths = tensor(inputs), as_int64(sequence_length)
    if x.shape.rank != 3 or lengths.shape.rank != 1:
        raise InvalidArgumentError(
            "inputs must be [frames, batch, classes] and sequence_length [batch]; got shapes "
            f"{x.shape} and {lengths.shape}."
        )
    if not x.dtype.is_floating or x.shape[-1] == 0:
        raise InvalidArgumentError(
            f"inputs must be floats of at least one class; got {x.dtype.name} of shape {x.shape}."
        )
    if not 1 <= top_paths <= beam_width:
        raise InvalidArgumentError(
            f"top_paths must be from 1 to beam_width; got {top_paths} and {beam_width}."
        )

    def search(logits: Any, lengths: Any) -> list[Any]:
        _check(logits, lengths)
        found = [
            _best_texts(logits[:count, i], beam_width, top_paths) for i, count in enumerate(lengths)
        ]
        scores = np.array([[score for _, score in row] for row in found], logits.dtype)
        results: list[Any] = [scores.reshape(len(found), top_paths)]
        for path in range(top_paths):
            results += _sparse([row[path][0] for row in found])
        return results

    kinds: list[Any] = [(x.dtype, (x.shape[1], top_paths))]
    kinds += [(dtypes.int64, (None, 2)), (dtypes.int64, (None,)), (dtypes.int64, (2,))] * top_paths
    score, *parts = by_python("nn.ctc_beam_search_decoder", search, [x, lengths], kinds)
    return [SparseTensor(*parts[i : i + 3]) for i in range(0, len(parts), 3)], score


def _check(logits: Any, lengths: Any) -> None:
    frames, batch, _ = logits.shape
    if np.isnan(logits).any() or np.isposinf(logits).any():
        raise InvalidArgumentError("inputs hold NaN or infinity, which are no logits.")
    if len(lengths) != batch:
        raise InvalidArgumentError(
            f"sequence_length must have a number for each of {batch} rows; got {len(lengths)}."
        )
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= frames:
        raise InvalidArgumentError(
            f"sequence_length must be from 0 to {frames}, the frames there are; got "
            f"{lengths.tolist()}."
        )


def _best_texts(logits: Any, width: int, count: int) -> list[tuple[tuple[int, ...], float]]:
    """The likeliest texts of one row, with the logarithms of their probabilities."""
    steps = logits.astype(np.float64)
    steps = steps - steps.max(-1, keepdims=True, initial=-np.inf)
    steps = steps - np.log(np.exp(steps).sum(-1, keepdims=True))
    blank = steps.shape[-1] - 1
    # Texts, each with the logarithm of all ways that end without a letter, and with its last one.
    beam: list[tuple[tuple[int, ...], float, float]] = [((), 0.0, -np.inf)]
    for step in steps:
        beam = _next_beam(beam, step, blank, width)
    found = [(text, float(np.logaddexp(silent, sounding))) for text, silent, sounding in beam]
    if len(found) < count:
        raise InvalidArgumentError(
            f"top_paths is {count}, but a row of {len(steps)} frames has only {len(found)} texts."
        )
    return sorted(found, key=lambda item: -item[1])[:count]


def _next_beam(
    beam: list[tuple[tuple[int, ...], float, float]], step: Any, blank: int, width: int
) -> list[tuple[tuple[int, ...], float, float]]:
    """The likeliest texts after one more frame.

    Args:
        beam: The texts before it.
        step: The logarithms of the classes' probabilities in the frame.
        blank: The class that is no letter.
        width: How many texts are kept.
    """
    texts = [text for text, _, _ in beam]
    silent, sounding = (np.array([row[i] for row in beam]) for i in (1, 2))
    both = np.logaddexp(silent, sounding)
    last = np.array([text[-1] if text else blank for text in texts], np.int64)
    ends = last < blank
    # A text stays what it is by a frame without a letter, or with its last one again.
    kept_silent = both + step[blank]
    kept_sounding = np.where(ends, sounding + step[last], -np.inf)
    # It grows by any letter; by its last one only behind a frame without.
    longer = both[:, None] + step[None, :blank]
    longer[ends, last[ends]] = silent[ends] + step[last[ends]]
    places = {text: i for i, text in enumerate(texts)}
    for i, text in enumerate(texts):  # what grows into a text that is there
        j = places.get(text[:-1]) if text else None
        if j is not None:
            kept_sounding[i] = np.logaddexp(kept_sounding[i], longer[j, text[-1]])
            longer[j, text[-1]] = -np.inf
    scores = np.concatenate([np.logaddexp(kept_silent, kept_sounding), longer.ravel()])
    order = np.argsort(-scores, kind="stable")[:width]
    result = []
    for place in order[np.isfinite(scores[order])].tolist():
        if place < len(texts):
            result.append((texts[place], float(kept_silent[place]), float(kept_sounding[place])))
        else:
            i, letter = divmod(place - len(texts), blank)
            result.append(((*texts[i], letter), -np.inf, float(longer[i, letter])))
    return result


def _sparse(texts: list[tuple[int, ...]]) -> list[Any]:
    """Indices, values and shape of rows of letters."""
    places = [(row, i) for row, text in enumerate(texts) for i in range(len(text))]
    longest = max(map(len, texts), default=0)
    return [
        np.array(places, np.int64).reshape(-1, 2),
        np.array([letter for text in texts for letter in text], np.int64),
        np.array([len(texts), longest], np.int64),
    ]
