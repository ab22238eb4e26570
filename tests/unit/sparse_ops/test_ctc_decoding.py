"""``ctc_greedy_decoder`` against a loop over frames."""

from __future__ import annotations

import functools
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


# Width of the beam, texts of each row (the best ones of all rows, then the second best), and the
# logarithms of their probabilities, by TensorFlow 2.21.
SEARCHED = [
    (
        100,
        3,
        [
            [[0, 2, 1], [1, 2, 1], [1, -1, -1]],
            [[0, 1, 2, 1], [2, 1, -1, -1], [1, 2, -1, -1]],
            [[0, 2, 1, 0], [0, 1, -1, -1], [1, 0, -1, -1]],
        ],
        [
            [-0.5639, -2.038, -2.5981],
            [-1.9019, -1.9058, -2.1742],
            [-0.1677, -2.1861, -3.2278],
        ],
    ),
    (
        1,
        1,
        [
            [[0, 2, 1], [1, 2, 1], [1, -1, -1]],
        ],
        [
            [-0.7093],
            [-1.9986],
            [-0.1683],
        ],
    ),
    (
        5,
        2,
        [
            [[0, 2, 1], [1, 2, 1], [1, -1, -1]],
            [[0, 1, 2, 1], [2, 1, -1, -1], [1, 2, -1, -1]],
        ],
        [
            [-0.5705, -2.0725],
            [-1.9986, -2.001],
            [-0.1677, -2.1861],
        ],
    ),
]


@pytest.mark.parametrize(("width", "paths", "texts", "scores"), SEARCHED)
def test_search(width: int, paths: int, texts: list[object], scores: list[object]) -> None:
    x = np.random.default_rng(3).normal(0, 2, (6, 3, 4)).astype(np.float32)
    search = functools.partial(tf.nn.ctc_beam_search_decoder, beam_width=width, top_paths=paths)
    for call in (search, tf.function(search)):
        found, score = call(x, [6, 4, 2])
        dense = [tf.sparse.to_dense(t, default_value=-1).numpy().tolist() for t in found]
        assert dense == texts
        np.testing.assert_allclose(score, scores, atol=2e-4)


def test_search_sums_all_ways_to_write_a_text() -> None:
    x = np.log(np.array([[[0.4, 0.6]], [[0.4, 0.6]]], np.float32))
    (best, second), score = tf.nn.ctc_beam_search_decoder(x, [2], top_paths=2)
    assert best.values.numpy().tolist() == [0]
    assert second.dense_shape.numpy().tolist() == [1, 0]
    np.testing.assert_allclose(np.exp(score), [[0.64, 0.36]], rtol=1e-5)
    greedy, _ = tf.nn.ctc_greedy_decoder(x, [2])
    assert isinstance(greedy[0], tf.SparseTensor)
    assert greedy[0].values.shape == [0]


@pytest.mark.parametrize(
    ("lengths", "options", "what"),
    [
        ([2], {"beam_width": 1, "top_paths": 2}, "from 1 to beam_width"),
        ([3], {}, "from 0 to 2"),
        ([2, 1], {}, "each of 1 rows"),
        ([0], {"top_paths": 2}, "only 1 texts"),
    ],
)
def test_searches_that_cannot_be(lengths: object, options: object, what: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=what):
        tf.nn.ctc_beam_search_decoder(np.zeros((2, 1, 3), "float32"), lengths, **options)


@pytest.mark.parametrize(
    ("logits", "what"),
    [
        (np.full((2, 1, 3), np.nan, "float32"), "NaN"),
        (np.zeros((2, 1, 0), "float32"), "at least one class"),
        (np.zeros((2, 1, 3), "int32"), "must be floats"),
    ],
)
def test_what_is_no_logits(logits: object, what: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=what):
        tf.nn.ctc_beam_search_decoder(logits, [2])


def test_the_blank_of_an_unknown_number_of_classes() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None] * 3)])
    def letters(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        last, first = (tf.nn.ctc_greedy_decoder(x, [5], blank_index=b)[0][0] for b in (-1, 0))
        return last.values, first.values

    last, first = letters(tf.one_hot([[0], [0], [2], [0], [1]], 3))
    assert last.numpy().tolist() == [0, 0, 1]
    assert first.numpy().tolist() == [2, 1]
