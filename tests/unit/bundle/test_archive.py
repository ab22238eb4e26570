"""Bundles as one file: written, opened by everything that opens a folder, and removed again."""

from __future__ import annotations

import gc
import os
import pickle
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.loaders.models import WEIGHTS, save
from tfx.bundle.archive import ALIGNMENT, Unpacked, is_archive, opened_folder, pack
from tfx.core.errors import AlreadyExistsError, BundleError, MissingFileError
from tfx.loaders import Bundle, summarize, verify

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: Any) -> Path:
    return save(tmp_path_factory.mktemp("archives") / "m")


@pytest.fixture(scope="module")
def archive(bundle: Path) -> Path:
    return pack(bundle, bundle.parent / "m.tfx")


def unpacked() -> set[str]:
    return {p.name for p in Path(tempfile.gettempdir()).glob("tfx-archive-*")}


def test_the_same_bundle_gives_the_same_bytes(bundle: Path, archive: Path, tmp_path: Path) -> None:
    assert pack(bundle, tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["again.zip"]


def test_content_is_stored_and_aligned(bundle: Path, archive: Path) -> None:
    data = archive.read_bytes()
    with zipfile.ZipFile(archive) as file:
        assert file.testzip() is None
        assert file.namelist()[0] == "bundle.pb"
        for info in file.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            lengths = struct.unpack_from("<HH", data, info.header_offset + 26)
            begin = info.header_offset + 30 + sum(lengths)
            assert begin % ALIGNMENT == 0
            content = (bundle / info.filename).read_bytes()
            assert data[begin : begin + len(content)] == content


def test_everything_opens_it(archive: Path) -> None:
    before = unpacked()
    with Bundle.open(archive) as opened:
        assert opened.path == archive
        np.testing.assert_allclose(
            opened.call("serving_default", {"x": X})["y"], X @ WEIGHTS, rtol=1e-5
        )
        opened.reload()
    loaded = tf.saved_model.load(archive)
    found = loaded.signatures["serving_default"](x=tf.constant(X))["y"]
    np.testing.assert_allclose(found, X @ WEIGHTS, rtol=1e-5)
    again = pickle.loads(pickle.dumps(loaded.signatures["serving_default"]))
    np.testing.assert_array_equal(again(x=tf.constant(X))["y"], found)
    assert summarize(archive).path == str(archive)
    assert verify(archive).is_ok
    assert tf.saved_model.contains_saved_model(archive)
    del opened, loaded, again
    gc.collect()
    assert unpacked() <= before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_leaves_the_files(archive: Path) -> None:
    unpacked_here = Unpacked(archive)
    child = os.fork()
    if not child:
        unpacked_here.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (unpacked_here.folder / "bundle.pb").is_file()
    unpacked_here.close()
    assert not unpacked_here.folder.exists()


def test_archives_of_something_else_are_not_replaced(
    bundle: Path, archive: Path, tmp_path: Path
) -> None:
    photos = tmp_path / "photos.zip"
    with zipfile.ZipFile(photos, "w") as file:
        file.writestr("cat.png", b"meow")
    before = photos.read_bytes()
    with pytest.raises(AlreadyExistsError, match="no archive of a bundle"):
        pack(bundle, photos)
    assert photos.read_bytes() == before
    (tmp_path / "old.zip").write_bytes(archive.read_bytes())
    assert pack(bundle, tmp_path / "old.zip").read_bytes() == archive.read_bytes()


def test_its_folder_may_be_inside(bundle: Path, tmp_path: Path) -> None:
    """As the web's loader writes it."""
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as file:
        file.writestr("m/", b"")
        for path in bundle.rglob("*"):
            if path.is_file():
                file.write(path, f"m/{path.relative_to(bundle)}")
        file.writestr("m/notes.txt", b"of nobody")
    with opened_folder(tmp_path / "m.zip") as folder:
        assert not (folder / "notes.txt").exists()
        assert verify(folder).is_ok


def test_a_damaged_file_is_named_as_part_of_the_archive(archive: Path, tmp_path: Path) -> None:
    data = bytearray(archive.read_bytes())
    place = data.find(b"serving_default.onnx") + 200
    data[place] ^= 1
    (tmp_path / "m.tfx").write_bytes(data)
    before = unpacked()
    with pytest.raises(BundleError, match=r"m\.tfx is a damaged archive: Bad CRC-32"):
        Bundle.open(tmp_path / "m.tfx")
    assert unpacked() == before


def test_targets(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.tfx").write_text("mine")
    with pytest.raises(AlreadyExistsError, match="exists and is no archive"):
        pack(bundle, tmp_path / "mine.tfx")
    assert (tmp_path / "mine.tfx").read_text() == "mine"
    with pytest.raises(MissingFileError, match="does not exist"):
        pack(tmp_path / "no", tmp_path / "no.tfx")
    assert not is_archive(tmp_path)
    assert not is_archive(tmp_path / "no")
    with pytest.raises(MissingFileError, match="expected the folder or the archive"):
        Bundle.open(tmp_path / "mine.tfx")
    assert [p.name for p in tmp_path.iterdir()] == ["mine.tfx"]


def test_a_full_disk_leaves_nothing(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    before = unpacked()
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        Unpacked(archive)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        pack(archive.parent / "m", tmp_path / "m.tfx")
    assert unpacked() == before
    assert list(tmp_path.iterdir()) == []
