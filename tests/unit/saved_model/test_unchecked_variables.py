"""Large files of weights: compared with the manifest when something of them is first used."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model import damage
from tfx.bundle.manifest import Manifest, read_manifest
from tfx.bundle.piece_checksums import Comparison
from tfx.bundle.safetensors import SafetensorsFile, open_safetensors
from tfx.framework.variable import Variable
from tfx.loaders import Bundle

WEIGHTS = "variables/model.safetensors"
X = np.ones((1, 1100), np.float32)
SUM = r"(its SHA-256 is|the CRC-32 of bytes 0 to 4\d{6} is) "


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a bundle of 4.6 MiB, more than what is hashed when it is opened."""
    path = tmp_path_factory.mktemp("large") / "m"
    model = tf.Module()
    model.v = tf.Variable(np.ones((1100, 1100), np.float32))
    model.b = tf.Variable(np.ones(1100, np.float32))
    big = tf.constant(np.full((1100,), 3, np.float32))
    spec = tf.TensorSpec([None, 1100], tf.float32, name="x")
    model.f = tf.function(lambda x: {"y": x @ model.v + model.b}, input_signature=[spec])
    model.g = tf.function(lambda x: {"y": x * big}, input_signature=[spec])
    tf.saved_model.save(model, path, signatures={"f": model.f, "g": model.g})
    return path


