"""A bundle that is saved over while it is opened comes out whole: the old one or the new one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.bundle.manifest import MANIFEST_NAME
from tfx.core.errors import BundleError, MissingFileError
from tfx.loaders import Bundle, open_files
from tfx.loaders.consistent_open import ATTEMPTS, open_consistently

SMALL, LARGE = 8, 1 << 21


class Line(tf.Module):
    def __init__(self, version: float, size: int) -> None:
        super().__init__()
        self.w = tf.Variable(tf.fill([size], float(version)))

    @tf.function(input_signature=[])
    def ends(self) -> Any:
        return {"first": self.w[0], "last": self.w[-1]}


def save(version: float, folder: Path, size: int = SMALL) -> None:
    options = tf.saved_model.SaveOptions(examples=False)
    tf.saved_model.save(Line(version, size), folder, options=options)


def with_bundle(folder: Path) -> list[float]:
    with Bundle.open(folder) as bundle:
        found = bundle.call("serving_default")
        return [*map(float, found.values()), float(bundle.variables["w"][0])]


def with_reload(folder: Path) -> list[float]:
    other = folder.parent / "other"
    save(
        0.0,
        other,
        SMALL if (folder / "variables/model.safetensors").stat().st_size < 1e6 else LARGE,
    )
    with Bundle.open(other) as bundle:
        bundle.reload(folder)
        return list(map(float, bundle.call("serving_default").values()))


def with_load(folder: Path) -> list[float]:
    loaded = tf.saved_model.load(folder)
    return [*map(float, loaded.ends().values()), float(loaded.w[0])]


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("use", [with_bundle, with_reload, with_load])
def test_a_save_between_the_files(
    use: Any, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest of one save and the weights of another would be taken for damage."""
    folder = tmp_path / "m"
    save(1.0, folder, size)
    reading, left = open_files.read_manifest, [2]

    def read(path: Path) -> Any:
        manifest = reading(path)
        if Path(path) == folder and left[0]:
            left[0] -= 1
            save(3.0 - left[0], folder, size)
        return manifest

    monkeypatch.setattr(open_files, "read_manifest", read)
    assert set(use(folder)) == {3.0}
    assert left == [0]


def test_opened_while_another_thread_saves(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    save(0.0, folder)
    done = threading.Event()
    errors: list[Exception] = []

    def serve() -> None:
        try:
            while not done.is_set():
                assert len(set(with_bundle(folder))) == 1
        except Exception as e:
            errors.append(e)

    thread = threading.Thread(target=serve)
    thread.start()
    for version in range(25):
        save(float(version), folder)
    done.set()
    thread.join()
    assert errors == []


def test_what_is_damaged_is_not_tried_again(tmp_path: Path) -> None:
    save(1.0, tmp_path / "m")
    tries: list[int] = []

    def damaged() -> None:
        tries.append(1)
        raise BundleError("damaged")

    with pytest.raises(BundleError, match="damaged"):
        open_consistently(tmp_path / "m", damaged)
    assert len(tries) == 1
    with pytest.raises(MissingFileError):
        Bundle.open(tmp_path / "nowhere")


def test_a_save_without_an_end_is_not_waited_for(tmp_path: Path) -> None:
    tries: list[int] = []

    def replaced() -> int:
        tries.append(1)
        (tmp_path / MANIFEST_NAME).write_bytes(np.random.default_rng(len(tries)).bytes(9))
        (tmp_path / MANIFEST_NAME).rename(tmp_path / "old")
        (tmp_path / MANIFEST_NAME).write_bytes(b"new")
        return len(tries)

    assert open_consistently(tmp_path, replaced) == ATTEMPTS
