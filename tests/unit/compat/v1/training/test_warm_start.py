"""``warm_start``: which variables get the values of an earlier model, and which rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tfx.compat.v1 as tf


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("a/v", initializer=[1.0])
        tf.get_variable("b/w", initializer=[2.0])
        tf.get_variable("rows", initializer=[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
        session.run(tf.global_variables_initializer())
        return str(tf.train.Saver().save(session, str(tmp_path / "model")))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (1, 2)),
        ({"vars_to_warm_start": "a/.*"}, (1, 0)),
        ({"vars_to_warm_start": ["b/w"]}, (0, 2)),
        ({"vars_to_warm_start": None}, (0, 0)),
        ({"vars_to_warm_start": "nothing"}, (0, 0)),
        ({"var_name_to_prev_var_name": {"a/v": "b/w"}}, (2, 2)),
    ],
    ids=["all", "some", "listed", "none", "no match", "renamed"],
)
def test_which_variables(checkpoint: str, options: Any, expected: tuple[int, int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        zeros = tf.zeros_initializer()
        v, w = (tf.get_variable(n, [1], initializer=zeros) for n in ("a/v", "b/w"))
        tf.train.warm_start(checkpoint, **options)
        session.run(tf.global_variables_initializer())
        assert (float(session.run(v)[0]), float(session.run(w)[0])) == expected


@pytest.mark.parametrize("partitioner", [None, tf.fixed_size_partitioner(2)], ids=["one", "pieces"])
def test_rows_of_words(checkpoint: str, tmp_path: Path, partitioner: Any) -> None:
    (tmp_path / "old").write_text("a\nb\nc\n")
    (tmp_path / "new").write_text("c\nx\na\n")
    info = tf.train.VocabInfo(
        str(tmp_path / "new"), 3, 1, str(tmp_path / "old"), backup_initializer=tf.ones_initializer()
    )
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("new_rows", [4, 2], partitioner=partitioner)
        names = {"new_rows": "rows"}
        tf.train.warm_start(checkpoint, None, {"new_rows": info}, names)
        session.run(tf.global_variables_initializer())
        found = session.run(tf.convert_to_tensor(v))
    assert found.tolist() == [[3, 3], [1, 1], [1, 1], [1, 1]]


def test_what_does_not_fit(checkpoint: str) -> None:
    with tf.Graph().as_default():
        tf.get_variable("unknown", [1])
        with pytest.raises(ValueError, match="Tensor unknown is not found in the checkpoint"):
            tf.train.warm_start(checkpoint)
        with pytest.raises(ValueError, match="not among the variables"):
            tf.train.warm_start(checkpoint, "zz", None, {"unknown": "a/v"})
        with pytest.raises(ValueError, match="a list of strings or of variables"):
            tf.train.warm_start(checkpoint, [3])
