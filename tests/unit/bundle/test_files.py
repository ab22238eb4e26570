"""Which paths may be opened, and whether a file is the one that was written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tfx.bundle import limits
from tfx.bundle.files import (
    check_path,
    file_entry,
    hash_file,
    locate,
    path_problem,
    read_limited,
    verify_file,
    verify_files,
)
from tfx.bundle.manifest import FileEntry
from tfx.core.errors import BundleError, NotFoundError, PermissionDeniedError

BAD_PATHS = [
    "",
    "/",
    "/etc/passwd",
    "..",
    "../x",
    "a/../../x",
    "a/..",
    ".",
    "./a",
    "a//b",
    "a/",
    "a\\b",
    "..\\x",
    "C:/x",
    "C:x",
    "a:stream",
    "a\0b",
    "a\nb",
    "\u202eknil",
    "\ud800",
    "a./b",
    "a ",
    "nul?",
    "x" * (limits.MAX_PATH_LENGTH + 1),
]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_that_could_leave_the_folder_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"here: path .* is not allowed: it"):
        check_path(path, "here")
    with pytest.raises(BundleError, match="not allowed"):
        locate(tmp_path, path)


@pytest.mark.parametrize(
    "path", ["a", "a/b.onnx", "variables/model.safetensors", "..a", "ä/é", "a b"]
)
def test_ordinary_paths_are_fine(path: str) -> None:
    assert path_problem(path) is None


@given(path=st.text("./\\a:", max_size=8))
def test_no_accepted_path_leaves_the_folder(path: str) -> None:
    if path_problem(path) is None:
        assert os.path.normpath(path) == path
        assert os.path.commonpath([os.path.abspath(path), os.getcwd()]) == os.getcwd()


def test_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/f").write_bytes(b"abc")
    assert locate(tmp_path, "sub/f", size=3) == tmp_path / "sub/f"
    assert locate(str(tmp_path), "sub/f") == tmp_path / "sub/f"


@pytest.mark.parametrize(("size", "what"), [(4, "truncated"), (2, "replaced"), (0, "replaced")])
def test_a_size_that_lies_is_refused(tmp_path: Path, size: int, what: str) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    with pytest.raises(
        BundleError, match=rf"f: it has 3 bytes, the manifest says {size}; .*{what}"
    ):
        locate(tmp_path, "f", size=size)


def test_what_is_missing_or_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="gone: No such file"):
        locate(tmp_path, "gone")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BundleError, match="not a plain file"):
        locate(tmp_path, "folder")
    with pytest.raises(BundleError, match="gone/f: No such file"):
        locate(tmp_path / "gone", "f")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BundleError, match="not a plain file"):
        locate(tmp_path, "pipe")
    with pytest.raises(BundleError, match="not a plain file"):
        read_limited(tmp_path / "pipe", 10)


def test_links_may_stay_inside_and_may_not_leave(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    (bundle / "sub").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"abc")
    (tmp_path / "bundle2").mkdir()
    (tmp_path / "bundle2/f").write_bytes(b"abc")
    (bundle / "f").write_bytes(b"abc")
    (bundle / "inner").symlink_to("f")
    (bundle / "out").symlink_to(tmp_path / "secret")
    (bundle / "up").symlink_to("../secret")
    (bundle / "neighbour").symlink_to("../bundle2")
    (bundle / "loop").symlink_to("loop")
    assert locate(bundle, "inner").read_bytes() == b"abc"
    for path in ("out", "up", "neighbour/f"):
        with pytest.raises(BundleError, match="a link that leads out of the bundle"):
            locate(bundle, path)
    with pytest.raises(BundleError, match="loop"):
        locate(bundle, "loop")


def test_the_bundle_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/f").touch()
    (tmp_path / "link").symlink_to("real")
    assert locate(tmp_path / "link", "f").exists()


def test_entries_describe_files(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "f").write_bytes(data)
    entry = file_entry(tmp_path, "f")
    assert entry == FileEntry("f", len(data), hashlib.sha256(data).digest())
    assert hash_file(tmp_path / "f") == (entry.size, entry.sha256)
    assert verify_file(tmp_path, entry) == tmp_path / "f"
    verify_files(tmp_path, [entry], check_hash=True)


def test_a_changed_byte_is_found_in_small_files_always_and_in_big_ones_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    entry = file_entry(tmp_path, "f")
    (tmp_path / "f").write_bytes(b"abd")
    with pytest.raises(BundleError, match=r"f: its SHA-256 is \w+, the manifest says \w+"):
        verify_file(tmp_path, entry)
    verify_file(tmp_path, entry, check_hash=False)
    monkeypatch.setattr(limits, "HASH_ON_LOAD_BYTES", 2)
    verify_file(tmp_path, entry)
    with pytest.raises(BundleError, match="SHA-256"):
        verify_files(tmp_path, [entry], check_hash=True)


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert read_limited(tmp_path / "f", 3) == b"abc"
    with pytest.raises(BundleError, match="it has 3 bytes, expected at most 2"):
        read_limited(tmp_path / "f", 2)
    with pytest.raises(NotFoundError, match="no such file"):
        read_limited(tmp_path / "g", 2)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").touch(0o000)
    with pytest.raises(PermissionDeniedError, match="f: may not be read"):
        read_limited(tmp_path / "f", 2)
