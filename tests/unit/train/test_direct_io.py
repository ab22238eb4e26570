"""Values that come straight from the disk are those that come the usual way, or none at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.unit.train.objects import module, v
from tfx.core.errors import BundleError
from tfx.framework.variable import Variable
from tfx.train import Checkpoint, load_checkpoint
from tfx.train.direct_io import BLOCK, Direct, room

RNG = np.random.default_rng(7)
SIZE = 3 << 20
# Two pieces, one that ends within a block, one too small, one of a single piece.
SHAPES = [(1 << 18) + 5, (5 << 20) + 16, 3, (2 << 18) + 16]


@pytest.fixture
def data(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """A file whose last block is not full, and its bytes."""
    content = RNG.integers(0, 256, SIZE + 1000, np.uint8)
    (tmp_path / "f").write_bytes(content.tobytes())
    return tmp_path / "f", content


@pytest.fixture
def straight(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nothing counts as cached; the numbers of bytes that came straight from the disk."""
    came: list[int] = []
    fill = Direct.fill

    def noted(self: Direct, block: memoryview, offset: int) -> int:
        came.append(fill(self, block, offset))
        return came[-1]

    monkeypatch.setattr(Direct, "is_cached", lambda self, offset: False)
    monkeypatch.setattr(Direct, "fill", noted)
    return came


def _available(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except (AttributeError, OSError):
        return False
    return True


def _values() -> list[np.ndarray]:
    return [RNG.standard_normal(n, np.float32) for n in SHAPES]


def _zeros() -> list[Variable]:
    return [v(np.zeros(n, np.float32)) for n in SHAPES]


def _descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.parametrize("offset", [0, 64, 4032, BLOCK, BLOCK + 64, 99_968])
@pytest.mark.parametrize("short", [0, 1, 1000, 5000])
def test_reads_any_part(data: tuple[Path, np.ndarray], offset: int, short: int) -> None:
    path, content = data
    expected = content[offset : len(content) - short]
    buffer = room(len(expected), offset)
    assert (buffer.ctypes.data - offset) % BLOCK == 0
    with path.open("rb") as file, Direct(file.fileno()) as way:
        count = way.fill(buffer.data, offset)
        assert count == (len(expected) if _available(path) else 0)
    np.testing.assert_array_equal(buffer[:count], expected[:count])


def test_stops_at_the_end_of_the_file(data: tuple[Path, np.ndarray]) -> None:
    path, content = data
    buffer = room(2 * SIZE, 64)
    with path.open("rb") as file, Direct(file.fileno()) as way:
        count = way.fill(buffer.data, 64)
    assert count == (len(content) - 64 if _available(path) else 0)


def test_what_does_not_fit(data: tuple[Path, np.ndarray]) -> None:
    with data[0].open("rb") as file, Direct(file.fileno()) as way:
        assert way.fits(room(SIZE, 64).data, 64) == _available(data[0])
        assert not way.fits(room(SIZE, 64).data, 128)
        assert not way.fits(room(1000, 64).data, 64)
        assert not way.fits(None, 64)
        # A file of another program may have its values anywhere: memory is aligned all the same.
        assert room(SIZE, 8).ctypes.data % 16 == 0


def test_a_block_that_was_asked_about_is_not_cached(data: tuple[Path, np.ndarray]) -> None:
    path, _ = data
    if not _available(path):
        pytest.skip("this file system has no direct reads")
    with path.open("rb") as file, Direct(file.fileno()) as way:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if way.is_cached(BLOCK):
            pytest.skip("this file system keeps what it has, or does not tell")
        way.fill(room(SIZE, 0).data, 0)
        for _ in range(100):
            way.forget(BLOCK + 5)
            if not way.is_cached(BLOCK + 7):
                break
        else:
            pytest.fail("the question has brought the block into the cache for good")


def test_a_restore(tmp_path: Path, straight: list[int]) -> None:
    values = _values()
    written = Checkpoint(model=module(w=[v(x) for x in values])).write(tmp_path / "c")
    weights = _zeros()
    model = module(w=weights)
    before = _descriptors()
    for _ in range(3):
        Checkpoint(model=model).read(written).assert_consumed()
    assert _descriptors() == before
    for variable, x in zip(weights, values, strict=True):
        np.testing.assert_array_equal(variable.numpy(), x)
    great = 3 * sum(4 * n for n in SHAPES if 4 * n >= 1 << 20)
    assert sum(straight) == (great if _available(tmp_path / "c.safetensors") else 0)


def _refuses(descriptors: set[int]) -> Callable[..., int]:
    read = os.preadv

    def preadv(descriptor: int, buffers: list[memoryview], offset: int, flags: int = 0) -> int:
        if descriptor in descriptors:
            raise OSError(errno.EINVAL, "blocks are greater here")
        return read(descriptor, buffers, offset, flags)

    return preadv


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="no direct reads on this system")
@pytest.mark.parametrize("what", ["open", "read"])
def test_where_it_fails_the_usual_way_is_taken(
    tmp_path: Path, straight: list[int], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    values = _values()
    written = Checkpoint(model=module(w=[v(x) for x in values])).write(tmp_path / "c")
    refused: set[int] = set()
    again = Direct._again

    def opened(self: Direct, descriptor: int, flags: int) -> int:
        if what == "open" and flags:
            raise OSError(errno.EINVAL, "no such flag here")
        found = again(self, descriptor, flags)
        if flags:
            refused.add(found)
        return found

    monkeypatch.setattr(Direct, "_again", opened)
    monkeypatch.setattr(os, "preadv", _refuses(refused))
    weights = _zeros()
    model = module(w=weights)
    Checkpoint(model=model).read(written).assert_consumed()
    assert sum(straight) == 0
    for variable, x in zip(weights, values, strict=True):
        np.testing.assert_array_equal(variable.numpy(), x)


def test_damage_is_found(tmp_path: Path, straight: list[int]) -> None:
    written = Checkpoint(model=module(w=[v(x) for x in _values()])).write(tmp_path / "c")
    file = tmp_path / "c.safetensors"
    whole = file.read_bytes()
    begin = len(whole) - sum(4 * n for n in SHAPES)
    places = [begin, begin + 4096, len(whole) - 1, *RNG.integers(begin, len(whole), 5)]
    weights = _zeros()
    model = module(w=weights)
    for place in map(int, places):
        with file.open("r+b") as damaged:
            damaged.seek(place)
            damaged.write(bytes([whole[place] ^ 1]))
        with pytest.raises(BundleError, match="CRC-32"):
            Checkpoint(model=model).read(written)
        with file.open("r+b") as damaged:
            damaged.seek(place)
            damaged.write(whole[place : place + 1])
    assert not any(variable.numpy().any() for variable in weights)
    assert any(straight) == _available(file)


def test_a_file_that_was_cut_while_it_was_open(tmp_path: Path, straight: list[int]) -> None:
    Checkpoint(w=v(np.ones(5 << 18, np.float32))).write(tmp_path / "c")
    with load_checkpoint(tmp_path / "c") as reader:
        os.truncate(tmp_path / "c.safetensors", 3 << 20)
        with pytest.raises(BundleError, match=r"cut|changed|ends"):
            reader.get_tensor("w")
    assert any(straight) == _available(tmp_path / "c.safetensors")
