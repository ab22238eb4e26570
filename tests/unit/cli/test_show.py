"""``tfx show``: plain in a pipe, a table on a terminal, all of it as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import source_tree
from tests.unit.cli.conftest import Run


def test_what_a_bundle_offers(tfx: Run, sample_path: Path) -> None:
    result = tfx("show", sample_path)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"{sample_path}: bundle format 1, by tests 1, needs opset 21"
    rows = {line.split()[0]: line.split("  ") for line in lines if line.startswith("  ")}
    step = "x float32[batch, 4], y float32[batch, 3], rate float32[]"
    assert [cell.strip() for cell in rows["train_step"] if cell.strip()] == [
        "train_step", step, "loss float32[]", "3 variables",
    ]  # fmt: skip
    assert "6 variables (6 trainable), 119 B" in lines
    assert rows["serving_default.onnx"]
    assert rows["bundle.pb"]
    assert not any(line.endswith(" ") for line in lines)


def test_variables_are_listed_on_request(tfx: Run, sample_path: Path) -> None:
    assert "dense/kernel" not in tfx("show", sample_path).stdout
    result = tfx("show", sample_path, "--variables")
    row = next(line for line in result.stdout.splitlines() if "dense/kernel" in line)
    assert row.split() == ["dense/kernel", "float32[4,", "3]", "yes", "48", "B"]


def test_json(tfx: Run, sample_path: Path) -> None:
    result = tfx("show", sample_path, "--json")
    table = json.loads(result.stdout)
    assert [item["name"] for item in table["signatures"]][:2] == ["serving_default", "scaled"]
    assert result.stderr == ""


@pytest.mark.parametrize("file", ["bundle.pb", "serving_default.onnx"])
def test_damage_is_an_error(tfx: Run, sample_path: Path, tmp_path: Path, file: str) -> None:
    path = tmp_path / "bundle"
    shutil.copytree(sample_path, path)
    (path / file).write_bytes((path / file).read_bytes()[:50])
    result = tfx("show", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"tfx: {path / file}: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_terminal_gets_a_table(sample_path: Path) -> None:
    import pty

    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "tfx.cli", "show", str(sample_path)],
        stdout=follower,
        cwd=source_tree.ROOT,
        env=environment,
    ) as process:
        os.close(follower)
        text = b""
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:  # Linux: the other end was closed
                break
            if not part:
                break
            text += part
    os.close(leader)
    assert process.returncode == 0
    shown = text.decode()
    assert "───" in shown
    assert "\x1b[1m" in shown
    # An input a line.
    assert any(line.strip().startswith("y float32[batch, 3]") for line in shown.splitlines())
