"""``tfx verify`` and ``tfx freeze``, ``diff``, ``convert``: the words and the exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.cli.conftest import Run
from tests.unit.loaders.models import WEIGHTS, save


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: Any) -> Path:
    return save(tmp_path_factory.mktemp("commands") / "m")


def test_verify_prints_a_table(tfx: Run, bundle: Path) -> None:
    result = tfx("verify", bundle)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["result", "check", "of", "found"]
    row = next(line for line in lines if "serving_default, example 1 of 2" in line)
    assert row.split()[:3] == ["ok", "stock", "form"]
    assert "as recorded, greatest difference 0" in row
    assert lines[-1].endswith("checks, none failed")


def test_verify_fails_with_1(tfx: Run, bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "m")
    path = tmp_path / "m" / "serving_default.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    result = tfx("verify", tmp_path / "m")
    assert result.exit_code == 1
    assert "failed" in result.stdout
    assert result.stderr.startswith(f"tfx: {tmp_path / 'm'}: 1 of ")
    result = tfx("verify", tmp_path / "m", "--json")
    assert result.exit_code == 1
    table = json.loads(result.stdout)
    assert table["ok"] is False
    (bad,) = [c for c in table["checks"] if c["status"] == "failed"]
    assert bad["subject"] == "serving_default.onnx"


def test_verify_of_nothing(tfx: Run, tmp_path: Path) -> None:
    result = tfx("verify", tmp_path / "no")
    assert result.exit_code == 1
    assert "does not exist" in result.stderr


def test_freeze(tfx: Run, bundle: Path, tmp_path: Path) -> None:
    result = tfx("freeze", bundle, "-o", tmp_path / "out", "--signature", "step")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"step -> {tmp_path / 'out' / 'step.onnx'} (")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["step.onnx"]
    table = json.loads(tfx("freeze", bundle, "-o", tmp_path / "out", "--json").stdout)
    assert list(table) == ["serving_default", "step", "text", "logs"]
    result = tfx("freeze", bundle, "-o", tmp_path / "out", "--signature", "ste")
    assert result.exit_code == 1
    assert "no signature 'ste'; did you mean 'step'" in result.stderr
    assert tfx("freeze", bundle).exit_code == 2


def test_diff(tfx: Run, bundle: Path, tmp_path: Path) -> None:
    result = tfx("diff", bundle, bundle, "--exit-code")
    assert (result.exit_code, result.stdout) == (
        0,
        "no difference; 2 variables with equal values\n",
    )
    np.save(tmp_path / "x.npy", np.ones((1, 3), np.float32))
    trained = tmp_path / "trained"
    step = ["--signature", "step", "--input", f"x=@{tmp_path / 'x.npy'}", "--save", trained]
    assert tfx("load", bundle, *step).exit_code == 0
    result = tfx("diff", bundle, trained)
    assert result.exit_code == 0
    assert "greatest difference 1" in result.stdout
    assert result.stdout.endswith("2 differences; 0 variables with equal values\n")
    assert tfx("diff", bundle, trained, "--exit-code").exit_code == 1
    table = json.loads(tfx("diff", bundle, trained, "--json").stdout)
    amounts = {d["name"]: d["amount"] for d in table["differences"]}
    assert amounts["count"] == 1
    x = np.ones((1, 3), np.float32)
    change = 0.5 * x.T @ (x @ WEIGHTS)
    np.testing.assert_allclose(amounts["w"], np.abs(change).max(), rtol=1e-6)


def test_convert(tfx: Run, bundle: Path, tmp_path: Path) -> None:
    result = tfx("convert", bundle, tmp_path / "m", "--dtype", "float16")
    assert result.exit_code == 0, result.stderr
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines()[2:-2]}
    assert rows["serving_default"][1] == "yes"
    assert rows["step"][1] == "no"
    assert result.stdout.splitlines()[-1].startswith(f"{tmp_path / 'm'}: ")
    assert tfx("verify", tmp_path / "m").exit_code == 0
    result = tfx("convert", bundle, tmp_path / "n", "--opset", "22", "--json")
    assert json.loads(result.stdout)["signatures"][0]["relative"] < 1e-5
    result = tfx("convert", bundle, tmp_path / "o")
    assert result.exit_code == 2
    assert "give --opset N, --dtype TYPE, or both" in result.stderr
    assert tfx("convert", bundle, tmp_path / "o", "--dtype", "float8").exit_code == 2
    result = tfx("convert", bundle, tmp_path / "o", "--opset", "17")
    assert result.exit_code == 1
    assert "cannot be brought to opset 17" in result.stderr
    assert len(result.stderr.splitlines()) == 1
