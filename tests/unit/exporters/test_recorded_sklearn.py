"""Models that skl2onnx made (tools/gen_sklearn_models.py), against scikit-learn's own answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tfx.exporters import from_onnx

FOLDER = Path(__file__).parent / "recorded_sklearn"


@pytest.mark.parametrize("name", ["forest", "pipeline", "texts"])
def test_answers_are_those_of_scikit_learn(tmp_path: Path, name: str) -> None:
    recorded = dict(np.load(FOLDER / f"{name}.npz"))
    module = from_onnx.export(FOLDER / f"{name}.onnx", tmp_path / "b")
    bundle = tf.saved_model.load(tmp_path / "b")
    port = "text" if name == "texts" else "X"
    given = recorded[port]
    given = given.astype(object) if given.dtype.kind == "U" else given
    serve = bundle.signatures["serving_default"]
    for found in (module(given), serve(**{port: tf.constant(given)})):
        labels = found["label"].numpy()
        if labels.dtype == object:
            labels = np.array([label.decode() for label in labels])
        np.testing.assert_array_equal(labels, recorded["label"])
        np.testing.assert_allclose(found["probabilities"], recorded["probabilities"], atol=1e-5)


def test_a_gradient_through_the_linear_part() -> None:
    recorded = dict(np.load(FOLDER / "pipeline.npz"))
    module = from_onnx.to_module(FOLDER / "pipeline.onnx")
    x = tf.constant(recorded["X"])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(module(x)["probabilities"][:, 0])
    slope = tape.gradient(loss, x).numpy()
    step = np.zeros_like(recorded["X"])
    step[:, 2] = 1e-2
    after = module(recorded["X"] + step)["probabilities"].numpy()
    before = module(recorded["X"] - step)["probabilities"].numpy()
    np.testing.assert_allclose(slope[:, 2], (after - before)[:, 0] / 2e-2, atol=2e-3)
