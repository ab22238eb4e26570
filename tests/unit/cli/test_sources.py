"""Whose model a path or an object is, and what the command says of those it cannot take."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.linear_model import LinearRegression

from tests.unit.cli.conftest import Run
from tfx.cli._errors import OperationError
from tfx.cli._save_model import parse_dynamic
from tfx.cli._sources import framework_of_object, framework_of_path


@pytest.mark.parametrize(
    ("path", "framework"),
    [
        ("a/m.onnx", "onnx"), ("M.ONNX", "onnx"), ("m.keras", "keras"), ("m.pt2", "torch"),
        ("m.joblib", "pickle"), ("m.pkl", "pickle"), ("m.safetensors", "safetensors"),
        ("module:object", None), ("file.py:make()", None),
    ],
)  # fmt: skip
def test_files_by_their_endings(path: str, framework: str | None) -> None:
    assert framework_of_path(path) == framework


def test_folders_by_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert framework_of_path(str(tmp_path)) == "tensorflow"
    (tmp_path / "saved_model.pb").rename(tmp_path / "bundle.pb")
    with pytest.raises(OperationError, match="is a bundle already; tfx convert"):
        framework_of_path(str(tmp_path))
    (tmp_path / "bundle.pb").unlink()
    with pytest.raises(OperationError, match=r"without saved_model\.pb"):
        framework_of_path(str(tmp_path))


@pytest.mark.parametrize("path", ["m.pt", "m.h5", "m.pb", "m.tflite", "m.ckpt"])
def test_files_without_a_model_say_why(path: str) -> None:
    with pytest.raises(OperationError, match=r"FILE\.py:OBJECT"):
        framework_of_path(path)


def test_objects_by_their_classes() -> None:
    assert framework_of_object(LinearRegression()) == "sklearn"
    assert framework_of_object(type("Mine", (LinearRegression,), {})()) == "sklearn"
    assert framework_of_object(3) is None


def test_names_of_dimensions() -> None:
    found = parse_dynamic(("x=0:batch,2:time", "y=0"))
    assert found == {"x": {0: "batch", 2: "time"}, "y": {0: "y_0"}}


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model.pickle"])
def test_a_pickle_needs_permission(tfx: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"cos\nabort\n(tR.")  # would end this process
    result = tfx("save", tmp_path / name, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "runs whatever code its author put in" in result.stderr
    assert "--allow-pickle" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_pickle_that_cannot_be_read(tfx: Run, tmp_path: Path) -> None:
    (tmp_path / "m.pkl").write_bytes(b"cno_such_package\nThing\n.")
    result = tfx("save", tmp_path / "m.pkl", "--out", tmp_path / "out", "--allow-pickle")
    assert result.exit_code == 1
    assert "needs the package no_such_package" in result.stderr
    (tmp_path / "m.pkl").write_bytes(b"\x80")
    result = tfx("save", tmp_path / "m.pkl", "--out", tmp_path / "out", "--allow-pickle")
    assert "m.pkl cannot be read" in result.stderr


def test_a_missing_package_names_the_extra(
    tfx: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    result = tfx("save", tmp_path / "m.pkl", "--out", tmp_path / "out", "--allow-pickle")
    assert result.exit_code == 1
    assert "tfx-onnx[sklearn]" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_keras_file(tfx: Run, tmp_path: Path) -> None:
    keras = pytest.importorskip("tfx.keras")
    layers = [keras.layers.Input((3,), name="x"), keras.layers.Dense(2)]
    keras.Sequential(layers).save(tmp_path / "m.keras")
    result = tfx("save", tmp_path / "m.keras", "--out", tmp_path / "out", "--training")
    assert result.exit_code == 0, result.stderr
    assert "signatures serving_default, train" in result.stdout
    shown = tfx("show", tmp_path / "out").stdout
    assert "source_backend" in shown and "keras" in shown
    result = tfx("save", tmp_path / "m.keras", "--out", tmp_path / "out", "--dynamic", "x=0:n")
    assert result.exit_code == 2
    assert "--dynamic cannot be used here" in result.stderr


def test_nothing_is_imported_to_find_out() -> None:
    program = (
        "import sys; from tfx.cli import _sources; _sources.framework_of_path('m.keras'); "
        "_sources.framework_of_object(3); "
        "print({'keras', 'jax', 'sklearn', 'onnx', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() in ("set()", "{'numpy'}"), done.stderr
