"""CRC-32s: what they cover, and reading values one by one."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.train.objects import module, one_of_each_dtype, v
from tfx.bundle import piece_checksums
from tfx.bundle.safetensors import open_safetensors
from tfx.core.errors import BundleError
from tfx.train import Checkpoint, CheckpointOptions, files, load_checkpoint, reader
from tfx.train import values as payload
from tfx.train.piece_checksums import CHECKSUM_KEY, blank_text, parse_checksums


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every file a large one, of several pieces."""
    monkeypatch.setattr(reader.limits, "HASH_ON_LOAD_BYTES", 0)
    monkeypatch.setattr(piece_checksums, "PIECE", 64)
    monkeypatch.setattr(payload, "_READ_IN_THREADS", 32)
    monkeypatch.setattr(payload, "_CHUNK", 48)


def saved(folder: Path) -> Path:
    model = module(a=v(np.arange(100, dtype=np.float32)), b=v([1, 2, 3]), c=v(["x", "yz"]))
    return Path(Checkpoint(m=model).write(folder / "c") + ".safetensors")


def blank() -> Any:
    return module(a=v(np.zeros(100, np.float32)), b=v([0, 0, 0]), c=v(["", ""]))


def test_every_dtype_comes_back(tmp_path: Path) -> None:
    values = one_of_each_dtype()
    before = {name: x.numpy() for name, x in values.items()}
    checkpoint = Checkpoint(v=values)
    checkpoint.read(checkpoint.write(tmp_path / "c")).assert_consumed()
    for name, x in values.items():
        np.testing.assert_array_equal(x.numpy(), before[name], err_msg=name)


def test_no_flipped_byte_gets_into_a_variable(tmp_path: Path, rng: np.random.Generator) -> None:
    path = saved(tmp_path)
    good = path.read_bytes()
    length = int.from_bytes(good[:8], "little")
    for place in [*rng.integers(0, len(good), 250), *range(8 + length, len(good), 7)]:
        data = bytearray(good)
        data[place] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        model = blank()
        with pytest.raises(BundleError):
            Checkpoint(m=model).read(tmp_path / "c")
        assert not model.a.numpy().any()
        assert not model.b.numpy().any()


def test_a_file_that_is_cut_while_it_is_open(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with load_checkpoint(path) as opened:
        os.truncate(path, path.stat().st_size - 40)
        with pytest.raises(BundleError, match="cut while it was open"):
            opened.arrays(opened.keys())


def test_restored_values_do_not_hang_on_the_file(tmp_path: Path) -> None:
    path = saved(tmp_path)
    model = blank()
    Checkpoint(m=model).read(tmp_path / "c").assert_consumed()
    path.write_bytes(b"\0" * path.stat().st_size)
    np.testing.assert_array_equal(model.a.numpy(), np.arange(100, dtype=np.float32))


def test_one_value_is_read_without_the_others(tmp_path: Path) -> None:
    path = saved(tmp_path)
    data = bytearray(path.read_bytes())
    with load_checkpoint(path) as opened:
        place = opened.entry("m/a").offset
    data[place + 5] ^= 1
    path.write_bytes(data)
    with load_checkpoint(path) as opened:
        np.testing.assert_array_equal(opened.get_tensor("m/b"), [1, 2, 3])
        with pytest.raises(BundleError, match="m/a"):
            opened.get_tensor("m/a")
        with pytest.raises(BundleError, match="m/a' have the CRC-32"):
            opened.verify()


def test_an_open_checkpoint_that_is_replaced(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with load_checkpoint(path) as opened:
        Checkpoint(m=blank()).write(tmp_path / "c")
        np.testing.assert_array_equal(opened.get_tensor("m/b"), [1, 2, 3])
        opened.verify()


@pytest.mark.parametrize("key", ["tfx.crc32", "tfx.checkpoint", "tfx.header"])
def test_a_file_without_one_of_the_keys_is_refused(tmp_path: Path, key: str) -> None:
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes().replace(f'"{key}":'.encode(), f'"{key[:-1]}x":'.encode()))
    with pytest.raises(BundleError, match=r"its metadata has no 'tfx\.header'|its header has the"):
        load_checkpoint(path)


def test_sums_are_those_of_all_shards(tmp_path: Path) -> None:
    values = [v(np.full(40, i, np.float32)) for i in range(3)]
    options = CheckpointOptions(max_shard_bytes=200)
    path = Checkpoint(values=values).write(tmp_path / "c", options)
    files = sorted(tmp_path.glob("c.*.safetensors"))
    texts = {open_safetensors(file).metadata[CHECKSUM_KEY] for file in files}
    assert len(files) == 3
    [text] = texts
    data = np.full(40, 2, np.float32).tobytes()
    pieces = [zlib.crc32(data[i : i + 64]) for i in range(0, 160, 64)]
    assert json.loads(text)["values/2"] == "".join(f"{p:08x}" for p in pieces)
    with load_checkpoint(path) as opened:
        opened.verify()


def test_the_texts_are_what_the_specification_says(tmp_path: Path) -> None:
    files.write_files(tmp_path / "c", {"x": np.arange(20, dtype=np.int64)}, {"a": "b"})
    path = tmp_path / "c.safetensors"
    metadata = open_safetensors(path).metadata
    data = np.arange(20, dtype=np.int64).tobytes()
    pieces = [zlib.crc32(data[i : i + 64]) for i in range(0, len(data), 64)]
    assert json.loads(metadata["tfx.crc32"]) == {"x": "".join(f"{s:08x}" for s in pieces)}
    assert len(metadata["tfx.crc32"]) == len(blank_text({"x": 160}))
    header = path.read_bytes()[:-160]
    zeros = header.replace(metadata["tfx.header"].encode(), b"0" * 8)
    assert metadata["tfx.header"] == f"{zlib.crc32(zeros):08x}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"y": "00000000"}',
        '{"x": "0000"}',
        '{"x": "gggggggg"}',
        '{"x": 5}',
    ],
    ids=range(7),
)
def test_texts_that_are_refused(text: str) -> None:
    with pytest.raises(BundleError, match=r"f: its tfx\.crc32 cannot be used"):
        parse_checksums(text, {"x": 8}, "f")
