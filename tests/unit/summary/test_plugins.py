"""What the plugins get: bytes that TensorFlow writes for the same values, and their meaning."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest

import tfx as tf
from tests.unit.summary import reading
from tfx.summary.histograms import table
from tfx.summary.images import as_uint8, png

summary = tf.summary

# Events as TensorFlow 2.21 with TensorBoard 2.21 writes them for these calls, after the wall time.
GOLDEN: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: summary.scalar("loss", 0.5, description="desc"),
        "10072a270a250a046c6f7373420a0801120022040000003f4a110a090a077363616c6172731a0464657363",
    ),
    (
        lambda: summary.scalar("int", 3),
        "10072a200a1e0a03696e74420a080112002204000040404a0b0a090a077363616c617273",
    ),
    (
        lambda: summary.histogram("h", [1.0, 2.0, 2.0, 5.0], buckets=3),
        "10072a6d0a6b0a016842560802120812020803120208032248000000000000f03faaaaaaaaaaaa0240000000000000"
        "0840aaaaaaaaaaaa02405555555555550d4000000000000000005555555555550d400000000000001440000000000000"
        "f03f4a0e0a0c0a0a686973746f6772616d73",
    ),
    (
        lambda: summary.histogram("h_same", [2.0, 2.0], buckets=3),
        "10072a720a700a06685f73616d65425608021208120208031202080322480000000000000040000000000000004000"
        "000000000000000000000000000040000000000000004000000000000000000000000000000040000000000000004000"
        "000000000000404a0e0a0c0a0a686973746f6772616d73",
    ),
    (
        lambda: summary.histogram("h_zero", [1.0, 2.0], buckets=0),
        "10072a260a240a06685f7a65726f420a080212061200120208034a0e0a0c0a0a686973746f6772616d73",
    ),
    (
        lambda: summary.audio("au", np.linspace(-1, 1, 8).reshape(1, 8, 1).astype("f"), 44100),
        "10072a630a610a026175424c080712081202080112020802423c524946463400000057415645666d7420100000000100"
        "010044ac000088580100020010006461746110000000008092a425c9b7ed4912db366e5bff7f42004a0d0a0b0a056175"
        "64696f1202100b",
    ),
    (
        lambda: summary.text("t", "hello"),
        "10072a1c0a1a0a0174420b08071200420568656c6c6f4a080a060a0474657874",
    ),
    (
        lambda: summary.text("t2", ["hello", "b"]),
        "10072a240a220a02743242120807120412020802420568656c6c6f4201624a080a060a0474657874",
    ),
    (
        lambda: summary.write("raw", np.arange(6, dtype=np.int32).reshape(2, 3)),
        "10072a2f0a2d0a0372617742260803120812020802120208032218000000000100000002000000030000000400000005"
        "000000",
    ),
    (
        lambda: summary.write("rawstr", tf.constant(["a"])),
        "10072a170a150a06726177737472420b0807120412020801420161",
    ),
    (
        lambda: summary.write("rawbool", tf.constant([True])),
        "10072a180a160a07726177626f6f6c420b080a120412020801220101",
    ),
    (
        lambda: summary.write("rawscalar32", tf.constant(1.5), step=9),
        "10092a1b0a190a0b7261777363616c61723332420a0801120022040000c03f",
    ),
]


@pytest.mark.parametrize(("call", "expected"), GOLDEN, ids=range(len(GOLDEN)))
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "graph"])
def test_bytes(call: Callable[[], Any], expected: str, traced: bool, tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default(step=7):
        assert bool(tf.function(call)() if traced else call())
    writer.close()
    (path,) = tmp_path.iterdir()
    _, event = reading.records(path)
    assert event[:1] == b"\x09"  # the wall time, eight bytes
    assert event[9:].hex() == expected


def written(folder: Path, call: Callable[[], Any]) -> reading.Value:
    writer = summary.create_file_writer(folder)
    with writer.as_default(step=1):
        call()
    writer.close()
    (value,) = reading.read(folder)
    return value


def test_scalars(tmp_path: Path) -> None:
    value = written(tmp_path / "a", lambda: summary.scalar("x", tf.constant(2**30 + 1)))
    assert (value.content.dtype, float(value.content)) == (np.float32, 2.0**30)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'x' takes a scalar.*\(2,\)"):
        written(tmp_path / "b", lambda: summary.scalar("x", [1.0, 2.0]))


FLOATS = st.floats(-1e6, 1e6, width=32)


@hypothesis.given(hnp.arrays(np.float32, st.integers(1, 50), elements=FLOATS), st.integers(1, 9))
def test_histograms_count_everything_once(data: np.ndarray[Any, Any], buckets: int) -> None:
    rows = table(data, buckets)
    assert rows.shape == (buckets, 3)
    assert rows[:, 2].sum() == data.size
    assert (rows[0, 0], rows[-1, 1]) == (data.min(), data.max())
    assert (rows[1:, 0] == rows[:-1, 1]).all()
    # NumPy's own, which sorts into the same edges; a value on an edge may fall to either side.
    if data.min() < data.max():
        counts, edges = np.histogram(data.astype(np.float64), buckets)
        near = np.isclose(data[:, None], edges, rtol=1e-9, atol=1e-9).any()
        assert near or (counts == rows[:, 2]).all()


def test_histograms_of_little() -> None:
    assert table(np.array([]), 2).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert table(np.array([2, 2]), 2).tolist() == [[2, 2, 0], [2, 2, 2]]
    assert table(np.array([np.nan, np.inf, 1.0]), 1).tolist() == [[1, 1, 1]]
    assert table(np.array(3, np.int8), 1).tolist() == [[3, 3, 1]]


def unpng(data: bytes) -> np.ndarray[Any, Any]:
    """Decode a PNG whose rows have no filter."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
            kind + content
        )
        chunks[kind] = content
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    assert (depth, list(chunks)) == (8, [b"IHDR", b"IDAT", b"IEND"])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    rows = rows.reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png(channels: int, rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 256, (5, 7, channels)).astype(np.uint8)
    assert (unpng(png(pixels)) == pixels).all()


