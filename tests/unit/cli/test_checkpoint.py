"""``tfx checkpoint``: list, show, rename, merge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tfx as tf
from tests.unit.cli.conftest import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    checkpoint = tf.train.Checkpoint(w=tf.Variable([1.0, 2.0]), name=tf.Variable("x"))
    checkpoint.save(str(tmp_path / "ckpt"))
    checkpoint.save(str(tmp_path / "ckpt"))
    tf.train.Checkpoint(head=tf.Variable(3.0)).write(str(tmp_path / "head"))
    return tmp_path


def test_list(tfx: Run, folder: Path) -> None:
    result = tfx("checkpoint", "list", folder)
    assert result.exit_code == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()[2:5]]
    assert [row[0] for row in rows] == ["ckpt-2", "ckpt-1", "head"]
    assert rows[0][1] == "latest"
    assert result.stdout.splitlines()[-1] == f"{folder}: 3 checkpoints"
    table = json.loads(tfx("checkpoint", "list", folder, "--json").stdout)
    assert [item["variables"] for item in table] == [3, 3, 1]


def test_show(tfx: Run, folder: Path) -> None:
    result = tfx("checkpoint", "show", folder, "--values", "--verify")
    assert result.exit_code == 0, result.stderr
    assert "float32[2]" in result.stdout
    assert "[1. 2.]" in result.stdout
    assert "3 variables" in result.stdout
    assert "its hash is right" in result.stdout
    table = json.loads(tfx("checkpoint", "show", folder / "head", "--json").stdout)
    assert table["variables"][0]["name"] == "head"


def test_rename_and_merge(tfx: Run, folder: Path) -> None:
    result = tfx("checkpoint", "rename", folder / "ckpt-2", folder / "r", "--name", "w=kernel")
    assert result.stdout == f"w -> kernel\n{folder / 'r'}: 1 variable renamed\n"
    both = f"extra={folder / 'head'}"
    result = tfx("checkpoint", "merge", folder / "r", both, "-o", folder / "m")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == f"{folder / 'm'}: 4 variables"
    assert dict(tf.train.list_variables(str(folder / "m"))).keys() == {
        "kernel",
        "name",
        "save_counter",
        "extra/head",
    }


def test_mistakes_are_one_line(tfx: Run, folder: Path) -> None:
    out = folder / "out"
    for code, text, args in (
        (1, "did you mean 'name'", ["rename", folder / "ckpt-1", out, "--name", "nam=x"]),
        (2, "expected OLD=NEW", ["rename", folder / "ckpt-1", out, "--name", "nam"]),
        (1, "has another value", ["merge", folder / "ckpt-1", folder / "ckpt-2", "-o", out]),
        (1, "of this name already", ["merge", folder / "ckpt-1", "-o", folder / "head"]),
        (1, "no checkpoint of this path", ["show", folder / "nothing"]),
    ):
        result = tfx("checkpoint", *args)
        assert result.exit_code == code, result.stderr
        assert text in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert not list(folder.glob("out*"))
