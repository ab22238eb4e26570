"""Texts in many scripts: code points, pieces, and words found by their scripts."""

from __future__ import annotations

import tfx as tf

TEXTS = [s.encode() for s in ("hÃllo", "What is the weather tomorrow", "Göödnight", "😊")]


def test_there_and_back() -> None:
    points = tf.strings.unicode_decode(TEXTS, input_encoding="UTF-8")
    forms = [
        points,
        tf.RaggedTensor.from_sparse(points.to_sparse()),
        tf.RaggedTensor.from_tensor(points.to_tensor(default_value=-1), padding=-1),
    ]
    for form in forms:
        found = tf.strings.unicode_encode(form, output_encoding="UTF-8")
        assert found.numpy().tolist() == TEXTS


def test_words_by_script() -> None:
    sentences = tf.constant(["Hello, world.", "世界こんにちは"])
    points = tf.strings.unicode_decode(sentences, "UTF-8")
    scripts = tf.strings.unicode_script(points)
    begins = tf.concat(
        [tf.fill([scripts.nrows(), 1], True), tf.not_equal(scripts[:, 1:], scripts[:, :-1])], axis=1
    )
    starts = tf.squeeze(tf.where(begins.values), axis=1)
    words = tf.RaggedTensor.from_row_starts(values=points.values, row_starts=starts)
    counts = tf.reduce_sum(tf.cast(begins, tf.int64), axis=1)
    grouped = tf.RaggedTensor.from_row_lengths(values=words, row_lengths=counts)
    found = tf.strings.unicode_encode(grouped, "UTF-8").to_list()
    assert [[w.decode() for w in row] for row in found] == [
        ["Hello", ", ", "world", "."],
        ["世界", "こんにちは"],
    ]
