"""Saving all at once: errors, kills, races, leftovers, and the user's own files."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tfx.bundle import atomic_folder, folder_swap, large_files
from tfx.bundle.atomic_folder import AtomicDirectory, clean_leftovers
from tfx.bundle.files import interrupted_save, verify_files
from tfx.bundle.manifest import (
    Manifest,
    ObjectNode,
    VariableEntry,
    manifest_bytes,
    read_manifest,
)
from tfx.bundle.shards import Store, write_store
from tfx.core.errors import (
    AbortedError,
    AlreadyExistsError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
)

ROOT = Path(__file__).resolve().parents[3]


def write_bundle(folder: Path, version: int, size: int = 1000) -> None:
    """Write a small but whole bundle, each byte of whose weights says which one it is."""
    store = write_store(folder, {"w": np.full(size, version % 256, np.uint8)})
    variable = VariableEntry("w", "uint8", (size,), store.tensors["w"].storage)
    manifest = Manifest(
        "test",
        str(version),
        files=store.files,
        variables=(variable,),
        objects=(ObjectNode("variable", target=0),),
    )
    (folder / "bundle.pb").write_bytes(manifest_bytes(manifest))


def save(target: Path, version: int, size: int = 1000) -> None:
    with AtomicDirectory(target) as folder:
        write_bundle(folder, version, size)


def check_whole(target: Path) -> int:
    """Check every byte of a bundle and return which one it is."""
    manifest = read_manifest(target)
    verify_files(target, manifest.files, check_hash=True)
    version = int(manifest.producer_version)
    value = Store(target).value(manifest.variables[0])
    assert (value == version % 256).all()
    return version


def others(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir() if path != target)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "bundle"


@pytest.fixture(params=["exchange", "renames"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "renames":
        monkeypatch.setattr(folder_swap, "_exchange_call", None)
    return str(request.param)


def test_a_bundle_appears_and_is_replaced_and_nothing_else_is_left(
    target: Path, either_way: str
) -> None:
    for version in (1, 2, 3):
        save(target, version)
        assert check_whole(target) == version
        assert others(target) == []


def test_nothing_is_seen_before_the_block_ends(target: Path) -> None:
    with AtomicDirectory(target) as folder:
        write_bundle(folder, 1)
        assert not target.exists()
        assert folder.parent == target.parent


def test_missing_parents_are_made_and_an_empty_folder_is_taken(tmp_path: Path) -> None:
    save(tmp_path / "a/b/bundle", 1)
    assert check_whole(tmp_path / "a/b/bundle") == 1
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty", 2)
    assert check_whole(tmp_path / "empty") == 2


def test_a_relative_path_means_where_the_block_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with AtomicDirectory("bundle") as folder:
        write_bundle(folder, 1)
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert check_whole(tmp_path / "bundle") == 1


def test_a_link_stays_and_its_folder_is_replaced(tmp_path: Path) -> None:
    save(tmp_path / "real", 1)
    (tmp_path / "link").symlink_to("real")
    save(tmp_path / "link", 2)
    assert (tmp_path / "link").is_symlink()
    assert check_whole(tmp_path / "real") == 2


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_bundle_and_nothing_else(
    target: Path, error: type[BaseException]
) -> None:
    def broken_save() -> None:
        with AtomicDirectory(target) as folder:
            write_bundle(folder, 2)
            raise error

    with pytest.raises(error):
        broken_save()
    assert others(target) == []
    assert not target.exists()
    save(target, 1)
    with pytest.raises(error):
        broken_save()
    assert check_whole(target) == 1
    assert others(target) == []


def test_what_is_no_bundle_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.tex").write_text("precious")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(AlreadyExistsError, match=r"home: a folder that is no bundle .*thesis\.tex"):
        save(tmp_path / "home", 1)
    with pytest.raises(AlreadyExistsError, match="file: a file, expected the path of a folder"):
        save(tmp_path / "file", 1)
    assert (tmp_path / "home/thesis.tex").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "precious"


def test_files_that_appear_while_saving_are_not_replaced(target: Path) -> None:
    with pytest.raises(AlreadyExistsError), AtomicDirectory(target) as folder:
        write_bundle(folder, 1)
        target.mkdir()
        (target / "precious").touch()
    assert os.listdir(target) == ["precious"]


def test_the_users_own_files_are_carried_over_and_the_bundles_are_not(target: Path) -> None:
    with AtomicDirectory(target) as folder:
        store = write_store(folder, {"w": np.zeros(3)}, stem="old")
        manifest = Manifest("t", "1", files=store.files, objects=(ObjectNode("object"),))
        (folder / "bundle.pb").write_bytes(manifest_bytes(manifest))
    (target / "NOTES.md").write_text("mine")
    (target / "logs/deep").mkdir(parents=True)
    (target / "logs/deep/1").write_text("log")
    (target / "latest").symlink_to("logs/deep")
    save(target, 2)
    assert check_whole(target) == 2
    assert (target / "NOTES.md").read_text() == "mine"
    assert (target / "latest/1").read_text() == "log"
    assert not (target / "old.safetensors").exists()


def test_a_damaged_bundle_can_be_saved_over_and_loses_nothing(target: Path) -> None:
    save(target, 1)
    (target / "bundle.pb").write_bytes(b"damaged")
    (target / "NOTES.md").write_text("mine")
    save(target, 2)
    assert check_whole(target) == 2
    assert (target / "NOTES.md").read_text() == "mine"


def test_a_users_file_in_the_way_of_a_folder_does_not_fail_the_save(target: Path) -> None:
    with AtomicDirectory(target) as folder:
        manifest = Manifest("t", "1", objects=(ObjectNode("object"),))
        (folder / "bundle.pb").write_bytes(manifest_bytes(manifest))
    (target / "variables").write_text("mine, but the name is the bundle's")
    save(target, 2)
    assert check_whole(target) == 2


def test_arrays_over_the_old_bundle_stay_as_they_were(target: Path) -> None:
    save(target, 1)
    value = Store(target).value(read_manifest(target).variables[0])
    save(target, 2)
    assert (value == 1).all()


# --- killed ------------------------------------------------------------------------------------

CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.unit.bundle.test_atomic_folder import save, write_bundle
from tfx.bundle import atomic_folder as atomic, folder_swap as swap, large_files as writing
target, stage = Path(sys.argv[1]), sys.argv[2]
def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
if stage == "in the middle of a file":
    real = writing.HashingWriter._write_all
    def half(self, data):
        real(self, data[: len(data) // 2])
        die()
    writing.HashingWriter._write_all = half
elif stage == "between two files":
    import tests.unit.bundle.test_atomic_folder as this
    this.manifest_bytes = die
elif stage == "before the exchange":
    atomic.replace_folder = die
elif stage == "after the exchange":
    atomic.shutil.rmtree = die
elif stage == "between two renames":
    swap._exchange_call = None
    real = os.rename
    def second(a, b):
        real(a, b)
        die()
    os.rename = second
elif stage == "any time":
    print("ready", flush=True)
    version = 2
    while True:
        save(target, version, 300_000)
        version += 1
if stage == "slowly":
    import tests.unit.bundle.test_atomic_folder as this
    real = this.manifest_bytes
    def wait(manifest):
        print("writing", flush=True)
        sys.stdin.readline()
        return real(manifest)
    this.manifest_bytes = wait
try:
    save(target, 2)
except Exception as error:
    print(type(error).__name__)
"""


