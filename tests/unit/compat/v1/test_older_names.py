"""Files and dense tensors by the names of TensorFlow 1."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfx as tf

v1 = tf.compat.v1


def test_files(tmp_path: Path) -> None:
    folder = str(tmp_path / "a" / "b")
    v1.gfile.MakeDirs(folder)
    name = f"{folder}/x.txt"
    with v1.gfile.GFile(name, "w") as file:
        file.write("text")
    assert v1.gfile.Exists(name) and v1.gfile.IsDirectory(folder)
    assert v1.gfile.Open(name).read() == v1.gfile.FastGFile(name).read() == "text"
    v1.gfile.Copy(name, f"{folder}/y.txt")
    v1.gfile.Rename(name, f"{folder}/z.txt")
    assert sorted(v1.gfile.ListDirectory(folder)) == ["y.txt", "z.txt"]
    assert v1.gfile.Glob(f"{folder}/*.txt") == [f"{folder}/y.txt", f"{folder}/z.txt"]
    assert v1.gfile.Stat(f"{folder}/y.txt").length == 4
    assert [sorted(files) for _, _, files in v1.gfile.Walk(folder)] == [["y.txt", "z.txt"]]
    v1.gfile.Remove(f"{folder}/y.txt")
    v1.gfile.DeleteRecursively(str(tmp_path / "a"))
    assert not v1.gfile.Exists(folder)


@pytest.mark.parametrize("in_graph", [False, True])
def test_sparse_to_dense(in_graph: bool) -> None:
    def run() -> tuple[tf.Tensor, ...]:
        return (
            v1.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5.0, 6.0], -1.0),
            v1.sparse_to_dense([1, 3], [4], 7),
            v1.sparse_to_dense(2, [3], 9),
        )

    matrix, vector, single = (tf.function(run) if in_graph else run)()
    assert matrix.numpy().tolist() == [[-1.0, 5.0], [6.0, -1.0]]
    assert vector.numpy().tolist() == [0, 7, 0, 7]
    assert single.numpy().tolist() == [0, 0, 9]


def test_places_out_of_order_are_refused_unless_asked_for() -> None:
    for places in ([3, 1], [1, 1]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of order or repeated"):
            v1.sparse_to_dense(places, [4], [1, 2])
    assert v1.sparse_to_dense([3, 1], [4], [1, 2], validate_indices=False).numpy()[3] == 1


def test_the_log(caplog: pytest.LogCaptureFixture) -> None:
    log = v1.logging
    for i in range(5):
        log.log_first_n(log.ERROR, "first %d", 2, i)
        log.log_every_n(log.ERROR, "every %d", 2, i)
        log.log_if(log.ERROR, "if %d", i == 3, i)
    log.TaskLevelStatusMessage("done")
    log.flush()
    said = [r.getMessage() for r in caplog.records]
    wanted = "first 0,every 0,first 1,every 2,if 3,every 4,done"
    assert said == wanted.split(",")
    assert {r.levelno for r in caplog.records} == {log.ERROR}
