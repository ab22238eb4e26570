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
    g.mkdir(tmp_path)  # as in TensorFlow
    (tmp_path / "a").write_text("a")
    with pytest.raises(tf.errors.AlreadyExistsError):
        g.mkdir(tmp_path / "a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(tf.errors.AlreadyExistsError, match="overwrite"):
        g.copy(tmp_path / "a", tmp_path / "b")
    with pytest.raises(tf.errors.FailedPreconditionError):
        GFile(tmp_path).read()
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode"):
        GFile(nowhere, "q")


def test_text_and_bytes_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with GFile(path, "w") as file:
        file.write("é1")
        file.write(b"\xff2")
        file.write("é3")
    with GFile(path, "ab") as file:
        file.write("é4")
    assert path.read_bytes() == "é1".encode() + b"\xff2" + "é3é4".encode()


def test_what_a_file_was_not_opened_for(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("abc")
    with pytest.raises(tf.errors.PermissionDeniedError, match="not writable"):
        GFile(path).write("x")
    with pytest.raises(tf.errors.PermissionDeniedError, match="not readable"):
        GFile(tmp_path / "b", "w").read()
    with pytest.raises(tf.errors.UnknownError, match="same file"):
        tf.io.gfile.copy(path, path, overwrite=True)
    with pytest.raises(tf.errors.FailedPreconditionError, match="not a directory"):
        tf.io.gfile.makedirs(path)
    assert path.read_text() == "abc"


def test_addresses_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    address = f"file://{path}"
    with GFile(address, "w") as file:
        file.write("hello")
    assert path.read_text() == "hello" and GFile(address).read() == "hello"
    assert tf.io.gfile.exists(address) and tf.io.gfile.stat(address).length == 5
    tf.io.gfile.copy(address, f"file://localhost{path}.copy")
    assert tf.io.read_file(f"{address}.copy") == "hello"
    tf.io.write_file(address, "again")
    assert path.read_text() == "again"
    assert tf.io.gfile.glob(iter([f"file://{tmp_path}/*.copy"])) == [f"{path}.copy"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="of the host elsewhere"):
        tf.io.gfile.exists("file://elsewhere/a.txt")
