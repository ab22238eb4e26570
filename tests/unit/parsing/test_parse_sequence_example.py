"""SequenceExamples as tensors, with the values of TensorFlow 2.21."""

from __future__ import annotations

import pytest

import tfx as tf
from tests.unit.parsing.examples import sequence

FIRST = sequence(7, {"a": [[1], [2]], "b": [[1, 2], [3]]})
SECOND = sequence(8, {"a": [[5]], "b": [[4]]})
CONTEXT = {"c": tf.io.FixedLenFeature([], tf.int64)}
LISTS = {
    "a": tf.io.FixedLenSequenceFeature([], tf.int64),
    "b": tf.io.VarLenFeature(tf.int64),
}


def test_one() -> None:
    context, lists = tf.io.parse_single_sequence_example(FIRST, CONTEXT, LISTS)
    assert int(context["c"]) == 7
    assert list(lists) == ["b", "a"] and lists["a"].numpy().tolist() == [1, 2]
    assert lists["b"].indices.numpy().tolist() == [[0, 0], [0, 1], [1, 0]]
    assert lists["b"].shape == [2, 2]
    _, lists = tf.io.parse_single_sequence_example(
        FIRST, sequence_features={"b": tf.io.RaggedFeature(tf.int64)}
    )
    assert lists["b"].to_list() == [[1, 2], [3]]


@pytest.mark.parametrize("how", [lambda f: f, tf.function])
def test_a_batch(how) -> None:
    parse = how(lambda texts: tf.io.parse_sequence_example(texts, CONTEXT, LISTS))
    context, lists, lengths = parse(tf.constant([FIRST, SECOND]))
    assert context["c"].numpy().tolist() == [7, 8]
    assert lists["a"].numpy().tolist() == [[1, 2], [5, 0]]
    assert lengths["a"].numpy().tolist() == [2, 1] and list(lengths) == ["a"]
    assert lists["b"].indices.numpy().tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert lists["b"].shape == [2, 2, 2]
    ragged = {"b": tf.io.RaggedFeature(tf.int64)}
    _, lists, lengths = tf.io.parse_sequence_example([FIRST, SECOND], CONTEXT, ragged)
    assert lists["b"].to_list() == [[[1, 2], [3]], [[4]]] and lengths == {}


def test_what_is_not_as_wanted_is_refused() -> None:
    missing = {"z": tf.io.FixedLenSequenceFeature([], tf.int64)}
    wrong = {"b": tf.io.FixedLenSequenceFeature([], tf.int64)}
    other = {"a": tf.io.VarLenFeature(tf.string)}
    for wanted, message in (
        (missing, "Feature list 'z' is required but could not be found"),
        (wrong, r"Key: b, Index: 0.*values size: 2 but output shape: \[\]"),
        (other, "Data type: int64 but expected type: string"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.io.parse_single_sequence_example(FIRST, CONTEXT, wanted)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.io.parse_sequence_example([FIRST], CONTEXT, wanted)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Feature: zz"):
        no = {"zz": tf.io.FixedLenFeature([], tf.int64)}
        tf.io.parse_single_sequence_example(FIRST, no, LISTS)
    with pytest.raises(ValueError, match="are None"):
        tf.io.parse_single_sequence_example(FIRST)
    allowed = {"z": tf.io.FixedLenSequenceFeature([2], tf.int64, allow_missing=True)}
    _, lists, lengths = tf.io.parse_sequence_example([FIRST, SECOND], CONTEXT, allowed)
    assert lists["z"].shape == [2, 0, 2] and lengths["z"].numpy().tolist() == [0, 0]
