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
from tfx.core.errors import BundleError
from tfx.train import Checkpoint, checksums, files, load_checkpoint, payload, reader
from tfx.train.checksums import CHECKSUM_KEY, Form, checksum_text, graph_sum, parse_checksums


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every file a large one, of several pieces."""
    monkeypatch.setattr(reader.limits, "HASH_ON_LOAD_BYTES", 0)
    monkeypatch.setattr(checksums, "PIECE", 64)
    monkeypatch.setattr(payload, "PIECE", 64)
    monkeypatch.setattr(payload, "_SUM_IN_THREAD", 32)


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
    expected = [np.arange(100, dtype=np.float32), np.array([1, 2, 3]), np.array([b"x", b"yz"])]
    length = int.from_bytes(good[:8], "little")
    places = [*rng.integers(0, len(good), 250), *range(8 + length, len(good), 7)]
    noticed = 0
    for place in places:
        data = bytearray(good)
        data[place] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        model = blank()
        try:
            Checkpoint(m=model).read(tmp_path / "c").assert_consumed()
        except BundleError:
            noticed += 1
            assert not model.b.numpy().any()
            continue
        # In a digest that was not needed, for example.
        for x, y in zip((model.a, model.b, model.c), expected, strict=True):
            np.testing.assert_array_equal(x.numpy(), y)
    assert noticed > 0.9 * len(places)


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
        with pytest.raises(BundleError, match="SHA-256"):
            opened.verify()


def test_an_open_checkpoint_that_is_replaced(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with load_checkpoint(path) as opened:
        Checkpoint(m=blank()).write(tmp_path / "c")
        np.testing.assert_array_equal(opened.get_tensor("m/b"), [1, 2, 3])
        opened.verify()


def test_files_without_sums_are_compared_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHECKSUM_KEY", "other")
    path = saved(tmp_path)
    model = blank()
    Checkpoint(m=model).read(tmp_path / "c").assert_consumed()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(BundleError, match="SHA-256"):
        Checkpoint(m=model).read(tmp_path / "c")


def test_the_text_is_what_the_specification_says() -> None:
    metadata = {"tfx.checkpoint": "1", "tfx.objects": "{}"}
    array = np.arange(20, dtype=np.int64)
    table = json.loads(checksum_text({"x": array}, metadata))
    data = array.tobytes()
    sums = [zlib.crc32(data[i : i + 64]) for i in range(0, len(data), 64)]
    assert table["tensors"] == {"x": "".join(f"{s:08x}" for s in sums)}
    rows = json.dumps(["1", "{}", [["x", "int64", [20]]]])
    assert table["graph"] == f"{zlib.crc32(rows.encode()):08x}"
    assert int(table["graph"], 16) == graph_sum(metadata, [Form("x", "int64", (20,))])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"graph": "00000000", "tensors": {}}',
        '{"graph": "0", "tensors": {"x": "00000000"}}',
        '{"graph": "00000000", "tensors": {"x": "0000"}}',
        '{"graph": "00000000", "tensors": {"x": "gggggggg"}}',
        '{"graph": "00000000", "tensors": {"x": 5}}',
        '{"graph": "00000000", "tensors": ["x"]}',
    ],
    ids=range(9),
)
def test_texts_that_are_refused(text: str) -> None:
    with pytest.raises(BundleError, match=r"f: its tfx\.crc32 cannot be used"):
        parse_checksums(text, {"x": 8}, "f")


def test_the_key_is_the_specifications() -> None:
    assert CHECKSUM_KEY == "tfx.crc32"
