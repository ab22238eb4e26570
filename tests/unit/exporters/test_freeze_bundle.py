"""Signatures as models that need nothing beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf
from tests.unit.loaders.models import WEIGHTS, save
from tfx.core import errors
from tfx.exporters import freeze

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: Any) -> Path:
    return save(tmp_path_factory.mktemp("freezing") / "m", examples=False)


def run(path: Path, feeds: dict[str, Any]) -> dict[str, Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options)
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def test_each_signature_is_a_model_of_its_own(bundle: Path, tmp_path: Path) -> None:
    made = freeze(bundle, tmp_path / "out")
    assert list(made) == ["serving_default", "step", "text", "logs"]
    moved = (tmp_path / "out").rename(tmp_path / "elsewhere")
    found = run(moved / "serving_default.onnx", {"x": X})["y"]
    np.testing.assert_allclose(found, X @ WEIGHTS, rtol=1e-5)
    assert run(moved / "text.onnx", {"words": np.array(["a", "one"], object)})["same"].tolist() == [
        False,
        True,
    ]
    for path in moved.iterdir():
        onnx.checker.check_model(str(path))


def test_state_has_defaults_and_can_be_handed_on(bundle: Path, tmp_path: Path) -> None:
    (path,) = freeze(bundle, tmp_path, ["step"])["step"]
    first = run(path, {"x": X})
    assert float(first["count"]) == 1
    # A result is called "count", so the variable's input cannot be.
    state = {"w": first["w_new"], "count_1": first["count_new"]}
    second = run(path, {"x": X, **state})
    assert float(second["count"]) == 2
    w = WEIGHTS - 0.5 * X.T @ (X @ WEIGHTS)
    np.testing.assert_allclose(first["w_new"], w, rtol=1e-5)


def test_many_weights_are_beside_the_model(tmp_path: Path) -> None:
    module = tf.Module()
    values = np.arange(4096, dtype=np.float32).reshape(64, 64)
    module.w = tf.Variable(values)
    module.words = tf.Variable(["a", "b"])
    module.f = tf.function(
        lambda x: (x @ module.w, tf.equal(module.words, "a")),
        input_signature=[tf.TensorSpec([None, 64])],
    )
    tf.saved_model.save(module, tmp_path / "m")
    made = freeze(tmp_path / "m", tmp_path / "out", max_inside=1000)["serving_default"]
    assert [p.name for p in made] == ["serving_default.onnx", "serving_default.onnx.data"]
    assert made[1].stat().st_size == values.nbytes
    x = np.eye(64, dtype=np.float32)[:2]
    np.testing.assert_array_equal(run(made[0], {"x": x})["output_0"], values[:2])


def test_mistakes(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="no signature 'serv'"):
        freeze(bundle, tmp_path / "out", ["serv"])
    with pytest.raises(errors.NotFoundError):
        freeze(tmp_path / "no", tmp_path / "out")
    assert not (tmp_path / "out").exists()