def run_child(target: Path, stage: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD.format(root=str(ROOT)), str(target), stage],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def kill_at(target: Path, stage: str) -> None:
    with run_child(target, stage) as child:
        assert child.wait(60) == -signal.SIGKILL


needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")


@needs_kill
@pytest.mark.parametrize(
    ("stage", "survivor"),
    [
        ("in the middle of a file", 1),
        ("between two files", 1),
        ("before the exchange", 1),
        ("after the exchange", 2),
    ],
)
def test_a_save_killed_anywhere_leaves_a_whole_bundle(
    target: Path, stage: str, survivor: int
) -> None:
    save(target, 1)
    kill_at(target, stage)
    assert check_whole(target) == survivor
    assert len(others(target)) == 1
    save(target, 3)
    assert check_whole(target) == 3
    assert others(target) == []


@needs_kill
def test_a_first_save_killed_leaves_nothing_to_load_and_is_cleaned_up(target: Path) -> None:
    kill_at(target, "in the middle of a file")
    assert not target.exists()
    save(target, 1)
    assert others(target) == []


@needs_kill
def test_without_exchange_the_old_bundle_is_found_and_put_back(target: Path) -> None:
    save(target, 1)
    kill_at(target, "between two renames")
    assert not target.exists()
    aside = interrupted_save(target)
    assert aside is not None
    assert check_whole(aside) == 1
    with pytest.raises(NotFoundError, match=r"a save was interrupted: rename .*tfx-replaced-"):
        read_manifest(target)
    clean_leftovers(target)
    assert check_whole(target) == 1
    assert interrupted_save(target) is None
    assert others(target) == []


@needs_kill
def test_a_save_killed_at_any_time_leaves_a_whole_bundle(
    target: Path, rng: np.random.Generator
) -> None:
    save(target, 1, 300_000)
    for delay in rng.uniform(0, 0.05, 6):
        with run_child(target, "any time") as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(delay)
            child.kill()
        assert check_whole(target) >= 1
    save(target, 1)
    assert others(target) == []


