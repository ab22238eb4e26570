"""Disks that are full or read-only: the old bundle stays, and the error says what it was.

A small disk in memory is mounted where that is allowed; elsewhere these tests are skipped, and
those of ``tests/unit/bundle/test_atomic_folder.py`` (injected errors) and of ``test_saving.py``
(limits of the process) stand alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests import source_tree
from tests.crash.killing import Model, check
from tfx.bundle.files import hash_file
from tfx.loaders import Bundle

_SIZE = 3 << 20  # of the disk; a bundle takes 0.8 MiB


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("disks cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def content(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.relative_to(folder).as_posix(): hash_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def free(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def test_a_disk_that_is_full_at_any_point_leaves_the_old_bundle(disk: Path, tmp_path: Path) -> None:
    model = Model(tmp_path)
    target = disk / "m"
    model.save(target)
    needed = _SIZE - free(disk)
    version, refused, saved = 0, 0, 0
    for room in np.linspace(0, needed * 1.1, 28).astype(int):
        filler = disk / "filler"
        filler.write_bytes(bytes(max(free(disk) - int(room), 0)))
        before = content(target)
        model.become(version + 1)
        try:
            model.save(target)
        except tf.errors.ResourceExhaustedError as error:
            assert f"{target}: cannot be written" in str(error)
            assert "No space left on device" in str(error)
            assert content(target) == before
            assert check(target) == version
            refused += 1
        else:
            version += 1
            assert check(target) == version
            saved += 1
        filler.unlink()
        assert [path.name for path in disk.iterdir()] == ["m"]
    assert refused > 15
    assert saved > 0


def test_the_small_reader_saves_onto_a_full_disk(disk: Path, tmp_path: Path) -> None:
    model = Model(tmp_path)
    model.save(disk / "m")
    with Bundle.open(disk / "m") as bundle:
        (disk / "filler").write_bytes(bytes(free(disk) - 100_000))
        bundle.variables["payload/0"] = np.ones(50_000, np.float32)
        for target in (disk / "m", disk / "other"):
            with pytest.raises(tf.errors.ResourceExhaustedError, match="cannot be written"):
                bundle.save(target)
        assert check(disk / "m") == 0
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "m"]
        (disk / "filler").unlink()
        bundle.save(disk / "m")


def test_a_read_only_disk_can_be_read_and_not_written(disk: Path, tmp_path: Path) -> None:
    model = Model(tmp_path)
    model.save(disk / "m")
    before = content(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    model.become(1)
    for target in (disk / "m", disk / "new", disk / "new" / "deep"):
        with pytest.raises(tf.errors.PermissionDeniedError, match="Read-only file system"):
            model.save(target)
    loaded = tf.saved_model.load(disk / "m")
    assert loaded.payload[0].numpy()[0] == 0
    with Bundle.open(disk / "m") as bundle:
        bundle.warmup()
        with pytest.raises(tf.errors.PermissionDeniedError, match="Read-only file system"):
            bundle.save(disk / "m")
    assert content(disk) == before


_AS_NOBODY = """
import os, sys
import tfx as tf
from tests.crash.killing import check
model = tf.Module()
model.v = tf.Variable(1.0)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for target in sys.argv[1:]:
    try:
        tf.saved_model.save(model, target)
    except tf.errors.PermissionDeniedError as error:
        print("Permission denied" in str(error), str(error).startswith(target))
"""


@pytest.mark.skipif(os.name != "posix", reason="has other permissions")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    import tempfile

    model = Model(tmp_path)
    # Not below tmp_path: only its owner may enter that.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "m")
        before = content(folder)
        for path in (folder / "m", folder):
            path.chmod(0o555)
        targets: list[Any] = [folder / "m", folder / "new", folder / "new" / "deep"]
        run = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, *map(str, targets)],
            cwd=source_tree.ROOT,
            capture_output=True,
            text=True,
        )
        for path in (folder, folder / "m"):
            path.chmod(0o755)
        assert run.stdout.split() == ["True", "True"] * 3, run.stderr
        assert content(folder) == before
        assert [path.name for path in folder.iterdir()] == ["m"]
