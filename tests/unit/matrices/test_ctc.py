"""``ctc_loss``: TensorFlow's numbers, and the sum over all alignments, one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.testing import check_grads

LOGITS = (np.sin(np.arange(5 * 2 * 4) * 1.7) * 2).reshape(5, 2, 4).astype(np.float32)
LABELS = [[1, 1, 3], [2, 0, 0]]


def test_numbers_of_tensorflow() -> None:
    logits = tf.Variable(LOGITS)
    with tf.GradientTape() as tape:
        loss = tf.nn.ctc_loss(LABELS, logits, [3, 1], [5, 4], blank_index=0)
    np.testing.assert_allclose(loss, [5.742259, 3.3139663], rtol=1e-5)
    gradient = tape.gradient(loss, logits).numpy()
    np.testing.assert_allclose(gradient[0, 0], [0.09951, -0.18338, 0.06647, 0.0174], atol=1e-5)
    np.testing.assert_allclose(gradient[4, 0], [-0.04684, 0.04803, 0.76364, -0.76482], atol=1e-5)
    assert (gradient[4, 1] == 0).all()
    last = tf.nn.ctc_loss([[1, 1, 2], [2, 0, 0]], LOGITS, [3, 1], [5, 4], blank_index=-1)
    np.testing.assert_allclose(last, [5.92099, 5.366535], rtol=1e-5)


def _brute(logits: Any, label: list[int], blank: int) -> float:
    chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(logits.shape[1]), repeat=len(logits)):
        letters = [k for k, _ in itertools.groupby(path) if k != blank]
        if letters == label:
            total += np.prod(chances[np.arange(len(path)), path])
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("label", [[], [2], [1, 2], [1, 1], [1, 2, 1], [2, 2, 2]])
def test_all_alignments(label: list[int]) -> None:
    logits = np.random.default_rng(len(label)).normal(size=(4, 1, 3))
    padded = [[*label, 9, 9]]
    for call in (tf.nn.ctc_loss, tf.function(tf.nn.ctc_loss)):
        found = call(padded, logits, [len(label)], [4])
        np.testing.assert_allclose(found, [_brute(logits[:, 0], label, 0)], rtol=1e-9)


def test_forms() -> None:
    expected = tf.nn.ctc_loss(LABELS, LOGITS, [3, 1], [5, 4])
    batch = np.swapaxes(LOGITS, 0, 1).copy()
    found = tf.nn.ctc_loss(LABELS, batch, [3, 1], [5, 4], logits_time_major=False)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert tf.nn.ctc_loss(LABELS, LOGITS.astype(np.float16), [3, 1], [5, 4]).dtype == tf.float16


def test_gradients() -> None:
    x = LOGITS.astype(np.float64)
    check_grads(lambda x: tf.nn.ctc_loss(LABELS, x, [3, 1], [5, 4]), [x], order=1)


def test_bad_arguments() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[batch, most\]"):
        tf.nn.ctc_loss([1, 2], LOGITS, [1], [1])


def test_unique_labels() -> None:
    labels, index = tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 1, 2, 9]])
    assert labels.numpy().tolist() == [[3, 4, 0, 0], [1, 2, 9, 0]]
    assert index.numpy().tolist() == [[0, 1, 1, 0], [0, 0, 1, 2]]
    assert index.dtype == tf.int32
