"""``tfx train-step``: bundles that train ONNX files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.cli.conftest import Run
from tests.unit.importing.samples import constant, make, node, numbers, value
from tfx.loaders import Bundle

W1, W2, X = numbers(4, 6), numbers(6, 3, seed=1), numbers(5, 4, seed=2)
LABELS = np.array([0, 2, 1, 1, 0])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    proto = make(
        [
            node("MatMul", ["x", "body.weight"], ["h"]),
            node("Tanh", ["h"], ["t"]),
            node("MatMul", ["t", "head.weight"], ["logits"]),
            node("Softmax", ["logits"], ["probabilities"]),
        ],
        [value("x", ["n", 4])],
        [value("probabilities", ["n", 3])],
        [constant("body.weight", W1), constant("head.weight", W2)],
    )
    onnx.save(proto, path)
    return path


@pytest.mark.parametrize("options", [[], ["--lora", "2", "--alpha", "4"]], ids=["whole", "lora"])
def test_the_bundle_answers_and_trains(tfx: Run, model: Path, options: list[str]) -> None:
    out = model.with_name("bundle")
    arguments = ["--loss", "sparse-cross-entropy", "--lr", "0.05", *options]
    result = tfx("train-step", model, *arguments, "-o", out)
    assert result.exit_code == 0, result.stderr
    first, second = result.stdout.splitlines()
    assert first == f"{out}: train_step(x float32(n, 4), label int64(n,))"
    numbers = "4 variables, 38 numbers; 42" if options else "2 variables, 42 numbers; 0"
    assert second == f"trains {numbers} numbers of the model stay as they are"
    with Bundle.open(out) as bundle:
        logits = np.tanh(X @ W1) @ W2
        expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        found = bundle.call("serving_default", {"x": X})["probabilities"]
        np.testing.assert_allclose(found, expected, atol=1e-5)
        given = {"x": X, "label": LABELS}
        losses = [float(bundle.call("train_step", given)["loss"]) for _ in range(20)]
        np.testing.assert_allclose(losses[0], -np.log(expected[range(5), LABELS]).mean(), rtol=1e-4)
        assert losses[-1] < 0.8 * losses[0]
        found = bundle.call("serving_default", {"x": X})["probabilities"]
        loss = -np.log(found[range(5), LABELS]).mean()
        assert loss < losses[-1] + 1e-5  # what answers has learned
        kept = bundle.variables["weights/body.weight"]
        assert np.array_equal(kept, W1) == bool(options)


def test_only_what_is_named_is_trained(tfx: Run, model: Path) -> None:
    out = model.with_name("bundle")
    result = tfx("train-step", model, "--loss", "mse", "--train", "head", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert "trains 1 variable, 18 numbers; 24 numbers of the model stay" in result.stdout
    loaded = tf.saved_model.load(out)
    loaded.signatures["train_step"](x=tf.constant(X), label=tf.zeros([5, 3]))
    np.testing.assert_array_equal(loaded.weights["body.weight"], W1)
    assert np.abs(loaded.weights["head.weight"].numpy() - W2).max() > 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--loss", "mse", "--train", "heda"], 1, "did you mean 'head.weight'?"),
        (["--loss", "mse", "--output", "y"], 1, "it has probabilities"),
        (["--loss", "mse", "--label", "x"], 1, "'x' is an input of the model already"),
        (["--loss", "mse", "--optimizer", "adma"], 1, "Unknown optimizer: 'adma'"),
        (["--loss", "mse", "--lora", "9"], 1, "rank is 9, more than any size"),
        (["--loss", "mse", "--alpha", "2"], 2, "give --lora RANK too"),
        (["--loss", "hinge"], 2, "'hinge' is not one of"),
        (["--loss", "mse", "--lr", "0"], 2, "--lr"),
    ],
)
def test_mistakes_are_told_and_leave_nothing(
    tfx: Run, model: Path, arguments: list[str], status: int, message: str
) -> None:
    out = model.with_name("bundle")
    result = tfx("train-step", model, *arguments, "-o", out)
    assert result.exit_code == status
    assert message in result.stderr
    assert not out.exists()


def test_a_damaged_file(tfx: Run, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    result = tfx("train-step", tmp_path / "m.onnx", "--loss", "mse", "-o", tmp_path / "b")
    assert result.exit_code == 1
    assert "m.onnx" in result.stderr
    assert not (tmp_path / "b").exists()
