"""Examples as tensors, with values and messages of TensorFlow 2.21."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tfx as tf
from tests.unit.parsing.examples import example

A = example(x=[1.0, 2.0], s=[b"a"], i=[3, 4, 5])
B = example(x=[3.0, 4.0], s=[b"b"], i=[])


def test_messages_are_those_of_tensorflow() -> None:
    written = tf.train.Example.FromString(A)
    assert written.features.feature["x"].float_list.value[:] == [1, 2]
    assert written.features.feature["s"].WhichOneof("kind") == "bytes_list"
    made = example(s=[b"a"])
    assert made == b"\n\x0c\n\n\n\x01s\x12\x05\n\x03\n\x01a"
    assert tf.train.Example.FromString(made).SerializeToString() == made


def test_messages_cost_nothing_until_they_are_used() -> None:
    code = (
        "import sys, tfx\ntfx.train.Checkpoint\nfrom tfx.parsing import parse_example\n"
        "assert 'tfx.parsing.example_pb2' not in sys.modules\n"
        "tfx.train.Example\nassert 'tfx.parsing.example_pb2' in sys.modules\n"
        "assert 'SequenceExample' in dir(tfx.train) and 'Checkpoint' in dir(tfx.train)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Exampel'"):
        tf.train.Exampel  # noqa: B018


@pytest.mark.parametrize("how", ["eager", "traced"])
def test_a_batch(how) -> None:
    wanted = {
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "s": tf.io.FixedLenFeature([], tf.string),
        "i": tf.io.VarLenFeature(tf.int64),
        "missing": tf.io.FixedLenFeature([2], tf.float32, [7.0, 8.0]),
    }

    def parse(texts):
        return tf.io.parse_example(texts, wanted)

    found = (tf.function(parse) if how == "traced" else parse)(tf.constant([A, B]))
    assert list(found) == ["i", "missing", "s", "x"]
    assert found["x"].numpy().tolist() == [[1, 2], [3, 4]]
    assert found["s"].numpy().tolist() == [b"a", b"b"]
    assert found["missing"].numpy().tolist() == [[7, 8], [7, 8]]
    i = found["i"]
    assert i.indices.numpy().tolist() == [[0, 0], [0, 1], [0, 2]] and i.shape == [2, 3]
    assert i.values.numpy().tolist() == [3, 4, 5]


def test_other_features() -> None:
    padded = tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-1)
    found = tf.io.parse_example([A, B], {"i": padded})["i"]
    assert found.numpy().tolist() == [[3, 4, 5], [-1, -1, -1]]
    assert tf.io.parse_single_example(A, {"i": padded})["i"].numpy().tolist() == [3, 4, 5]
    ragged = {"i": tf.io.RaggedFeature(tf.int64)}
    assert tf.io.parse_example([A, B], ragged)["i"].to_list() == [[3, 4, 5], []]
    assert tf.io.parse_example([A, B], ragged)["i"].row_splits.dtype == tf.int32
    assert tf.io.parse_single_example(A, ragged)["i"].numpy().tolist() == [3, 4, 5]
    both = example(ix=[3, 1], val=[0.5, 0.25])
    places = {"sp": tf.io.SparseFeature("ix", "val", tf.float32, 5)}
    found = tf.io.parse_example([both], places)["sp"]
    assert found.indices.numpy().tolist() == [[0, 1], [0, 3]] and found.shape == [1, 5]
    found = tf.io.parse_single_example(both, places)["sp"]
    assert found.values.numpy().tolist() == [0.25, 0.5] and found.shape == [5]
    one = tf.io.parse_example(A, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"]
    assert one.shape == [2]
    none = tf.io.parse_example([], {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"]
    assert none.shape == [0, 2]


Ragged = tf.io.RaggedFeature


@pytest.mark.parametrize(
    ("partition", "first", "second"),
    [
        (Ragged.RowLengths("p"), [2, 1], [0, 1]),
        (Ragged.RowSplits("p"), [0, 2, 3], [0, 0, 1]),
        (Ragged.RowStarts("p"), [0, 2], [0, 0]),
        (Ragged.RowLimits("p"), [2, 3], [0, 1]),
        (Ragged.ValueRowIds("p"), [0, 0, 1], [1]),
    ],
)
def test_partitions_cut_values_into_rows(partition, first, second) -> None:
    texts = [example(v=[1, 2, 3], p=first), example(), example(v=[4], p=second)]
    wanted = {"r": Ragged(tf.int64, "v", partitions=[partition])}
    found = tf.io.parse_example(texts, wanted)["r"]
    assert found.to_list() == [[[1, 2], [3]], [], [[], [4]]]
    single = tf.io.parse_single_example(texts[0], wanted)["r"]
    assert single.to_list() == [[1, 2], [3]]


def test_rows_of_one_length_and_two_partitions() -> None:
    text = example(v=[1, 2, 3, 4], n=[1, 1])
    even = Ragged(tf.int64, "v", partitions=[Ragged.UniformRowLength(2)])
    found = tf.io.parse_single_example(text, {"r": even})["r"]
    assert isinstance(found, tf.Tensor) and found.numpy().tolist() == [[1, 2], [3, 4]]
    assert tf.io.parse_example([text], {"r": even})["r"].to_list() == [[[1, 2], [3, 4]]]
    two = Ragged(tf.int64, "v", partitions=[Ragged.RowLengths("n"), Ragged.UniformRowLength(2)])
    found = tf.io.parse_example([text], {"r": two})["r"]
    assert found.to_list() == [[[[1, 2]], [[3, 4]]]]


Fixed = tf.io.FixedLenFeature


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"y": Fixed([], tf.float32)},
            r"Feature: y \(data type: float\) is required but could not",
        ),
        ({"y": Fixed([], tf.float32)}, r"Key: y\.  Can't parse serialized Example\."),
        ({"x": Fixed([3], tf.float32)}, r"Number of float values != expected.  Values size: 2 but"),
        ({"x": Fixed([2], tf.int64)}, r"Key: x.*Data types don't match. Data type: float but"),
        ({"x": tf.io.VarLenFeature(tf.int64)}, "expected type: int64"),
        ({"x": Fixed([2], tf.int32)}, "not in the list of allowed values: float, int64, string"),
    ],
)
def test_what_is_not_as_wanted_is_refused(wanted, message) -> None:
    for parse in (
        lambda w: tf.io.parse_example([A], w),
        lambda w: tf.io.parse_single_example(A, w),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            parse(wanted)


@pytest.mark.parametrize("how", ["eager", "traced"])
def test_strings_that_are_no_examples_are_named_not_shown(how) -> None:
    secret = b"\xff\xfe\x00password" * 30
    wanted = {"x": Fixed([], tf.int64)}
    of_steps = {"sequence_features": {"x": tf.io.FixedLenSequenceFeature([], tf.int64)}}
    empty = b""
    for run, where, kind in (
        (
            lambda: tf.io.parse_single_example(secret, wanted, "first"),
            "Name: first, Index: 0",
            "Example",
        ),
        (
            lambda: tf.io.parse_example([A, empty, secret], wanted, ["a", "b", "c"]),
            "Name: c, Index: 2",
            "Example",
        ),
        (
            lambda: tf.io.parse_sequence_example([empty, secret], **of_steps),
            "Name: <unknown>, Index: 1",
            "SequenceExample",
        ),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            (tf.function(run) if how == "traced" else run)()
        said = str(caught.value)
        assert f"{where}.  Could not parse example input: 330 bytes" in said
        assert f"no serialized {kind};" in said
        assert "password" not in said
        assert len(said) < 350


def test_other_mistakes() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: n1, Key: i, Index: 0"):
        tf.io.parse_example([A, B], {"i": Fixed([], tf.int64)}, example_names=["n1", "n2"])
    with pytest.raises(ValueError, match="Unsupported int 3 for key 'x'"):
        tf.io.parse_example([A], {"x": 3})
    with pytest.raises(ValueError, match="cannot be None or falsy"):
        tf.io.parse_example([A], {})
    with pytest.raises(ValueError, match="requires allow_missing to be True"):
        tf.io.parse_example([A], {"i": tf.io.FixedLenSequenceFeature([], tf.int64)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 1 values, but its shape"):
        tf.io.parse_example([A], {"y": Fixed([2], tf.float32, 0.0)})
    with pytest.raises(ValueError, match="All dimensions of the shape for feature x need to be"):
        tf.io.parse_example([A], {"x": Fixed([None], tf.float32)})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Index \[9\] is out of bounds"):
        text = example(ix=[9], val=[0.5])
        tf.io.parse_example([text], {"sp": tf.io.SparseFeature("ix", "val", tf.float32, 5)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="different numbers of values"):
        text = example(ix=[1, 2], val=[0.5])
        tf.io.parse_example([text], {"sp": tf.io.SparseFeature("ix", "val", tf.float32, 5)})


def test_records_go_through_files_and_datasets(tmp_path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(6):
            writer.write(example(n=[i], f=[i / 2], words=[b"w"] * (i + 1)))
    wanted = {"n": Fixed([], tf.int64), "f": Fixed([], tf.float32, 0.0), "words": Ragged(tf.string)}
    data = tf.data.TFRecordDataset(path).batch(3).map(lambda t: tf.io.parse_example(t, wanted))
    first, second = list(data)
    assert second["n"].numpy().tolist() == [3, 4, 5] and first["f"].numpy().tolist() == [0, 0.5, 1]
    assert first["words"].to_list() == [[b"w"], [b"w", b"w"], [b"w"] * 3]
    single = {"words": tf.io.VarLenFeature(tf.string)}
    data = tf.data.TFRecordDataset(path).map(lambda t: tf.io.parse_single_example(t, single))
    assert data.element_spec["words"] == tf.SparseTensorSpec([None], tf.string)
    shapes = [batch["words"].shape.as_list() for batch in data.batch(4)]
    assert shapes == [[4, 4], [2, 6]]
    read = tf.data.experimental.make_batched_features_dataset(
        path, 2, {"n": Fixed([], tf.int64)}, label_key="n", num_epochs=1, shuffle=False
    )
    assert [labels.numpy().tolist() for _, labels in read] == [[0, 1], [2, 3], [4, 5]]


def test_a_function_that_parses_is_not_saved(tmp_path) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def __call__(self, texts):
            return tf.io.parse_example(texts, {"n": Fixed([], tf.int64)})

    with pytest.raises(Exception, match=r"io\.parse_example"):
        tf.saved_model.save(Model(), tmp_path / "model")


def test_numbers_are_kept_exactly() -> None:
    numbers = [2**63 - 1, -(2**63), 0]
    found = tf.io.parse_single_example(example(n=numbers), {"n": Fixed([3], tf.int64)})
    assert found["n"].numpy().tolist() == numbers
    floats = np.array([1e-45, 3.4e38, np.inf], np.float32)
    text = example(f=[float(x) for x in floats])
    found = tf.io.parse_single_example(text, {"f": Fixed([3], tf.float32)})
    np.testing.assert_array_equal(found["f"].numpy(), floats)
