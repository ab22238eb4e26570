"""``ctc_greedy_decoder`` against a loop over frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf


def _texts(x: Any, lengths: list[int], merge: bool, blank: int) -> list[list[int]]:
    found = []
    for b, length in enumerate(lengths):
        best = x[:length, b].argmax(-1)
        kept = [c for i, c in enumerate(best) if not (merge and i and best[i - 1] == c)]
        found.append([int(c) for c in kept if c != blank])
    return found


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("blank", [None, 0, -2])
def test_against_a_loop(blank: int | None, merge: bool) -> None:
    x = np.random.default_rng(1).normal(size=(8, 3, 4)).astype(np.float32)
    x[2:5, 0] = x[2, 0]
    lengths = [8, 5, 1]
    expected = _texts(x, lengths, merge, (-1 if blank is None else blank) % 4)
    for call in (tf.nn.ctc_greedy_decoder, tf.function(tf.nn.ctc_greedy_decoder)):
        [decoded], score = call(x, lengths, merge, blank)
        assert decoded.dense_shape.numpy().tolist() == [3, max(map(len, expected))]
        assert decoded.values.numpy().tolist() == [c for text in expected for c in text]
        places = [[b, i] for b, text in enumerate(expected) for i in range(len(text))]
        assert decoded.indices.numpy().tolist() == places
        tops = [-x[:n, b].max(-1).sum() for b, n in enumerate(lengths)]
        np.testing.assert_allclose(score.numpy()[:, 0], tops, rtol=1e-5)


def test_blanks_alone() -> None:
    [decoded], _ = tf.nn.ctc_greedy_decoder(tf.one_hot([[1], [1]], 2), [2])
    assert decoded.indices.shape == [0, 2]
    assert decoded.dense_shape.numpy().tolist() == [1, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="frames"):
        tf.nn.ctc_greedy_decoder(tf.zeros([2, 2]), [2])
