"""``tfx gradient``: gradient models on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.unit.cli.conftest import Run
from tests.unit.importing.samples import constant, make, node, numbers, run_stock, value

W, X = numbers(3, 4), numbers(2, 3, seed=1)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    proto = make(
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", ["n", 3])],
        [value("y", ["n", 4])],
        [constant("w", W)],
    )
    onnx.save(proto, path)
    return path


def test_it_writes_a_model_and_says_what_it_takes(tfx: Run, model: Path) -> None:
    out = model.with_name("g.onnx")
    result = tfx("gradient", model, "-o", out)
    assert result.exit_code == 0, result.stderr
    line = f"{out}: inputs x y_grad, outputs y x_grad, "
    assert result.stdout.startswith(line)
    assert result.stdout.rstrip().endswith("nodes, opset 21")
    seed = numbers(2, 4)
    found = run_stock(onnx.load(out), {"x": X, "y_grad": seed})
    np.testing.assert_allclose(found[1], seed @ W.T, rtol=1e-5)


def test_options(tfx: Run, model: Path) -> None:
    out = model.with_name("g.onnx")
    options = ["--output", "y", "--input", "w", "--input", "x", "--ones", "--gradients-only"]
    result = tfx("gradient", model, "--out", out, *options, "--shape", "x=2,3")
    assert "inputs x, outputs w_grad x_grad" in result.stdout
    proto = onnx.load(out)
    assert [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim] == [2, 3]
    dw = run_stock(proto, {"x": X})[0]
    np.testing.assert_allclose(dw, np.repeat(X.sum(0)[:, None], 4, 1), rtol=1e-5)
    result = tfx("gradient", model, "-o", out, "--input", "w", "--weights-as-inputs", "--seeds")
    assert "inputs x w y_grad, outputs y w_grad" in result.stdout


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--input", "ww"], 1, "inputs names 'ww'"),
        (["--output", "z"], 1, "outputs names 'z'"),
        (["--shape", "x"], 2, "--shape 'x': expected NAME=SIZES"),
        (["--shape", "x=2,-3"], 2, "'-3' is no size"),
        (["--shape", "z=2"], 1, "no input of"),
    ],
    ids=["input", "output", "no shape", "bad size", "no such input"],
)
def test_mistakes_are_one_line(
    tfx: Run, model: Path, options: list[str], code: int, message: str
) -> None:
    out = model.with_name("g.onnx")
    result = tfx("gradient", model, "-o", out, *options)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not out.exists()


def test_files_that_are_not_there_or_not_models(tfx: Run, model: Path) -> None:
    text = model.with_name("t.onnx")
    text.write_text("no model")
    for source, words in ((text, "is not an ONNX model"), (model.with_name("n"), "no such file")):
        result = tfx("gradient", source, "-o", model.with_name("g.onnx"))
        assert result.exit_code == 1
        assert words in result.stderr
    result = tfx("gradient", model, "-o", model)
    assert (result.exit_code, "--out is MODEL itself" in result.stderr) == (2, True)
    result = tfx("gradient", model, "-o", model.with_name("no") / "g.onnx")
    assert result.exit_code == 1
    assert "No such file" in result.stderr
