"""Files written and hashed at once."""

from __future__ import annotations

import errno
import hashlib
import zlib
from pathlib import Path

import numpy as np
import pytest

from tfx.bundle import large_files, piece_checksums
from tfx.bundle.large_files import HashingWriter
from tfx.bundle.piece_checksums import PieceSums
from tfx.core.errors import AlreadyExistsError

MIB = 1 << 20


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece_checksums, "PIECE", MIB)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "f"


def write(path: Path, sizes: list[int], rng: np.random.Generator) -> tuple[bytes, bytes]:
    parts = [rng.bytes(size) for size in sizes]
    digest, pieces = hashlib.sha256(), PieceSums()
    with HashingWriter(str(path)) as file:
        for part in parts:
            file.write(memoryview(part), digest, pieces)
    data = b"".join(parts)
    expected = [zlib.crc32(data[i : i + MIB]) for i in range(0, len(data), MIB)]
    assert list(pieces.sums()) == expected
    return data, digest.digest()


@pytest.mark.parametrize(
    "sizes", [[], [0], [3], [MIB - 1, MIB, MIB + 1], [5, 7 * MIB + 3, 0, 2, 3 * MIB]]
)
def test_bytes_and_hash_are_right_whatever_the_pieces(
    path: Path, sizes: list[int], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_files, "_PIECE", MIB)
    monkeypatch.setattr(large_files, "_BEHIND", 1)
    monkeypatch.setattr(large_files, "_FLUSH_EVERY", 2 * MIB)
    data, digest = write(path, sizes, rng)
    assert path.read_bytes() == data
    assert digest == hashlib.sha256(data).digest()


def test_the_disk_begins_before_the_end(
    path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[int, ...]] = []
    monkeypatch.setattr(large_files, "_flush", lambda *place: flushed.append(place[1:]))
    monkeypatch.setattr(large_files, "_FLUSH_EVERY", MIB)
    with HashingWriter(str(path)) as file:
        file.write(memoryview(rng.bytes(MIB + 3)))
    assert flushed == [(0, MIB + 3)]


def test_the_system_can_be_told_to_begin(path: Path) -> None:
    path.write_bytes(b"x" * 5000)
    with path.open("rb+") as file:
        large_files._flush(file.fileno(), 0, 5000)
    assert path.read_bytes() == b"x" * 5000


def test_a_sum_that_fails_is_not_overlooked(path: Path) -> None:
    class Failing:
        def update(self, data: memoryview) -> None:
            raise ArithmeticError("no sum")

    for size in (3, 2 * MIB):
        with pytest.raises(ArithmeticError, match="no sum"), HashingWriter(str(path)) as file:
            file.write(memoryview(bytes(size)), Failing())
        path.unlink()


def test_an_existing_file_is_refused_and_untouched(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(AlreadyExistsError, match="there is such a file"):
        HashingWriter(str(path))
    assert path.read_bytes() == b"precious"


def test_a_disk_that_fails_in_the_background_is_not_overlooked(
    path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, begin: int, length: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(large_files, "_flush", full)
    monkeypatch.setattr(large_files, "_FLUSH_EVERY", MIB)
    with pytest.raises(OSError, match="No space left"):
        write(path, [MIB], rng)


def test_an_error_in_the_block_is_raised_and_the_file_closed(path: Path) -> None:
    with pytest.raises(KeyError), HashingWriter(str(path)) as file:
        raise KeyError
    with pytest.raises(ValueError, match="closed"):
        file.write(memoryview(b"x"))
