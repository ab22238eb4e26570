"""``tfx load``: calling a signature from a shell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit.cli.conftest import Run
from tests.unit.loaders.make_bundle import Function, constant, sample_variables, write_bundle
from tfx.loaders import Bundle

X = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)


def expected() -> np.ndarray[Any, Any]:
    values = sample_variables()
    return np.asarray(X @ values["dense/kernel"] + values["dense/bias"])


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "x.npy"
    np.save(path, X)
    return path


def test_without_inputs_it_shows_what_there_is(tfx: Run, sample_path: Path) -> None:
    result = tfx("load", sample_path)
    assert result.exit_code == 0
    assert "train_step" in result.stdout
    end = f"Call one with: tfx load {sample_path} --signature serving_default --input x=@x.npy"
    assert result.stdout.splitlines()[-1] == end


def test_without_inputs_a_signature_is_shown(tfx: Run, sample_path: Path) -> None:
    result = tfx("load", sample_path, "--signature", "scaled")
    assert "y float32[None, 3]" in result.stdout
    assert "train_step" not in result.stdout


def test_without_inputs_json_is_the_summary(tfx: Run, sample_path: Path) -> None:
    table = json.loads(tfx("load", sample_path, "--json").stdout)
    assert table["format_version"] == 1


def test_a_file_in_and_text_out(tfx: Run, sample_path: Path, samples: Path) -> None:
    result = tfx("load", sample_path, "--input", f"x=@{samples}")
    assert result.exit_code == 0
    first, *rest = result.stdout.splitlines()
    assert first == "logits float32[2, 3]"
    numbers = np.array(json.loads(",".join(" ".join(rest).replace("] [", "],[").split())))
    np.testing.assert_allclose(numbers, expected(), rtol=1e-4)
    assert result.stderr == ""


def test_json_in_and_out(tfx: Run, sample_path: Path) -> None:
    result = tfx("load", sample_path, "--input", f"x={X.tolist()}", "--json")
    table = json.loads(result.stdout)
    assert table["signature"] == "serving_default"
    np.testing.assert_allclose(table["outputs"]["logits"], expected(), rtol=1e-5)


@pytest.mark.parametrize("suffix", ["npy", "npz", "json"])
def test_output_to_a_file(
    tfx: Run, sample_path: Path, samples: Path, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"out.{suffix}"
    result = tfx("load", sample_path, "--input", f"x=@{samples}", "--output", path)
    assert result.exit_code == 0
    assert result.stdout == f"logits float32[2, 3] -> {path}\n"
    if suffix == "json":
        found = json.loads(path.read_text())["logits"]
    else:
        with path.open("rb") as file:
            loaded = np.load(file)
            found = loaded if suffix == "npy" else loaded["logits"]
    np.testing.assert_allclose(found, expected(), rtol=1e-5)


def test_several_inputs_and_a_saved_step(
    tfx: Run, sample_path: Path, samples: Path, tmp_path: Path
) -> None:
    inputs = [f"x=@{samples}", "y=[[0,0,0],[0,0,0]]", "rate=0.01"]
    args = [word for item in inputs for word in ("--input", item)]
    out = tmp_path / "trained"
    result = tfx("load", sample_path, "--signature", "train_step", *args, "--save", out)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    with Bundle.open(out) as bundle:
        assert bundle.variables["count"] == 1
    again = tfx("load", out, "--signature", "train_step", *args)
    assert again.stderr == (
        "train_step updated 3 variables, and the bundle keeps its old values; add --save DIR to "
        "write a bundle with the new ones\n"
    )
    shown = result.stdout.splitlines()[1]
    assert shown == str(np.float32(shown))  # no more digits than a float32 has
    losses = [float(r.stdout.splitlines()[1]) for r in (result, again)]
    assert losses[1] < losses[0]


def test_strings_and_bfloat16(tfx: Run, sample_path: Path, tmp_path: Path) -> None:
    result = tfx(
        "load", sample_path, "--signature", "greet", "--input", 'names=["ann"]', "--input",
        'suffix="!"', "--json",
    )  # fmt: skip
    assert json.loads(result.stdout)["outputs"]["greeting"] == ["ann!"]
    np.save(tmp_path / "h.npy", np.array([1, 2, 3, 4], ml_dtypes.bfloat16))
    out = tmp_path / "out.npy"
    result = tfx(
        "load", sample_path, "--signature", "halve", "--input", f"h=@{tmp_path}/h.npy",
        "--output", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert np.load(out).view(ml_dtypes.bfloat16).shape == (4,)


def test_a_signature_without_inputs_is_called_when_it_is_named(tfx: Run, sample_path: Path) -> None:
    assert tfx("load", sample_path, "--signature", "ping").stdout == "pong float32[]\n1.5\n"


def test_the_only_signature_needs_no_name(tfx: Run, tmp_path: Path) -> None:
    function = Function("only", [constant("y", np.float32(2))], [], [("y", "float32", ())])
    path = write_bundle(tmp_path / "b", {}, [function])
    out = tmp_path / "y.json"
    assert tfx("load", path, "--output", out).exit_code == 0
    assert json.loads(out.read_text()) == {"y": 2}
    other = Function("other", [constant("z", np.float32(2))], [], [("z", "float32", ())])
    path = write_bundle(tmp_path / "c", {}, [function, other])
    result = tfx("load", path, "--output", out)
    assert result.exit_code == 2
    assert "has the signatures only, other; choose with --signature" in result.stderr


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (["--input", "x"], 2, "tfx load: --input 'x': expected NAME=@FILE or NAME=JSON"),
        (["--input", "x=1", "--input", "x=2"], 2, "tfx load: an --input is given twice"),
        (["--input", "x=abc"], 2, "tfx load: --input x: 'abc' is not JSON"),
        (["--input", "x=@no.npy"], 2, "tfx load: --input x=@no.npy: no.npy does not exist"),
        (
            ["--input", "x=[[1,2,3,4]]", "--output", "a.txt"],
            2,
            "tfx load: --output a.txt: expected",
        ),
        (["--input", "z=1"], 1, "tfx: signature 'serving_default' takes no input 'z'"),
        (
            ["--input", "x=[[1,2]]"],
            1,
            "tfx: signature 'serving_default': input 'x' is float32[1, 2]",
        ),
        (["--signature", "scald"], 1, "has no signature 'scald'; did you mean 'scaled'?"),
        (["--device", "TPU"], 1, "tfx: Could not satisfy device specification '/TPU:0'"),
        (["--save", "{tmp}", "--signature", "ping"], 1, "a folder that is no bundle and has other"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_line(
    tfx: Run, sample_path: Path, tmp_path: Path, args: list[str], code: int, text: str
) -> None:
    (tmp_path / "precious").write_text("x")
    result = tfx("load", sample_path, *(arg.format(tmp=tmp_path) for arg in args))
    assert result.exit_code == code
    assert text in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_array_of_another_dtype_is_refused(tfx: Run, sample_path: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X.astype(np.float64))
    result = tfx("load", sample_path, "--input", f"x=@{tmp_path}/x.npy")
    assert result.exit_code == 1
    assert "is float64[2, 4], expected float32[batch, 4]; convert it with" in result.stderr


def test_verify(tfx: Run, sample_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    shutil.copytree(sample_path, path)
    assert tfx("load", path, "--signature", "ping", "--verify").exit_code == 0
    data = bytearray((path / "greet.onnx").read_bytes())
    data[40] ^= 1
    (path / "greet.onnx").write_bytes(data)
    assert tfx("load", path, "--signature", "ping").exit_code == 0
    result = tfx("load", path, "--signature", "ping", "--verify")
    assert result.exit_code == 1
    assert "greet.onnx: its SHA-256 is" in result.stderr
