"""Bundles at other opsets and with narrower numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.loaders.models import save
from tfx.bundle.manifest import read_manifest
from tfx.core import errors
from tfx.exporters import convert
from tfx.loaders import Bundle, verify

X = np.linspace(-1, 1, 3 * 64, dtype=np.float32).reshape(3, 64)


class Net(tf.Module):
    """Two layers, a branch, and a step."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.a = tf.Variable(rng.normal(size=(64, 128)).astype(np.float32) / 8)
        self.b = tf.Variable(rng.normal(size=(128, 10)).astype(np.float32) / 11)

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, "x")])
    def predict(self, x: Any) -> Any:
        """Two layers; another sign if the sum is negative."""
        y = tf.nn.relu(x @ self.a) @ self.b
        return {"y": tf.cond(tf.reduce_sum(y) > 0.0, lambda: y, lambda: -y)}

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, "x")])
    def step(self, x: Any) -> Any:
        """Scale the weights."""
        self.a.assign(self.a * 0.5)
        return {"sum": tf.reduce_sum(x @ self.a)}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("converting") / "m"
    net = Net()
    signatures = {"serving_default": net.predict, "step": net.step}
    tf.saved_model.save(net, folder, signatures)
    return folder


def result(folder: Path) -> Any:
    with Bundle.open(folder) as opened:
        return opened.call("serving_default", {"x": X})["y"]


@pytest.mark.parametrize("opset", [17, 20, 24])
def test_another_opset_keeps_everything(bundle: Path, tmp_path: Path, opset: int) -> None:
    made = convert(bundle, tmp_path / "m", opset=opset)
    assert [(m.name, m.is_converted) for m in made.signatures] == [
        ("serving_default", True),
        ("step", True),
    ]
    assert all(m.relative is not None and m.relative < 1e-5 for m in made.signatures)
    manifest = read_manifest(tmp_path / "m")
    assert manifest.requirements.opset == opset
    for path in (tmp_path / "m").glob("*.onnx"):
        model = onnx.load(path, load_external_data=False)
        assert [i.version for i in model.opset_import if not i.domain] == [opset]
        onnx.checker.check_model(str(path))
    np.testing.assert_allclose(result(tmp_path / "m"), result(bundle), rtol=1e-5)
    assert verify(tmp_path / "m").is_ok
    back = tf.saved_model.load(tmp_path / "m")
    before = back.predict(tf.constant(X))["y"].numpy()
    back.step(tf.constant(X))
    assert not np.allclose(back.predict(tf.constant(X))["y"].numpy(), before)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(back.predict(tf.constant(X))["y"])
    assert tape.gradient(loss, back.a).shape == (64, 128)


@pytest.mark.parametrize(
    ("dtype", "share", "error"),
    [("float16", 0.7, 5e-3), ("bfloat16", 0.7, 2e-2), ("int8", 0.6, 0.1)],
)
def test_narrow_bundles(
    bundle: Path, tmp_path: Path, dtype: Any, share: float, error: float
) -> None:
    made = convert(bundle, tmp_path / "m", dtype=dtype)
    serving, step = made.signatures
    assert serving.is_converted
    assert serving.relative is not None
    assert 0 < serving.relative < error
    assert not step.is_converted
    assert "updates variables" in step.detail
    assert made.after < share * made.before
    found, expected = result(tmp_path / "m"), result(bundle)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < error * np.abs(expected).max()
    assert verify(tmp_path / "m").is_ok
    assert read_manifest(tmp_path / "m").metadata["converted_to"] == dtype


def test_both_at_once(bundle: Path, tmp_path: Path) -> None:
    convert(bundle, tmp_path / "m", opset=18, dtype="bfloat16")
    assert read_manifest(tmp_path / "m").requirements.opset == 18
    assert verify(tmp_path / "m").is_ok


def test_given_examples_measure(tmp_path: Path) -> None:
    net = Net()
    given = tf.saved_model.SaveOptions(examples={"f": {"x": X}})
    tf.saved_model.save(net, tmp_path / "a", {"f": net.predict}, given)
    (item,) = convert(tmp_path / "a", tmp_path / "b", dtype="float16").signatures
    assert item.detail == "1 golden example"
    assert item.difference is not None
    assert item.difference > 0


def test_mistakes(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="neither opset nor dtype"):
        convert(bundle, tmp_path / "m")
    with pytest.raises(errors.InvalidArgumentError, match="expected one of float16"):
        convert(bundle, tmp_path / "m", dtype="float8")  # type: ignore[arg-type]
    other = save(tmp_path / "other")
    with pytest.raises(errors.UnimplementedError, match=r"cannot be brought to opset 17.*'Equal'"):
        convert(other, tmp_path / "m", opset=17)  # strings could not be compared then
    assert not (tmp_path / "m").exists()
