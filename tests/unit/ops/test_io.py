"""``tfx.io``: files, bytes as numbers, tensors and images as bytes; TensorFlow's own bytes."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfx as tf

REFUSED = tf.errors.InvalidArgumentError


def test_files_eagerly_and_in_a_function(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "data.bin")

    @tf.function
    def through(where: tf.Tensor, data: tf.Tensor) -> tf.Tensor:
        tf.io.write_file(where, data)
        return tf.io.decode_raw(tf.io.read_file(where), tf.uint8)

    assert through(tf.constant(path), tf.constant(b"a\xff\x00")).numpy().tolist() == [97, 255, 0]
    assert tf.io.read_file(path).numpy() == b"a\xff\x00"
    assert tf.io.matching_files(str(tmp_path / "*" / "*.bin")).numpy().tolist() == [path.encode()]
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        tf.io.read_file(str(tmp_path / "nowhere"))


def test_decode_raw() -> None:
    found = tf.io.decode_raw([b"\xff\x01", b"ab"], tf.int16)
    assert found.numpy().tolist() == [[511], [25185]]
    big = tf.io.decode_raw([b"\x0a\x0b"], tf.int16, little_endian=False)
    assert big.numpy().tolist() == [[0x0A0B]]
    padded = tf.io.decode_raw([["1"], ["23"]], tf.uint8, fixed_length=4)
    assert padded.numpy().tolist() == [[[49, 0, 0, 0]], [[50, 51, 0, 0]]]
    with pytest.raises(REFUSED, match="not a multiple of 2"):
        tf.io.decode_raw("123", tf.int16)
    with pytest.raises(REFUSED, match="element 1 has size 1"):
        tf.io.decode_raw(["12", "1"], tf.uint8)
    with pytest.raises(REFUSED, match="fixed_length"):
        tf.io.decode_raw("12", tf.int16, fixed_length=3)


def test_base64() -> None:
    assert tf.io.encode_base64(["ab?>", "a"]).numpy().tolist() == [b"YWI_Pg", b"YQ"]
    assert tf.io.encode_base64("a", pad=True).numpy() == b"YQ=="
    assert tf.io.decode_base64(["YWI_Pg", "YQ=="]).numpy().tolist() == [b"ab?>", b"a"]
    with pytest.raises(REFUSED, match="base64"):
        tf.io.decode_base64("!!")
    with pytest.raises(REFUSED, match=r"Invalid base64 in 904 bytes: ") as caught:
        tf.io.decode_base64(b"\xff" * 904)
    assert len(str(caught.value)) < 150


# What TensorFlow 2.21 writes.
MESSAGES: dict[str, tuple[Any, bytes]] = {
    "float32": (
        np.float32([1, 2]),
        b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@',
    ),
    "scalar": (np.int32(3), b'\x08\x03\x12\x00"\x04\x03\x00\x00\x00'),
    "matrix": (
        np.array([[1, 2]]),
        b'\x08\t\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02"\x10' + struct.pack("<qq", 1, 2),
    ),
    "string": (np.array([b"ab", b"c"], object), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x02abB\x01c"),
    "bool": (np.array([True]), b'\x08\n\x12\x04\x12\x02\x08\x01"\x01\x01'),
    "float16": (np.array(1.5, np.float16), b'\x08\x13\x12\x00"\x02\x00>'),
    "empty": (np.zeros((0, 2)), b"\x08\x02\x12\x06\x12\x00\x12\x02\x08\x02"),
    "int8": (np.int8([-1]), b'\x08\x06\x12\x04\x12\x02\x08\x01"\x01\xff'),
    "uint64": (np.uint64([5]), b'\x08\x17\x12\x04\x12\x02\x08\x01"\x08\x05' + b"\0" * 7),
    "bfloat16": (
        np.array([1.5, 2], ml_dtypes.bfloat16),
        b'\x08\x0e\x12\x04\x12\x02\x08\x02"\x04\xc0?\x00@',
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_serialized_tensors(name: str) -> None:
    value, message = MESSAGES[name]
    x = tf.constant(value)
    text = tf.io.serialize_tensor(x)
    assert text.numpy() == message
    again = tf.io.parse_tensor(text, x.dtype)
    assert again.dtype == x.dtype
    np.testing.assert_array_equal(again.numpy(), x.numpy())


@pytest.mark.parametrize(
    ("message", "kind", "expected"),
    [
        (b"\x08\x03\x12\x04\x12\x02\x08\x03\x3a\x01\x07", tf.int32, [7, 7, 7]),  # the last repeats
        (b"\x08\x01\x12\x04\x12\x02\x08\x02\x2a\x04\x00\x00\x80?", tf.float32, [1.0, 1.0]),
        (b"\x08\x03\x12\x04\x12\x02\x08\x01\x38" + b"\xff" * 9 + b"\x01", tf.int32, [-1]),
        (b"\x08\x13\x12\x04\x12\x02\x08\x01\x68\x80\x78", tf.float16, [1.0]),
    ],
    ids=["int32", "float32", "negative", "float16"],
)
def test_numbers_that_are_written_one_by_one(message: bytes, kind: Any, expected: Any) -> None:
    assert tf.io.parse_tensor(message, kind).numpy().tolist() == expected


@pytest.mark.parametrize(
    "message",
    [
        b"xx",
        b"\x08\x01\x12\xff",
        b'\x08\x01\x12\x04\x12\x02\x08\x02"\x04\x00\x00\x80?',
        b"\x08\x01\x12\x0c\x12\x0a\x08" + b"\xff" * 8 + b"\x7f",
        b"\x08\x01\x12\x0d\x12\x0b\x08" + b"\xff" * 9 + b"\x01",
        b"\x08" + b"\xff" * 12,
    ],
    ids=["no message", "cut", "too short", "too large", "negative", "endless number"],
)
def test_what_is_no_tensor(message: bytes) -> None:
    with pytest.raises(REFUSED):
        tf.io.parse_tensor(message, tf.float32)


def test_a_tensor_of_another_dtype() -> None:
    with pytest.raises(REFUSED, match=r"parsed tensor \(int32\) and dtype \(float32\)"):
        tf.io.parse_tensor(tf.io.serialize_tensor([1]), tf.float32)


# Written by TensorFlow: rows with filters 0, 1 and 4, and 16 bits.
RGB = (
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAMCAIAAADUCbv3AAAAhElEQVQYlWNkYGAQwY1YGAQZGBiYcSG4NBtWhCzNiYkY"
    "VV/3KIv8bW479pXbiGd7joG9zra+p5vrrqlliQkuXMJg5HL9+suP3+8lhPW+7GS3txWzZGywuchxo7d4/avKE4wMaQwi"
    "DEK4EJrdPAwM/AwMQgwMohCER1qCgUECv7Q0RdKKANLQI7iQplzCAAAAAElFTkSuQmCC"
)
GREY16 = (
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAMEAAAAAAukK8/AAAAZUlEQVQImWNmYBdeIPdOfY8hl/UNl2X+XyIOJQkwMWAB"
    "xAuyqLgr/Wm8+DWH54i+wPZ7Ww+rZv5ZzWDIe+nKJ5OQyLYo62uMTGc+dbk9LWVkYBeeIzJHeI4IlBSeIzKHQtuJFwQA"
    "lJkiHHfoP8QAAAAASUVORK5CYII="
)


def _picture() -> Any:
    y, x = np.mgrid[:12, :10]
    image = np.stack([x * 20, y * 17, (x * y * 3) % 256], -1).astype(np.uint8)
    rng = np.random.RandomState(1)
    image[4:6] = rng.randint(0, 256, (2, 10, 3))
    return image


def test_png_files_of_others() -> None:
    image = _picture()
    data = base64.b64decode(RGB)
    np.testing.assert_array_equal(tf.io.decode_png(data), image)
    deep = base64.b64decode(GREY16)
    expected = image[..., :1].astype(np.uint16) * 251 + 7
    np.testing.assert_array_equal(tf.io.decode_png(deep, dtype=tf.uint16), expected)
    np.testing.assert_array_equal(tf.io.decode_png(deep), (expected >> 8).astype(np.uint8))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_there_and_back(channels: int, dtype: Any) -> None:
    rng = np.random.default_rng(channels)
    image = rng.integers(0, np.iinfo(dtype).max, (2, 5, 7, channels), dtype)
    texts = tf.io.encode_png(image, compression=1)
    assert texts.shape == [2]
    np.testing.assert_array_equal(tf.io.decode_png(texts.numpy()[1], dtype=dtype), image[1])


def test_channels_of_png() -> None:
    image = _picture()
    data = tf.io.encode_png(image)
    grey = tf.io.decode_png(data, channels=1).numpy()[..., 0]
    assert np.abs(grey - image @ [0.299, 0.587, 0.114]).max() <= 1.0
    alpha = tf.io.decode_png(data, channels=4).numpy()
    assert (alpha[..., 3] == 255).all()
    np.testing.assert_array_equal(alpha[..., :3], image)
    rgb = tf.io.decode_png(tf.io.encode_png(image[..., :1]), channels=3).numpy()
    np.testing.assert_array_equal(rgb, np.repeat(image[..., :1], 3, -1))


def _png(
    width: int, height: int, depth: int, kind: int, lines: bytes, *more: bytes, passes: int = 0
) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, passes)
    between = b"".join([chunk(m[:4], m[4:]) for m in more])
    body = chunk(b"IHDR", head) + between + chunk(b"IDAT", zlib.compress(lines))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def test_small_depths_and_palettes_of_png() -> None:
    bits = _png(5, 2, 1, 0, b"\0\xa8\0\x10")
    assert tf.io.decode_png(bits).numpy()[..., 0].tolist() == [
        [255, 0, 255, 0, 255],
        [0, 0, 0, 255, 0],
    ]
    palette = _png(3, 1, 2, 3, b"\0\x18", b"PLTE" + bytes(range(9)))
    assert tf.io.decode_png(palette).numpy().tolist() == [[[0, 1, 2], [3, 4, 5], [6, 7, 8]]]
    clear = _png(2, 1, 8, 3, b"\0\0\1", b"PLTE" + bytes(range(6)), b"tRNS\x09")
    assert tf.io.decode_png(clear).numpy().tolist() == [[[0, 1, 2, 9], [3, 4, 5, 255]]]
    # Filter 2 adds the row above, filter 3 half of left and above.
    rows = _png(2, 3, 8, 0, b"\0\x0a\x14\2\1\1\3\4\4")
    assert tf.io.decode_png(rows).numpy()[..., 0].tolist() == [[10, 20], [11, 21], [9, 19]]


def test_a_transparent_colour_of_png() -> None:
    # As TensorFlow: alpha only where 4 channels are wanted.
    grey = _png(4, 1, 2, 0, b"\0\x1b", b"tRNS\0\x02")
    assert tf.io.decode_png(grey).shape == (1, 4, 1)
    assert tf.io.decode_png(grey, channels=4).numpy().tolist() == [
        [[0, 0, 0, 255], [85, 85, 85, 255], [170, 170, 170, 0], [255, 255, 255, 255]]
    ]
    rgb = _png(2, 1, 16, 2, b"\0\5\6\7\1\2\3" + bytes(6), b"tRNS\5\6\7\1\2\3")
    assert tf.io.decode_png(rgb, 4, tf.uint16).numpy()[0, :, 3].tolist() == [0, 65535]
    assert tf.io.decode_png(rgb, 3).numpy().tolist() == [[[5, 7, 2], [0, 0, 0]]]


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (5, 9), (17, 13)], ids=str)
def test_interlaced_png(size: tuple[int, int]) -> None:
    image = np.random.default_rng(3).integers(0, 256, (*size, 3)).astype(np.uint8)
    lines = b""
    for x, y, right, down in (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ):
        part = image[y::down, x::right]
        if part.size:
            lines += b"".join([b"\0" + row.tobytes() for row in part])
    data = _png(size[1], size[0], 8, 2, lines, passes=1)
    np.testing.assert_array_equal(tf.io.decode_png(data), image)


GOOD = _png(2, 1, 8, 0, b"\0\1\2")


@pytest.mark.parametrize(
    "data",
    [
        b"abc",
        GOOD[:20],
        GOOD[:30] + bytes([GOOD[30] ^ 1]) + GOOD[31:],
        _png(2, 2, 8, 0, b"\0\1\2"),
        _png(2, 1, 8, 0, b"\7\1\2"),
        _png(2, 1, 3, 0, b"\0\1\2"),
        _png(1 << 30, 1 << 30, 8, 0, b"\0"),
        _png(1_000_001, 1, 8, 0, bytes(1_000_002)),
        _png(2, 1, 1, 2, b"\0\0"),
        _png(2, 1, 8, 0, b"\0\1\2", passes=2),
        GOOD[:-12],
        _png(2, 1, 8, 3, b"\0\0\5", b"PLTE" + bytes(6)),
    ],
    ids=[
        "text",
        "cut",
        "checksum",
        "rows",
        "filter",
        "depth",
        "size",
        "width",
        "kind",
        "passes",
        "end",
        "palette",
    ],
)
def test_broken_png(data: bytes) -> None:
    with pytest.raises(REFUSED):
        tf.io.decode_png(data)


def test_bad_images() -> None:
    with pytest.raises(REFUSED, match="float32"):
        tf.io.encode_png(tf.zeros([2, 2, 3]))
    with pytest.raises(REFUSED, match="channels"):
        tf.io.encode_png(tf.zeros([2, 2, 5], tf.uint8))
    with pytest.raises(REFUSED, match="channels"):
        tf.io.decode_png(GOOD, channels=2)
