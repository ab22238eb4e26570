"""``tfx.io.gfile`` on a folder of its own, with the errors of ``tfx.errors``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tfx as tf

GFile = tf.io.gfile.GFile


def test_write_and_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with GFile(path, "w") as file:
        file.write("one\nzwei é\n")
        file.flush()
        assert file.size() == len("one\nzwei é\n".encode())
    with GFile(path, "a") as file:
        file.write("3\n")
    with GFile(path) as file:
        assert file.readline() == "one\n"
        assert list(file) == ["zwei é\n", "3\n"]
        file.seek(0)
        assert file.tell() == 0
        assert file.seekable()
        assert file.read(3) == "one"
        assert file.readlines() == ["\n", "zwei é\n", "3\n"]
    assert GFile(path, "rb").read(2) == b"on"


def test_folders(tmp_path: Path) -> None:
    g = tf.io.gfile
    inner = g.join(str(tmp_path), "x", "y")
    assert not g.exists(inner)
    g.makedirs(inner)
    g.makedirs(inner)
    assert g.isdir(inner)
    g.mkdir(g.join(inner, "z"))
    for name in ("b.txt", "a.txt"):
        with GFile(g.join(inner, name), "w") as file:
            file.write(name)
    assert sorted(g.listdir(inner)) == ["a.txt", "b.txt", "z"]
    assert [os.path.basename(p) for p in g.glob(g.join(inner, "*.txt"))] == ["a.txt", "b.txt"]
    g.copy(g.join(inner, "a.txt"), g.join(inner, "c.txt"))
    g.rename(g.join(inner, "c.txt"), g.join(inner, "b.txt"), overwrite=True)
    assert GFile(g.join(inner, "b.txt")).read() == "a.txt"
    found = g.stat(g.join(inner, "b.txt"))
    assert (found.length, found.is_directory) == (5, False)
    assert [names for _, _, names in g.walk(str(tmp_path))][-1] == []
    g.remove(g.join(inner, "a.txt"))
    g.rmtree(g.join(str(tmp_path), "x"))
    assert g.listdir(tmp_path) == []


def test_errors(tmp_path: Path) -> None:
    g = tf.io.gfile
    nowhere = str(tmp_path / "nowhere")
    for call in (g.listdir, g.remove, g.rmtree, g.stat, lambda p: GFile(p).read()):
        with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
            call(nowhere)
    with pytest.raises(tf.errors.AlreadyExistsError):
        g.mkdir(tmp_path)
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(tf.errors.AlreadyExistsError, match="overwrite"):
        g.copy(tmp_path / "a", tmp_path / "b")
    with pytest.raises(tf.errors.FailedPreconditionError):
        GFile(tmp_path).read()
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode"):
        GFile(nowhere, "q")
