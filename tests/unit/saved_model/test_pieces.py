"""Files of weights of many pieces: what is used is compared, and nothing else has to be."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model import damage
from tfx.bundle import limits, piece_checksums
from tfx.bundle.manifest import read_manifest
from tfx.bundle.safetensors import open_safetensors
from tfx.loaders import Bundle

WEIGHTS = "variables/model.safetensors"
# A piece is at least a page, which can be let go of.
PIECE = 4096


@pytest.fixture(scope="module", autouse=True)
def small_limits() -> Any:
    """Make every file a large one, of several pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piece_checksums, "PIECE", PIECE)
        patch.setattr(limits, "HASH_ON_LOAD_BYTES", 0)
        yield


def values() -> list[np.ndarray[Any, Any]]:
    return [np.full((64, 64), i + 1, np.float32) for i in range(4)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a bundle of 20 pieces and a bit."""
    model = tf.Module()
    model.parts = [tf.Variable(value) for value in values()]
    big = tf.constant(np.full((64, 64), 9, np.float32))
    spec = tf.TensorSpec([None, 64], tf.float32, name="x")
    signatures = {
        f"f{i}": tf.function(lambda x, i=i: {"y": x @ model.parts[i]}, input_signature=[spec])
        for i in range(4)
    }
    model.g = signatures["g"] = tf.function(lambda x: {"y": x @ big}, input_signature=[spec])
    path = tmp_path_factory.mktemp("pieces") / "m"
    options = tf.saved_model.SaveOptions(examples=False)
    tf.saved_model.save(model, path, signatures=signatures, options=options)
    return path


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(folder, tmp_path / "m")
    return tmp_path / "m"


def offset(folder: Path, key: str) -> int:
    with open_safetensors(folder / WEIGHTS) as file:
        return file.entry(key).offset


def test_the_manifest_has_a_sum_for_each_piece(folder: Path) -> None:
    import zlib

    data = (folder / WEIGHTS).read_bytes()
    [entry] = [item for item in read_manifest(folder).files if item.path == WEIGHTS]
    assert len(entry.crc32) == -(-len(data) // PIECE) == 21
    assert entry.crc32 == tuple(zlib.crc32(data[i : i + PIECE]) for i in range(0, len(data), PIECE))


@pytest.mark.parametrize("freeze", [True, False], ids=["frozen", "fed"])
def test_what_is_not_used_is_not_compared(own: Path, freeze: bool) -> None:
    damage.flip(own / WEIGHTS, offset(own, "parts/2") + 9000, 4)
    x = np.ones((1, 64), np.float32)
    with Bundle.open(own, freeze=freeze) as bundle:
        assert (bundle.call("f0", {"x": x})["y"] == 64).all()
        assert (bundle.call("g", {"x": x})["y"] == 9 * 64).all()
        for _ in range(2):
            with pytest.raises(tf.errors.BundleError, match=r"model\.safetensors: the CRC-32 of"):
                bundle.call("f2", {"x": x})
        assert (bundle.variables["parts/3"] == 4).all()
        with pytest.raises(tf.errors.BundleError, match="the CRC-32 of"):
            _ = bundle.variables["parts/2"]
    loaded = tf.saved_model.load(own)
    np.testing.assert_array_equal(loaded.parts[0].numpy(), values()[0])
    with pytest.raises(tf.errors.BundleError, match="the CRC-32 of"):
        loaded.parts[2].numpy()


def outcome(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    loaded = tf.saved_model.load(folder)
    found = {f"v{i}": v.numpy() for i, v in enumerate(loaded.parts)}
    x = tf.constant(np.ones((1, 64), np.float32))
    return found | {name: f(x=x)["y"].numpy() for name, f in loaded.signatures.items()}


DAMAGE: dict[str, Callable[[Path, int], None]] = {
    "flipped": lambda path, place: damage.flip(path, place, 1 << place % 8),
    "cut": lambda path, place: damage.truncate(path, place),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_all_damage_is_noticed_before_a_number_comes_out(
    folder: Path, own: Path, kind: str, rng: np.random.Generator
) -> None:
    good = (folder / WEIGHTS).read_bytes()
    header = offset(folder, "parts/0")
    places = [*range(0, header, 31), *rng.integers(header, len(good), 16).tolist()]
    for place in places if kind == "flipped" else places[::4]:
        (own / WEIGHTS).write_bytes(good)
        DAMAGE[kind](own / WEIGHTS, place)
        with pytest.raises(tf.errors.BundleError, match=r"model\.safetensors"):
            outcome(own)
    (own / WEIGHTS).write_bytes(good)
    assert (outcome(own)["f3"] == 4 * 64).all()


def test_a_manifest_with_other_sums_is_refused(own: Path) -> None:
    import dataclasses

    def shorter(manifest: Any) -> Any:
        files = [dataclasses.replace(f, crc32=f.crc32[:-1]) for f in manifest.files]
        return dataclasses.replace(manifest, files=tuple(files))

    with pytest.raises(tf.errors.BundleError, match=r"it has 20 CRC-32s, expected 21 for"):
        damage.rewrite(own, shorter)


def test_variables_that_were_saved_again_have_new_sums(own: Path, tmp_path: Path) -> None:
    with Bundle.open(own) as bundle:
        bundle.variables["parts/1"] = np.full((64, 64), 7, np.float32)
        bundle.save(tmp_path / "again")
    found = outcome(tmp_path / "again")
    assert (found["v1"] == 7).all()
    assert (found["f1"] == 7 * 64).all()
    damage.flip(tmp_path / "again" / WEIGHTS, offset(own, "parts/1"), 1)
    with pytest.raises(tf.errors.BundleError, match="the CRC-32 of"):
        outcome(tmp_path / "again")
