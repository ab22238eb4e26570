"""Flips and truncations at random places of a bundle: noticed before a wrong number comes out."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model import damage
from tests.unit.saved_model.models import batch, numbers
from tfx.bundle import limits, piece_checksums
from tfx.bundle.manifest import read_manifest
from tfx.loaders import Bundle

# What counts as large when a bundle is saved and when it is read, and the size of a piece. Large
# files of weights are compared when they are first used: as a whole by SHA-256 where a bundle has
# no sums, else by CRC-32s of pieces, of which some are never used.
SIZES = {
    "small": (limits.HASH_ON_LOAD_BYTES, limits.HASH_ON_LOAD_BYTES, piece_checksums.PIECE),
    "unsummed": (limits.HASH_ON_LOAD_BYTES, 64, piece_checksums.PIECE),
    "large": (64, 64, piece_checksums.PIECE),
    "pieces": (64, 64, 256),
}


@pytest.fixture(scope="module", params=SIZES)
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def template(size: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a bundle with all kinds of files."""
    folder = tmp_path_factory.mktemp("damage") / "template"
    saving, reading, piece = SIZES[size]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(piece_checksums, "PIECE", piece)
        patch.setattr(limits, "HASH_ON_LOAD_BYTES", saving)
        damage.make_bundle(folder)
        patch.setattr(limits, "HASH_ON_LOAD_BYTES", reading)
        yield folder


def by_bundle(folder: Path) -> damage.Outcome:
    """Everything that the small reader gives."""
    found = damage.Outcome()
    x, y = batch(3)
    calls = {
        "serving_default": {"x": np.asarray(x)},
        "square": {"x": numbers(2, 40)},
        "train_step": {"x": np.asarray(x), "y": np.asarray(y)},
    }
    with Bundle.open(folder) as bundle:
        found.update({f"v{name}": value for name, value in bundle.variables.items()})
        for name, inputs in calls.items():
            for key, value in bundle.call(name, inputs).items():
                found[f"{name}.{key}"] = value
        # With what was trained: another form of the graph.
        for key, value in bundle.call("serving_default", calls["serving_default"]).items():
            found[f"live.{key}"] = value
    return found


READERS = {"load": damage.outcome, "Bundle": by_bundle}


def notices(reader: str, folder: Path, expected: damage.Outcome) -> bool:
    """Whether a reader refuses the bundle; it must give what it gave otherwise."""
    try:
        found = READERS[reader](folder)
    except tf.errors.OpError as error:
        assert str(folder) in str(error)
        return True
    assert damage.same(found, expected), "damage went unnoticed"
    return False


def damaged(path: Path, chance: random.Random) -> str:
    """Change one byte of a file, or cut it off; says which."""
    size = path.stat().st_size
    place = chance.randrange(size)
    if chance.random() < 0.3:
        damage.truncate(path, place)
        return f"{path.name} cut off at {place}"
    mask = chance.choice([1 << chance.randrange(8), chance.randrange(1, 256)])
    damage.flip(path, place, mask)
    return f"{path.name}: byte {place} with {mask}"


def check_places(template: Path, work: Path, count: int, seed: int) -> None:
    chance = random.Random(seed)
    expected = {name: read(template) for name, read in READERS.items()}
    shutil.copytree(template, work)
    files = sorted(path for path in work.rglob("*") if path.is_file())
    assert len(files) >= 7
    for _ in range(count):
        path = chance.choice(files)
        data = path.read_bytes()
        # A new file each time: the old one may be mapped yet.
        path.unlink()
        path.write_bytes(data)
        what = damaged(path, chance)
        with pytest.raises(tf.errors.OpError) as caught:
            Bundle.open(work, verify=True)
        assert path.name in str(caught.value), what
        seen = {reader: notices(reader, work, expected[reader]) for reader in READERS}
        # Examples are for who verifies; nothing else reads them.
        assert any(seen.values()) or path.name == "examples.safetensors", what
        path.unlink()
        path.write_bytes(data)
    assert not any(notices(reader, work, expected[reader]) for reader in READERS)


def test_a_few_places(template: Path, tmp_path: Path) -> None:
    check_places(template, tmp_path / "m", 25, 1)


def test_the_weights_have_the_sums_that_are_meant(template: Path, size: str) -> None:
    entries = {entry.path: entry for entry in read_manifest(template).files}
    weights = entries["variables/model.safetensors"]
    pieces = {"small": 0, "unsummed": 0, "large": 1, "pieces": -(-weights.size // 256)}
    assert len(weights.crc32) == pieces[size]
    assert pieces["pieces"] > 20


@pytest.mark.proof
@pytest.mark.parametrize("seed", [2, 3])
def test_a_thousand_places(template: Path, tmp_path: Path, seed: int) -> None:
    check_places(template, tmp_path / "m", 500, seed)
