"""Datasets of CSV files, with the values of TensorFlow 2.21."""

from __future__ import annotations

import gzip
from collections import OrderedDict

import pytest

import tfx as tf

TEXT = 'age,name,score,flag,big\n31,"Ann, B",2.5,yes,3000000000\n,Bob,3,no,1\n20,"C""x\ny",,yes,2\n'
make = tf.data.experimental.make_csv_dataset
Csv = tf.data.experimental.CsvDataset


@pytest.fixture
def path(tmp_path) -> str:
    (tmp_path / "a.csv").write_text(TEXT)
    return str(tmp_path / "a.csv")


def contents(data):
    return tf.nest.map_structure(
        lambda x: getattr(x, "tolist", lambda: x)(), list(data.as_numpy_iterator())
    )


def test_columns_are_inferred(path) -> None:
    data = make(path, 2, num_epochs=1, shuffle=False)
    kinds = {name: spec.dtype.name for name, spec in data.element_spec.items()}
    assert isinstance(data.element_spec, OrderedDict)
    assert list(kinds.items()) == [
        ("age", "int32"),
        ("name", "string"),
        ("score", "float32"),
        ("flag", "string"),
        ("big", "int64"),
    ]
    first, second = contents(data)
    assert (
        first["age"] == [31, 0] and first["score"] == [2.5, 3] and first["big"] == [3000000000, 1]
    )
    assert second == {"age": [20], "name": [b'C"x\ny'], "score": [0], "flag": [b"yes"], "big": [2]}
    assert make(path, 2).element_spec["age"].shape == [2]  # without an end, all are of one size


def test_labels_and_chosen_columns(path) -> None:
    features, labels = next(iter(make(path, 3, num_epochs=1, shuffle=False, label_name="age")))
    assert list(features) == ["name", "score", "flag", "big"]
    assert labels.numpy().tolist() == [31, 0, 20]
    (batch,) = contents(
        make(
            path,
            5,
            num_epochs=1,
            shuffle=False,
            select_columns=["flag", 0],
            column_defaults=[7, "q"],
        )
    )
    assert batch == {"age": [31, 7, 20], "flag": [b"yes", b"no", b"yes"]}
    names = {"column_names": ["a", "b", "c", "d", "e"], "num_epochs": 1, "shuffle": False}
    assert list(make(path, 5, **names).element_spec) == ["a", "b", "c", "d", "e"]


def test_shuffling_keeps_all_records(tmp_path) -> None:
    for k in range(2):
        lines = "\n".join(str(10 * k + i) for i in range(10))
        (tmp_path / f"{k}.csv").write_text(f"n\n{lines}\n")
    data = make(str(tmp_path / "*.csv"), 4, num_epochs=1, shuffle_seed=3)
    found = [n for batch in contents(data) for n in batch["n"]]
    assert sorted(found) == list(range(20)) and found != sorted(found)


def test_records_with_errors_can_be_left_out(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n2,3\nx\n4\n")
    options = {"num_epochs": 1, "shuffle": False, "column_defaults": [tf.int32]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expect 1 fields but have 2"):
        list(make(str(tmp_path / "a.csv"), 9, **options))
    (batch,) = contents(make(str(tmp_path / "a.csv"), 9, ignore_errors=True, **options))
    assert batch == {"n": [1, 4]}


def test_mistakes(path, tmp_path) -> None:
    with pytest.raises(
        ValueError, match=r"`label_name` provided must be one of the columns: \['age'"
    ):
        make(path, 2, label_name="zz")
    with pytest.raises(ValueError, match="No files match `file_pattern`"):
        make(str(tmp_path / "none*.csv"), 2)
    with pytest.raises(ValueError, match=r"CSV row 2 has 5 number of fields. Expected: 1"):
        make(path, 2, column_names=["a"])
    with pytest.raises(ValueError, match="is not a column"):
        make(path, 2, select_columns=["zz"])
    with pytest.raises(ValueError, match="column_defaults has 1 entries, but there are 5"):
        make(path, 2, column_defaults=[0])
    (tmp_path / "b.csv").write_text("other\n1\n")
    with pytest.raises(ValueError, match="same column names"):
        make([path, str(tmp_path / "b.csv")], 2)


def test_single_records(path, tmp_path) -> None:
    kinds = [-1, tf.string, [9.0], tf.string, tf.int64]
    data = Csv(path, kinds, header=True)
    assert [s.dtype.name for s in data.element_spec] == [
        "int32",
        "string",
        "float32",
        "string",
        "int64",
    ]
    assert contents(data)[1:] == [(-1, b"Bob", 3, b"no", 1), (20, b'C"x\ny', 9, b"yes", 2)]
    for chosen in ({"select_cols": [0, 2]}, {"exclude_cols": [1, 3, 4]}):
        assert contents(Csv(path, [-1, [9.0]], header=True, **chosen)) == [
            (31, 2.5),
            (-1, 3),
            (20, 9),
        ]
    packed = str(tmp_path / "a.csv.gz")
    with gzip.open(packed, "wt") as file:
        file.write(TEXT)
    assert len(list(Csv([packed, packed], kinds, "GZIP", header=True))) == 6


def test_single_records_with_errors(path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Field 0 is required but missing"):
        list(Csv(path, [tf.int32, tf.string, [9.0], tf.string, tf.int64], header=True))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a valid int32: age"):
        list(Csv(path, [-1, [9.0]], select_cols=[0, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Either select_cols or exclude_cols"):
        Csv(path, [-1, [9.0]], select_cols=[0, 2], exclude_cols=[1])
    with pytest.raises(tf.errors.NotFoundError):
        list(Csv(path + "x", [0]))


def test_a_position_is_kept(path) -> None:
    iterator = iter(Csv(path, [-1], header=True, select_cols=[0]))
    next(iterator)
    saved = tf.train.Checkpoint(iterator=iterator).save(path + ".checkpoint")
    assert int(next(iterator)[0]) == -1
    again = iter(Csv(path, [-1], header=True, select_cols=[0]))
    tf.train.Checkpoint(iterator=again).restore(saved)
    assert [int(x[0]) for x in again] == [-1, 20]
