"""What feature columns make of features; hashes and sums are those that TensorFlow 2.21 gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.feature_column.columns import FeatureTransformationCache

FEATURES: dict[str, Any] = {
    "x": [[1.0, 2.0], [3.0, 4.0]],
    "age": [[10.0], [25.0]],
    "id": [[0, 1], [2, -1]],
    "word": [["a", "b"], ["zz", ""]],
    "weight": [[0.5, 2.0], [3.0, 0.0]],
    "number": [[10], [7]],
}
fc = tf.feature_column


def dense(column: Any, features: dict[str, Any] = FEATURES) -> Any:
    """The result of a dense column."""
    return column.get_dense_tensor(FeatureTransformationCache(features), None).numpy()


def counts(column: Any, features: dict[str, Any] = FEATURES) -> list[Any]:
    found: list[Any] = dense(fc.indicator_column(column), features).tolist()
    return found


def test_numbers_are_normalized_and_cast() -> None:
    column = fc.numeric_column("x", 2, normalizer_fn=lambda x: x * 10.0)
    np.testing.assert_array_equal(dense(column), [[10, 20], [30, 40]])
    assert dense(fc.numeric_column("number", dtype=tf.int64)).dtype == np.float32


def test_boundaries_belong_to_the_interval_above() -> None:
    column = fc.bucketized_column(fc.numeric_column("age"), [10, 20, 30])
    np.testing.assert_array_equal(dense(column), [[[0, 1, 0, 0]], [[0, 0, 1, 0]]])
    beyond = {"age": [np.nan, np.inf, -np.inf, 30.0, 9.99]}
    assert dense(column, beyond)[:, 0].argmax(-1).tolist() == [3, 3, 0, 3, 0]


def test_each_number_has_interval_ids_of_its_own() -> None:
    column = fc.bucketized_column(fc.numeric_column("x", 2), [2.0])
    found = column.get_sparse_tensors(FeatureTransformationCache(FEATURES), None)
    assert found.weight_tensor is None
    np.testing.assert_array_equal(tf.sparse.to_dense(found.id_tensor), [[0, 3], [1, 3]])
    assert column.num_buckets == 4


def test_identity_leaves_out_what_is_no_id_or_takes_the_default() -> None:
    assert counts(fc.categorical_column_with_identity("id", 3)) == [[1, 1, 0], [0, 0, 1]]
    assert counts(fc.categorical_column_with_identity("id", 2, 0)) == [[1, 1], [1, 0]]
    assert counts(fc.categorical_column_with_identity("id", 2)) == [[1, 1], [0, 0]]


def test_hashes_of_words_and_integers() -> None:
    words = fc.categorical_column_with_hash_bucket("word", 7)
    assert counts(words) == [[0, 0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0, 0]]
    numbers = fc.categorical_column_with_hash_bucket("id", 7, tf.int32)
    assert counts(numbers) == [[0, 0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1, 0]]


def test_words_of_a_list() -> None:
    make = fc.categorical_column_with_vocabulary_list
    assert counts(make("word", ["a", "b"])) == [[1, 1], [0, 0]]
    assert counts(make("word", ["a", "b"], default_value=1)) == [[1, 1], [0, 1]]
    others = counts(make("word", ["a", "b"], num_oov_buckets=5))
    assert others == [[1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0]]
    assert counts(make("number", [7, 10])) == [[0, 1], [1, 0]]


def test_words_of_a_file(tmp_path: Path) -> None:
    words, numbers = tmp_path / "words.txt", tmp_path / "numbers.txt"
    words.write_text("a\nb\nc\nd\n")
    numbers.write_text("10\n20\n")
    make = fc.categorical_column_with_vocabulary_file
    assert make("word", str(words)).num_buckets == 4
    assert counts(make("word", str(words), 1, num_oov_buckets=1)) == [[1, 1], [0, 1]]
    assert counts(make("number", str(numbers), dtype=tf.int64)) == [[1, 0], [0, 0]]


def test_words_of_compressed_records(tmp_path: Path) -> None:
    path = str(tmp_path / "words.tfrecord.gz")
    with tf.io.TFRecordWriter(path, "GZIP") as writer:
        for word in ("zz", "b"):
            writer.write(word.encode())
    column = fc.categorical_column_with_vocabulary_file("word", path)
    assert counts(column) == [[0, 1], [1, 0]]


def test_weights_count() -> None:
    ids = fc.categorical_column_with_identity("id", 4)
    column = fc.weighted_categorical_column(ids, "weight")
    assert counts(column) == [[0.5, 2, 0, 0], [0, 0, 3, 0]]


def test_repeated_ids_are_counted() -> None:
    column = fc.categorical_column_with_identity("id", 2)
    assert counts(column, {"id": [[1, 1, 0]]}) == [[1, 2]]


def test_crossed_features_hash_as_tensorflow_does() -> None:
    features = {"s": [["a", "b"], ["c", ""]], "t": [["u"], ["v"]]}
    found = counts(fc.crossed_column(["s", "t"], 10), features)
    assert found == [[2, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]]
    age = fc.bucketized_column(fc.numeric_column("age"), [10, 20, 30])
    found = counts(fc.crossed_column([age, "word"], 10, hash_key=5))
    assert found == [[0, 1, 1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1, 0, 0]]


def test_sparse_features_are_taken_as_they_are() -> None:
    given = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "", "b"], [2, 2])
    column = fc.categorical_column_with_vocabulary_list("word", ["", "a", "b"])
    assert counts(column, {"word": given}) == [[1, 1, 0], [0, 0, 1]]


def test_columns_work_in_functions_of_open_sizes() -> None:
    column = fc.indicator_column(fc.categorical_column_with_vocabulary_list("word", ["a", "b"]))

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string)])
    def count(words: Any) -> Any:
        return column.get_dense_tensor(FeatureTransformationCache({"word": words}), None)

    np.testing.assert_array_equal(count([["b", "b"], ["", "a"]]), [[0, 2], [1, 0]])
    assert count.get_concrete_function().output_shapes.as_list() == [None, 2]


def test_names_specs_and_equality() -> None:
    age, ids = fc.numeric_column("age"), fc.categorical_column_with_identity("id", 4)
    decade = fc.bucketized_column(age, [10])
    weighted = fc.weighted_categorical_column(ids, "weight")
    columns = [decade, fc.embedding_column(weighted, 2), fc.crossed_column(["z", ids, decade], 3)]
    assert [c.name for c in columns] == [
        "age_bucketized", "id_weighted_by_weight_embedding", "age_bucketized_X_id_X_z",
    ]  # fmt: skip
    assert fc.make_parse_example_spec(columns) == {
        "age": tf.io.FixedLenFeature((1,), tf.float32),
        "id": tf.io.VarLenFeature(tf.int64),
        "weight": tf.io.VarLenFeature(tf.float32),
        "z": tf.io.VarLenFeature(tf.string),
    }
    assert age == fc.numeric_column("age") and len({age, fc.numeric_column("age")}) == 1
    assert fc.numeric_column("x", (2, 2), 3).default_value == ((3, 3), (3, 3))


def test_specs_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="different parse_spec for key id"):
        fc.make_parse_example_spec(
            [fc.numeric_column("id"), fc.categorical_column_with_identity("id", 2)]
        )


WRONG: list[tuple[Any, type[Exception]]] = [
    (lambda: fc.numeric_column("x", 2, [1.0]), ValueError),
    (lambda: fc.numeric_column("x", default_value="a"), TypeError),
    (lambda: fc.numeric_column("x", default_value=1.5, dtype=tf.int32), TypeError),
    (lambda: fc.numeric_column("x", dtype=tf.string), ValueError),
    (lambda: fc.numeric_column("x", 0), ValueError),
    (lambda: fc.numeric_column("x", [1.5]), TypeError),
    (lambda: fc.numeric_column(4), ValueError),
    (lambda: fc.numeric_column("x", normalizer_fn=3), TypeError),
    (lambda: fc.bucketized_column(fc.numeric_column("x"), []), ValueError),
    (lambda: fc.bucketized_column(fc.numeric_column("x"), [2, 1]), ValueError),
    (lambda: fc.crossed_column(["a"], 3), ValueError),
    (lambda: fc.crossed_column(["a", fc.numeric_column("b")], 3), ValueError),
    (lambda: fc.crossed_column(["a", "b"], 0), ValueError),
    (lambda: fc.categorical_column_with_hash_bucket("a", 0), ValueError),
    (lambda: fc.categorical_column_with_hash_bucket("a", 2, tf.float32), ValueError),
    (lambda: fc.categorical_column_with_identity("a", 3, 3), ValueError),
    (lambda: fc.categorical_column_with_vocabulary_list("a", []), ValueError),
    (lambda: fc.categorical_column_with_vocabulary_list("a", ["a", "a"]), ValueError),
    (lambda: fc.categorical_column_with_vocabulary_list("a", [1.5]), ValueError),
    (lambda: fc.categorical_column_with_vocabulary_list("a", ["q"], tf.int32), ValueError),
    (lambda: fc.categorical_column_with_vocabulary_list("a", ["q"], None, 0, 1), ValueError),
    (lambda: fc.categorical_column_with_vocabulary_file("a", "/no/such/file"), ValueError),
    (lambda: fc.indicator_column(fc.numeric_column("x")), ValueError),
]


@pytest.mark.parametrize(("make", "error"), WRONG, ids=map(str, range(len(WRONG))))
def test_wrong_columns_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_missing_and_unfit_features_are_refused() -> None:
    with pytest.raises(ValueError, match="Feature zz is not in features dictionary"):
        dense(fc.numeric_column("zz"))
    with pytest.raises(ValueError, match="cannot have rank 0"):
        dense(fc.numeric_column("x"), {"x": 1.0})
    with pytest.raises(ValueError, match="must be compatible"):
        counts(fc.categorical_column_with_hash_bucket("x", 3), {"x": [[1]]})


def pair(column: Any, feature: Any) -> tuple[Any, Any]:
    cache = FeatureTransformationCache({column.name.removesuffix("_indicator"): feature})
    found = column.get_sequence_dense_tensor(cache, None)
    return found.dense_tensor.numpy().tolist(), found.sequence_length.numpy().tolist()


def test_sequences_of_numbers() -> None:
    rows = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 2.0, 3.0], [3, 3])
    found = pair(fc.sequence_numeric_column("x"), rows)
    assert found == ([[[1], [2], [0]], [[0], [0], [0]], [[3], [0], [0]]], [2, 0, 1])
    places = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]]
    steps = tf.SparseTensor(places, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 4])
    found = pair(fc.sequence_numeric_column("x", 2, -1.0), steps)
    assert found == ([[[1, 2], [3, 4]], [[5, 6], [-1, -1]]], [2, 1])


def test_sequences_of_ids() -> None:
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [2, 1, 0], [3, 2])
    column = fc.indicator_column(fc.sequence_categorical_column_with_identity("id", 3))
    dense_ids, lengths = pair(column, ids)
    assert lengths == [2, 0, 1]
    assert dense_ids == [[[0, 0, 1], [0, 1, 0]], [[0, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]]]
    with pytest.raises(ValueError, match="must not be of type SequenceCategoricalColumn"):
        dense(column, {"id": ids})
    with pytest.raises(ValueError, match="must be of type SequenceCategoricalColumn"):
        pair(fc.indicator_column(fc.categorical_column_with_identity("id", 3)), ids)
