"""The likeliest texts of a sequence of frames, by a search that keeps the best beginnings.

A beginning's probability is that of all alignments that spell it, in two parts: those that end
with a blank, after which a letter may come again, and those that end with its last letter. A
beginning is known by its length and two remainders, which are computed letter by letter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tfx as tf

# The logarithm of what cannot be: finite, as differences of infinities are no numbers.
_NEVER = -1e30
_PRIMES, _BASES = (2147483647, 2147483629), (1103515245, 1664525)


def beam_search(
    scores: Any, lengths: Any, width: int, top: int, blank: int | None
) -> tuple[Any, Any]:
    """The texts ``[top, batch, frames]``, filled up with -1, and the logarithms of their chances.

    Args:
        scores: ``[batch, frames, classes]``.
        lengths: The frames that count, ``[batch]``.
        width: How many beginnings are kept.
        top: How many texts are returned.
        blank: The class that stands for no letter; None: the last.

    Raises:
        ValueError: ``top`` is above ``width``.
    """
    if top > width:
        raise ValueError(f"`top_paths` must be at most `beam_width`, {width}; got {top}.")
    texts, chances = _search(width, top, -1 if blank is None else blank)(scores, lengths)
    batch, frames, _ = scores.shape
    return tf.ensure_shape(texts, [top, batch, frames]), tf.ensure_shape(chances, [batch, top])


@functools.lru_cache
def _search(width: int, top: int, blank: int) -> Callable[..., Any]:
    return tf.function(
        lambda scores, lengths: _traced(scores, lengths, width, top, blank),
        autograph=False,
        reduce_retracing=True,
    )


def _traced(scores: Any, lengths: Any, width: int, top: int, blank: int) -> tuple[Any, Any]:
    size = tf.shape(scores)
    batch, frames, classes = size[0], size[1], size[2]
    never = tf.constant(_NEVER, scores.dtype)
    search = _Beams(
        # With the frames first.
        logs=tf.transpose(tf.nn.log_softmax(scores), [1, 0, 2]),
        letters=tf.range(classes),
        blank=blank if blank >= 0 else blank + classes,
        never=never,
        width=width,
    )

    def step(t: Any, *state: Any) -> Any:
        counts_now = t < lengths
        after = search.step(t, *state)
        return (
            t + 1,
            *[
                tf.where(tf.reshape(counts_now, [-1, *[1] * (new.shape.rank - 1)]), new, kept)
                for new, kept in zip(after, state, strict=True)
            ],
        )

    first = tf.one_hot(0, width, tf.zeros([], scores.dtype), never, dtype=scores.dtype)
    begin = [
        tf.fill([batch, width, frames], -1),
        tf.zeros([batch, width], tf.int32),
        tf.fill([batch, width], -1),
        tf.zeros([batch, width, 2], tf.int64),
        tf.broadcast_to(first, [batch, width]),
        tf.fill([batch, width], never),
    ]
    _, texts, _, _, _, *parts = tf.while_loop(
        lambda t, *_: t < frames, step, [tf.constant(0), *begin]
    )
    chances = _either(*parts)[:, :top]
    possible = chances > _NEVER / 2
    texts = tf.where(possible[:, :, None], texts[:, :top], -1)
    none = tf.constant(-float("inf"), scores.dtype)
    return tf.transpose(texts, [1, 0, 2]), tf.where(possible, chances, none)


@dataclass(frozen=True)
class _Beams:
    """What a frame makes of the beginnings that are kept.

    Their state: texts, lengths, last letters, remainders, and the logarithms of both probabilities.
    """

    logs: Any
    letters: Any
    blank: Any
    never: Any
    width: int

    def step(
        self, t: Any, texts: Any, counts: Any, last: Any, marks: Any, blank: Any, letter: Any
    ) -> tuple[Any, ...]:
        """The best beginnings behind frame ``t``: of those that stay and those that grow."""
        both = _either(blank, letter)
        no_letter = both + tf.gather(self.logs[t], self.blank, axis=1)[:, None]
        again, more = self._grown(t, counts, last, marks, blank, letter)
        all_of = [_either(no_letter, again), tf.reshape(more, [tf.shape(more)[0], -1])]
        best, which = tf.math.top_k(tf.concat(all_of, 1), self.width)
        stays, classes = which < self.width, tf.size(self.letters)
        source = tf.where(stays, which, (which - self.width) // classes)
        added = (which - self.width) % classes

        def chosen(x: Any) -> Any:
            return tf.gather(x, source, axis=1, batch_dims=1)

        before, old, grows = chosen(counts), chosen(marks), tf.logical_not(stays)
        here = tf.logical_and(tf.range(tf.shape(texts)[2]) == before[:, :, None], grows[:, :, None])
        return (
            tf.where(here, added[:, :, None], chosen(texts)),
            before + tf.cast(grows, tf.int32),
            tf.where(stays, chosen(last), added),
            tf.where(stays[:, :, None], old, _marked(old, added)),
            tf.where(stays, chosen(no_letter), self.never),
            tf.where(stays, chosen(again), best),
        )

    def _grown(
        self, t: Any, counts: Any, last: Any, marks: Any, blank: Any, letter: Any
    ) -> tuple[Any, Any]:
        """Chances of the same text by a letter that goes on, and of each letter more.

        What becomes a beginning that is kept already is added to that.
        """
        now, both = self.logs[t], _either(blank, letter)
        again = letter + tf.gather(now, tf.maximum(last, 0), axis=1, batch_dims=1)
        # After the same letter only if a blank is between.
        same = self.letters == last[:, :, None]
        more = tf.where(same, blank[:, :, None], both[:, :, None]) + now[:, None]
        more = tf.where(self.letters == self.blank, self.never, more)
        onward = _marked(marks[:, :, None], last[:, None, :])
        found = tf.reduce_all(onward == marks[:, None], -1)
        found = tf.logical_and(found, counts[:, :, None] + 1 == counts[:, None])
        found = tf.logical_and(found, both[:, None] > _NEVER / 2)
        reached = tf.gather(more, tf.maximum(last, 0), axis=2, batch_dims=1)
        again = _either(again, tf.reduce_logsumexp(tf.where(found, reached, self.never), 1))
        taken = tf.matmul(tf.cast(found, now.dtype), tf.cast(same, now.dtype))
        return again, tf.where(taken > 0, self.never, more)


def _either(a: Any, b: Any) -> Any:
    """The logarithm of the sum of two probabilities."""
    return tf.maximum(a, b) + tf.math.log1p(tf.exp(-tf.abs(a - b)))


def _marked(marks: Any, letter: Any) -> Any:
    """The remainders of beginnings with a letter more."""
    number = tf.cast(letter + 1, tf.int64)[..., None]
    return (marks * tf.constant(_BASES, tf.int64) + number) % tf.constant(_PRIMES, tf.int64)
