"""Models in other forms: archives, lone ONNX files, calibrated integers, ONNX files as sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

import tfx as tf
from tests.unit.exporters.test_convert_bundle import Net, X
from tests.unit.importing.samples import run_stock
from tfx.bundle.archive import is_archive
from tfx.bundle.manifest import read_manifest
from tfx.cli.app import app
from tfx.core import errors
from tfx.exporters import convert
from tfx.loaders import Bundle, verify

MANY = np.random.default_rng(1).normal(size=(6, 16, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("forms") / "m"
    net = Net()
    options = tf.saved_model.SaveOptions(examples={"serving_default": {"x": X}})
    signatures = {"serving_default": net.predict, "step": net.step}
    tf.saved_model.save(net, folder, signatures, options)
    return folder


@pytest.fixture(scope="module")
def expected(bundle: Path) -> Any:
    with Bundle.open(bundle) as opened:
        return opened.call("serving_default", {"x": X})["y"]


def operators(path: Path) -> set[str]:
    waiting, found = list(onnx.load(path).graph.node), set()
    while waiting:
        node = waiting.pop()
        found.add(node.op_type)
        waiting += [n for a in node.attribute if a.HasField("g") for n in a.g.node]
    return found


def test_archives_and_back(bundle: Path, tmp_path: Path, expected: Any) -> None:
    made = convert(bundle, tmp_path / "m.tfx")
    assert is_archive(tmp_path / "m.tfx")
    assert made.after == (tmp_path / "m.tfx").stat().st_size
    assert [(m.name, m.is_converted, m.detail) for m in made.signatures] == [
        ("serving_default", True, "the same graph"),
        ("step", True, "the same graph"),
    ]
    convert(tmp_path / "m.tfx", tmp_path / "back")
    with Bundle.open(tmp_path / "back") as opened:
        np.testing.assert_array_equal(opened.call("serving_default", {"x": X})["y"], expected)
        opened.call("step", {"x": X})
    convert(tmp_path / "m.tfx", tmp_path / "small.zip", dtype="float16")
    assert verify(tmp_path / "small.zip").is_ok
    assert sorted(p.name for p in tmp_path.iterdir()) == ["back", "m.tfx", "small.zip"]


def test_lone_models(bundle: Path, tmp_path: Path, expected: Any) -> None:
    convert(bundle, tmp_path / "y.onnx")
    np.testing.assert_allclose(run_stock(tmp_path / "y.onnx", {"x": X})[0], expected, rtol=1e-5)
    convert(bundle, tmp_path / "step.onnx", signature="step", opset=22)
    model = onnx.load(tmp_path / "step.onnx")
    assert [i.version for i in model.opset_import if not i.domain] == [22]
    assert {i.name for i in model.graph.input} > {"x"}  # and the variable that it writes
    convert(bundle, tmp_path / "half.onnx", dtype="float16")
    found = run_stock(tmp_path / "half.onnx", {"x": X})[0]
    assert 0 < np.abs(found - expected).max() < 5e-3 * np.abs(expected).max()


@pytest.mark.parametrize("way", ["file", "one call", "mapping", "examples"])
def test_calibrated_integers(bundle: Path, tmp_path: Path, expected: Any, way: str) -> None:
    np.savez(tmp_path / "many.npz", x=MANY, other=np.zeros(2))
    np.savez(tmp_path / "one.npz", x=MANY[0])
    calibrate: Any = {
        "file": tmp_path / "many.npz",
        "one call": str(tmp_path / "one.npz"),
        "mapping": {"x": MANY},
        "examples": True,
    }[way]
    made = convert(bundle, tmp_path / "q.onnx", dtype="int8", calibrate=calibrate)
    (item,) = made.signatures
    assert item.detail == "1 golden example"
    assert item.relative is not None
    assert 0 < item.relative < 0.1
    assert {"QuantizeLinear", "DequantizeLinear"} <= operators(tmp_path / "q.onnx")
    assert "MatMulInteger" not in operators(tmp_path / "q.onnx")
    # Sums of products with signed ones overflow on processors without instructions for 8 bits.
    kinds = {w.data_type for w in onnx.load(tmp_path / "q.onnx").graph.initializer}
    assert onnx.TensorProto.UINT8 in kinds
    assert onnx.TensorProto.INT8 not in kinds
    found = run_stock(tmp_path / "q.onnx", {"x": X})[0]
    assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max()
    assert made.after < 0.5 * made.before


def test_calibrated_bundles(bundle: Path, tmp_path: Path) -> None:
    made = convert(bundle, tmp_path / "q", dtype="int8", calibrate={"x": MANY})
    assert [m.is_converted for m in made.signatures] == [True, False]
    assert verify(tmp_path / "q").is_ok
    x = tf.constant(X)
    loaded = tf.saved_model.load(tmp_path / "q")
    with tf.GradientTape() as tape:  # straight through
        tape.watch(x)
        loss = tf.reduce_sum(loaded.signatures["serving_default"](x=x)["y"])
    assert tape.gradient(loss, x).shape == x.shape


def test_onnx_files_as_sources(bundle: Path, tmp_path: Path, expected: Any) -> None:
    convert(bundle, tmp_path / "y.onnx")
    convert(tmp_path / "y.onnx", tmp_path / "bundle")
    assert verify(tmp_path / "bundle").is_ok
    made = convert(tmp_path / "y.onnx", tmp_path / "q.onnx", dtype="int8", calibrate={"x": MANY})
    assert made.signatures[0].detail.endswith("made up examples")
    found = run_stock(tmp_path / "q.onnx", {"x": X})[0]
    assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max()
    convert(tmp_path / "y.onnx", tmp_path / "old.onnx", opset=18)
    assert onnx.load(tmp_path / "old.onnx").opset_import[0].version == 18
    convert(tmp_path / "y.onnx", tmp_path / "y.tfx")
    with Bundle.open(tmp_path / "y.tfx") as opened:
        result = opened.call("serving_default", {"x": X})["y"]
    np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("out", "options", "error", "why"),
    [
        ("b", {}, errors.InvalidArgumentError, "would stay as it is"),
        ("a.onnx", {"signature": "no"}, errors.NotFoundError, "no signature 'no'"),
        ("a.tfx", {"signature": "step"}, errors.InvalidArgumentError, "for a single model"),
        ("a.onnx", {"calibrate": True}, errors.InvalidArgumentError, "calibrate is for"),
        ("a.onnx", {"dtype": "int4"}, errors.InvalidArgumentError, "expected one of float16"),
        (
            "a.onnx",
            {"signature": "step", "dtype": "int8"},
            errors.InvalidArgumentError,
            "'step' is not converted: it updates variables",
        ),
        (
            "a.onnx",
            {"dtype": "int8", "calibrate": {"z": X}},
            errors.InvalidArgumentError,
            "calibrate lacks 'x' of signature 'serving_default'; it has 'z'",
        ),
        (
            "a.onnx",
            {"dtype": "int8", "calibrate": {"x": MANY[:0]}},
            errors.InvalidArgumentError,
            "at least 1",
        ),
        (
            "a.onnx",
            {"dtype": "int8", "calibrate": {"x": X[:, :3]}},
            errors.InvalidArgumentError,
            "'x' is float32",
        ),
        ("a.onnx", {"opset": 4}, errors.UnimplementedError, "cannot be brought to opset 4"),
    ],
)
def test_mistakes_leave_nothing(
    bundle: Path, tmp_path: Path, out: str, options: Any, error: Any, why: str
) -> None:
    with pytest.raises(error, match=why):
        convert(bundle, tmp_path / out, **options)
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_sources_or_targets(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="does not exist, expected a bundle's folder"):
        convert(tmp_path / "no", tmp_path / "a.onnx")
    (tmp_path / "text.onnx").write_text("text")
    with pytest.raises(errors.BundleError, match=r"text\.onnx"):
        convert(tmp_path / "text.onnx", tmp_path / "a.tfx")
    with pytest.raises(errors.InvalidArgumentError, match="is the source"):
        convert(tmp_path / "text.onnx", tmp_path / "text.onnx", opset=22)
    (tmp_path / "mine.tfx").write_text("mine")
    with pytest.raises(errors.AlreadyExistsError, match="no archive"):
        convert(bundle, tmp_path / "mine.tfx")
    (tmp_path / "folder.onnx").mkdir()
    with pytest.raises(errors.InvalidArgumentError, match="is a folder"):
        convert(bundle, tmp_path / "folder.onnx")
    np.save(tmp_path / "one.npy", X)
    with pytest.raises(errors.InvalidArgumentError, match="has one array"):
        convert(bundle, tmp_path / "a.onnx", dtype="int8", calibrate=tmp_path / "one.npy")
    np.savez(tmp_path / "pickled.npz", x=np.array([{}], object))
    with pytest.raises(errors.InvalidArgumentError, match="cannot be read"):
        convert(bundle, tmp_path / "a.onnx", dtype="int8", calibrate=tmp_path / "pickled.npz")
    names = {"text.onnx", "mine.tfx", "folder.onnx", "one.npy", "pickled.npz"}
    assert {p.name for p in tmp_path.iterdir()} == names


def test_the_command(bundle: Path, tmp_path: Path) -> None:
    def run(*words: Any) -> Any:
        return CliRunner().invoke(app, ["convert", *map(str, words)])

    done = run(bundle, tmp_path / "m.tfx")
    assert done.exit_code == 0, done.output
    assert "the same graph" in done.output
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "m.tfx")])
    assert "serving_default" in shown.output
    done = run(
        tmp_path / "m.tfx",
        tmp_path / "q.onnx",
        "--dtype",
        "int8",
        "--calibrate",
        "examples",
        "--json",
    )
    assert json.loads(done.output)["signatures"][0]["relative"] < 0.1
    done = run(bundle, tmp_path / "q.onnx", "--calibrate", "examples")
    assert done.exit_code == 2
    assert "--calibrate is for --dtype int8" in done.output
    done = run(tmp_path / "m.tfx", tmp_path / "n", "--opset", 22)
    assert done.exit_code == 0, done.output
    assert read_manifest(tmp_path / "n").requirements.opset == 22
