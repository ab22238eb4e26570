"""Sources and transformations that few pipelines have."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

experimental = tf.data.experimental
Dataset = tf.data.Dataset


def _numbers(dataset: Any) -> list[int]:
    return [int(x) for x in dataset]


def test_snapshot_is_written_once_and_read_by_others(tmp_path: Path) -> None:
    runs = []

    def numbers() -> Any:
        runs.append(1)
        yield from range(4)

    spec = tf.TensorSpec([], tf.int32)
    source = Dataset.from_generator(numbers, output_signature=spec)
    kept = source.apply(experimental.snapshot(str(tmp_path / "s")))
    assert _numbers(kept.take(2)) == [0, 1] and _numbers(kept) == [0, 1, 2, 3]
    assert _numbers(kept.repeat(2)) == [0, 1, 2, 3] * 2
    assert len(runs) == 2
    other = Dataset.from_tensors(9).snapshot(
        str(tmp_path / "s"), reader_func=lambda files: files.interleave(lambda x: x.skip(2))
    )
    assert _numbers(other) == [2, 3]


def test_groups_are_reduced_in_the_order_of_their_keys() -> None:
    mean = experimental.Reducer(
        init_func=lambda key: (tf.constant(0, tf.int64), tf.zeros([], tf.int64)),
        reduce_func=lambda state, x: (state[0] + x, state[1] + 1),
        finalize_func=lambda total, count: total / count,
    )
    means = Dataset.range(10).apply(experimental.group_by_reducer(lambda x: -(x % 3), mean))
    assert [float(x) for x in means] == [5.0, 4.0, 4.5]
    with pytest.raises(ValueError, match=r"single tf\.int64"):
        Dataset.range(3).apply(experimental.group_by_reducer(lambda x: 0.5, mean))


def test_sparse_batches() -> None:
    rows = Dataset.range(1, 4).map(lambda n: tf.zeros([n, 4 - n]))
    assert rows.sparse_batch(2, [3, 4]).element_spec.shape == [None, 3, 4]
    first, second = rows.sparse_batch(2, [None, 4])
    assert first.dense_shape.numpy().tolist() == [2, 2, 4]
    assert first.indices.numpy().tolist() == [
        *([0, 0, 0], [0, 0, 1], [0, 0, 2]),
        *([1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]),
    ]
    assert second.dense_shape.numpy().tolist() == [1, 3, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="larger than row_shape"):
        list(rows.sparse_batch(2, [1, 4]))
    with pytest.raises(ValueError, match="row_shape"):
        rows.sparse_batch(2, [4])


def test_rows_of_a_database(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    with sqlite3.connect(path) as database:
        database.execute("create table p (name text, age integer, ok integer)")
        database.executemany("insert into p values (?, ?, ?)", [("Ann", 31, 1), (None, None, 0)])
    rows = experimental.SqlDataset(
        "sqlite", path, "select * from p", (tf.string, tf.int64, tf.bool)
    )
    found = [tuple(x.numpy() for x in row) for row in rows]
    assert found == [(b"Ann", 31, True), (b"", 0, False)]
    with pytest.raises(tf.errors.InvalidArgumentError, match="fails"):
        list(experimental.SqlDataset("sqlite", path, "select * from q", (tf.string,)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 columns"):
        list(experimental.SqlDataset("sqlite", path, "select * from p", (tf.string,)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="mysql"):
        experimental.SqlDataset("mysql", path, "", (tf.string,))


def test_tables() -> None:
    pairs = Dataset.from_tensor_slices((["a", "b", "c"], np.array([4, 5, 6], np.int64)))
    asked = tf.constant(["b", "c", "x"])
    table = experimental.table_from_dataset(pairs, vocab_size=2, default_value=9)
    assert table.lookup(asked).numpy().tolist() == [5, 9, 9]
    words = Dataset.from_tensor_slices(["a", "b", "c"])
    assert experimental.index_table_from_dataset(words).lookup(asked).numpy().tolist() == [1, 2, -1]
    hashed = experimental.index_table_from_dataset(words, num_oov_buckets=2).lookup(asked).numpy()
    assert hashed[:2].tolist() == [1, 2] and hashed[2] in (3, 4)
    with pytest.raises(ValueError, match="pair of key and value"):
        experimental.DatasetInitializer(words)


def test_padding_to_a_number_of_elements() -> None:
    few = Dataset.from_tensor_slices({"a": [1, 2], "b": np.ones((2, 2), np.float32)})
    padded = list(few.apply(experimental.pad_to_cardinality(4, "there")))
    assert [bool(x["there"]) for x in padded] == [True, True, False, False]
    assert padded[3]["b"].numpy().tolist() == [0.0, 0.0]
    for dataset, message in ((few, "2 elements, more than 1"), (Dataset.range(2), "dicts")):
        with pytest.raises(ValueError, match=message):
            dataset.apply(experimental.pad_to_cardinality(1))


def test_examples_are_parsed_in_batches() -> None:
    parse = experimental.parse_example_dataset({"a": tf.io.FixedLenFeature([], tf.float32, 1.5)})
    (found,) = Dataset.from_tensors([b"", b""]).apply(parse)
    assert found["a"].numpy().tolist() == [1.5, 1.5]
