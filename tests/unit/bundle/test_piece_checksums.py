"""Sums of pieces, of data that comes in parts and of mapped files."""

from __future__ import annotations

import mmap
import zlib
from pathlib import Path

import numpy as np
import pytest

from tfx.bundle import piece_checksums
from tfx.bundle.piece_checksums import Comparison, PieceSums, piece_count

PIECE = 4096


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece_checksums, "PIECE", PIECE)


def expected(data: bytes) -> tuple[int, ...]:
    return tuple(zlib.crc32(data[i : i + PIECE]) for i in range(0, len(data), PIECE))


def test_the_check_value_that_is_published() -> None:
    made = PieceSums()
    made.update(memoryview(b"123456789"))
    assert made.sums() == (0xCBF43926,)


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 77])
def test_the_parts_do_not_matter(size: int, rng: np.random.Generator) -> None:
    data = rng.bytes(size)
    for step in (1 + size // 7, PIECE, 3 * PIECE + 5, size + 1):
        made = PieceSums()
        for begin in range(0, size, step):
            made.update(memoryview(data)[begin : begin + step])
        assert made.sums() == expected(data)
    assert piece_count(size) == len(expected(data))


def mapped(path: Path, data: bytes) -> mmap.mmap:
    path.write_bytes(data)
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_each_piece_is_compared_once_and_only_where_it_is_used(
    tmp_path: Path,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    keep: bool,
) -> None:
    monkeypatch.setattr(piece_checksums, "_THREADS", threads)
    data = rng.bytes(6 * PIECE + 10)
    seen: list[int] = []
    real = Comparison._sum

    def noted(self: Comparison, view: memoryview, number: int, keep: bool) -> int:
        seen.append(number)
        return real(self, view, number, keep)

    monkeypatch.setattr(Comparison, "_sum", noted)
    comparison = Comparison(mapped(tmp_path / "f", data), expected(data))
    assert comparison.compare([(PIECE - 1, 2), (3 * PIECE, PIECE), (5, 0)], keep=keep) is None
    assert sorted(seen) == [0, 1, 3]
    assert comparison.compare([(0, 2 * PIECE)], keep=keep) is None
    assert len(seen) == 3
    assert not comparison.complete
    assert comparison.compare([(0, len(data))], keep=keep) is None
    assert sorted(seen) == list(range(7))
    assert comparison.complete


def test_what_is_wrong_stays_wrong(tmp_path: Path, rng: np.random.Generator) -> None:
    data = bytearray(rng.bytes(3 * PIECE))
    right = expected(bytes(data))
    data[PIECE + 7] ^= 16
    comparison = Comparison(mapped(tmp_path / "f", bytes(data)), right)
    for _ in range(2):
        assert comparison.compare([(0, 3 * PIECE)], keep=True) == (1, expected(bytes(data))[1])
    assert comparison.compare([(2 * PIECE, 1)], keep=True) is None
