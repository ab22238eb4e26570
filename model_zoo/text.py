"""The text that ships with Python: the language reference, as ``help()`` shows it."""

from __future__ import annotations

import pydoc_data.topics

import numpy as np

import tfx as tf

# ASCII.
VOCABULARY = 128


def encode(text: str) -> np.ndarray:
    """Characters as numbers; those that are not ASCII are left out.

    Example:
        >>> from tfx.model_zoo import text
        >>> text.encode("ab")
        array([97, 98])
    """
    return np.frombuffer(text.encode("ascii", "ignore"), np.uint8).astype(np.int64)


def decode(tokens: np.ndarray) -> str:
    """Numbers as characters."""
    return bytes(np.asarray(tokens, np.uint8)).decode("ascii")


def load(held_out: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """About 460,000 characters; the last of them kept for judging."""
    topics = pydoc_data.topics.topics
    tokens = encode("\n".join(topics[name] for name in sorted(topics)))
    cut = int(len(tokens) * (1 - held_out))
    return tokens[:cut], tokens[cut:]


def windows(tokens: np.ndarray, length: int) -> np.ndarray:
    """Pieces that overlap by half: ``[n, length]``."""
    return np.lib.stride_tricks.sliding_window_view(tokens, length)[:: length // 2].copy()


def batches(tokens: np.ndarray, length: int, batch: int, seed: int) -> tf.data.Dataset:
    """Pieces of the text in random order, without end: ``[batch, length]``."""
    pieces = windows(tokens, length)
    data = tf.data.Dataset.from_tensor_slices(pieces).shuffle(len(pieces), seed=seed)
    return data.repeat().batch(batch, drop_remainder=True)