def test_images(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 256, (3, 4, 6, 3)).astype(np.uint8)
    value = written(tmp_path / "a", lambda: summary.image("i", pixels, max_outputs=2))
    assert (value.plugin, value.content.shape) == ("images", (4,))
    assert value.content[:2].tolist() == [b"6", b"4"]
    assert (np.stack([unpng(p) for p in value.content[2:]]) == pixels[:2]).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="1, 2, 3 or 4 channels"):
        written(tmp_path / "b", lambda: summary.image("i", pixels[0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'i': an image without pixels"):
        written(tmp_path / "c", lambda: summary.image("i", pixels[:, :0]))


def test_histograms_take_numbers(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'h' takes numbers; .* string"):
        written(tmp_path, lambda: summary.histogram("h", tf.constant(["a"])))


def test_pixels_of_other_dtypes() -> None:
    # What tf.image.convert_image_dtype(x, tf.uint8, saturate=True) gives.
    given = np.array([-1.0, 0.0, 0.3, 0.5, 0.999, 1.0, 2.0, np.nan])
    for kind in (np.float16, np.float32, np.float64):
        assert as_uint8(given.astype(kind)).tolist() == [0, 0, 76, 127, 255, 255, 255, 0]
    assert as_uint8(np.array([0, 256, 65535], np.uint16)).tolist() == [0, 1, 255]
    assert as_uint8(np.array([-5, 0, 1, 127], np.int8)).tolist() == [0, 0, 2, 254]
    assert as_uint8(np.array([0, 2**23, 2**31 - 1], np.int32)).tolist() == [0, 1, 255]
    assert as_uint8(np.array([False, True])).tolist() == [0, 255]


def test_audio(tmp_path: Path) -> None:
    frames = np.array([[[0.0, 0.5], [-1.0, 2.0]]] * 3, np.float32)
    value = written(tmp_path / "a", lambda: summary.audio("s", frames, 8000, max_outputs=1))
    assert value.content.shape == (1, 2)
    data = value.content[0, 0]
    assert struct.unpack("<HHIIHH", data[20:36]) == (1, 2, 8000, 32000, 4, 16)
    assert np.frombuffer(data[44:], "<i2").tolist() == [0, 16384, -32768, 32767]
    assert struct.unpack("<I", data[4:8])[0] == len(data) - 8
    with pytest.raises(ValueError, match="Unknown encoding: 'mp3'"):
        summary.audio("s", frames, 8000, encoding="mp3")
    with pytest.raises(tf.errors.InvalidArgumentError, match="frames, channels"):
        written(tmp_path / "b", lambda: summary.audio("s", frames[0], 8000))
    with pytest.raises(tf.errors.InvalidArgumentError, match="positive sample rate"):
        written(tmp_path / "c", lambda: summary.audio("s", frames, -1))


def test_text_is_text(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="takes text"):
        written(tmp_path, lambda: summary.text("t", 1))


def test_other_dtypes(tmp_path: Path) -> None:
    value = written(tmp_path, lambda: summary.write("x", np.arange(3)))
    assert value.content.tolist() == [0, 1, 2]
