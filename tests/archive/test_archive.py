"""Bundles of every release so far: they load, run, train and can be saved again, for ever."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.archive import make
from tfx.bundle.manifest import read_manifest
from tfx.core.version import VERSION
from tfx.loaders import Bundle

RELEASES = sorted(path for path in make.ARCHIVE.glob("format*-*") if path.is_dir())
CASES = sorted(path.parent for release in RELEASES for path in release.glob("*/case.json"))
OBJECTS = sorted(path.parent for release in RELEASES for path in release.glob("*/expected.json"))


def named(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def test_this_release_is_there_and_so_is_the_first() -> None:
    names = [path.name for path in RELEASES]
    assert "format1-0.1.0" in names
    assert f"format1-{VERSION}" in names
    assert len(CASES) >= 8 * len(RELEASES)
    assert len(OBJECTS) >= len(RELEASES)


@pytest.mark.slow
def test_the_script_makes_what_is_archived(tmp_path: Path) -> None:
    make.make(tmp_path / "made")
    release = make.ARCHIVE / f"format1-{VERSION}"
    assert {p.name for p in (tmp_path / "made").iterdir()} == {p.name for p in release.iterdir()}
    with pytest.raises(FileExistsError):
        make.make(tmp_path / "made")


@pytest.fixture
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a copy of a case: nothing may change the archive."""
    shutil.copytree(request.param, tmp_path / "own")
    return tmp_path / "own"


@pytest.mark.parametrize("own", CASES, indirect=True, ids=named)
def test_the_small_reader_runs_trains_and_saves(own: Path, tmp_path: Path) -> None:
    make.script("run_python").run_case(own, tmp_path / "scratch")


@pytest.mark.parametrize("own", CASES, indirect=True, ids=named)
def test_python_objects_run_train_and_are_saved(own: Path, tmp_path: Path) -> None:
    steps = Steps(own, tmp_path)
    for step in steps.case["steps"]:
        steps.take(step)


class Steps:
    """The steps of a case, taken by a loaded object."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        self.read = make.script("run_python")
        self.scratch = scratch
        self.saves = 0
        self.open(folder / "bundle")

    def open(self, folder: Path) -> None:
        options = tf.saved_model.LoadOptions(verify=True)
        self.loaded = tf.saved_model.load(folder, options=options)
        self.names = [v.name for v in read_manifest(folder).variables]

    def take(self, step: dict[str, Any]) -> None:
        if "call" in step:
            self.call(step)
        elif "variables" in step:
            again = self.scratch / "look"
            tf.saved_model.save(self.loaded, again)
            with Bundle.open(again) as bundle:
                for name, item in step["variables"].items():
                    self.read._compare(bundle.variables[name], item, self.case)
        elif "assign" in step:
            values = {name: self.read._array(item) for name, item in step["assign"].items()}
            tf.saved_model.assign(self.loaded, values)
        else:
            assert step == {"save": True}
            self.saves += 1
            again = self.scratch / f"again{self.saves}"
            tf.saved_model.save(self.loaded, again)
            self.open(again)

    def call(self, step: dict[str, Any]) -> None:
        inputs = {n: tf.constant(self.read._array(i)) for n, i in step["inputs"].items()}
        if "error" in step:
            with pytest.raises((tf.errors.OpError, TypeError, ValueError)):
                self.loaded.signatures[step["call"]](**inputs)
            return
        found = self.loaded.signatures[step["call"]](**inputs)
        assert found.keys() == step["outputs"].keys()
        for name, item in step["outputs"].items():
            value = found[name].numpy()
            if item["dtype"] == "string":
                value = np.array([x.decode() for x in np.ravel(value).tolist()], object)
                value = value.reshape(item["shape"])
            self.read._compare(np.asarray(value), item, self.case)


@pytest.mark.parametrize("own", OBJECTS, indirect=True, ids=named)
@pytest.mark.parametrize("saved", [False, True], ids=["archived", "saved-again"])
def test_the_object_is_what_it_was(own: Path, saved: bool, tmp_path: Path) -> None:
    expected = json.loads((own / "expected.json").read_text(encoding="utf-8"))
    model = tf.saved_model.load(own / "bundle")
    if saved:
        tf.saved_model.save(model, tmp_path / "again")
        model = tf.saved_model.load(tmp_path / "again")
    check_attributes(model)
    x = tf.constant(make.batch())
    layer = model.layers[0]
    close(layer(x), expected["layer"])
    close(layer(x[:1], False, 3.0), expected["scaled"])
    close(model.join(x, x)[0], expected["joined"])
    assert model.join(x, by=tf.constant(3.0))[1] == 1
    with tf.GradientTape() as tape:
        y = layer(x, training=True)["twice"][1] * 100.0
    close(tape.gradient(y, layer.w), expected["gradient"])
    close(model.signatures["predict"](x=x)["y"], expected["predict"])
    for loss in expected["losses"]:
        close(model.train_step(x)["loss"], loss)
    close(model.predict(x)["y"], expected["after"])
    assert int(model.steps) == 5
    words = tf.constant(["dog", "bird", "cat"])
    assert model.look(words)["number"].numpy().tolist() == [9, -1, 7]
    assert model.numbers.lookup(words).numpy().tolist() == [9, -1, 7]

    @tf.function
    def together(x: Any) -> Any:
        return tf.reduce_sum(model.layers[1](model.predict(x)["y"]))

    assert np.isfinite(float(together(x)))


@pytest.mark.parametrize("own", OBJECTS, indirect=True, ids=named)
def test_the_golden_examples_still_hold(own: Path) -> None:
    manifest = read_manifest(own / "bundle")
    assert {example.signature for example in manifest.examples} >= {"look", "predict"}
    with Bundle.open(own / "bundle", verify=True) as bundle:
        numbers = bundle.call("look", {"word": ["cat", "bird"]})["number"]
        assert numbers.tolist() == [7, -1]


def check_attributes(model: Any) -> None:
    assert model.shared is model.layers[0].w
    assert model.named.first is model.layers[1]
    assert model.named.second == {"a": 1, 2: (2.5, None, b"x")}
    assert model.table.numpy().tolist() == [[1, 2], [3, 4]]
    assert [text.decode() for text in model.text.numpy()] == ["a", "bc", "\u4e16"]
    assert model.words.path.read_text(encoding="utf-8") == "some words\n"
    assert not model.layers[0].b.trainable


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
