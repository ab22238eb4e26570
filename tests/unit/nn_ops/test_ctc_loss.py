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


@pytest.mark.parametrize("label", [[], [2], [1, 2], [1, 1], [1, 2, 1]])
def test_all_alignments(label: list[int]) -> None:
    logits = np.random.default_rng(len(label)).normal(size=(4, 1, 3))
    padded = [[*label, 9, 9]]
    for call in (tf.nn.ctc_loss, tf.function(tf.nn.ctc_loss)):
        found = call(padded, logits, [len(label)], [4])
        np.testing.assert_allclose(found, [_brute(logits[:, 0], label, 0)], rtol=1e-9)


def test_what_does_not_fit_has_a_loss_and_a_slope() -> None:
    logits = tf.zeros([4, 2, 3])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.ctc_loss([[2, 2, 2], [1, 2, 0]], logits, [3, 2], [4, 4])
    assert 706 < float(loss[0]) < 715
    assert float(loss[1]) < 5
    gradient = tape.gradient(loss, logits).numpy()
    assert np.isfinite(gradient).all()
    assert (gradient[:, 0, 2] < 0).any()
    sparse = tf.sparse.from_dense([[2, 2, 2], [1, 2, 0]])
    assert np.isinf(tf.nn.ctc_loss(sparse, logits, None, [4, 4], blank_index=0)[0])


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


@pytest.mark.parametrize(
    ("blank", "expected"),
    [
        (0, [8.568678855895996, 6.087878704071045, 6.093273639678955]),
        (1, [11.646173477172852, 8.895572662353516, 3.2043955326080322]),
        (2, [8.599222183227539, 8.848798751831055, 3.1303958892822266]),
        (-1, [5.238864421844482, 6.843679428100586, 5.543900966644287]),
    ],
)
@pytest.mark.parametrize("time_major", [True, False])
def test_blanks_among_the_labels(blank, expected, time_major):
    # TensorFlow 2.21's numbers.
    x = np.sin(np.arange(60, dtype=np.float32)).reshape(5, 3, 4) * 2
    given = x if time_major else x.transpose(1, 0, 2)
    labels, lengths = [[1, 0, 2], [2, 2, 1], [0, 3, 3]], [3, 2, 1]
    for call in (tf.nn.ctc_loss, tf.function(tf.nn.ctc_loss)):
        loss = call(labels, given, lengths, [5, 4, 5], time_major, None, blank)
        np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_unique_labels_are_int64():
    found, index = tf.nn.ctc_unique_labels(tf.constant([[3, 4, 4, 3]]))
    assert found.dtype == tf.int64
    assert index.dtype == tf.int32


def test_sparse_labels_and_the_loss_of_tensorflow_1() -> None:
    logits = tf.reshape(tf.sin(tf.range(40.0)), [5, 2, 4])
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 0], [2, 2])
    expected = [3.5409293, 2.7209904]  # TensorFlow's
    old = tf.compat.v1.nn.ctc_loss
    for found in (
        tf.nn.ctc_loss(labels, logits, None, [5, 4], blank_index=-1),
        tf.function(lambda s: tf.nn.ctc_loss(s, logits, None, [5, 4], blank_index=3))(labels),
        old(labels, logits, [5, 4]),
        old(labels, tf.transpose(logits, [1, 0, 2]), [5, 4], time_major=False),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = old(labels, logits, [1, 4], ignore_longer_outputs_than_inputs=True)
    np.testing.assert_allclose(loss, [0.0, expected[1]], rtol=1e-5)
    gradient = tape.gradient(loss, logits).numpy()
    assert (gradient[:, 0] == 0).all()
    assert (gradient[0, 1] != 0).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Not enough time"):
        old(labels, logits, [1, 4])
    with pytest.raises(ValueError, match="`blank_index` must be provided"):
        tf.nn.ctc_loss(labels, logits, None, [5, 4])
    with pytest.raises(tf.errors.UnimplementedError, match="got True and True"):
        old(labels, logits, [5, 4], preprocess_collapse_repeated=True)


def test_sparse_labels_that_are_longer_than_their_frames_are_refused() -> None:
    labels = tf.sparse.from_dense([[1, 1, 1, 1], [1, 0, 0, 0]])

    def loss(frames: Any) -> Any:
        return tf.nn.ctc_loss(labels, tf.zeros([5, 2, 3]), None, frames, blank_index=0)

    for function in (loss, tf.function(loss)):
        assert function(tf.constant([5, 2])).shape == [2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Not enough time for target"):
            function(tf.constant([3, 5]))


def test_the_last_class_of_an_unknown_number_is_the_blank() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None] * 3)])
    def loss(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.ctc_loss([[1]], x, [1], [2], blank_index=-1)

    # 3 of 9 alignments of two frames write one letter: a-, -a, aa.
    assert loss(tf.zeros([2, 1, 3])).numpy() == pytest.approx(np.log(3))
