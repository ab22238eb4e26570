"""Hostile archives are refused with the entry and the reason, before anything is written."""

from __future__ import annotations

import os
import stat
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import tfx as tf
from tests.unit.loaders.models import save
from tfx.bundle import limits
from tfx.bundle.archive import pack
from tfx.core.errors import BundleError
from tfx.loaders import Bundle, summarize, verify

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> Files:
    folder = save(tmp_path_factory.mktemp("honest") / "m")
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: Any) -> bytes:
    folder = save(tmp_path_factory.mktemp("packed") / "m")
    return pack(folder, folder.parent / "m.tfx").read_bytes()


def write(path: Path, files: Files, *more: tuple[Any, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        for info, data in more:
            archive.writestr(info, data)


def entry(name: str, mode: int = 0o644 | stat.S_IFREG, kind: int = zipfile.ZIP_STORED) -> Any:
    info = zipfile.ZipInfo(name)
    info.external_attr, info.compress_type = mode << 16, kind
    return info


LINK = stat.S_IFLNK | 0o777
EXTRA: dict[str, tuple[Any, bytes, str]] = {
    "parent": (entry("../evil"), b"x", r"'\.\./evil' is refused: its path is not allowed"),
    "inner parent": (entry("a/../../evil"), b"x", "not allowed"),
    "absolute": (entry("/tmp/evil"), b"x", "it is absolute"),
    "drive": (entry("C:evil"), b"x", "not allowed"),
    "backslash": (entry("a\\..\\evil"), b"x", "not allowed"),
    "dot": (entry("./evil"), b"x", "not allowed"),
    "link": (entry("variables/link", LINK), b"/etc/passwd", "link or a device"),
    "device": (entry("tape", stat.S_IFCHR | 0o666), b"", "link or a device"),
    "pipe": (entry("pipe", stat.S_IFIFO | 0o666), b"", "link or a device"),
    "folder by mode": (entry("folder", stat.S_IFDIR | 0o755), b"", "link or a device"),
    "folder with content": (entry("folder/"), b"x", "a folder that has content"),
    "deflated": (entry("more", kind=zipfile.ZIP_DEFLATED), b"x" * 99, "it is compressed"),
    "bomb": (entry("bomb", kind=zipfile.ZIP_DEFLATED), bytes(1 << 24), "it is compressed"),
    "other method": (entry("more", kind=zipfile.ZIP_LZMA), b"x" * 99, "it is compressed"),
    "other case": (entry("BUNDLE.PB"), b"x", "it is there twice"),
    "control character": (entry("a\x01b"), b"x", "not allowed"),
    "long": (entry("a" * 2000), b"x", "2000 characters"),
}


def refused(path: Path, why: str) -> None:
    """All readers refuse it, and nothing is left of it."""
    around = sorted(path.parent.rglob("*"))
    readers: list[Callable[[Any], Any]] = [Bundle.open, tf.saved_model.load, summarize, verify]
    # A folder of its own: other processes open archives in the usual one.
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
        for reader in readers:
            with pytest.raises(BundleError, match=why) as found:
                reader(path)
            assert path.name in str(found.value)
        assert not os.listdir(folder)
    assert sorted(path.parent.rglob("*")) == around


@pytest.mark.parametrize("name", EXTRA)
def test_entries(files: Files, tmp_path: Path, name: str) -> None:
    info, data, why = EXTRA[name]
    write(tmp_path / "m.tfx", files, (info, data))
    refused(tmp_path / "m.tfx", why)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_same_name_twice(files: Files, tmp_path: Path) -> None:
    write(tmp_path / "m.tfx", files, (entry("bundle.pb"), files["bundle.pb"]))
    refused(tmp_path / "m.tfx", "'bundle.pb' is refused: it is there twice")


def test_a_name_that_is_cut(files: Files, tmp_path: Path) -> None:
    write(tmp_path / "m.tfx", files, (entry("harmless_name"), b"x"))
    data = (tmp_path / "m.tfx").read_bytes().replace(b"harmless_name", b"bundle.pb\0abc")
    (tmp_path / "m.tfx").write_bytes(data)
    refused(tmp_path / "m.tfx", "is refused")


def central(data: bytes, name: bytes) -> int:
    """Where an entry of the list at the end begins."""
    return data.rindex(name) - 46


@pytest.mark.parametrize(
    ("offset", "form", "number", "why"),
    [
        (24, "<I", 1 << 30, "stored bytes cannot be a file of"),
        (20, "<I", 1 << 30, "stored bytes cannot be a file of"),
        (8, "<H", 1, "encrypted"),
        (42, "<I", 1 << 30, "truncated|damaged"),
        (42, "<I", 0, "overlap"),
    ],
    ids=["unpacked size", "stored size", "encrypted", "beyond the end", "overlapping"],
)
def test_lying_lists(
    honest: bytes, tmp_path: Path, offset: int, form: str, number: int, why: str
) -> None:
    data = bytearray(honest)
    struct.pack_into(form, data, central(honest, b"variables/model.safetensors") + offset, number)
    (tmp_path / "m.tfx").write_bytes(data)
    refused(tmp_path / "m.tfx", why)


def test_both_sizes_lie(honest: bytes, tmp_path: Path) -> None:
    data = bytearray(honest)
    place = central(honest, b"variables/model.safetensors")
    struct.pack_into("<II", data, place + 20, 1 << 31, 1 << 31)
    (tmp_path / "m.tfx").write_bytes(data)
    refused(tmp_path / "m.tfx", "overlap|truncated")
    data = bytearray(honest)
    struct.pack_into("<II", data, place + 20, 8, 8)
    (tmp_path / "m.tfx").write_bytes(data)
    refused(tmp_path / "m.tfx", "has 8 bytes, the manifest says")


def test_local_headers_that_say_something_else(honest: bytes, tmp_path: Path) -> None:
    place = honest.index(b"variables/model.safetensors")
    data = bytearray(honest)
    data[place : place + 1] = b"w"
    (tmp_path / "m.tfx").write_bytes(data)
    refused(tmp_path / "m.tfx", "damaged archive")


def test_giant_lists(honest: bytes, tmp_path: Path) -> None:
    data = bytearray(honest)
    end = data.rindex(b"PK\x05\x06")
    struct.pack_into("<I", data, end + 12, limits.MAX_ARCHIVE_DIRECTORY_BYTES + 1)
    (tmp_path / "m.tfx").write_bytes(data)
    refused(tmp_path / "m.tfx", "list of entries")


def test_giant_lists_whose_size_has_64_bits(
    honest: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short number says 10 bytes; the long one, which Python's reader follows, is true."""
    end = honest.rindex(b"PK\x05\x06")
    count, size, begin = struct.unpack_from("<HII", honest, end + 10)
    large = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, begin)
    where = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, 10, begin, 0)
    (tmp_path / "m.tfx").write_bytes(honest[:end] + large + where + last)
    with Bundle.open(tmp_path / "m.tfx") as bundle:
        assert bundle.signatures
    monkeypatch.setattr(limits, "MAX_ARCHIVE_DIRECTORY_BYTES", size - 1)
    refused(tmp_path / "m.tfx", "list of entries")


def test_what_is_missing(files: Files, tmp_path: Path) -> None:
    write(tmp_path / "a.tfx", {n: d for n, d in files.items() if n != "bundle.pb"})
    refused(tmp_path / "a.tfx", "has no bundle.pb")
    write(tmp_path / "b.tfx", {n: d for n, d in files.items() if "variables" not in n})
    refused(tmp_path / "b.tfx", "lacks 'variables/model.safetensors'")
    both = {f"{folder}/{n}": d for folder in "ab" for n, d in files.items()}
    write(tmp_path / "c.tfx", both)
    refused(tmp_path / "c.tfx", "has 2 bundles")
    write(tmp_path / "d.tfx", {"d/deep/bundle.pb": files["bundle.pb"]})
    refused(tmp_path / "d.tfx", "has no bundle.pb")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_cut_archives(honest: bytes, tmp_path: Path, share: float) -> None:
    (tmp_path / "m.tfx").write_bytes(honest[: int(len(honest) * share)])
    refused(tmp_path / "m.tfx", "damaged|truncated|overlap")


def test_random_damage(honest: bytes, tmp_path: Path) -> None:
    """Whatever byte is another one: an error for users, or what was saved."""
    import random

    rng = random.Random(0)
    path = tmp_path / "m.tfx"
    lists = len(honest) - honest.rindex(b"PK\x05\x06") + 46 * 8
    for i in range(120):
        data = bytearray(honest)
        place = rng.randrange(len(honest)) if i % 2 else len(honest) - 1 - rng.randrange(lists)
        data[place] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        try:
            with Bundle.open(path, verify=True) as bundle:
                assert bundle.signatures
        except tf.errors.OpError:
            pass
    assert [p.name for p in tmp_path.iterdir()] == ["m.tfx"]
    assert os.path.getsize(path) == len(honest)