# --- at the same time ----------------------------------------------------------------------------


def test_of_saves_at_once_one_wins_and_the_others_are_told(target: Path, either_way: str) -> None:
    written: list[int] = []
    told: list[str] = []
    failures: list[BaseException] = []
    start = threading.Barrier(3)

    def saver(first: int) -> None:
        try:
            for version in range(first, first + 20):
                start.wait()
                try:
                    save(target, version)
                    written.append(version)
                except AbortedError as error:
                    told.append(str(error))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=saver, args=(first,)) for first in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(written) + len(told) == 60
    assert {version % 100 for version in written} == set(range(20))  # in each round somebody won
    assert told
    assert all(f"{target}: another save has written it" in text for text in told)
    assert check_whole(target) in {v for v in written if v % 100 == 19}
    clean_leftovers(target)
    assert others(target) == []


def test_of_two_processes_that_save_one_wins_and_the_other_is_told(target: Path) -> None:
    save(target, 1)
    with run_child(target, "slowly") as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "writing\n"
        save(target, 3)
        assert child.stdin is not None
        child.stdin.write("go on\n")
        child.stdin.close()
        assert child.stdout.readline().startswith("AbortedError")
        assert child.wait(60) == 0
    assert check_whole(target) == 3
    assert others(target) == []


@pytest.mark.skipif(folder_swap._exchange_call is None, reason="needs the exchange of folders")
def test_a_reader_beside_a_saver_always_finds_a_bundle(target: Path) -> None:
    save(target, 1)
    stop = threading.Event()

    def saver() -> None:
        version = 2
        while not stop.is_set():
            save(target, version)
            version += 1

    thread = threading.Thread(target=saver)
    thread.start()
    try:
        for _ in range(200):
            assert read_manifest(target).producer == "test"
    finally:
        stop.set()
        thread.join()


def test_a_save_that_goes_on_is_not_cleaned_away_by_another(target: Path) -> None:
    with pytest.raises(AbortedError), AtomicDirectory(target) as folder:
        write_bundle(folder, 1)
        save(target, 2)
        clean_leftovers(target)
        assert folder.exists()
    assert check_whole(target) == 2
    assert others(target) == []


def test_a_target_that_is_removed_meanwhile_is_no_conflict(target: Path) -> None:
    save(target, 1)
    with AtomicDirectory(target) as folder:
        write_bundle(folder, 2)
        shutil.rmtree(target)
    assert check_whole(target) == 2


# --- no room, no permission ----------------------------------------------------------------------


@pytest.mark.parametrize("where", ["file", "manifest", "sync", "exchange", "folder"])
@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, ResourceExhaustedError),
        (errno.EDQUOT, ResourceExhaustedError),
        (errno.EROFS, PermissionDeniedError),
        (errno.EACCES, PermissionDeniedError),
        (errno.EIO, OSError),
    ],
    ids=["full", "quota", "read-only", "denied", "broken"],
)
def test_what_a_disk_refuses_leaves_the_old_bundle(
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    number: int,
    kind: type[Exception],
) -> None:
    save(target, 1)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "the disk")

    places = {
        "file": (large_files.HashingWriter, "_write_all"),
        "manifest": (Path, "write_bytes"),
        "sync": (os, "fsync"),
        "exchange": (atomic_folder, "replace_folder"),
        "folder": (Path, "mkdir"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*places[where], refuse)
        with pytest.raises(kind, match=re.escape(os.strerror(number))) as caught:
            save(target, 2)
    if number != errno.EIO:
        assert str(caught.value).startswith(f"{target}: cannot be written (the disk: ")
    assert check_whole(target) == 1
    assert others(target) == []
    save(target, 2)
    assert check_whole(target) == 2


def test_leftovers_of_other_targets_are_left_alone(tmp_path: Path) -> None:
    for name in (".bundle2.tfx-saving-1-a", ".b[u]ndle.tfx-saving-1-a"):
        (tmp_path / name).mkdir()
    (tmp_path / ".bundle.tfx-saving-1-a").mkdir()
    save(tmp_path / "bundle", 1)
    assert others(tmp_path / "bundle") == [".b[u]ndle.tfx-saving-1-a", ".bundle2.tfx-saving-1-a"]
    save(tmp_path / "b[u]ndle", 1)
    assert not (tmp_path / ".b[u]ndle.tfx-saving-1-a").exists()


def test_where_there_are_no_locks_only_old_leftovers_go(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_folder, "_lock_folder", lambda folder: -1)
    for name, age in (("young", 10.0), ("old", 1e6)):
        leftover = target.parent / f".bundle.tfx-saving-1-{name}"
        leftover.mkdir()
        os.utime(leftover, (time.time() - age,) * 2)
    save(target, 1)
    assert others(target) == [".bundle.tfx-saving-1-young"]
