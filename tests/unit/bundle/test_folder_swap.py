"""Exchanging folders, with and without the system's help."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tfx.bundle import folder_swap
from tfx.bundle.folder_swap import exchange, replace_folder
from tfx.core.errors import UnavailableError


def folder(path: Path, content: str) -> Path:
    path.mkdir()
    (path / "f").write_text(content)
    return path


@pytest.fixture(params=["exchange", "renames"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with what the system has, and as if it had nothing."""
    if request.param == "renames":
        monkeypatch.setattr(folder_swap, "_exchange_call", None)
    return str(request.param)


def test_a_new_folder_moves_to_a_free_path(tmp_path: Path, either_way: str) -> None:
    new = folder(tmp_path / "new", "new")
    assert replace_folder(new, tmp_path / "target", tmp_path / "aside") is None
    assert (tmp_path / "target/f").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["target"]


def test_a_folder_is_replaced_and_the_old_one_is_handed_back(
    tmp_path: Path, either_way: str
) -> None:
    new, target = folder(tmp_path / "new", "new"), folder(tmp_path / "target", "old")
    rest = replace_folder(new, target, tmp_path / "aside")
    assert (target / "f").read_text() == "new"
    assert rest is not None
    assert (rest / "f").read_text() == "old"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="another system")
def test_linux_exchanges_in_one_step(tmp_path: Path) -> None:
    assert exchange(folder(tmp_path / "a", "a"), folder(tmp_path / "b", "b"))
    assert (tmp_path / "a/f").read_text() == "b"
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "a", tmp_path / "gone")


def test_a_file_system_that_cannot_exchange_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(one: bytes, other: bytes) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(folder_swap, "_exchange_call", refuse)
    new, target = folder(tmp_path / "new", "new"), folder(tmp_path / "target", "old")
    assert replace_folder(new, target, tmp_path / "aside") == tmp_path / "aside"
    assert (target / "f").read_text() == "new"


def test_a_rename_that_fails_halfway_puts_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, target = folder(tmp_path / "new", "new"), folder(tmp_path / "target", "old")
    real = os.rename

    def fail_on_new(source: Any, destination: Any) -> None:
        if Path(source) == new:
            raise OSError(errno.EIO, "disk on fire")
        real(source, destination)

    monkeypatch.setattr(folder_swap, "_exchange_call", None)
    monkeypatch.setattr(os, "rename", fail_on_new)
    with pytest.raises(UnavailableError, match=r"disk on fire.*nothing was changed"):
        replace_folder(new, target, tmp_path / "aside")
    assert (target / "f").read_text() == "old"
    assert not (tmp_path / "aside").exists()


def test_a_target_that_appears_meanwhile_is_replaced_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, target = folder(tmp_path / "new", "new"), tmp_path / "target"
    real = os.rename
    calls: list[Any] = []

    def race(source: Any, destination: Any) -> None:
        if not calls:
            folder(target, "of another save")
        calls.append(source)
        real(source, destination)

    monkeypatch.setattr(os, "rename", race)
    rest = replace_folder(new, target, tmp_path / "aside")
    assert rest is not None
    assert (rest / "f").read_text() == "of another save"
    assert (target / "f").read_text() == "new"


def test_others_that_never_stop_are_given_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(source: Any, destination: Any) -> None:
        raise OSError(errno.ENOTEMPTY, "busy")

    monkeypatch.setattr(os, "rename", busy)
    with pytest.raises(UnavailableError, match="100 times"):
        replace_folder(folder(tmp_path / "new", ""), tmp_path / "target", tmp_path / "aside")