@pytest.fixture(scope="module")
def damaged(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "m"
    shutil.copytree(folder, path)
    damage.flip(path / WEIGHTS, 3_000_000, 1)
    return path


@pytest.fixture(params=["crc32", "sha256"])
def without(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Path:
    """Give the bundle with damage; its manifest has sums of pieces, or as older ones do none."""
    path = tmp_path / "bundle"
    shutil.copytree(folder, path)
    if request.param == "sha256":
        damage.rewrite(path, without_pieces)
    damage.flip(path / WEIGHTS, 3_000_000, 1)
    return path


def without_pieces(manifest: Manifest) -> Manifest:
    files = [dataclasses.replace(item, crc32=()) for item in manifest.files]
    return dataclasses.replace(manifest, files=tuple(files))


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give the pieces that are compared, and the files that are hashed, from now on."""
    found: list[Any] = []
    real = SafetensorsFile.sha256, Comparison._sum

    def sha256(self: SafetensorsFile) -> bytes:
        found.append(Path(self.path).name)
        return real[0](self)

    def piece(self: Comparison, data: memoryview, number: int, keep: bool) -> int:
        found.append(number)
        return real[1](self, data, number, keep)

    monkeypatch.setattr(SafetensorsFile, "sha256", sha256)
    monkeypatch.setattr(Comparison, "_sum", piece)
    return found


USES: dict[str, Callable[[Any, Path], Any]] = {
    "function": lambda m, _: m.f(tf.constant(X)),
    "signature": lambda m, _: m.signatures["f"](x=tf.constant(X)),
    "constant": lambda m, _: m.g(tf.constant(X)),
    "numpy": lambda m, _: m.v.numpy(),
    "value": lambda m, _: m.b.value(),
    "operator": lambda m, _: m.v + 1.0,
    "text": lambda m, _: repr(m.v),
    "traced": lambda m, _: tf.function(lambda: m.v * 2.0)(),
    "update": lambda m, _: m.b.assign_add(m.b),
    "saving": lambda m, path: tf.saved_model.save(m, path / "again"),
    "checkpoint": lambda m, path: tf.train.Checkpoint(m=m).write(str(path / "c")),
}


@pytest.mark.parametrize("use", USES)
def test_damage_is_noticed_at_the_first_use(without: Path, tmp_path: Path, use: str) -> None:
    loaded = tf.saved_model.load(without)
    for _ in range(2):
        with pytest.raises(tf.errors.BundleError, match=rf"model\.safetensors: {SUM}"):
            USES[use](loaded, tmp_path)
    assert list(tmp_path.iterdir()) == [without]


def test_files_are_hashed_once_and_variables_are_plain_then(folder: Path, hashed: Any) -> None:
    loaded = tf.saved_model.load(folder)
    assert hashed == []
    assert isinstance(loaded.v, tf.Variable)
    assert loaded.v.shape == (1100, 1100)
    assert loaded.f(tf.constant(X))["y"][0, 0] == 1101
    assert type(loaded.v) is type(loaded.b) is Variable
    loaded.g(tf.constant(X))
    assert hashed == [0]


def test_files_without_sums_of_pieces_are_hashed_once(
    folder: Path, tmp_path: Path, hashed: Any
) -> None:
    shutil.copytree(folder, tmp_path / "m")
    damage.rewrite(tmp_path / "m", without_pieces)
    assert not any(item.crc32 for item in read_manifest(tmp_path / "m").files)
    loaded = tf.saved_model.load(tmp_path / "m")
    loaded.f(tf.constant(X)), loaded.g(tf.constant(X))
    assert hashed == ["model.safetensors"]


def test_what_is_replaced_needs_no_check(damaged: Path, hashed: Any) -> None:
    loaded = tf.saved_model.load(damaged)
    loaded.v.assign(np.zeros((1100, 1100), np.float32))
    loaded.b.assign(np.full(1100, 2, np.float32))
    assert loaded.f(tf.constant(X))["y"][0, 0] == 2
    assert hashed == []


@pytest.mark.parametrize("verify", [True, False])
def test_the_moment_can_be_chosen(damaged: Path, hashed: Any, verify: bool) -> None:
    options = tf.saved_model.LoadOptions(verify=verify)
    if verify:
        with pytest.raises(tf.errors.BundleError, match="SHA-256"):
            tf.saved_model.load(damaged, options=options)
        with pytest.raises(tf.errors.BundleError, match="SHA-256"):
            Bundle.open(damaged, verify=True)
        return
    assert tf.saved_model.load(damaged, options=options).v.shape == (1100, 1100)
    with Bundle.open(damaged, verify=False) as bundle:
        bundle.call("f", {"x": X})
    assert hashed == []


@pytest.mark.parametrize("freeze", [True, False])
def test_the_small_reader_notices_too(without: Path, tmp_path: Path, freeze: bool) -> None:
    with Bundle.open(without, freeze=freeze) as bundle:
        for use in (
            lambda: bundle.call("f", {"x": X}),
            lambda: bundle.call("g", {"x": X}) if freeze else bundle.call("f", {"x": X}),
            lambda: bundle.variables["v"],
            lambda: bundle.save(tmp_path / "again"),
        ):
            with pytest.raises(tf.errors.BundleError, match=rf"model\.safetensors: {SUM}"):
                use()
    assert list(tmp_path.iterdir()) == [without]


def test_pickles_and_copies(folder: Path, hashed: Any) -> None:
    import copy
    import pickle

    loaded = tf.saved_model.load(folder)
    data = pickle.dumps(loaded)
    assert len(data) < 20_000
    assert hashed == []
    again = pickle.loads(data)
    assert again.f(tf.constant(X))["y"][0, 0] == 1101
    assert copy.deepcopy(loaded).f(tf.constant(X))["y"][0, 0] == 1101


def test_hashing_keeps_no_pages(folder: Path) -> None:
    import hashlib

    with open_safetensors(folder / WEIGHTS) as file:
        array = file.array("v")
        assert file.sha256() == hashlib.sha256((folder / WEIGHTS).read_bytes()).digest()
        assert (array == 1).all()
    with pytest.raises(tf.errors.BundleError, match="closed, so it cannot be hashed"):
        file.sha256()


def test_large_assets_are_compared_when_they_are_loaded(tmp_path: Path) -> None:
    model = tf.Module()
    (tmp_path / "words.txt").write_bytes(bytes(5 << 20))
    model.words = tf.saved_model.Asset(tmp_path / "words.txt")
    tf.saved_model.save(model, tmp_path / "m")
    damage.flip(tmp_path / "m" / "assets" / "words.txt", 4_500_000, 1)
    with pytest.raises(tf.errors.BundleError, match=r"words\.txt: its SHA-256"):
        tf.saved_model.load(tmp_path / "m")
    tf.saved_model.load(tmp_path / "m", options=tf.saved_model.LoadOptions(verify=False))
